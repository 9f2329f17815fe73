"""Tests mirror sources by name; ``python -m tests.support.mirror`` lists modules without a test file of their own."""

from __future__ import annotations

from support.mirror import ROOT, find_module, list_modules, list_without, narrow_file


def test_a_module_s_test_file_has_its_name_and_lies_where_it_does():
    assert (
        narrow_file(ROOT / "client/src/pcevolve/egress/pace.py") == ROOT / "tests/client/egress/test_pace.py"
    )
    assert narrow_file(ROOT / "shared/src/pcevolve_shared/wire.py") == ROOT / "tests/shared/test_wire.py"
    assert find_module("pcevolve.egress.pace") == ROOT / "client/src/pcevolve/egress/pace.py"
    assert narrow_file(find_module("pcevolve.egress.pace")).is_file()


def test_no_more_modules_than_today_are_without_a_test_file_of_their_own():
    assert len(list_without()) <= WITHOUT
    assert len(list_modules()) > 300


WITHOUT = 79
"""Only ever fewer: most of these are tried through a neighbour or by whole runs."""
