"""Forged rewordings, which each of the audit's two checks of what left has to find by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaks.forgeries.forging import Forgery
from leaks.forgeries.honest import Honest
from leaks.forgeries.requests import BODY, ELSEWHERE
from leaks.forgeries.rewordings import FORGERIES, KIND, OUTPUTS
from pcevolve.auditing.rerun import Rerun
from pcevolve.auditing.second_check import find_request_faults
from pcevolve.transcript import RunReader

OF_ONE_REQUEST = [each for each in FORGERIES if each.fault in (BODY, ELSEWHERE, OUTPUTS)]
BELIEVED = ("the prompt as it was, for an answer",)
"""The small check takes a rewording that was passed over for one: any answer may be one that gives no prompt."""


def test_neither_has_anything_against_an_honest_run(honest: Honest, folder: Path):
    run = RunReader.strict(honest.copy(KIND, folder))
    assert list(find_request_faults(run)) == []
    assert Rerun.of(run).requests == []


@pytest.mark.parametrize("forgery", OF_ONE_REQUEST, ids=str)
def test_both_tell_where_prompts_are_not_what_was_reworded(forgery: Forgery, honest: Honest, folder: Path):
    root = honest.copy(forgery.kind, folder)
    forgery.act(root)
    run = RunReader.lenient(root)
    assert Rerun.of(run).requests
    assert list(find_request_faults(run)) or forgery.name in BELIEVED
