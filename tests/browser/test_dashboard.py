"""The live page of a real run in a real browser: it follows the run, and the run does not care about it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from support.browser import Browser, Tab
from support.folders import class_folders, events
from support.forkserver import ForkServer, Started
from support.processes import Client, ServerProcess

SECRETS = ("secret-1", "private/")
ROWS = "document.querySelectorAll('#releases tbody tr').length"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, forks: ForkServer) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("server") / "log", forks) as process:
        yield process


def test_receipts_are_seen_at_once_nothing_listens_and_a_closed_page_leaves_the_run_alone(
    browser: Browser, server: ServerProcess, forks: ForkServer, tmp_path: Path
):
    client = Client(tmp_path, server.address, forks)
    private, out = class_folders(tmp_path / "private", seed=1, shots=4), tmp_path / "run"
    options = client.run_options(private, out, iterations=6)
    started = begin(client, tmp_path, *options, "--dashboard", "--set", "privacy.pace=0.5")
    tab = open_page(browser, out)
    seen, committed, listening = {}, {}, set()
    deadline = time.monotonic() + 60
    while len(seen) < 3 and time.monotonic() < deadline:
        rows = look(tab, ROWS) or 0
        now = time.monotonic()
        for number in range(1, rows + 1):
            seen.setdefault(number, now)
        for number in range(1, count_released(out) + 1):
            committed.setdefault(number, now)
        listening |= {each.laddr for each in psutil.Process(started.pid).net_connections() if not each.raddr}
        time.sleep(0.05)
    assert len(seen) >= 3
    # Two seconds and a half on a quiet machine; a busy one may hold up either.
    assert min(seen[number] - committed[number] for number in range(2, 4)) < 20
    assert listening == set()
    shown = (out / "live.html").read_text()
    assert shown.count("data:image/jpeg") >= 4
    assert not any(secret in shown for secret in SECRETS)
    assert f"{out}/live.html" in (tmp_path / "said").read_text()
    tab("Page.close")
    assert started.wait(120) == 0
    assert len([each for each in events(out) if each["kind"] == "released"]) == 6
    assert json.loads(client("audit", out, "--json").stdout)["holds"]


def test_it_keeps_its_place_says_how_the_run_ended_and_then_rests(
    browser: Browser, server: ServerProcess, forks: ForkServer, tmp_path: Path
):
    client = Client(tmp_path, server.address, forks)
    private, out = class_folders(tmp_path / "private", seed=1, shots=4), tmp_path / "run"
    started = begin(client, tmp_path, *client.run_options(private, out), "--set", "privacy.pace=0.5")
    tab = open_page(browser, out)
    place, loads = scroll_down(tab), count_loads(tab)
    wait_for_loads(tab, loads + 2)
    assert look(tab, "scrollY") == place > 0
    assert started.wait(120) == 0
    deadline = time.monotonic() + 60
    while "finished" not in (look(tab, "document.querySelector('h1').textContent") or ""):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert tab.run("document.querySelector('a').href") == (out / "report.html").as_uri()
    loads = count_loads(tab)
    time.sleep(4)
    tab.run("1")  # takes in what the browser has reported meanwhile
    assert count_loads(tab) == loads
    assert tab.complaints == []
    assert all(url.startswith((out / "live.html").as_uri()) for url in tab.fetched)


def scroll_down(tab: Tab) -> int:
    """Scroll a little way, once there is something to scroll, and return how far."""
    tab("Emulation.setDeviceMetricsOverride", width=400, height=300, deviceScaleFactor=1, mobile=False)
    deadline = time.monotonic() + 60
    while not (place := look(tab, "(scrollTo(0, 120), scrollY)")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return int(str(place))


def look(tab: Tab, expression: str) -> object:
    """What an expression is in the page; None while it loads."""
    try:
        return tab.run(f"document.querySelector('main') && ({expression})")
    except AssertionError:  # the page went away while it was asked
        return None


def count_loads(tab: Tab) -> int:
    return len(tab.told("Page.loadEventFired"))


def wait_for_loads(tab: Tab, count: int) -> None:
    deadline = time.monotonic() + 60
    while count_loads(tab) < count and time.monotonic() < deadline:
        look(tab, "1")
        time.sleep(0.1)
    assert count_loads(tab) >= count


def count_released(out: Path) -> int:
    log = out / "transcript" / "log.jsonl"
    return log.read_bytes().count(b'"kind":"released"') if log.exists() else 0


def begin(client: Client, folder: Path, *arguments: object) -> Started:
    return client.forks.start(arguments, client.environment(), (folder / "printed", folder / "said"))


def open_page(browser: Browser, out: Path) -> Tab:
    deadline = time.monotonic() + 60
    while not (out / "live.html").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return Tab(browser).open(out / "live.html")
