"""Each dialect against a local server that speaks it: real sockets, recorded shapes of requests and of errors.

The shapes come from the documents that docs/your-model.md names; none of this ran against the services themselves.
"""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from pcevolve.errors import ProviderRefusedError, UnusableError
from pcevolve.public.dialects import ABILITIES
from pcevolve.public.transcript.records import part_of
from pcevolve.wire.providers import dialect
from pcevolve_shared.blanks import parse_question
from support.forge import faults_of, forge
from support.online import Heard, Reply, answer_json, b64

EMPTY = sha256(b"").hexdigest()


@pytest.mark.parametrize("name", sorted(ABILITIES))
def test_a_whole_run_satisfies_the_documented_api_and_the_audit_and_asks_nothing_again(world, tmp_path, name):
    api = world(name)
    run = api.open(tmp_path)
    evolved = run.finish()
    images = sum(call.count for call in run.plan.calls.values())
    assert len(api.server.asked) == len(run.plan.calls)
    last = evolved.populations[-1].values()
    assert sum(len(each) for each in last) * (run.plan.method.iterations + 1) == images
    assert faults_of(tmp_path) == []
    bodies = list((tmp_path / "transcript" / "bodies").iterdir())
    outputs = {digest for call in run.plan.calls for digest in run.transcript.outputs(call)}
    assert {path.name for path in bodies} == outputs, "an image is stored twice, or something else is"
    sent = [each for each in run.transcript.list_sent() if each.slot.startswith("i001/")]
    varied = [each for each in sent if part_of(each.slot) == "call"]
    if dialect(name).abilities.makes == "image" and "vary" in dialect(name).abilities.capabilities:
        assert varied
        assert all(len(each.body.files) == 1 and set(each.body.files) <= outputs for each in varied)
    run.close()
    heard = len(api.server.heard), len(api.pictures.heard if api.pictures else ())
    assert api.open(tmp_path).evolve() == evolved
    assert heard == (len(api.server.heard), len(api.pictures.heard if api.pictures else ()))


@pytest.mark.parametrize("name", sorted(ABILITIES))
def test_a_whole_run_evolves_over_every_api_by_prompts(world, tmp_path, name):
    api = world(name)
    prompts = (("a cut", "a long cut"), ("good leather", "better leather"))
    run = api.open(tmp_path, iterations=2, strengths=(), vary_by="prompt", prompts=prompts)
    run.finish()
    assert len(api.server.asked) == len(run.plan.calls)
    assert faults_of(tmp_path) == []
    varied = [sent for sent in run.transcript.list_sent() if sent.slot.startswith(("i001/", "i002/"))]
    assert varied
    assert not any(sent.body.files for sent in varied if "/link" not in sent.slot)


@pytest.mark.parametrize("vary_with", ["own prompt", "template"])
def test_a_variation_goes_with_the_prompt_that_its_image_was_made_by_or_with_the_template(
    world, tmp_path, vary_with
):
    prompts = (("a cut", "a long cut"), ("good leather", "better leather"))
    run = world("getimg").open(tmp_path, prompts=prompts, vary_with=vary_with, more=1)
    run.finish()
    varied = [sent for sent in run.transcript.list_sent() if sent.slot.startswith(("i001", "i002", "x"))]
    said = {json.loads(sent.body.text)["prompt"] for sent in varied}
    own, template = (
        {each for of in prompts for each in of},
        {run.plan.prompt(label) for label in run.plan.labels},
    )
    assert said
    assert said <= own if vary_with == "own prompt" else said == template
    assert faults_of(tmp_path) == []


def test_the_audit_finds_a_strength_that_no_plan_has_and_a_prompt_that_is_not_the_images_own(
    world, tmp_path, monkeypatch
):
    with monkeypatch.context() as forged:
        forged.setattr("pcevolve.wire.providers.getimg.strength_of", lambda call: {"strength": 0.5})
        world("getimg").open(tmp_path / "strength", graded=False).finish()
    assert any("its body differs" in fault for fault in faults_of(tmp_path / "strength"))
    prompts = (("a cut", "a long cut"), ("good leather", "better leather"))
    with monkeypatch.context() as forged:
        forged.setattr("pcevolve.wire.egress.policy.replace", lambda call, **of: call)
        world("getimg").open(tmp_path / "prompt", prompts=prompts).finish()
    assert any("its body differs" in fault for fault in faults_of(tmp_path / "prompt"))


def test_a_text_goes_back_in_a_question_with_blanks_and_nothing_else_does(world, tmp_path):
    run = world("chat").open(tmp_path)
    run.finish()
    bodies = run.transcript.bodies
    received = {
        bodies.file(each).decode() for slot in run.plan.calls for each in run.transcript.outputs(slot)
    }
    sent = [
        (each.slot, json.loads(bodies.get(each.body)))
        for each in run.transcript.list_sent()
        if each.method == "POST"
    ]
    varied = [fields["messages"] for slot, fields in sent if not slot.startswith("i000/")]
    assert varied
    for (message,) in varied:
        prompt, blanked = parse_question(message["content"])
        assert prompt in {run.plan.prompt(label) for label in run.plan.labels}
        words = blanked.split(" ")
        assert words.count("_") in (round(0.8 * len(words)), round(0.78 * len(words)))
        assert any(_fits(words, text.split(" ")) for text in received)


def _fits(words: list[str], text: list[str]) -> bool:
    return len(words) == len(text) and all(word in ("_", own) for word, own in zip(words, text, strict=True))


