"""Puts the viewer together: verdict, findings, totals, and every step of the run in order."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Template

from pcevolve.durable import write_durably
from pcevolve.pages import base_style, compiled, inline, own_file, size
from pcevolve.pages.reasons import Reasons
from pcevolve.pages.wire.fields import cut, fields
from pcevolve.pages.wire.folding import Request, folded, grouped
from pcevolve.pages.wire.gallery import MOST_PICTURE_BYTES, Gallery
from pcevolve.pages.wire.prices import in_words, prices
from pcevolve.public.figures import loss
from pcevolve.public.finding import Finding
from pcevolve.public.modalities import Kind
from pcevolve.publish import marks
from pcevolve.transcript import Attempt, Counts, RecordedReceipt, RunReader, Traffic

MOST_FAULTS = 50  # of one finding
_LINE = re.compile(r"\(line (\d+)\)")


def write_viewer(run: RunReader, findings: Sequence[Finding], out: Path) -> Path:
    """Write one self-contained page about everything that a run sent; one that is there is replaced.

    The run may be unfinished or damaged: the page says so and shows what can be read.

    Args:
        run: What could be read of its record.
        findings: What the audit found, for the verdict.
        out: The page.

    Returns:
        The page.
    """
    write_durably(out, rendered_viewer(run, findings))
    return out


def rendered_viewer(
    run: RunReader, findings: Sequence[Finding], most_picture_bytes: int = MOST_PICTURE_BYTES
) -> bytes:
    """The page's bytes, a function of the transcript and of what the audit found; all strings are escaped."""
    reasons = Reasons.of(run.traffic)
    kind = "image" if run.plan is None else run.plan.modality.kind
    gallery = _hung(run.traffic, reasons, Gallery(run.bodies.file, kind, most_picture_bytes))
    verdict = _verdict(run, findings)
    steps = folded(
        (each for each in run.traffic.steps if isinstance(each, Attempt | RecordedReceipt)),
        verdict["faults_of"],
    )
    content = _assets(gallery) | verdict | _content(run.traffic, reasons, gallery) | _steps(steps)
    return template(kind).render(content).encode()


def template(kind: Kind = "image") -> Template:
    """The page's template."""
    return compiled(__package__, kind, size=size, in_words=in_words, fields=fields, cut=cut, loss=loss)


def _assets(gallery: Gallery) -> dict[str, Any]:
    return {
        "style": inline(base_style(), own_file(__package__, "page.css")),
        "pictures": inline(gallery.style),
        "script": inline(own_file(__package__, "page.js")),
    }


def _verdict(run: RunReader, findings: Sequence[Finding]) -> dict[str, Any]:
    """What the top of the page says; without any finding nothing has been shown to hold."""
    faults = [fault for finding in findings for fault in finding.faults]
    if run.trouble is not None and run.trouble not in faults:
        faults.insert(0, run.trouble)
    if not findings:
        faults.append("nothing was checked")
    return {
        "findings": findings,
        "faults": faults,
        "pending": [finding.pending for finding in findings if finding.pending],
        "unchecked": [finding.unchecked for finding in findings if finding.unchecked],
        "most_faults": MOST_FAULTS,
        "faults_of": _by_line(faults),
        "trouble": run.trouble,
        "proven": run.proven,
        "lines": len(run.entries),
        "head": run.head if run.trouble is None and run.entries else None,
    }


def _content(traffic: Traffic, reasons: Reasons, gallery: Gallery) -> dict[str, Any]:
    plan = traffic.plan
    return {
        "plan": plan,
        "marks": [] if plan is None else marks(plan),
        "budget": None if plan is None else float(plan.budget.epsilon),
        "receipts": traffic.receipts,
        "line_of": {each.receipt: each.line for each in traffic.receipts},
        "carried": reasons.carried,
        "told": reasons.told,
        "brought": reasons.brought,
        "named": reasons.named,
        "first_returns": reasons.first_returns,
        "unexplained": reasons.unexplained,
        "prices": prices(traffic.receipts, 0.0 if plan is None else plan.delta),
        "gallery": gallery,
        "totals": reasons.counts(traffic.attempts),
        "kinds": Counts.by_kind(traffic.attempts, reasons.counts),
        "hosts": hosts(traffic.attempts),
    }


def _steps(steps: Sequence[Request | RecordedReceipt]) -> dict[str, Any]:
    """What happened in order, each request once; what left in all; and where each iteration begins."""
    requests = [each for each in steps if isinstance(each, Request)]
    return {
        "steps": steps,
        "requests": len(requests),
        "groups": grouped(requests),
        "rounds": _rounds(steps),
    }


def hosts(attempts: Iterable[Attempt]) -> list[str]:
    """Every host that a request was sent to or names, in order of appearance."""
    named: dict[str, None] = {}
    for each in attempts:
        named.setdefault(_host(each.sent.url))
        for name, value in each.sent.headers:
            if name.lower() == "host":
                named.setdefault(value)
    return list(named)


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return url


def _rounds(steps: Iterable[Request | RecordedReceipt]) -> dict[int, str]:
    """Where each iteration begins, for jumping there."""
    anchors: dict[int, str] = {}
    for step in steps:
        if isinstance(step, RecordedReceipt):
            anchors.setdefault(step.receipt.iteration, f"l{step.line}")
        elif step.shown.call is not None:
            anchors.setdefault(step.shown.call.iteration, f"r{step.shown.number}")
    return anchors


def _hung(traffic: Traffic, reasons: Reasons, gallery: Gallery) -> Gallery:
    """What left comes first, for it must be seen; what came fills the room that is left."""
    left = (each.digest for images in reasons.carried.values() for each in images)
    came = (each.digest for images in reasons.brought.values() for each in images)
    choices = (choice for each in traffic.receipts for choice in each.receipt.choices)
    chosen = (each.digest for choice in choices for each in choice.chosen)
    for digest in (*left, *came, *chosen):
        gallery.hang(digest)
    return gallery


def _by_line(faults: Iterable[str]) -> dict[int, list[str]]:
    """Faults by the line of the transcript that they name."""
    by_line: dict[int, list[str]] = defaultdict(list)
    for fault in faults:
        named = _LINE.search(fault)
        if named is not None:
            by_line[int(named[1])].append(fault)
    return dict(by_line)
