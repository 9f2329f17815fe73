"""Tests mirror sources by name; ``python -m tests.support.mirror`` lists modules without a test file of their own."""

from __future__ import annotations

from support.mirror import PLAIN, ROOT, TESTS, find_module, list_modules, list_without, narrow_file
from support.schedule import LONGEST


def test_a_module_s_test_file_has_its_name_and_lies_where_it_does():
    assert (
        narrow_file(ROOT / "client/src/pcevolve/wire/egress/pace.py")
        == ROOT / "tests/client/wire/egress/test_pace.py"
    )
    assert narrow_file(ROOT / "shared/src/pcevolve_shared/wire.py") == ROOT / "tests/shared/test_wire.py"
    assert find_module("pcevolve.wire.egress.pace") == ROOT / "client/src/pcevolve/wire/egress/pace.py"
    assert narrow_file(find_module("pcevolve.wire.egress.pace")).is_file()


def test_every_module_has_a_test_file_of_its_own_but_those_that_are_named_with_a_reason():
    assert list_without() == []
    assert len(list_modules()) > 300
    assert [each for each in PLAIN if narrow_file(find_module(each)).is_file()] == []


def test_every_file_that_is_begun_first_is_there():
    assert [each for each in LONGEST if not (TESTS / each).is_file()] == []
