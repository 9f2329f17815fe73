"""Settings of every test: threads, how many examples are tried, what starts processes, and who runs beside whom.

Torch has one thread in each process, before any test imports it: there are as many workers as cores and more, and
threads would only wait for each other. Property tests have no deadline: how long an example takes depends on what
else the machine does.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import pytest
from hypothesis import settings

from pcevolve_shared.quiet import keep_quiet
from support import schedule, tally
from support.examples import NIGHTLY
from support.forkserver import ForkServer, ForkServers
from support.together import bring_together

keep_quiet()
settings.register_profile("nightly", deadline=None, derandomize=False, max_examples=NIGHTLY)
settings.register_profile("change", deadline=None, derandomize=False, max_examples=25)
settings.register_profile("fast", deadline=None, derandomize=False, max_examples=10)
settings.load_profile("change")  # ``--hypothesis-profile`` names another

bring_together()  # but in tests/system, where commands are processes of their own

SERVERS = pytest.StashKey[ForkServers]()
"""Of the process that starts workers."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer a run of what is quick."""
    told = "only what starts no process, runs no network and draws few numbers"
    parser.addoption("--fast", action="store_true", help=told)


def pytest_configure(config: pytest.Config) -> None:
    """Say what ``--fast`` leaves out, which tries properties on few examples; have Ctrl-C work, for tests send it.

    A shell starts what runs in the background with Ctrl-C ignored, and all processes under it inherit that.
    """
    gc.disable()  # until all is imported and collected, of which nothing is garbage
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("fast"):
        settings.load_profile("fast")
        config.option.markexpr = " and ".join(f"not {mark}" for mark in schedule.HEAVY)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file of which ``--fast`` would run nothing."""
    return True if config.getoption("fast") and schedule.is_heavy(collection_path) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what starts processes; the longest files come first where workers share the work."""
    for item in items:
        schedule.mark(item)
    if hasattr(config, "workerinput"):
        items.sort(key=schedule.turn)


def pytest_collection_finish() -> None:
    """Spare the search for garbage what stays to the end: a test that asks for one took half a second for it."""
    gc.freeze()
    gc.enable()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker hands over what its suites have counted."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["tallies"] = tally.list_given()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    tally.add_up(getattr(node, "workeroutput", {}).get("tallies", ()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for each in tally.TALLIES.values():
        for line in each.lines():
            terminalreporter.write_line(line)


def pytest_unconfigure(config: pytest.Config) -> None:
    """The fork servers end; the result of each suite of attempts that ran."""
    if SERVERS in config.stash:
        config.stash[SERVERS].close()
    if not hasattr(config, "workerinput"):
        for each in tally.TALLIES.values():
            if each.counts:
                print(each.result())


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """All workers order their processes from the same fork servers, which end with this process."""
    if SERVERS not in node.config.stash:
        node.config.stash[SERVERS] = ForkServers()
    node.workerinput["forks"] = node.config.stash[SERVERS].folder


@pytest.fixture(scope="session", autouse=True)
def _state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The usual ledger's folder, to which runs on other ledgers put a link, is none of whoever runs tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def fork_servers(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where the fork servers are: those of the process that started this worker, or our own."""
    if given := getattr(request.config, "workerinput", {}).get("forks"):
        yield given
        return
    servers = ForkServers()
    yield servers.folder
    servers.close()


@pytest.fixture(scope="session")
def forks(fork_servers: str) -> Iterator[ForkServer]:
    """Starts processes of the client and of the API server."""
    server = ForkServer(fork_servers)
    yield server
    server.close()
