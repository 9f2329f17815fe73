"""The live page of a real run in a real browser: it follows the run, and the run does not care about it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.browser import Browser, Tab
from support.folders import class_folders, events
from support.forkserver import ForkServer, Started
from support.processes import Client, ServerProcess, wait_for_page

SECRETS = (b"secret-1", b"private/")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, forks: ForkServer) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("server") / "log", forks) as process:
        yield process


def test_receipts_are_seen_at_once_and_a_killed_page_leaves_the_run_alone(
    browser: Browser, server: ServerProcess, forks: ForkServer, tmp_path: Path
):
    client = Client(tmp_path, server.address, forks)
    private, out = class_folders(tmp_path / "private", seed=1, shots=4), tmp_path / "run"
    options = client.run_options(private, out, iterations=6)
    said = tmp_path / "said"
    started = begin(client, said, *options, "--dashboard", "--set", "privacy.pace=0.2")
    tab = open_page(browser, said)
    seen, committed = {}, {}
    deadline = time.monotonic() + 60
    while len(seen) < 3 and time.monotonic() < deadline:
        rows = tab.run("document.querySelectorAll('#releases tbody tr').length")
        now = time.monotonic()
        for number in range(1, rows + 1):
            seen.setdefault(number, now)
        for number in range(1, count_released(out) + 1):
            committed.setdefault(number, now)
        time.sleep(0.05)
    assert len(seen) >= 3
    # Two seconds on a quiet machine; a busy one may hold up one of them.
    assert min(seen[number] - committed[number] for number in range(2, 4)) < 10
    shown = tab.run("document.documentElement.outerHTML")
    assert shown.count("data:image/jpeg") >= 4
    assert not any(secret.decode() in shown for secret in SECRETS)
    assert tab.run("document.getElementById('gone').hidden")
    tab("Page.close")
    assert started.wait(120) == 0
    assert len([each for each in events(out) if each["kind"] == "released"]) == 6
    assert json.loads(client("audit", out, "--json").stdout)["holds"]


def test_the_page_says_how_the_run_ended_and_then_that_it_hears_no_more(
    browser: Browser, server: ServerProcess, forks: ForkServer, tmp_path: Path
):
    client = Client(tmp_path, server.address, forks)
    private, out = class_folders(tmp_path / "private", seed=1, shots=4), tmp_path / "run"
    said = tmp_path / "said"
    started = begin(client, said, *client.run_options(private, out), "--dashboard")
    tab = open_page(browser, said)
    assert started.wait(120) == 0
    deadline = time.monotonic() + 10
    while tab.run("document.getElementById('gone').hidden") and time.monotonic() < deadline:
        time.sleep(0.1)
    assert "The run is finished" in tab.run("document.querySelector('h1').textContent")
    assert not tab.run("document.getElementById('gone').hidden")
    assert str(out / "report.html") in tab.run("document.body.textContent")


def count_released(out: Path) -> int:
    log = out / "transcript" / "log.jsonl"
    return log.read_bytes().count(b'"kind":"released"') if log.exists() else 0


def begin(client: Client, said: Path, *arguments: object) -> Started:
    return client.forks.start(arguments, client.environment(), (said.with_suffix(".out"), said))


def open_page(browser: Browser, said: Path) -> Tab:
    port, path = wait_for_page(said)
    tab = Tab(browser)
    tab("Page.navigate", url=f"http://127.0.0.1:{port}{path}")
    return tab
