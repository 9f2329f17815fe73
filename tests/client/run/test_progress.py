"""What the owner is told about time."""

from __future__ import annotations

import pytest

from pcevolve.run.progress import covering, padding_kept


@pytest.mark.parametrize(
    ("tick", "expected", "made"), [(1.0, 0.0, 1.0), (1.0, 20.0, 30.0), (60.0, 20.0, 60.0), (0.0, 20.0, 0.0)]
)
def test_a_tick_is_as_long_as_asked_for_and_longer_where_more_is_expected(tick, expected, made):
    assert covering(tick, expected) == made


def test_work_as_long_as_expected_is_no_reason_to_warn():
    assert "WARNING" in padding_kept(20.0, 1.0)
    assert "WARNING" not in padding_kept(20.0, covering(1.0, 20.0))
