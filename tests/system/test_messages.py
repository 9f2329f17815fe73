"""A run of processes, one of which is killed at each message between them, one kill after the other."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.examples import is_nightly
from support.folders import class_folders, receipts
from support.forkserver import ForkServer, Started
from support.stopping import TOLD
from system.test_apart import SECONDS, Api, Typed, _is_begun, _is_whole, children


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    made = Api()
    yield made
    made.server.close()


def lay_out(folder: Path, api: Api, forks: ForkServer) -> Typed:
    class_folders(folder / "private", 1, ("cut", "good"))
    class_folders(folder / "test", 2, ("cut", "good"))
    return Typed(folder, api, forks)


@dataclass(frozen=True)
class Reference:
    """A run that nothing interrupts, and its messages in their order."""

    run: Path
    messages: tuple[str, ...]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory, forks: ForkServer, api: Api) -> Reference:
    typed = lay_out(tmp_path_factory.mktemp("reference"), api, forks)
    process = begin(typed, "support.stopping:tell_messages", "")
    _, said = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, said
    told = [line.removeprefix(TOLD) for line in said.splitlines() if line.startswith(TOLD)]
    return Reference(typed.folder / "run", tuple(dict.fromkeys(told)))


def begin(typed: Typed, hook: str, given: str) -> Started:
    """Begin the run, or go on with it."""
    has_begun = _is_begun(typed.folder / "run")
    words = (
        ["run", "--resume", "run", "--yes"]
        if has_begun
        else typed.words("--test", "test", "--set", "privacy.pad_selection=0.1")
    )
    return typed.start(*words, first=(hook, given))


def list_tried(reference: Reference, victim: str) -> list[str]:
    """The messages at which a process may be missed; by day not all of those that others send."""
    if victim in ("judge", "decoder"):
        meant = {"judge": ("judge",), "decoder": ("decode", "decoder", "serve")}[victim]
        return [each for each in reference.messages if set(meant) & set(each.split())]
    found = [
        each
        for each in reference.messages
        if ("judge" not in each or victim == "launcher") and (each != "keeper end" or victim == "keeper")
    ]
    return found if is_nightly() else [each for each in found if is_tried_by_day(each, victim)]


ROUND_BY_DAY = {"launcher": 2, "keeper": 1, "runner": 2}
"""Both rounds have the same messages; by day each victim is missed in one of them."""


def is_tried_by_day(message: str, victim: str) -> bool:
    sender, name, *which = message.split()
    if name == "made" and not which[0].endswith("c000/n000000"):
        return False
    in_round = re.match(r"(?:i00)?([12])\b", which[0]) if which else None
    if in_round and int(in_round[1]) != ROUND_BY_DAY[victim]:
        return False
    return sender in (victim, "launcher", "judge") or name in ("begin", "made", "release", "released", "done")


NOT_MISSED = {("keeper", "runner close"), ("keeper", "runner done"), ("keeper", "keeper end")}
"""Who has nothing more to do, and at which message."""


@pytest.mark.parametrize("victim", ["launcher", "keeper", "runner", "judge", "decoder"])
def test_killed_at_every_message_a_run_ends_as_if_nothing_had_been(
    victim: str, tmp_path: Path, api: Api, forks: ForkServer, reference: Reference
) -> None:
    typed, is_new = lay_out(tmp_path, api, forks), True
    tried = list_tried(reference, victim)
    assert len(tried) >= (2 if victim in ("judge", "decoder") else 12)
    for place, message in enumerate(tried):
        process = begin(typed, "support.stopping:stop_at", message)
        sender, pids = message.split()[0], {"launcher": process.pid}
        while not stops(pids.get(sender)):
            if process.poll() == 0 and not is_new:
                # While one process was stopped the others went on, past this message; in a new run it comes.
                require_whole(typed, reference)
                typed, is_new = lay_out(tmp_path / str(place), api, forks), True
                process = begin(typed, "support.stopping:stop_at", message)
                pids = {"launcher": process.pid}
            assert process.poll() is None, f"never came to {message}: {process.communicate()[1]}"
            pids |= children(process.pid)
        is_new, limit = False, time.monotonic() + SECONDS
        while victim not in pids:  # the launcher may have stopped before anybody looked who its children are
            assert time.monotonic() < limit, f"no {victim} at {message}"
            pids |= children(process.pid)
        os.kill(pids[victim], signal.SIGKILL)
        if sender != victim:
            os.kill(pids[sender], signal.SIGCONT)
        _, said = process.communicate(timeout=SECONDS)
        if victim == "launcher":
            assert process.returncode == -signal.SIGKILL
        else:
            is_missed = (victim, message) not in NOT_MISSED
            assert bool(process.returncode) == is_missed, said
            assert len(re.findall("error: ", said)) == is_missed, said
    process = begin(typed, "support.stopping:stop_at", "nowhere")
    _, said = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, said
    require_whole(typed, reference)


def require_whole(typed: Typed, reference: Reference) -> None:
    assert receipts(typed.folder / "run") == receipts(reference.run)
    _is_whole(typed)


def stops(pid: int | None) -> bool:
    """True once a process is stopped."""
    time.sleep(0.005)
    with suppress(FileNotFoundError):
        return pid is not None and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    return False
