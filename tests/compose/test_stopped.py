"""Ctrl-C in containers: what ends, what is said, and that the next start goes on without paying twice."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcevolve.public.release import Receipt
from pcevolve.public.transcript.reader import RunReader
from support.contained import NAME, ROOT, Stack, project, require_allowed, show_spent
from support.tally import Tally

pytestmark = pytest.mark.timeout(5400)
SECONDS = 600.0


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    yield from project(tmp_path_factory.mktemp("stopped"), "stopped")


def test_ctrl_c_ends_both_containers_with_130_and_two_more_starts_pay_for_each_release_once(
    stack: Stack, tally: Tally
) -> None:
    up = ["up", "--abort-on-container-exit", "--exit-code-from", "client"]
    press_ctrl_c(stack, up, "Planned")
    assert read_code(stack, "client") == 130
    # Compose stops one after the other: a keeper whose client has just ended was given up.
    assert read_code(stack, "keeper") in (130, 1)
    said = stack("logs", "--no-color", "client").stdout
    assert "stopped after 0 of " in said
    assert "docker compose up again" in said
    assert "Traceback" not in said + stack("logs", "--no-color", "keeper").stdout

    press_ctrl_c(stack, ["run", "--rm", "-T", "client"], "RecordedRelease")
    stack("stop", "keeper")
    committed = list_receipts(stack.run)
    assert committed

    require_allowed(tally, stack.main_job())
    receipts = list_receipts(stack.run)
    assert receipts[: len(committed)] == committed
    assert len({each.iteration for each in receipts}) == len(receipts)
    (run,) = show_spent(stack)
    assert run["releases"] == sum(any(not event.free for event in each.events) for each in receipts)
    require_allowed(tally, stack("run", "--rm", "--no-deps", "-T", "client", "audit", f"/runs/{NAME}"))


def press_ctrl_c(stack: Stack, words: list[str], kind: str) -> None:
    """Start containers, and press Ctrl-C as soon as a record of a kind is there."""
    process = subprocess.Popen(
        [*stack.command, *words],
        cwd=ROOT,
        env=stack.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    end = time.monotonic() + SECONDS
    while not has_record(stack.run, kind):
        assert process.poll() is None, f"{words}: ended before a {kind}"
        assert time.monotonic() < end, f"{words}: no {kind}"
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    process.wait(SECONDS)


def has_record(run: Path, kind: str) -> bool:
    if not (run / "transcript" / "log.jsonl").exists():
        return False
    return any(type(each.record).__name__ == kind for each in RunReader.lenient(run).entries)


def list_receipts(run: Path) -> list[Receipt]:
    return list(RunReader.lenient(run).receipts)


def read_code(stack: Stack, service: str) -> int:
    """Return the exit code of a service's container."""
    name = stack("ps", "-a", "-q", service).stdout.split()
    assert name, f"no container of {service}"
    done = subprocess.run(
        ["docker", "inspect", "--format", "{{.State.ExitCode}}", name[0]], capture_output=True, text=True
    )
    return int(done.stdout)
