"""Prompts evolved by rewording: each API for images beside a chat API for words, over real sockets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from pcevolve.egress.allowance import Allowance, Meter
from pcevolve.egress.http_transport import HttpTransport
from pcevolve.errors import AllowanceError, ProviderRefusedError, ProviderReplyError, ProviderUnreachableError
from pcevolve.providers import DIALECTS, dialect
from pcevolve.providers.chat import RewriterDialect
from pcevolve.transcript import RunReader
from support import online
from support.forge import faults_of
from support.online import Heard, LocalServer, Reply, answer_json, answering
from support.runs import REWORDS, WRITER_KEY, SmallRun

MODERATED = answer_json(400, {"error": {"message": "flagged", "code": "content_policy_violation"}})
SAME = answer_json(200, "what it was asked for")
FIRST = "a cut"


@pytest.fixture
def writer() -> Iterator[LocalServer]:
    server = LocalServer(online.rewriter)
    yield server
    server.close()


def open_rewording(api, writer: LocalServer, root: Path, **changes: object) -> SmallRun:
    """A run that rewords: two rounds, two prototypes of each class."""
    asked = {**REWORDS["rewriter"], "api": writer.address}  # type: ignore[dict-item]
    plan = {**REWORDS, "rewriter": asked, "iterations": 2, "prototypes": 2, **changes}
    return api.open(root, **{"rewriter_transport": HttpTransport(5), **plan})


def prompts_asked(writer: LocalServer) -> list[str]:
    return [json.loads(each.body)["messages"][0]["content"].splitlines()[-1] for each in writer.heard]


def rewordings(root: Path) -> dict[str, str]:
    """The prompt that each question to the rewriter brought, by slot."""
    run = RunReader.strict(root)
    return {slot: run.bodies.file(made[0]).decode() for slot, made in run.outputs.items() if slot[0] == "w"}


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_a_whole_run_evolves_over_every_api_by_rewording(world, writer, tmp_path, name):
    api = world(name)
    run = open_rewording(api, writer, tmp_path, lookahead=1, more=1)
    run.finish()
    assert faults_of(tmp_path) == []
    asked, found = prompts_asked(writer), rewordings(tmp_path)
    assert len(asked) == len(found) == 1 + 2 * 2 * 2
    assert asked[0] == FIRST
    known = {prompt for own in run.plan.prompts for prompt in own} | set(found.values())
    assert set(asked) <= known
    assert any(prompt not in asked[0] and "," in prompt for prompt in asked[5:]), "nothing was reworded twice"
    bodies = [each.body.decode("utf-8", "replace") for each in api.server.asked]
    drawn = [prompt for prompt in found.values() if any(prompt in body for body in bodies)]
    assert len(drawn) >= len(found) - 1, "a rewording is not drawn, but for that of the trial"
    everything = [(each.headers, each.body) for each in (*api.server.heard, *writer.heard)]
    assert not any(WRITER_KEY in str(each) for each in everything[: len(api.server.heard)])
    assert not any(api.key in str(each) for each in everything[len(api.server.heard) :])
    assert not any(each.path != "/v1/chat/completions" for each in writer.heard)


@pytest.mark.parametrize("name", ["getimg", "chat"])
def test_a_run_that_rewords_goes_on_without_asking_again(world, writer, tmp_path, name):
    api = world(name)
    first = open_rewording(api, writer, tmp_path)
    made = first.evolve()
    first.close()
    heard = len(api.server.asked), len(writer.heard)
    again = open_rewording(api, writer, tmp_path)
    assert again.evolve() == made
    assert (len(api.server.asked), len(writer.heard)) == heard


@pytest.mark.parametrize("most", range(1, 9))
def test_a_run_that_stops_at_any_question_to_the_rewriter_goes_on_there(world, writer, tmp_path, most):
    api = world("getimg")
    stopped = open_rewording(api, writer, tmp_path, rewriter_allowance=Allowance(requests=most))
    with pytest.raises(AllowanceError, match=r"rewriter\.max_requests"):
        stopped.finish()
    stopped.close()
    assert len(writer.heard) == most
    run = open_rewording(api, writer, tmp_path)
    run.finish()
    assert faults_of(tmp_path) == []
    assert len(writer.heard) == 9
    assert len(api.server.asked) == sum(call.brings > 0 for call in run.plan.calls.values())


HOSTILE: dict[str, Reply] = {
    "nothing": answering(""),
    "no content": answering(None),
    "no choice": answer_json(200, {"choices": []}),
    "no JSON": Reply(200, b"<html>hello</html>"),
    "no answer at all": Reply(200, b""),
    "a megabyte": answering("cut " * 2**18),
    "half a megabyte": answering("cut " * 2**17),
    "sixty megabytes": Reply(200, b" " * 60 * 2**20),
    "half a character": Reply(200, b'{"choices":[{"message":{"content":"a \\ud800 cut"}}]}'),
    "deep nesting": Reply(200, b'{"choices":' + b"[" * 10**5 + b"]" * 10**5 + b"}"),
    "the same prompt": SAME,
    "a refusal by name": answering(None, message={"content": "a cat", "refusal": "no"}),
    "a filter": answering("a cat", finish_reason="content_filter"),
    "only thought": answering("<think>they want another prompt"),
    "its key": answering(WRITER_KEY),
    "its key, and an error": answer_json(400, {"error": {"message": WRITER_KEY}}),
    "moderation": MODERATED,
    "moderation with status 200": answer_json(
        200, {"error": {"message": "flagged", "code": "content_filter"}}
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_a_rewriter_answers_the_run_goes_on_with_the_prompt_as_it_was(world, writer, tmp_path, name):
    api, hostile = world("getimg"), HOSTILE[name]

    def speak(heard: Heard) -> Reply:
        if len(writer.heard) not in (3, 8):
            return online.rewriter(heard)
        return answering(prompts_asked(writer)[-1]) if hostile is SAME else hostile

    writer.speak = speak
    run = open_rewording(api, writer, tmp_path)
    made = run.finish()
    run.close()
    assert faults_of(tmp_path) == []
    assert open_rewording(api, writer, tmp_path).evolve() == made
    asked, found = prompts_asked(writer), list(rewordings(tmp_path).items())
    assert len(asked) == len(found) == 9
    kept = [
        place
        for place, ((_, prompt), before) in enumerate(zip(found, asked, strict=True))
        if prompt == before
    ]
    assert kept == [2, 7]
    meter = Meter(Allowance(price=0.5), RewriterDialect(), run.transcript, rewords=True)
    assert meter.requests == 9
    assert meter.cost <= 4.5


def test_a_rewording_that_the_image_api_will_not_draw_has_no_images(world, writer, tmp_path):
    api = world("openai")
    speak = api.server.speak

    def moderating(heard: Heard) -> Reply:
        return MODERATED if b"a long cut, river" in heard.body else speak(heard)

    writer.speak = lambda heard: (
        answering("a long cut, river") if len(writer.heard) == 2 else online.rewriter(heard)
    )
    api.server.speak = moderating
    run = open_rewording(api, writer, tmp_path, candidates=4, initial=4)
    made = run.finish()
    run.close()
    assert faults_of(tmp_path) == []
    empty = sha256(b"").hexdigest()
    digests = [each.digest for each in made.populations[1][run.plan.labels[0]]]
    assert digests.count(empty) == 2
    assert open_rewording(api, writer, tmp_path, candidates=4, initial=4).evolve() == made


@pytest.mark.parametrize(
    ("reply", "error", "why"),
    [
        (
            answer_json(401, {"error": {"code": "invalid_api_key"}}),
            ProviderRefusedError,
            "rewriter.api_key_file",
        ),
        (answer_json(402, {"error": {"message": "pay"}}), ProviderRefusedError, "no credit left"),
        (answer_json(404, {"error": {"message": "no such model"}}), ProviderRefusedError, "no such model"),
        (MODERATED, ProviderRefusedError, "moderation"),
        (Reply(200, b'{"model":"other","choices":[]}'), ProviderReplyError, "'other'"),
        (answer_json(503, {}), ProviderUnreachableError, "503"),
    ],
    ids=["key", "credit", "model", "moderation", "another model", "down"],
)
def test_a_rewriter_that_does_not_work_stops_a_run_before_an_image_is_asked_for(
    world, writer, tmp_path, reply, error, why
):
    api = world("getimg")
    writer.speak = lambda heard: reply
    run = open_rewording(api, writer, tmp_path)
    with pytest.raises(error, match=why):
        run.finish()
    assert not api.server.asked
    assert not run.account.receipts()


def test_each_provider_has_limits_of_its_own(world, writer, tmp_path):
    run = open_rewording(
        world("getimg"), writer, tmp_path, rewriter_allowance=Allowance(cost=0.06, price=0.01)
    )
    with pytest.raises(AllowanceError, match=r"rewriter\.max_cost 0\.06"):
        run.finish()
    theirs = Meter(Allowance(price=0.01), RewriterDialect(), run.transcript, rewords=True)
    ours = Meter(Allowance(), dialect("getimg"), run.transcript)
    assert (theirs.requests, theirs.images) == (6, 6)
    assert ours.requests == sum(sent.slot[0] != "w" for sent in run.transcript.list_sent())
    assert ours.images == 2 * 2 * 2
