"""The ledger's refusals in words: what was requested, what is left, which runs spent the rest, and who decides."""

from __future__ import annotations

import math
from fractions import Fraction

from pcevolve.keeper.ledger.others import AffectedUnits, CumulativeLoss, name_runs
from pcevolve.public.config.options import spell_flag
from pcevolve.public.dp.accountants import epsilon
from pcevolve.public.figures import format_loss, format_upwards, in_full
from pcevolve.public.modality import SINGLE
from pcevolve.public.privacy import Budget, Event

INSECURE_BEFORE = (
    "an INSECURE run used these data: its noise came from a seed, so no epsilon bounds what all runs "
    "together reveal. Use data that no INSECURE run has used, or set privacy.forget_insecure, which "
    "leaves such runs out of the sum (the card and the report then state this)"
)

APART = ", and data.unit_namespace separates equal names from different sources"
DECIDES = "ask those responsible for the data to set a cap for all runs with pcevolve budget cap"


def spell_raising(lower: Fraction, limit: Budget, capped: bool) -> str:
    """Word the refusal of a run that would raise the limit on all runs together."""
    by = "the ledger's cap allows" if capped else "this run may spend, where the ledger has no cap"
    return (
        f"privacy.lifetime_epsilon {float(lower):g} is more than {by}, {float(limit.epsilon):g}: this "
        f"option can only lower that limit; {DECIDES}"
    )


def spell_insecure(affected: AffectedUnits) -> str:
    """Word the refusal to add to a sum that no ε bounds."""
    return f"{INSECURE_BEFORE}. INSECURE runs on these data: {affected.named_insecure}"


def spell_over_run(own: tuple[Event, ...], new: tuple[Event, ...], limit: Budget) -> str:
    """Word the refusal of ``new`` events by this run's limit; the run has already paid for ``own``."""
    asked = epsilon(new, limit.delta)
    left = max(0.0, float(limit.epsilon) - epsilon(own, limit.delta))
    if math.isinf(asked):
        return _spell_unbounded(limit)
    return (
        f"epsilon={asked:g} was requested, but only {left:g} is left in this run at delta "
        f"{in_full(limit.delta)}; nothing was drawn: use fewer iterations, or begin a run with a larger "
        f"{spell_flag('epsilon')}"
    )


def spell_over_lifetime(worst: CumulativeLoss, limit: Budget, unit: str) -> str:
    """Word the refusal by the limit on all runs together, for the most exposed subject.

    Args:
        unit: The run's own kind of unit.
    """
    kind = unit if {worst.kind, unit} <= SINGLE else worst.kind  # single texts are no images
    total, own = epsilon(worst.events, limit.delta), epsilon(worst.own, limit.delta)
    if math.isinf(total):
        return _spell_unbounded(limit) if math.isinf(own) or limit.delta else _spell_noisy_before(worst)
    limited = f"and the cap is {float(limit.epsilon):g} at delta {in_full(limit.delta)}"
    if not worst.others:
        return (
            f"this run would spend epsilon={format_upwards(total)} on one {kind}, {limited}; nothing was "
            f"drawn: give a smaller {spell_flag('epsilon')}, or {DECIDES}"
        )
    before = format_loss(epsilon(worst.others, limit.delta))
    return (
        f"earlier runs have already spent epsilon={before} on the most exposed {kind} of these data, "
        f"{limited}; this run would bring the sum to {format_upwards(total)}. The earlier runs are "
        f"{name_runs(worst.runs)}"
        + (
            f", which share no image with this run but contain a {kind} of the same name{APART}"
            if worst.by_name
            else ""
        )
        + f": use the dataset that is already paid for, or {DECIDES}"
    )


def _spell_noisy_before(worst: CumulativeLoss) -> str:
    return (
        "at delta 0 no epsilon bounds what earlier runs on these data reveal; nothing was drawn. The "
        f"earlier runs are {name_runs(worst.runs)}: use the dataset that is already paid for, or "
        f"{DECIDES}, with a delta above 0"
    )


def _spell_unbounded(limit: Budget) -> str:
    return (
        f"at delta {in_full(limit.delta)} no epsilon bounds what these mechanisms, or those of earlier "
        "runs on these data, reveal; nothing was drawn: give a --delta above 0"
    )
