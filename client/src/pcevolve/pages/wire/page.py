"""Puts the viewer together: verdict, findings, totals, and every step of the run in order."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pcevolve.pages import base_style, inline, own_file, rendered, size
from pcevolve.pages.wire.fields import cut, fields
from pcevolve.pages.wire.gallery import ROOM, Gallery
from pcevolve.pages.wire.prices import prices, spelled
from pcevolve.pages.wire.reading import Reading
from pcevolve.pages.wire.story import Attempt, Story, told
from pcevolve.pages.wire.totals import Totals, by_kind, hosts
from pcevolve.public.figures import loss
from pcevolve.public.finding import Finding
from pcevolve.publish.dataset import marks
from pcevolve.transcript.bodies import write_durably

MOST_FAULTS = 50  # of one finding
_LINE = re.compile(r"\(line (\d+)\)")


def write_viewer(root: Path, findings: Sequence[Finding], out: Path) -> Path:
    """Write one self-contained page about everything that a run sent; one that is there is replaced.

    The run may be unfinished or damaged: the page says so and shows what can be read.

    Args:
        root: The run's folder; only its transcript is read.
        findings: What the audit found, for the verdict.
        out: The page.

    Returns:
        The page.
    """
    write_durably(out, rendered_viewer(root, findings))
    return out


def rendered_viewer(root: Path, findings: Sequence[Finding]) -> bytes:
    """The page's bytes: a function of the transcript and of what the audit found."""
    return render(Reading.of(root), findings).encode()


def render(reading: Reading, findings: Sequence[Finding], room: int = ROOM) -> str:
    """Make the page's HTML with ``room`` bytes of pictures; every string from the run is escaped."""
    evidence = reading.evidence
    story = told(evidence.entries, evidence.plan, reading.proven)
    gallery = _hung(story, Gallery(evidence.bodies.file, room))
    filters: dict[str, Callable[..., Any]] = {
        "size": size,
        "spelled": spelled,
        "fields": fields,
        "cut": cut,
        "loss": loss,
    }
    content = _assets(gallery) | _verdict(reading, findings) | _content(story, gallery)
    return rendered(__package__, "page.html.j2", filters, content)


def _assets(gallery: Gallery) -> dict[str, Any]:
    return {
        "style": inline(base_style(), own_file(__package__, "page.css")),
        "pictures": inline(gallery.style),
        "script": inline(own_file(__package__, "page.js")),
    }


def _verdict(reading: Reading, findings: Sequence[Finding]) -> dict[str, Any]:
    """What the top of the page says; without any finding nothing has been shown to hold."""
    faults = [fault for finding in findings for fault in finding.faults]
    if reading.trouble is not None and reading.trouble not in faults:
        faults.insert(0, reading.trouble)
    if not findings:
        faults.append("nothing was checked")
    return {
        "findings": findings,
        "faults": faults,
        "most_faults": MOST_FAULTS,
        "faults_of": _by_line(faults),
        "trouble": reading.trouble,
        "proven": reading.proven,
        "lines": len(reading.evidence.entries),
        "head": reading.evidence.entries[-1].digest if reading.whole else None,
    }


def _content(story: Story, gallery: Gallery) -> dict[str, Any]:
    plan = story.plan
    return {
        "plan": plan,
        "marks": [] if plan is None else marks(plan),
        "budget": None if plan is None else float(plan.budget.epsilon),
        "story": story,
        "grant_of": {grant.receipt: grant for grant in story.grants},
        "returned": story.returned,
        "prices": prices(story.grants, 0.0 if plan is None else plan.delta),
        "gallery": gallery,
        "totals": Totals.of(story.attempts),
        "kinds": by_kind(story.attempts),
        "hosts": hosts(story.attempts),
        "rounds": _rounds(story),
    }


def _rounds(story: Story) -> dict[int, str]:
    """Where each iteration begins, for jumping there."""
    found: dict[int, str] = {}
    for step in story.steps:
        if isinstance(step, Attempt):
            if step.call is not None:
                found.setdefault(step.call.iteration, f"r{step.number}")
        else:
            found.setdefault(step.receipt.iteration, f"l{step.line}")
    return found


def _hung(story: Story, gallery: Gallery) -> Gallery:
    """What left comes first, for it must be seen; what came fills the room that is left."""
    for digest in (each.digest for attempt in story.attempts for each in attempt.carried):
        gallery.hang(digest)
    for digest in (each.digest for attempt in story.attempts for each in attempt.brought):
        gallery.hang(digest)
    for digest in (
        one.digest for grant in story.grants for choice in grant.receipt.choices for one in choice.chosen
    ):
        gallery.hang(digest)
    return gallery


def _by_line(faults: Iterable[str]) -> dict[int, list[str]]:
    """Faults by the line of the transcript that they name."""
    found: dict[int, list[str]] = defaultdict(list)
    for fault in faults:
        named = _LINE.search(fault)
        if named is not None:
            found[int(named[1])].append(fault)
    return dict(found)
