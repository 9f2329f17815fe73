"""The lists of mutants keep up with the code."""

from pathlib import Path

import pytest
from tests.mutations.mutants import all_changes, mutate

TESTS = Path(__file__).parents[1]


def test_every_mutant_changes_one_place_of_a_module_and_has_tests_that_exist():
    faults = []
    for change in all_changes():
        faults += [f"no {each}" for each in change.tests.split() if not (TESTS / each).exists()]
        try:
            compile(mutate(change), change.module, "exec")
        except (LookupError, SyntaxError) as error:
            faults.append(f"{change.module}: {change.slip}: {error}")
    if faults:
        pytest.fail("\n".join(faults))
