"""Prompts evolved by rewording, between real processes: the project's server draws, a scripted chat API writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest

from support import online
from support.folders import class_folders, events, list_released, receipts
from support.online import Heard, LocalServer, Reply
from support.processes import Client
from support.runs import WRITER_KEY

Options = Callable[..., list[object]]


@pytest.fixture
def writer() -> Iterator[LocalServer]:
    server = LocalServer(online.rewriter)
    yield server
    server.close()


@pytest.fixture
def asking(client: Client, writer: LocalServer, tmp_path: Path) -> Options:
    """Options of a run over both, in a folder; the rewriter's key is in a file."""
    key = tmp_path / "writer-key"
    key.write_text(f"{WRITER_KEY}\n")
    key.chmod(0o600)
    private = class_folders(tmp_path / "private", seed=1)
    own = {
        "vary_by": "rewording",
        "method": "pe",
        "iterations": 2,
        "lookahead": 1,
        "rewriter_api": writer.address,
    }
    own |= {"rewriter_model": "writer", "rewriter_key_file": key, "insecure_noise_seed": 3}
    return lambda run, **changes: client.run_options(private, run, **own | changes)


def ask(writer: LocalServer) -> list[str]:
    return [json.loads(each.body)["messages"][0]["content"].splitlines()[-1] for each in writer.heard]


def test_a_run_that_rewords_is_finished_and_audited(client, writer, asking, tmp_path):
    run = tmp_path / "run"
    done = client.succeed(*asking(run), "--json")
    assert f"writer at {writer.address}: 17 prompts" in done.stderr
    assert "17 texts" in json.loads(done.stdout)["bill"]
    client.succeed("audit", run, "--html", "--allow-insecure")
    assert len(writer.heard) == 17

    plan = next(event["plan"] for event in events(run) if event["kind"] == "planned")
    words = {prompt for own in plan["prompts"] for prompt in own}
    sent = [event for event in events(run) if event["kind"] == "sent"]
    to_writer = [event for event in sent if event["url"].startswith(writer.address)]
    assert [event["slot"][0] for event in to_writer] == ["w"] * 17
    drawn = {json.loads(event["body"]["text"])["prompt"] for event in sent if event["slot"][0] in "ily"}
    assert set(ask(writer)) <= words | drawn
    assert len(drawn - words) > 4
    assert not any(
        "image" in json.loads(event["body"]["text"]) for event in sent if event["slot"][0] in "ily"
    )
    for page in (run / "report.html", run / "release" / "README.md", run / "audit" / "wire.html"):
        assert "writer" in page.read_text(), page
    assert WRITER_KEY not in "".join(path.read_text("latin-1") for path in run.rglob("*") if path.is_file())


def test_a_run_that_is_killed_asks_neither_provider_twice(client, writer, asking, tmp_path):
    run, reference = tmp_path / "run", tmp_path / "reference"
    client.succeed(*asking(reference, at_once=1))
    first = ask(writer)
    writer.heard.clear()
    for stop in (1, 7):
        asks, dead = Event(), Event()

        def speak(heard: Heard, stop: int = stop, asks: Event = asks, dead: Event = dead) -> Reply:
            if len(writer.heard) == stop:
                asks.set()
                dead.wait(60)
            return online.rewriter(heard)

        writer.speak = speak
        process = client.start(*asking(run, at_once=1), "--resume", run)
        assert asks.wait(120)
        process.kill()
        process.wait()
        dead.set()
    writer.speak = online.rewriter
    client.succeed(*asking(run, at_once=1), "--resume", run)
    assert (list_released(run), receipts(run)) == (list_released(reference), receipts(reference))
    client.succeed("audit", run, "--allow-insecure")
    assert len(writer.heard) == len(first) + 2
    assert list(dict.fromkeys(ask(writer))) == list(dict.fromkeys(first))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"rewriter_api": None}, "a rewriter needs both"),
        ({"rewriter_model": None}, "a rewriter needs both"),
        ({"vary_by": "image"}, "nothing else has one"),
        ({"rewriter_api": None, "rewriter_model": None}, "needs a rewriter"),
        ({"rewriter_question": "Reword it."}, "must have {prompt} once"),
        ({"iterations": None, "method": "t2i", "lookahead": 0}, "needs rounds of variation"),
        ({"strength_start": 0.5}, "method.vary_by=rewording sends none"),
        ({"rewriter_api": "ftp://writer"}, "rewriter.api 'ftp://writer' is not an address"),
        ({"rewriter_max_requests": 3}, "more than rewriter.max_requests 3"),
    ],
)
def test_what_does_not_go_together_is_refused_before_the_rewriter_is_asked(
    client, writer, asking, tmp_path, changes, why
):
    done = client(*asking(tmp_path / "run", **changes))
    assert done.returncode == 2, done.stderr
    assert why in done.stderr
    assert not writer.heard
