"""Keeper and client as two commands with a socket file between: once as somebody types them, else forks of them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from pcevolve.public.processes.confinement import find_enforcement
from pcevolve.public.transcript.reader import RunReader
from support import online
from support.folders import receipts
from support.forkserver import Started
from system.test_apart import SECONDS, Api, Typed, api, installed, reference, typed

__all__ = ["api", "installed", "reference", "typed"]
RUN = Path("runs/run")


Side = subprocess.Popen[str] | Started


def begin(typed: Typed, *more: str) -> tuple[Side, Side]:
    """Start both sides: the keeper and its client."""
    words = [str(RUN) if each == "run" else each for each in typed.words()[1:]]
    place = words.index("--out")
    words[place] = "--resume"
    keeper = typed.start("keeper", "--socket", "door/keeper.sock", *words, *more)
    return keeper, typed.start("run", "--keeper", "door/keeper.sock")


def end(*sides: Side) -> list[tuple[int, str]]:
    """The exit code of each side, and what it said."""
    said = [each.communicate(timeout=SECONDS)[1] for each in sides]
    return [(each.returncode, words) for each, words in zip(sides, said, strict=True)]


def test_two_commands_make_what_one_makes_kept_apart_by_the_kernel(installed: Typed, reference: Path) -> None:
    is_confined = find_enforcement().is_whole
    (kept, owners), (ran, clients) = end(*begin(installed, *["--require-confinement"] * is_confined))
    assert (kept, ran) == (0, 0), owners + clients
    assert receipts(installed.folder / RUN) == receipts(reference)
    plan = RunReader.strict(installed.folder / RUN).require_plan()
    assert plan.confinement is not None
    assert (plan.confinement.by == "kernel") == is_confined  # containers are not claimed
    assert "privacy" in owners
    assert "error" not in owners + clients
    assert not {"ledger", "before"} & {line.split(" ")[0] for line in clients.splitlines()}
    code, out, err = installed("audit", str(RUN), "--allow-insecure")  # its noise has a seed, to compare it
    assert code == 0, out + err
    assert not (installed.folder / "door" / "keeper.sock").exists()


@pytest.mark.parametrize("victim", ["keeper", "client"])
def test_where_one_side_is_killed_the_other_says_so_and_both_go_on(
    typed: Typed, api: Api, reference: Path, victim: str
) -> None:
    sides: list[Side] = []
    api.before = {7: lambda: os.kill(sides[victim == "client"].pid, signal.SIGKILL)}
    sides += begin(typed)
    found = dict(zip(("keeper", "client"), end(*sides), strict=True))
    assert found.pop(victim)[0] == -signal.SIGKILL
    ((code, said),) = found.values()
    assert code == 1
    assert len(re.findall("error: ", said)) == 1, said
    assert f"the {victim}" in said or "ended" in said
    (kept, owners), (ran, clients) = end(*begin(typed))
    assert (kept, ran) == (0, 0), owners + clients
    assert receipts(typed.folder / RUN) == receipts(reference)


def test_where_the_api_fails_the_client_says_that_both_commands_go_on(typed: Typed, api: Api) -> None:
    honest = api.server.speak
    api.before = {
        7: lambda: setattr(api.server, "speak", lambda _: online.answer_json(500, {"error": "broken"}))
    }
    (kept, owners), (ran, clients) = end(*begin(typed))
    assert (kept, ran) == (1, 6), owners + clients
    assert owners.count("error: ") == owners.count("error: the client stopped the run; see") == 1
    assert (
        "both commands as before, the keeper's with --resume runs/run (in containers: docker compose up"
        in clients
    )
    assert "pcevolve run --resume" not in owners + clients
    api.server.speak = honest
    assert [code for code, _ in end(*begin(typed))] == [0, 0]


def test_a_client_that_fails_before_the_run_begins_leaves_no_keeper_that_succeeded(
    typed: Typed, api: Api
) -> None:
    api.server.speak = lambda _: online.answer_json(401, {"error": "no such key"})
    (kept, owners), (ran, clients) = end(*begin(typed))
    assert (kept, ran) == (1, 6), owners + clients
    assert (
        "error: the client stopped the run; see the client's messages. Everything paid for is in the ledger"
        in owners
    )
    assert not (typed.folder / "own" / "ledger.sqlite").exists()


def test_what_the_keeper_refuses_its_client_names_in_a_line_without_the_reason(typed: Typed) -> None:
    (typed.folder / "private" / "cut" / "00.png").write_bytes(b"no image")
    (kept, owners), (ran, clients) = end(*begin(typed))
    assert (kept, ran) == (3, 3), owners + clients
    assert "cut" in owners
    assert [line for line in clients.splitlines() if "waiting" not in line] == [
        "error: the keeper refused to continue; see its own messages"
    ]
    assert not any((typed.folder / "runs").iterdir())


def test_a_keeper_whose_options_are_wrong_waits_for_nobody(typed: Typed) -> None:
    code, _, said = typed("keeper", "--socket", "door/keeper.sock", *typed.words()[1:], "--shots", "none")
    assert code == 2
    assert "waiting" not in said
