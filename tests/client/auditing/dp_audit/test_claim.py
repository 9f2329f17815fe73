"""What an empirical audit is asked to refute."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pcevolve.app.first.pricing import PlannedRun
from pcevolve.auditing.dp_audit.claim import AuditedClaim, Claim
from pcevolve.errors import UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.declared import list_options
from pcevolve.public.privacy import Budget


def test_an_audit_of_fewer_than_a_hundred_runs_is_refused():
    def claim(runs: int) -> Claim:
        return Claim("pe", Budget(Fraction(1), 1e-5), "replace-one", 1, 1, runs, 0.95)

    assert claim(100).runs == 100
    with pytest.raises(UsageError, match="99 runs show nothing: use --runs 100 or more"):
        claim(99)


@pytest.mark.parametrize("model", [PlannedRun, AuditedClaim])
def test_what_other_commands_share_with_a_run_is_declared_once(model):
    of_runs = {option.name: option for option in list_options(RunConfig)}
    shared = [option for option in list_options(model) if option.name in of_runs]
    own = {"method", "epsilon", "seed"}  # to ask about, and a seed of noise: not those of a run
    assert {option.name for option in shared} >= {"delta", "relation"}
    for option in shared:
        if option.name not in own:
            run = of_runs[option.name]
            assert (option.help, option.bounds, option.kind) == (run.help, run.bounds, run.kind)
