"""Chat APIs as they are: fields under other names, content in parts, and thinking that never becomes a candidate.

Shapes were read from the public documents that are named beside them; no service was called.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pcevolve.app.cli import commands as cli
from pcevolve.auditing import audit
from pcevolve.errors import ProviderRefusedError, ProviderReplyError
from pcevolve.public.calls import Call
from pcevolve.public.modality import Texts
from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire.providers import dialect
from pcevolve.wire.providers.chat import read_texts
from support.chats import SEEDS, choice, thinking
from support.forge import faults_of, forge, rewrite_body
from support.online import KEY, Heard, Reply, answer_json
from support.provider import text
from support.runs import small_plan
from support.typed import spell_words

TWO = Call("i000/c00/b000", "create", 0, "cut", 0, 2, 2**32 - 1)
REASONING = Texts.model_validate(
    {"kind": "text", "tokens": 40, "temperature": None, "fields": ["reasoning"]}
).fields


def test_a_reasoning_model_makes_a_whole_run_that_the_audit_can_follow(world, tmp_path):
    api = world("chat")
    api.server.speak = thinking
    texts = {"kind": "text", "tokens": 40, "temperature": None, "fields": REASONING}
    run = api.open(tmp_path, modality=texts, batch=1)
    run.finish()
    asked = json.loads(api.server.asked[0].body)
    assert set(asked) == {"model", "messages", "max_completion_tokens"}
    assert asked["max_completion_tokens"] == 40
    assert faults_of(tmp_path) == []
    brought = {digest for slot in run.plan.calls for digest in run.transcript.outputs(slot)}
    assert not any(b"think" in run.transcript.bodies.file(each) for each in brought)


def test_a_field_that_an_api_does_not_take_is_told_with_what_leaves_it_out(world, tmp_path):
    api = world("chat")
    api.server.speak = thinking
    with pytest.raises(ProviderRefusedError, match=r"Unsupported parameter.*--set provider\.fields="):
        api.open(tmp_path, modality={"kind": "text", "tokens": 40, "temperature": 1.0}, batch=1).finish()


def test_seeds_fit_into_a_signed_integer_of_32_bits():
    body = json.loads(dialect("chat").encode(small_plan(dialect="chat"), TWO, None).body)
    assert body["seed"] == 2**31 - 1


def test_an_api_that_takes_no_n_is_told_by_what_to_type():
    one, other = dialect("chat").read_outputs(TWO, json.dumps({"choices": [choice("one")]}).encode())
    assert one == b"one"
    assert re.search(r"1 where 2 were requested.*--set provider\.fields=single", str(other))


def groq(heard: Heard) -> Reply:
    """Groq, OpenAI Compatibility (console.groq.com/docs/openai): an n other than 1 is answered with a 400."""
    if heard.method == "GET":
        return answer_json(200, {"object": "list", "data": [{"id": "bundled", "object": "model"}]})
    fields = json.loads(heard.body)
    if fields.get("n", 1) != 1:
        fault = {"message": "'n' : number must be at most 1", "type": "invalid_request_error"}
        return answer_json(400, {"error": fault})
    return scaleway(heard)


def scaleway(heard: Heard) -> Reply:
    """Scaleway, Managed Inference, OpenAI compatibility (scaleway.com/en/docs): n is not supported; one text comes."""
    if heard.method == "GET":
        return answer_json(200, {"object": "list", "data": [{"id": "bundled", "object": "model"}]})
    fields = json.loads(heard.body)
    written = text(next(SEEDS), fields["messages"][0]["content"])
    return answer_json(200, {"model": "bundled", "choices": [choice(written)]})


@pytest.fixture
def begin(tmp_path, monkeypatch) -> Callable[..., Path]:
    """A small run with a chat API over a socket, through the command; its folder."""
    monkeypatch.setenv("PCEVOLVE_API_KEY", KEY)
    notes = tmp_path / "notes.csv"
    notes.write_text("text,label\na bird,cut\na boat,cut\na fever,good\nthe lung,good\n")

    def run(api: str, *more: str) -> Path:
        options = {"private": notes, "domain": "note", "api": api, "dialect": "chat", "method": "aug-pe"}
        options |= {"candidates": 4, "iterations": 2, "shots": 2, "pad_selection": 0, "patience": 0}
        options |= {"out": tmp_path / "run", "ledger": tmp_path / "ledger" / "ledger.sqlite", "yes": True}
        cli.app(["run", *map(str, spell_words(**options)), *more], standalone_mode=False)
        return tmp_path / "run"

    return run


@pytest.mark.parametrize("speak", [groq, scaleway], ids=["refused", "ignored"])
def test_an_api_without_n_is_found_out_before_the_plan_and_asked_for_one_text_at_a_time(world, begin, speak):
    server = world("chat").server
    server.speak = speak
    root = begin(server.address)
    first, *others = [json.loads(each.body) for each in server.asked]
    assert first == {"model": "bundled", "messages": [{"role": "user", "content": "Write one word."}], "n": 2}
    plan = RunReader.strict(root).require_plan()
    assert (plan.provider.batch, plan.texts.fields) == (1, ("n=",))
    assert len(others) == len(plan.calls)
    assert all("n" not in each and {"max_tokens", "seed"} <= each.keys() for each in others)
    assert faults_of(root) == []


def test_an_api_with_n_is_asked_once_whether_it_is_one_and_not_at_all_where_the_fields_are_said(
    world, begin, tmp_path
):
    server = world("chat").server
    root = begin(server.address)
    assert RunReader.strict(root).require_plan().provider.batch > 1
    assert [json.loads(each.body)["n"] for each in server.asked][:2] == [2, 8]
    shutil.rmtree(root)
    server.heard.clear()
    fresh = f"privacy.ledger={tmp_path / 'other' / 'ledger.sqlite'}"
    begin(server.address, "--set", "provider.fields=standard", "--set", fresh)
    assert {len(json.loads(each.body)) for each in server.asked} == {6}


def test_a_run_that_was_cut_off_after_its_question_does_not_ask_again(world, begin, tmp_path):
    server = world("chat").server
    server.speak = lambda heard: (
        groq(heard) if b"one word" in heard.body or not heard.body else answer_json(402, {})
    )
    with pytest.raises(ProviderRefusedError):
        begin(server.address)
    server.heard.clear()
    server.speak = groq
    cli.app(["run", "--resume", str(tmp_path / "run"), "--yes"], standalone_mode=False)
    assert not any(b"one word" in each.body for each in server.heard)
    assert faults_of(tmp_path / "run") == []


@pytest.mark.parametrize("words", ["Write one word!", "Write one word. The patient is Ann Example."])
def test_a_question_for_two_in_other_words_than_everybodys_is_told(world, begin, words):
    server = world("chat").server
    server.speak = groq
    root = begin(server.address)
    forge(root, lambda events: [rewrite_trial(root, each, words) for each in events])
    assert any("its body differs" in each for each in faults_of(root))


@pytest.mark.parametrize("speak", [groq, scaleway])
def test_a_question_for_two_that_was_answered_and_is_asked_again_is_told(world, begin, speak):
    # How often it is asked would be seen by the API, and is nobody's to choose.
    server = world("chat").server
    server.speak = speak
    root = begin(server.address)

    def twice(events: list[dict]) -> list[dict]:
        asked = [each for each in events if each.get("slot") == "trial"]
        end = events.index(asked[-1]) + 1
        return [*events[:end], *asked, *events[end:]]

    forge(root, twice)
    assert any("stands where the plan is due" in each for finding in audit(root) for each in finding.faults)


@pytest.mark.parametrize("message", ["too fast", f"too fast for key {KEY}"])
def test_a_question_for_two_that_met_a_limit_on_the_rate_may_be_asked_again(world, begin, message):
    fault = {"code": "rate_limit_exceeded", "message": message}
    server, limited = world("chat").server, [answer_json(429 if KEY in message else 400, {"error": fault})]
    able = server.speak
    server.speak = lambda heard: limited.pop() if limited and b"one word" in heard.body else able(heard)
    root = begin(server.address, "--set", "provider.patience=30")
    assert sum(b"one word" in each.body for each in server.heard) == 2
    assert RunReader.strict(root).require_plan().provider.batch > 1
    assert faults_of(root) == []


def rewrite_trial(root: Path, event: dict, words: str) -> dict:
    if event["kind"] != "sent" or event["slot"] != "trial":
        return event
    return rewrite_body(root, event, lambda body: body.replace(b"Write one word.", words.encode()))


def test_a_text_that_stands_where_another_api_has_it_is_told_and_beside_a_message_passed_over():
    for where in ({"text": "fever"}, {"delta": {"content": "fever"}}):
        with pytest.raises(ProviderReplyError, match="no message, only text or delta"):
            read_texts(json.dumps({"choices": [where]}).encode())
    choices = [{"message": {"content": "fever"}, "text": "other"}, {"message": None}]
    assert read_texts(json.dumps({"choices": choices}).encode()) == ["fever", ""]
