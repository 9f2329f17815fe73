"""Rebuilds what a run says about itself beside its release: summary and pages follow from the record."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pcevolve.auditing.rebuilt import RebuiltRelease
from pcevolve.pages.preview import rendered_preview
from pcevolve.pages.report import FinishedRun, render
from pcevolve.pages.wire import rendered_viewer
from pcevolve.public.finding import Finding
from pcevolve.publish.summary import encoded, summary
from pcevolve.transcript import RunReader
from pcevolve.transcript.files import KIND_NAMES, kind_of
from pcevolve.transcript.layout import KINDS


def page_faults(released: RebuiltRelease) -> Iterator[str]:
    """What lies in the run's folder and is no part of a run, and pages that say something else than the record.

    Options, lock and ``private/`` are the owner's and are not looked into.

    Args:
        released: The release as the record gives it, whose images have been compared.
    """
    run, plan = released.run, released.plan
    for path in sorted(run.layout.root.iterdir()):
        kind = kind_of(path)
        if path.name not in KINDS:
            yield f"{path.name!a} belongs to no run"
        elif kind != KINDS[path.name]:
            yield f"{path.name} is {KIND_NAMES.get(kind or 0, 'no plain file')}"
    values = summary(run, plan, len(released.files))
    yield from _same(run.layout.summary, lambda: encoded(values))
    finished = FinishedRun(run, plan, released.manifest())
    yield from _same(run.layout.report, lambda: render(finished, ()).encode())
    yield from _same(run.layout.preview, lambda: rendered_preview(run, plan))


def preview_faults(run: RunReader) -> Iterator[str]:
    """What is wrong with the page of the first images of a run that has not released anything."""
    page, plan = run.layout.preview, run.plan
    kind = kind_of(page)
    if kind != KINDS[page.name]:
        yield f"{page.name} is {KIND_NAMES.get(kind or 0, 'no plain file')}"
    elif plan is None:
        yield f"{page.name} shows what no plan on record has asked for"
    else:
        yield from _same(page, lambda: rendered_preview(run, plan))


def wire_page_finding(run: RunReader, findings: Sequence[Finding]) -> list[Finding]:
    """Whether ``wire.html`` is the page that these findings and the record give; nothing where there is none."""
    page = run.layout.wire_page
    if kind_of(page) != stat.S_IFREG:
        return []
    faults = tuple(_same(page, lambda: rendered_viewer(run, findings)))
    return [Finding("so is the wire page (of an audit with the same --capture, if any)", faults, 1)]


def _same(path: Path, expected: Callable[[], bytes]) -> Iterator[str]:
    if kind_of(path) != stat.S_IFREG:
        return
    page = expected()
    if path.stat().st_size != len(page) or path.read_bytes() != page:
        yield (
            f"{path.name} is not what this version makes of the record: do not believe it, or have it made anew "
            "(pcevolve report, or audit --html for the wire page)"
        )
