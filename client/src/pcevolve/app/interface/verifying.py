"""Functions that check, pack and export a finished run from its folder alone: ``verify``, ``pack`` and ``export``.

>>> verify(RUN)
<AuditResult: holds, 10 claims>
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from pcevolve.app.interface.asking import ask
from pcevolve.app.interface.notebook import render_table
from pcevolve.auditing import Audit
from pcevolve.public.finding import Finding
from pcevolve.public.transcript.layout import RunLayout

AnyPath: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True, repr=False)
class AuditResult:
    """An audit's findings about a run.

    Attributes:
        marks: The plan's warnings about the run's privacy.
        faults: All evidence against the claims, claims that were not checked, and steps that are still
            missing.
        holds: True if every claim holds, and the run has a guarantee.
        broken: True if a claim was checked and does not hold.
        unfinished: True if nothing is broken, and the run has not ended.
        claims: Facts that only the owner states, by the names of the plan's fields.
        unverified: Every file and folder of the run that was not verified; a folder's name ends with a
            slash.
        summary: Figures of the run; None unless everything that they depend on was verified.
    """

    findings: tuple[Finding, ...]
    marks: tuple[str, ...]
    faults: tuple[str, ...]
    holds: bool
    broken: bool
    unfinished: bool
    claims: Mapping[str, Any]
    unverified: tuple[str, ...]
    summary: Mapping[str, Any] | None

    @classmethod
    def of(cls, audited: Audit) -> AuditResult:
        """Return the findings of an audit made in this process."""
        return cls(
            findings=tuple(audited.findings),
            marks=tuple(audited.marks),
            faults=tuple(audited.faults),
            holds=audited.holds,
            broken=audited.broken,
            unfinished=audited.unfinished,
            claims=audited.claims,
            unverified=tuple(audited.unverified),
            summary=audited.summary,
        )

    def __bool__(self) -> bool:
        """Return True if every claim holds, and the run has a guarantee."""
        return self.holds

    def __repr__(self) -> str:
        """Return one line: the verdict, then the evidence against it."""
        against = "; ".join((*self.marks, *self.faults))
        text = f"holds, {len(self.findings)} claims" if self.holds else f"does NOT hold: {against}"
        return f"<AuditResult: {text}>"

    def _repr_html_(self) -> str:
        found = (*self.marks, *self.faults)
        text = "Holds: every claim follows from the record." if self.holds else f"Does NOT hold. {found[0]}"
        rows = [(each.claim, f"{each.verdict} ({each.checked} checked)") for each in self.findings]
        return render_table(text, [*rows, ("not verified", ", ".join(self.unverified) or "nothing")])


def verify(
    run: AnyPath,
    *,
    capture: AnyPath | None = None,
    sources: Sequence[AnyPath] = (),
    encoder_weights: str | None = None,
    html: bool = False,
) -> AuditResult:
    """Check from a run's record alone that nothing was sent without a reason: ``pcevolve audit`` as a function.

    Args:
        run: The run's folder.
        capture: The traffic, as recorded independently between client and API.
        sources: For a run that starts from a release, the folder of the release's run; then the folder of
            that run's source, and so on.
        encoder_weights: The same file as the run's ``encoder_weights``, if it had one.
        html: Also write the audit's own pages into ``audit/`` in the run's folder.

    Returns:
        The findings; false if a claim does not hold, or was not checked.

    Raises:
        UsageError: The folder has no run, or another version made it.
        TranscriptError: The capture cannot be read.
    """
    root, others = Path(run), [Path(each) for each in sources]
    files = [None if path is None else Path(path) for path in (capture, encoder_weights)]
    RunLayout(root).require_transcript()
    asked = {
        "run": str(root),
        "capture": None if capture is None else os.fspath(capture),
        "sources": [str(each) for each in others],
        "encoder_weights": encoder_weights,
        "html": html,
    }
    return ask("verify", AuditResult, asked, reads=[root, *files, *others], writes=[root] * html)


def pack(run: AnyPath, out: AnyPath | None = None, *, encoder_weights: str | None = None) -> Path:
    """Write the shareable part of a finished run as a zip file: ``pcevolve pack`` as a function.

    Args:
        run: The run's folder, which is audited first.
        out: The zip file; None for one beside the run's folder, with the folder's name.
        encoder_weights: The same file as the run's ``encoder_weights``, if it had one.

    Returns:
        The zip file. Unzipped, it can be audited. The same run always gives the same bytes.

    Raises:
        UsageError: The run is unfinished, the folder has no run, or the zip file exists.
        TranscriptError: The audit finds a broken claim.
    """
    root = Path(run).absolute()
    RunLayout(root).require_transcript()
    path = root.with_name(f"{root.name}.zip") if out is None else Path(out)
    weights = None if encoder_weights is None else Path(encoder_weights)
    asked = {"run": str(root), "out": str(path), "encoder_weights": encoder_weights}
    return ask("pack", Path, asked, reads=[root, weights], writes=[path.absolute().parent])


def export(run: AnyPath, form: str) -> Path:
    """Write a finished run's dataset in another form: ``pcevolve export`` as a function.

    Args:
        run: The run's folder.
        form: ``parquet`` or ``webdataset``; for texts also ``jsonl`` or ``csv``.

    Returns:
        The folder, ready to be uploaded; an existing one is replaced.

    Raises:
        UsageError: The folder has no finished run, there is no such form, or its library is not installed.
        TranscriptError: The run's record or manifest is damaged.
    """
    root = Path(run)
    RunLayout(root).require_transcript()
    return ask("export", Path, {"run": str(root), "form": form}, reads=[], writes=[root])
