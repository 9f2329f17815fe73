"""What a claim and a plan share with a run."""

from __future__ import annotations

import pytest

from pcevolve.app.cli.claim import AuditedClaim
from pcevolve.app.first.pricing import PlannedRun
from pcevolve.public.config.config import RunConfig
from pcevolve.public.declared import list_options


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
