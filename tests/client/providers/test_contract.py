"""Each dialect against a local server that speaks it: real sockets, recorded shapes of requests and of errors.

The shapes come from the documents that docs/your-model.md names; none of this ran against the services themselves.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.auditing import audit
from pcevolve.errors import ProviderRefusedError, ProviderReplyError
from pcevolve.providers import DIALECTS, dialect
from pcevolve.providers.dialect import Dialect
from pcevolve.providers.multipart import form
from pcevolve.public.calls import Call
from pcevolve_shared.blanks import asked
from support.online import Heard, Reply, b64, form_of, said

EVOLVING = sorted(
    name for name, each in DIALECTS.items() if "strength" in each.capabilities and each.makes == "image"
)


def broken(root) -> list[str]:
    return [fault for finding in audit(root) for fault in finding.faults]


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_a_whole_run_satisfies_the_documented_api_and_the_audit(world, tmp_path, name):
    api = world(name)
    run = api.open(tmp_path)
    evolved = run.finish()
    images = sum(call.count for call in run.plan.calls.values())
    assert len(api.server.asked) == len(run.plan.calls)
    assert sum(len(each) for each in evolved.populations[-1].values()) * (run.plan.iterations + 1) == images
    assert broken(tmp_path) == []
    bodies = list((tmp_path / "transcript" / "bodies").iterdir())
    outputs = {digest for call in run.plan.calls for digest in run.transcript.outputs(call)}
    assert {path.name for path in bodies} == outputs, "an image is stored twice, or something else is"


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_a_whole_run_evolves_over_every_api_by_prompts(world, tmp_path, name):
    api = world(name)
    prompts = (("a cut", "a long cut"), ("good leather", "better leather"))
    run = api.open(tmp_path, iterations=2, strengths=(), vary_by="prompt", prompts=prompts)
    run.finish()
    assert len(api.server.asked) == len(run.plan.calls)
    assert broken(tmp_path) == []
    varied = [sent for sent in run.transcript.sent() if sent.slot.startswith(("i001/", "i002/"))]
    assert varied
    assert not any(sent.body.files for sent in varied if "/link" not in sent.slot)


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_a_run_can_be_continued_without_asking_again(world, tmp_path, name):
    api = world(name)
    first = api.open(tmp_path)
    made = first.evolve()
    first.close()
    heard = len(api.server.asked), len(api.pictures.heard if api.pictures else ())
    assert api.open(tmp_path).evolve() == made
    assert heard == (len(api.server.asked), len(api.pictures.heard if api.pictures else ()))


@pytest.mark.parametrize("name", EVOLVING)
def test_a_prototype_is_sent_back_as_the_bytes_that_came(world, tmp_path, name):
    api = world(name)
    run = api.open(tmp_path)
    run.finish()
    returned = [sent for sent in run.transcript.sent() if sent.slot.startswith("i001/")]
    received = {digest for slot in run.plan.calls for digest in run.transcript.outputs(slot)}
    assert returned
    assert all(len(sent.body.files) == 1 and set(sent.body.files) <= received for sent in returned)


def test_a_text_goes_back_in_a_question_with_blanks_and_nothing_else_does(world, tmp_path):
    run = world("chat").open(tmp_path)
    run.finish()
    bodies = run.transcript.bodies
    received = {
        bodies.file(each).decode() for slot in run.plan.calls for each in run.transcript.outputs(slot)
    }
    sent = [
        (each.slot, json.loads(bodies.get(each.body)))
        for each in run.transcript.sent()
        if each.method == "POST"
    ]
    varied = [fields["messages"] for slot, fields in sent if not slot.startswith("i000/")]
    assert varied
    for (message,) in varied:
        prompt, blanked = asked(message["content"])
        assert prompt in {run.plan.prompt(label) for label in run.plan.labels}
        words = blanked.split(" ")
        assert words.count("_") in (round(0.8 * len(words)), round(0.78 * len(words)))
        assert any(_fits(words, text.split(" ")) for text in received)


@pytest.mark.parametrize(
    "choice",
    [
        {"message": {"content": None, "refusal": "I can't."}, "finish_reason": "stop"},
        {"message": {"role": "assistant"}, "finish_reason": "stop"},
        {"message": {"content": ""}, "finish_reason": "length"},
        {"message": {"content": "A lung that the filter"}, "finish_reason": "content_filter"},
        {"message": None, "finish_reason": "content_filter"},
        {"finish_reason": "content_filter"},
    ],
)
def test_a_choice_that_was_left_out_or_cut_off_by_a_filter_is_an_empty_text(choice):
    call = Call("i000/c00/b000", "create", 0, "cut", 0, 2, 7)
    whole = {"message": {"content": "whole"}, "finish_reason": "stop"}
    body = json.dumps({"choices": [choice, whole]}).encode()
    assert dialect("chat").decode(call, body) == [b"", b"whole"]


def _fits(words: list[str], text: list[str]) -> bool:
    return len(words) == len(text) and all(word in ("_", own) for word, own in zip(words, text, strict=True))


OPENAI_QUOTA = {"message": "You exceeded your current quota", "type": "insufficient_quota"}
OPENAI_MODERATION = {"message": "rejected by the safety system", "type": "image_generation_user_error"}
STABILITY_MODERATION = {
    "id": "b2",
    "name": "content_moderation",
    "errors": ["flagged by our moderation system"],
}
REFUSALS = [
    (
        "chat",
        said(429, {"error": {**OPENAI_QUOTA, "code": "insufficient_quota"}}),
        "429 .*quota.*: no credit",
    ),
    # The native contract (shared/wire.py): the hosted API has the same shape without request_id.
    (
        "getimg",
        said(402, {"error": {"type": "x", "code": "y", "message": "top up"}}),
        "402 .top up.: no credit",
    ),
    (
        "getimg",
        said(422, {"error": {"code": "content_rejected", "message": "no"}}),
        "moderation does not allow",
    ),
    # OpenAI's error codes: a quota that is used up is a 429, and yet waiting does not help.
    (
        "openai",
        said(429, {"error": {**OPENAI_QUOTA, "code": "insufficient_quota"}}),
        "429 .*quota.*: no credit",
    ),
    (
        "openai-plain",
        said(400, {"error": {**OPENAI_MODERATION, "code": "moderation_blocked"}}),
        "moderation does",
    ),
    ("openai-plain", said(400, {"error": {"message": "bad size", "code": None}}), r"HTTP 400 \(bad size\)$"),
    # SiliconFlow's error page: 403 for many things; code 30001 is the balance.
    (
        "siliconflow",
        said(403, {"code": 30001, "message": "your account balance is insufficient", "data": None}),
        "403 .your account balance is insufficient.: no credit left",
    ),
    (
        "siliconflow",
        said(400, {"code": 20012, "message": "Model does not exist."}),
        "400 .Model does not exist",
    ),
    # Stability's v2beta reference: 403 is moderation, 402 an empty account, 413 and 422 the request.
    ("stability", said(403, STABILITY_MODERATION), "403 .flagged by our moderation system.: its moderation"),
    (
        "stability",
        said(402, {"id": "b", "name": "payment_required", "errors": ["no credits"]}),
        "no credit left",
    ),
    (
        "stability",
        said(422, {"id": "b", "name": "invalid_language", "errors": ["English only"]}),
        "English only",
    ),
    # The web UI's own exception handler, and FastAPI's.
    (
        "a1111",
        said(404, {"error": "HTTPException", "detail": "Model not found", "errors": ""}),
        "Model not found",
    ),
    ("a1111", said(422, {"detail": [{"loc": ["body"], "msg": "wrong"}]}), "the API refused: HTTP 422$"),
]


@pytest.mark.parametrize(("name", "refusal", "message"), REFUSALS)
def test_a_refusal_is_told_in_the_apis_words_and_not_tried_again(world, tmp_path, name, refusal, message):
    api = world(name)
    api.server.instead.append(refusal)
    run = api.open(tmp_path)
    with pytest.raises(ProviderRefusedError, match=message):
        run.evolve()
    assert len(api.server.asked) == 1
    run.evolve()  # once the cause is gone


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_a_wrong_key_is_told_and_not_tried_again(world, tmp_path, name):
    api = world(name)
    with pytest.raises(ProviderRefusedError, match=r"HTTP 401.*check the API key"):
        api.open(tmp_path, key="somebody:else-0123456789")
    assert len(api.server.heard) == 1


BUSY = {"message": "Request was rejected due to rate limiting.", "code": 20042, "data": None}
OFTEN = {"id": "c", "name": "rate_limit_exceeded", "errors": ["150 requests in 10 seconds"]}
LIMIT = {"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}}
PASSING = [
    ("chat", said(429, LIMIT, Retry_After="2")),
    ("getimg", said(429, {"error": {"code": "queue_full", "message": "busy"}}, Retry_After="2")),
    ("openai", said(429, LIMIT, Retry_After="2")),
    ("openai-plain", said(429, LIMIT)),
    ("siliconflow", said(429, BUSY)),
    ("siliconflow", said(503, {"code": 50505, "message": "Model service overloaded.", "data": None})),
    ("siliconflow", Reply(504, b"<html>gateway</html>")),
    ("stability", said(429, OFTEN, Retry_After="2")),
    ("stability", said(500, {"id": "d", "name": "internal_error", "errors": ["An unexpected error"]})),
    ("a1111", said(500, {"error": "RuntimeError", "detail": "", "body": "", "errors": "out of memory"})),
]


@pytest.mark.parametrize(("name", "trouble"), PASSING)
def test_what_may_pass_is_tried_again_with_the_same_bytes(world, tmp_path, name, trouble):
    api, pauses = world(name), []
    api.server.instead.append(trouble)
    run = api.open(tmp_path, sleep=pauses.append)
    run.finish()
    first, again = api.server.asked[:2]
    assert first == again
    assert len(api.server.asked) == len(run.plan.calls) + 1
    assert pauses[0] >= 2 or "Retry-After" not in trouble.headers
    assert broken(tmp_path) == []


def test_an_image_that_moderation_withheld_is_no_image(world, tmp_path):
    # v2beta reference: 200, and finish_reason CONTENT_FILTERED with a blurred image.
    api = world("stability")
    api.server.instead.append(said(200, {"image": b64(1), "finish_reason": "CONTENT_FILTERED", "seed": 1}))
    run = api.open(tmp_path)
    with pytest.raises(ProviderReplyError, match="moderation withheld the image"):
        run.evolve()


@pytest.mark.parametrize("name", sorted(DIALECTS))
@pytest.mark.parametrize(
    "body", [b"", b"<html>hello</html>", b"{}", b"[]", b'{"images":[],"data":[]}', b"nul\0"]
)
def test_an_answer_of_another_shape_is_refused_without_repeating_it(world, tmp_path, name, body):
    api = world(name)
    api.server.instead.append(Reply(200, body))
    run = api.open(tmp_path)
    with pytest.raises(ProviderReplyError, match=r"the API") as error:
        run.evolve()
    assert "hello" not in str(error.value)


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'"' + b"x" * 10**6 + b'"', b'{"error":{"message":["\\u0007"]}}']
)
@pytest.mark.parametrize("each", DIALECTS.values(), ids=DIALECTS)
def test_no_error_answer_breaks_the_reader(each: Dialect, body: bytes):
    fault = each.fault(400, body)
    assert len(fault.said) <= 200
    assert fault.said.isprintable()


@given(st.text(max_size=30), st.binary(max_size=60))
def test_a_form_is_a_function_of_its_parts_and_holds_each_of_them(value, image):
    kind, body = form({"prompt": value}, image)
    assert form({"prompt": value}, image) == (kind, body)
    heard = Heard("POST", "/", {"content-type": kind}, body)
    assert form_of(heard)["image"] == image


def test_the_native_dialect_asks_for_single_images_as_the_hosted_api_wants_them(world, tmp_path):
    api = world("getimg")
    api.open(tmp_path).evolve()
    assert all("n" not in json.loads(each.body) for each in api.server.asked)
