"""All baselines, by name."""

from __future__ import annotations

from pcevolve.errors import UsageError
from pcevolve_benchmarks.baselines import dpimg, gcap, le, pcevolve_forms, rf, secpe_as_noted
from pcevolve_benchmarks.baselines.session import Baseline

BASELINES: dict[str, Baseline] = {
    each.name: each
    for each in (
        rf.BASELINE,
        gcap.BASELINE,
        le.BASELINE,
        dpimg.BASELINE,
        *pcevolve_forms.BASELINES,
        secpe_as_noted.BASELINE,
    )
}


def baseline(name: str) -> Baseline:
    """Find a baseline.

    Raises:
        UsageError: There is none of that name.
    """
    if name not in BASELINES:
        raise UsageError(f"there is no baseline '{name}': choose one of {', '.join(BASELINES)}")
    return BASELINES[name]
