"""Forms in which APIs wrap what they say, over a socket: taken, or named in words; and its record passes the audit.

Seen in public reports: OpenRouter answers 200 with an error inside; OpenAI-compatible servers answer with links or data
URLs although base64 was asked for; PHP and .NET gateways put a byte order mark before JSON; proxies redirect or pack.
"""

from __future__ import annotations

import json
from itertools import count
from textwrap import wrap

import pytest

from pcevolve.errors import ProviderRefusedError
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Opened, Sent
from pcevolve.wire.console import note_answers
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.http_transport import HttpTransport
from pcevolve.wire.providers import dialect
from support.forge import faults_of
from support.online import KEY, Heard, LocalServer, Reply, answer_json, openai
from support.provider import png
from support.runs import SmallRun, small_plan


def again(heard: Heard, form) -> Reply:
    """The API's answer in another form."""
    reply = openai(heard)
    return reply if heard.method == "GET" else form(json.loads(reply.body))


def respell(name: str, spell, status: int = 200):
    """Each image under a name, in another spelling of its base64."""
    return lambda answer: answer_json(
        status, {"data": [{name: spell(each["b64_json"])} for each in answer["data"]]}
    )


TAKEN = {
    "data URLs": respell("url", lambda text: f"data:image/png;base64,{text}"),
    "wrapped": respell("b64_json", lambda text: "\n".join(wrap(text, 76))),
    "for addresses": respell("b64_json", lambda text: text.replace("+", "-").replace("/", "_")),
    "unpadded": respell("b64_json", lambda text: text.rstrip("="), 201),
    "marked": lambda answer: Reply(200, b"\xef\xbb\xbf" + json.dumps(answer).encode()),
}


@pytest.fixture
def open_run(tmp_path):
    """Open a small run against an API that speaks so."""
    servers = []

    def begin(speak, greets: bool = True, **changes) -> SmallRun:
        servers.append(LocalServer(speak))
        address = Address(servers[-1].address, KEY, greets=greets)
        shape = {
            "batch": 2,
            "candidates": 2,
            "iterations": 0,
            "strengths": (),
            "dialect": "openai",
            **changes,
        }
        plan = small_plan(api=address.base_url, **shape)
        run = SmallRun.open(tmp_path, plan, HttpTransport(5), address=address)
        run.server = servers[-1]
        return run

    yield begin
    for each in servers:
        each.close()


@pytest.fixture
def run_of(open_run):
    return lambda form, **changes: open_run(lambda heard: again(heard, form), **changes)


@pytest.mark.parametrize("form", TAKEN.values(), ids=TAKEN)
def test_what_is_well_meant_is_taken_and_the_audit_holds(run_of, tmp_path, form):
    run_of(form).finish()
    assert faults_of(tmp_path) == []


@pytest.fixture
def pictures():
    server = LocalServer(lambda heard: Reply(200, png(int(heard.path[1:])), {"Content-Type": "image/png"}))
    yield server
    server.close()


def link_images(server: LocalServer):
    """Answers that say where each image lies."""
    numbers = count(1)
    return lambda answer: answer_json(
        200, {"data": [{"url": f"{server.address}/{next(numbers)}"} for _ in answer["data"]]}
    )


def test_links_where_base64_was_asked_for_are_followed_to_hosts_of_the_plan(run_of, tmp_path, pictures):
    run_of(link_images(pictures), image_hosts=(pictures.host,)).finish()
    assert all("authorization" not in each.headers for each in pictures.heard)
    assert faults_of(tmp_path) == []


def test_a_run_begins_without_a_greeting_where_the_api_has_none(open_run, tmp_path):
    run = open_run(
        lambda heard: answer_json(404, {}) if heard.method == "GET" else openai(heard), greets=False
    )
    run.finish()
    first, *others = [each.record for each in run.transcript.entries]
    assert isinstance(first, Opened)
    assert not first.greets
    assert all(each.slot != "hello" for each in others if isinstance(each, Sent))
    assert faults_of(tmp_path) == []


def test_what_an_api_says_of_its_first_answers_is_told_beside_how_many(run_of):
    def revised(answer):
        data = [{**each, "revised_prompt": "a tabby"} for each in answer["data"]]
        return answer_json(200, {**answer, "data": data})

    run = run_of(revised)
    for call in run.plan.opening:
        run.gate.create(call)
    record = RunReader.strict(run.root)
    asked = len(run.plan.opening)
    (note,) = note_answers(run.plan, record, dialect("openai"))
    assert note.startswith(f"{asked} of the API's first {asked} answers: a prompt that the API had rewritten")
    assert list(note_answers(run.plan, record, dialect("getimg"))) == []


@pytest.mark.parametrize(
    ("name", "hint"),
    [("a1111", "start the web UI with its own option --api"), ("openai", "provider.greeting=false")],
)
def test_an_address_without_the_first_question_says_what_may_be_wrong(open_run, name, hint):
    with pytest.raises(ProviderRefusedError, match=f"check --api.*{hint}"):
        open_run(lambda heard: answer_json(404, {"detail": "Not Found"}), dialect=name).finish()


def test_the_gate_takes_for_a_success_what_record_and_audit_take_for_one(open_run, tmp_path):
    odd = [Reply(200, '{"error": {"code": 503, "message": "busy"}}'.encode("utf-16"))]
    open_run(lambda heard: odd.pop() if odd and heard.method == "GET" else openai(heard)).finish()
    assert faults_of(tmp_path) == []