BUSY = {"message": "Request was rejected due to rate limiting.", "code": 20042, "data": None}


LIMIT = {"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}}
PASSING = [
    ("chat", answer_json(429, LIMIT, Retry_After="2")),
    ("openai-plain", answer_json(429, LIMIT)),
    ("siliconflow", answer_json(429, BUSY)),
    ("stability", answer_json(500, {"id": "d", "name": "internal_error", "errors": ["An unexpected error"]})),
    (
        "a1111",
        answer_json(500, {"error": "RuntimeError", "detail": "", "body": "", "errors": "out of memory"}),
    ),
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
    assert faults_of(tmp_path) == []


def test_an_image_that_moderation_withheld_is_no_image(world, tmp_path):
    # v2beta reference: 200, and finish_reason CONTENT_FILTERED with a blurred image.
    api = world("stability")
    api.server.instead.append(
        answer_json(200, {"image": b64(1), "finish_reason": "CONTENT_FILTERED", "seed": 1})
    )
    # Two of a class are too few to do without one; the seed is the plan's, so asking again would not help.
    with pytest.raises(UnusableError, match="1 is withheld"):
        api.open(tmp_path).evolve()
    assert len(api.server.asked) > 2


REFUSALS = {  # OpenAI, Stability AI, Alibaba's Model Studio, FastAPI-style services
    "openai": answer_json(
        400,
        {
            "error": {
                "code": "moderation_blocked",
                "type": "image_generation_user_error",
                "message": "rejected",
            }
        },
    ),
    "stability": answer_json(403, {"name": "content_moderation", "errors": ["Your request was flagged."]}),
    "getimg": answer_json(
        400, {"code": "DataInspectionFailed", "message": "may contain inappropriate content"}
    ),
    "siliconflow": answer_json(422, {"detail": [{"type": "content_policy_violation", "msg": "blocked"}]}),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_an_image_that_moderation_refuses_every_time_is_withheld_and_the_run_goes_on(world, tmp_path, name):
    api, refused = world(name), []
    speak = api.server.speak
    once = {"iterations": 1, "strengths": api.plan["strengths"][:1], "candidates": 6, "initial": 6}
    run = api.open(tmp_path, **once)

    def moderating(heard: Heard) -> Reply:
        if len(api.server.asked) == len(run.plan.calls) - 1:
            refused.append(heard.body)
        return REFUSALS[name] if heard.body in refused else speak(heard)

    api.server.speak = moderating
    made = run.finish()
    run.close()
    assert EMPTY in [each.digest for of_class in made.populations[1].values() for each in of_class]
    assert len(api.server.asked) == len(run.plan.calls)
    assert faults_of(tmp_path) == []
    assert api.open(tmp_path, **once).evolve() == made
    assert len(refused) == 1


def test_no_image_that_was_withheld_is_sent_to_be_varied(world, tmp_path):
    api = world("getimg")
    api.server.instead.append(REFUSALS["getimg"])
    run = api.open(tmp_path, candidates=6, initial=6, lookahead=2, iterations=1, strengths=(0.8,))
    made = run.finish()
    run.close()
    sources = {
        call.source
        for call in run.plan.calls.values()
        if call.slot in {sent.slot for sent in run.transcript.list_sent()}
    }
    assert sources == {None} | {f"i000-c{c:03}-{n:06}" for c in (0, 1) for n in range(6)} - {
        "i000-c000-000000"
    }
    assert [each.digest for each in made.pools[1].views["i000-c000-000000"]] == [EMPTY, EMPTY]
    assert faults_of(tmp_path) == []
    assert (
        api.open(tmp_path, candidates=6, initial=6, lookahead=2, iterations=1, strengths=(0.8,)).evolve()
        == made
    )


def test_a_record_that_says_of_an_image_that_came_that_it_was_not_sent_on_is_found_out(world, tmp_path):
    run = world("getimg").open(tmp_path, candidates=6, initial=6, lookahead=2)
    run.finish()
    run.close()
    slot = next(run.plan.lookaheads(0)).slot
    forge(
        tmp_path,
        lambda events: [each for each in events if each.get("slot") != slot or each["kind"] == "received"],
    )
    assert any(
        f"'received' {slot} stands where request {slot} is due" in each for each in faults_of(tmp_path)
    )


FLAGGED = answer_json(403, {"error": {"message": "Your account was flagged by our safety system"}})


@pytest.mark.parametrize(
    ("reply", "sizes"),
    [
        pytest.param(FLAGGED, {"candidates": 6, "initial": 6}, id="words alone"),
        pytest.param(REFUSALS["openai"], {}, id="all of a class"),
    ],
)
def test_what_may_come_later_is_not_put_down_as_withheld_and_asked_for_again(world, tmp_path, reply, sizes):
    """A refusal in words may mean the account; and without any image of a class a run could not go on."""
    api = world("openai")
    speak, refuses = api.server.speak, [True]
    run = api.open(tmp_path, **sizes)
    first = len([call for call in run.plan.calls.values() if call.purpose == "create"])
    api.server.speak = lambda heard: reply if refuses and len(api.server.asked) > first else speak(heard)
    with pytest.raises(ProviderRefusedError, match="its moderation does not allow"):
        run.finish()
    run.close()
    assert len(api.server.asked) == first + 1
    refuses.clear()
    made = api.open(tmp_path, **sizes).finish()
    came = [each.digest for some in made.populations for of_class in some.values() for each in of_class]
    assert EMPTY not in came
    assert faults_of(tmp_path) == []
