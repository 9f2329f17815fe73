"""The table of slips keeps up with the code, and drawn mutants are code that says something else."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.mutations.mutants import SLIPS, Change, draw_mutants, lay_over, read_slips
from tests.support.mirror import TESTS, find_module


def test_every_slip_changes_one_place_of_a_module_and_has_tests_that_exist():
    faults = []
    for change in read_slips():  # raises where a slip's text is not there
        faults += [f"no {each}" for each in change.tests.split() if not (TESTS / each).exists()]
        compile(change.text, change.module, "exec")
    if faults:
        pytest.fail("\n".join(faults))
    assert len(SLIPS.read_text().splitlines()) <= 300


@pytest.mark.parametrize(
    "module", ["pcevolve.public.dp.calibration", "pcevolve.wire.egress.retry", "pcevolve.public.loop.rules"]
)
def test_a_drawn_mutant_compiles_differs_and_is_the_same_again(module: str):
    whole = ast.unparse(ast.parse(find_module(module).read_text()))
    drawn = draw_mutants(module, 10, seed=3)
    assert len({each.text for each in drawn} - {whole}) == 10
    assert drawn == draw_mutants(module, 10, seed=3)
    for each in drawn:
        compile(each.text, module, "exec")


def test_a_process_that_a_test_starts_finds_the_change_and_all_else_as_it_is(tmp_path: Path):
    change = Change("pcevolve.public.processes.pipe", "", "MOST_BYTES = 7\n", "")
    lay_over(change, tmp_path / "changed")
    asks = "from pcevolve.public.processes import pipe, seccomp; print(pipe.MOST_BYTES, seccomp.__name__)"
    there = {**os.environ, "PYTHONPATH": str(tmp_path / "changed")}
    told = subprocess.run(
        [sys.executable, "-P", "-c", asks], env=there, capture_output=True, text=True, check=True
    )
    assert told.stdout == "7 pcevolve.public.processes.seccomp\n"
