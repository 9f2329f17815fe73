"""Keeper and client as two commands: containers are claimed where both sides checked, and nonsense ends in one line."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pcevolve.config.config import RunConfig
from pcevolve.errors import ProtocolError
from pcevolve.processes.pipe import Pipe, open_conversation
from pcevolve.session.containers import Claim, Welcome, agree, run_at_door
from pcevolve.session.progress import Audience

OPTIONS = {"private": "/mine/scans", "domain": "scratch", "out": "runs/run", "ledger": "/mine/ledger.sqlite"}


def welcome(**found: Any) -> Welcome:
    public = RunConfig.of(OPTIONS).public()
    return Welcome(settings=public, resume=False, **{"is_cut_off": False, "landlock": 0, **found})


@pytest.mark.parametrize(
    ("keeper", "client", "words"),
    [
        ({"is_cut_off": True}, {"is_contained": True}, "by containers"),
        ({"is_cut_off": True, "landlock": 7}, {"is_contained": True, "landlock": 7}, "by containers"),
        ({"is_cut_off": True, "landlock": 7}, {"landlock": 6}, "by the kernel (Landlock 6, seccomp)"),
        ({"landlock": 5}, {"is_contained": True, "landlock": 7}, "by the kernel (Landlock 5, seccomp)"),
        ({"is_cut_off": True}, {}, None),
        ({}, {"is_contained": True}, None),
        ({"is_cut_off": True, "landlock": 7}, {}, None),
        ({"landlock": 7}, {}, None),
        ({}, {"landlock": 7}, None),
    ],
)
def test_nothing_is_claimed_that_one_side_alone_found(
    keeper: dict[str, Any], client: dict[str, Any], words: str | None
) -> None:
    agreed = agree(welcome(**keeper), Claim(**{"is_contained": False, "landlock": 0, **client}))
    assert (None if agreed is None else agreed.words) == words


def test_a_client_is_told_nothing_of_the_owners() -> None:
    assert "mine" not in welcome().model_dump_json()


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (("welcome", "{"), "what is no welcome"),
        (("welcome", "{}"), "what is no welcome"),
        (("claim", "{}"), "what is no welcome"),
        (None, "ended before the run began, or had another client: begin both again"),
    ],
)
def test_whoever_is_no_keeper_gets_one_line_and_starts_nothing(
    said: tuple[str, str] | None, fault: str
) -> None:
    ours, theirs = open_conversation()
    door, other = Pipe(*ours), Pipe(*theirs)
    if said is not None:
        other.send(*said)
    other.close()
    ended: list[bool] = []
    runner = SimpleNamespace(end=lambda kill: ended.append(kill))
    with pytest.raises(ProtocolError, match=fault):
        run_at_door(SimpleNamespace(door=door, runner=runner, folder="/door"), Audience())  # type: ignore[arg-type]
    assert ended == [True]
    door.close()
