"""Views in a notebook: a finished run (warnings, verdict, guarantee, a contact sheet), a plan, and an audit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pcevolve.public.modality import Kind
from pcevolve.public.pages.rendering import PagePicture, compile_page, make_picture
from pcevolve.public.publish.loss import PrivacyLoss
from pcevolve.public.transcript.reader import FinishedRun

ROWS = 20
TILES = 12
"""Largest number of classes, and of pictures of each, that are shown."""


@dataclass(frozen=True)
class NotebookRow:
    """Some released images of a class."""

    label: str
    count: int
    pictures: tuple[PagePicture, ...]


def render_table(sentence: str, rows: Iterable[tuple[str, str]]) -> str:
    """Render a sentence with a table below it as a fragment of HTML; everything in it is escaped."""
    return compile_page("notebook_table").render(sentence=sentence, rows=list(rows))


def render_pictures(kind: Kind, rows: Iterable[tuple[str, Sequence[bytes]]]) -> str:
    """Render some images or texts of each class as a fragment of HTML."""
    shown = [
        NotebookRow(
            label, len(files), tuple(filter(None, (make_picture(kind, each) for each in files[:TILES])))
        )
        for label, files in rows
    ]
    return compile_page("notebook_pictures", kind).render(
        rows=shown[:ROWS], left_out=max(0, len(shown) - ROWS)
    )


def render_notebook(run: FinishedRun) -> str:
    """Render a fragment of HTML without scripts or external links; every string from the run is escaped."""
    guarantee, found = run.manifest.guarantee, run.record.assessment
    kind, judge = run.plan.modality.kind, f"(by {run.plan.encoder.name}, the encoder that also selected)"
    content = {
        "marks": run.manifest.marks,
        "plan": run.plan,
        "use": None if found is None else f"{found.estimate(kind)} {judge}: {found.sentence(kind)}.",
        "images": len(run.manifest.files),
        "epsilon": None
        if guarantee.epsilon_spent is None
        else PrivacyLoss.of(run.plan, guarantee.events).say(symbol="ε = "),
        "guarantee": guarantee,
        "rows": list(_rows(run)),
        "left_out": max(0, len(run.plan.labels) - ROWS),
        "folder": str(run.record.layout.root),
    }
    return compile_page("notebook", run.plan.modality.kind).render(content)


def _rows(run: FinishedRun) -> Iterator[NotebookRow]:
    release = run.record.layout.release
    for label in run.plan.labels[:ROWS]:
        paths = [each.path for each in run.manifest.files if each.label == label]
        small = (
            make_picture(run.plan.modality.kind, (release / path).read_bytes()) for path in paths[:TILES]
        )
        yield NotebookRow(label, len(paths), tuple(each for each in small if each))
