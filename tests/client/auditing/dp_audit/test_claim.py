"""What an empirical audit is asked to refute."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pcevolve.auditing.dp_audit.claim import Claim
from pcevolve.errors import UsageError
from pcevolve.public.privacy import Budget


def test_an_audit_of_fewer_than_a_hundred_runs_is_refused():
    def claim(runs: int) -> Claim:
        return Claim("pe", Budget(Fraction(1), 1e-5), "replace-one", 1, 1, runs, 0.95)

    assert claim(100).runs == 100
    with pytest.raises(UsageError, match="99 runs show nothing: use --runs 100 or more"):
        claim(99)
