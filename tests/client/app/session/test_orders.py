"""What starts the processes of a run believes none of them: each message is one that it knows, or the run ends."""

from __future__ import annotations

import json
import math
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pcevolve.app.session.orders import attend as hear
from pcevolve.app.session.orders import order_decoder
from pcevolve.errors import BudgetError, ClientError, ProtocolError, StoppedError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.processes.pipe import Pipe, open_conversation
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.progress import Audience, Progress

DONE = "done", json.dumps({"summary": {"images": 4, "epsilon": math.inf}})


class Person:
    """Says yes, and remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def is_there(self) -> bool:
        return True

    def agrees(self, question: str) -> bool:
        self.asked.append(question)
        return True


def attend(
    folder: Path, *said: tuple[str, str], tell: Any = lambda progress: None, person: Person | None = None
) -> dict[str, Any]:
    """Hear a process that says something and ends; the summary, if it has one."""
    ours, theirs = open_conversation()
    own, other = Pipe(*ours), Pipe(*theirs)
    for name, body in said:
        other.send(name, body)
    child: Any = SimpleNamespace(pipe=own, silence=threading.Lock())
    audience = Audience(tell=tell, person=person or Person())
    try:
        # The answer to a question must find somebody who reads.
        if not any(name == "ask" for name, _ in said):
            other.close()
        return hear(child, child, RunFolder(folder), audience, lambda: None)
    finally:
        own.close()


def test_a_summary_ends_it_with_numbers_that_json_has_not(tmp_path: Path):
    assert attend(tmp_path, DONE) == {"images": 4, "epsilon": math.inf}


def test_progress_is_passed_on_as_it_is(tmp_path: Path):
    told: list[Progress] = []
    body = json.dumps({"images": 1, "total": 4, "iteration": 0, "iterations": 1, "epsilon": None})
    attend(tmp_path, ("progress", body), DONE, tell=told.append)
    assert told == [Progress(1, 4, 0, 1, None)]


def test_a_person_is_asked_what_a_process_asks(tmp_path: Path):
    person = Person()
    attend(tmp_path, ("ask", json.dumps({"question": "go\x1b[2J on?"})), DONE, person=person)
    assert person.asked == ["go [2J on?"]


@pytest.mark.parametrize(
    ("name", "kind", "told"),
    [
        ("BudgetError", BudgetError, True),
        ("StoppedError", StoppedError, False),
        ("UsageError", ClientError, True),
    ],
)
def test_a_failure_has_its_kind_and_its_words(tmp_path: Path, name: str, kind: type[ClientError], told: bool):
    body = json.dumps({"kind": name, "lines": ["a fact"], "is_reported": told})
    with pytest.raises(kind, match="a fact") as raised:
        attend(tmp_path, ("failed", body))
    assert raised.value.is_reported is told
    assert type(raised.value).__name__ == name


@pytest.mark.parametrize("name", ["SystemExit", "printable", "LONGEST", "annotations", "", "no such"])
def test_a_failure_of_a_kind_that_is_none_is_a_breach_and_calls_nothing(tmp_path: Path, name: str):
    body = json.dumps({"kind": name, "lines": ["a fact"], "is_reported": True})
    with pytest.raises(ProtocolError, match="a fact"):
        attend(tmp_path, ("failed", body))


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("done", "[]"),
        ("done", "{}"),
        ("done", '{"summary": 4}'),
        ("done", "{"),
        ("failed", '{"kind": 4, "lines": [], "is_reported": true}'),
        ("failed", '{"kind": "DataError", "lines": "a fact", "is_reported": true}'),
        ("ask", '{"question": {"a": 1}}'),
        ("progress", '{"images": "many"}'),
        ("keeper", "{}"),
        ("done1", "{}"),
    ],
)
def test_what_is_no_message_is_one_line_that_says_how_to_go_on(tmp_path: Path, name: str, body: str):
    with pytest.raises(ProtocolError, match=r"sent something that is not a message; .* --resume"):
        attend(tmp_path, (name, body))


def test_a_process_that_ends_without_a_word_is_told_of(tmp_path: Path):
    with pytest.raises(ProtocolError, match=r"ended unexpectedly; .* --resume"):
        attend(tmp_path)


@pytest.mark.parametrize(("dialect", "goes_on"), [("a1111", True), ("getimg", True), ("chat", False)])
def test_a_run_without_images_leaves_no_process_that_decodes_them(dialect: str, goes_on: bool):
    given = {
        "private": "x",
        "domain": "x",
        "shots": 1,
        "epsilon": "1",
        "api": "http://127.0.0.1",
        "model": "m",
        "out": "x",
    }
    told: list[str] = []
    child: Any = SimpleNamespace(order=lambda *given: told.append("order"), end=lambda: told.append("end"))
    order_decoder(child, RunConfig.of({**given, "dialect": dialect}))
    assert told == ["order" if goes_on else "end"]
