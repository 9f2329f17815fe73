"""``pcevolve.plan`` and ``pcevolve.audit``: what can be asked without spending anything."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from pcevolve.auditing import Audit, find_encoder
from pcevolve.interface.options import PlanOptions
from pcevolve.pages.notebook import render_table
from pcevolve.public.finding import Finding
from pcevolve.public.options import AS_KEYWORDS, spell_as, validate
from pcevolve.selectors.planner import BudgetPlan
from pcevolve.session.first.pricing import PlannedRun, price, tabulate_plan


class PricedPlan(BudgetPlan):
    """The price and the worth of a run, which a notebook shows as a table."""

    def __repr__(self) -> str:
        """One line: what it costs and whether it is worth that."""
        return (
            f"<Plan: {self.method}, epsilon {self.epsilon_total:.4g} at delta {self.delta:g}: {self.verdict}>"
        )

    def _repr_html_(self) -> str:
        said = f"{self.method}: selection against noise is {self.verdict}"
        return render_table(said, tabulate_plan(self))


def plan(method: str = "auto", **options: Unpack[PlanOptions]) -> PricedPlan:
    """Price a run and say what it would be worth: ``pcevolve budget plan``. Nothing is read and nothing spent.

    Args:
        method: Which method, or ``auto``.
        options: Budget and public sizes of the run, which editors complete; see ``PlanOptions``.

    Returns:
        Price and worth; ``reason`` says why ``auto`` chose its method.

    Raises:
        UsageError: An option is unknown or out of bounds, or such a run cannot be.
    """
    with spell_as(AS_KEYWORDS):
        return PricedPlan(**vars(price(validate(PlannedRun, {"method": method, **options}))))


@dataclass(frozen=True)
class AuditResult:
    """The result of an audit.

    Attributes:
        holds: Whether all claims hold, and the run's noise protects somebody.
        unverified: Every file and folder of the run that was not verified, a folder with a slash at its end.
        summary: Figures of the run, as they follow from what was verified; None unless all of that holds.
    """

    findings: tuple[Finding, ...]
    marks: tuple[str, ...]
    holds: bool
    unverified: tuple[str, ...] = ()
    summary: dict[str, Any] | None = None

    @property
    def faults(self) -> tuple[str, ...]:
        """All that speaks against the claims, what was not checked, and what has not happened yet."""
        return tuple(
            f"{each.claim}: {fault}"
            for each in self.findings
            for fault in (*each.faults, *filter(None, (each.unchecked, each.pending)))
        )

    def __bool__(self) -> bool:
        """Return True if it holds."""
        return self.holds

    def __repr__(self) -> str:
        """One line: the verdict, then what speaks against it."""
        found = (*self.marks, *self.faults)
        said = f"holds, {len(self.findings)} claims" if self.holds else f"does NOT hold: {'; '.join(found)}"
        return f"<AuditResult: {said}>"

    def _repr_html_(self) -> str:
        found = (*self.marks, *self.faults)
        said = "Holds: every claim follows from the record." if self.holds else f"Does NOT hold. {found[0]}"
        rows = [(each.claim, f"{each.verdict} ({each.checked} checked)") for each in self.findings]
        return render_table(said, [*rows, ("not verified", ", ".join(self.unverified) or "nothing")])


def audit(
    run: str | os.PathLike[str],
    *,
    capture: str | os.PathLike[str] | None = None,
    rewriter_capture: str | os.PathLike[str] | None = None,
    encoder_weights: str | None = None,
    html: bool = False,
) -> AuditResult:
    """Check from a run's record alone that nothing left without a reason: ``pcevolve audit`` as a function.

    Args:
        run: The run's folder.
        capture: What an independent recorder between client and API saw.
        rewriter_capture: What one between client and rewriter saw.
        encoder_weights: The file that the run was given as ``encoder_weights``, if it was.
        html: Also write the audit's own pages into ``audit/`` in the run's folder.

    Returns:
        The findings; false if one does not hold, or was not checked.

    Raises:
        UsageError: It is not the folder of a run, or another version made it.
        TranscriptError: The capture cannot be read.
    """
    load = partial(find_encoder, weights=encoder_weights)
    captures = [None if each is None else Path(each) for each in (capture, rewriter_capture)]
    audited = Audit.of(Path(run), load, *captures)
    if html:
        audited.write_pages()
    return AuditResult(
        tuple(audited.findings),
        tuple(audited.marks),
        audited.holds,
        tuple(audited.unverified),
        audited.summary,
    )
