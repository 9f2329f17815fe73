"""Containers are claimed where both sides found them, and a client is told nothing of the owner's."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from pcevolve.errors import UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.run.meeting import ClientStatement, Welcome, agree, require_agreed

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
    agreed = agree(welcome(**keeper), ClientStatement(**{"is_contained": False, "landlock": 0, **client}))
    assert (None if agreed is None else agreed.words) == words


def test_a_client_is_told_nothing_of_the_owners() -> None:
    assert "mine" not in welcome().model_dump_json()


def test_a_run_that_must_be_confined_does_not_begin_where_one_side_found_nothing() -> None:
    agreed = agree(welcome(is_cut_off=True), ClientStatement(is_contained=False, landlock=7))
    with pytest.raises(UsageError, match=r"confinement is required.*nothing was read or sent"):
        require_agreed(agreed, is_demanded=True)
    require_agreed(agreed, is_demanded=False)
    require_agreed(
        agree(welcome(is_cut_off=True), ClientStatement(is_contained=True, landlock=0)), is_demanded=True
    )


def test_what_a_side_said_stays_as_it_said_it() -> None:
    for said in (welcome(), ClientStatement(is_contained=False, landlock=0)):
        with pytest.raises(ValidationError, match="frozen"):
            said.landlock = 7
