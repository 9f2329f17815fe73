"""Answers that only point to their images: followed once, without key, to hosts that the plan names, and on record."""

from __future__ import annotations

import json

import pytest

from pcevolve.errors import (
    EgressError,
    ProviderRefusedError,
    ProviderReplyError,
    ProviderUnreachableError,
    TranscriptError,
    UnlistedHostError,
)
from pcevolve.public.transcript.records import Answered, Received
from pcevolve.wire.egress.transport import Incoming, Outgoing
from pcevolve_shared import limits
from support.forge import faults_of
from support.online import Reply, answer_json
from support.provider import FakeProvider, png
from support.runs import SmallRun, small_plan


@pytest.fixture
def api(world):
    return world("siliconflow")


def test_images_are_fetched_without_key_or_cookie_and_each_get_is_on_record(api, tmp_path):
    run = api.open(tmp_path)
    run.finish()
    names = {tuple(each.headers) for each in api.pictures.heard}
    assert names == {("host", "user-agent", "accept", "accept-encoding")}
    links = [sent for sent in run.transcript.list_sent() if "/link" in sent.slot]
    assert [each.path for each in api.pictures.heard] == [
        sent.url.partition(api.pictures.host)[2] for sent in links
    ]
    assert [sent.slot for sent in links[:2]] == ["i000/c000/n000000/link0", "i000/c000/n000000/link1"]
    assert faults_of(tmp_path) == []


def test_a_host_that_the_plan_does_not_name_is_left_alone(api, tmp_path):
    run = api.open(tmp_path, image_hosts=())
    with pytest.raises(UnlistedHostError, match=f"images are at {api.pictures.host}.*provider.image_hosts"):
        run.evolve()
    with pytest.raises(UnlistedHostError, match="start a new run"):
        run.evolve()
    assert (len(api.server.asked), len(api.pictures.heard)) == (1, 0), "asked, and paid, again in vain"


@pytest.mark.parametrize("status", [301, 302, 307])
def test_a_redirect_is_not_followed(api, tmp_path, status):
    api.pictures.speak = lambda heard: Reply(status, b"", {"Location": f"{api.server.address}/v1/models"})
    run = api.open(tmp_path)
    before = len(api.server.heard)
    with pytest.raises(
        ProviderRefusedError, match=f"HTTP {status}.*without the key and without redirects"
    ) as error:
        run.evolve()
    assert "--api" not in str(error.value)
    assert len(api.server.heard) == before + 1


def test_links_that_died_while_the_run_was_cut_off_are_asked_for_again(api, tmp_path):
    alive = api.pictures.speak
    api.pictures.speak = lambda heard: Reply(503, b"")
    first = api.open(tmp_path)
    with pytest.raises(ProviderUnreachableError, match="HTTP 503"):
        first.evolve()
    first.close()
    asked = len(api.server.asked)
    api.pictures.speak = lambda heard: alive(heard) if len(api.server.asked) > asked else Reply(403, b"")
    api.open(tmp_path).finish()
    assert api.server.asked[0] == api.server.asked[asked]
    assert faults_of(tmp_path) == []


@pytest.mark.parametrize("lines", [0, 1], ids=["stored", "cut off before it was"])
def test_dead_links_of_a_call_that_another_answer_served_are_not_followed_again(api, tmp_path, lines):
    dead = [{"url": f"{api.pictures.address}/dead{place}.png"} for place in range(2)]
    alive = api.pictures.speak
    api.pictures.speak = lambda heard: Reply(403, b"") if "dead" in heard.path else alive(heard)
    api.server.instead.append(answer_json(200, {"images": dead}))
    first = api.open(tmp_path)
    with pytest.raises(ProviderRefusedError, match=r"HTTP 403: links are .* expired: --resume RUN requests"):
        first.evolve()
    first.close()
    second = api.open(tmp_path)
    served = next(iter(second.plan.calls.values()))
    second.gate.create(served)
    second.close()
    log = second.transcript.folder / "log.jsonl"
    whole = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(whole[: len(whole) - lines]))
    followed = len(api.pictures.heard)
    api.open(tmp_path).gate.create(served)
    assert len(api.pictures.heard) == followed
    api.open(tmp_path).finish()
    assert faults_of(tmp_path) == []


def test_an_image_beyond_all_bounds_is_refused(api, tmp_path):
    api.pictures.speak = lambda heard: Reply(200, png(1) + b"\0" * limits.MAX_IMAGE_BYTES)
    with pytest.raises(ProviderReplyError, match="larger than 16 MiB"):
        api.open(tmp_path).evolve()


SIX = small_plan(candidates=6, iterations=1, strengths=(0.8,), batch=1)
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def refuse_the_second(request: Outgoing) -> Incoming | None:
    seed = json.loads(request.body)["seed"] if request.body else 0
    return Incoming(400, (), b'{"error": "no"}') if seed == list(SIX.calls.values())[1].seed else None


@pytest.mark.parametrize("refused", [True, False])
@pytest.mark.parametrize("digest", [EMPTY, "0" * 64])
def test_outputs_on_record_without_an_answer_are_believed_where_the_api_refused_them_all(
    tmp_path, refused, digest
):
    provider = FakeProvider(refuse_the_second)
    run = SmallRun.open(tmp_path, SIX, provider)
    first, second, *_ = run.plan.calls.values()
    run.gate.create(first)
    run.transcript.append(Received(slot=second.slot, outputs=(digest,)))
    if refused:
        sent = run.transcript.list_sent()[-1]
        run.transcript.append(sent.model_copy(update={"slot": second.slot}))
        refusal = run.transcript.bodies.put(b'{"error": "no"}')
        run.transcript.append(Answered(slot=second.slot, status=400, headers=(), body=refusal, wire_bytes=9))
    replay = run.gate._replies.replay
    if refused and digest == EMPTY:
        assert replay(second).outputs == [b""]
    else:
        with pytest.raises(TranscriptError, match="whose outputs are on record, is missing"):
            replay(second)
    assert len(provider.requests) == 2


def test_no_link_is_followed_before_there_is_a_plan(api, tmp_path):
    policy = api.open(tmp_path).gate._policy
    policy._state = None
    with pytest.raises(EgressError, match="before the plan is fixed"):
        policy.link_request(f"{api.pictures.address}/1.png")
