"""Several runs beside each other: what each cost, what judges found, and pictures of each, class by class.

What judges found is private; the page is handed it and says so. Every string is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from markupsafe import Markup

from pcevolve.durable import write_durably
from pcevolve.pages import PagePicture, base_style, compile_page, inline, own_file

BAR = 280.0
"""Width of an accuracy of 1 in a chart."""


@dataclass(frozen=True)
class Figure:
    """An accuracy.

    Attributes:
        mean: In [0, 1].
        sem: Standard error over seeds of the head.
        voted: Whether the judge's encoder selected, which flatters what it selected.
    """

    mean: float
    sem: float
    voted: bool


@dataclass(frozen=True)
class Curve:
    """A picture of what a judge found; private.

    Attributes:
        title: What stands above it.
        picture: SVG, as ``pages.report.charts.svg`` made it, with every name escaped.
    """

    title: str
    picture: bytes

    @property
    def standing(self) -> Markup:
        """The picture as a part of the page."""
        return Markup(self.picture.decode())  # noqa: S704 - ElementTree wrote it


@dataclass(frozen=True)
class Column:
    """A run.

    Attributes:
        name: Of its folder.
        facts: What is public of it: method, privacy loss, images and so on, by title.
        figures: What judges found, by judge; private.
        initial: Pictures of the first images of each class, by label.
        dataset: The same of its dataset.
    """

    name: str
    facts: dict[str, str]
    figures: dict[str, Figure]
    initial: dict[str, tuple[PagePicture, ...]]
    dataset: dict[str, tuple[PagePicture, ...]]


def write_comparison(
    columns: Sequence[Column], out: Path, curves: Mapping[str, Sequence[Curve]] = MappingProxyType({})
) -> Path:
    """Write the page, for the owner's eyes alone where judges found something; one that is there is replaced.

    Args:
        columns: Runs, in their order; their classes may differ.
        out: The page.
        curves: By judge.
    """
    judges = list(dict.fromkeys(judge for each in columns for judge in each.figures))
    content = {
        "style": inline(base_style(), own_file("comparison.css")),
        "columns": columns,
        "facts": list(dict.fromkeys(title for each in columns for title in each.facts)),
        "judges": judges,
        "curves": curves,
        "labels": list(dict.fromkeys(label for each in columns for label in each.dataset)),
        "bar": BAR,
    }
    write_durably(out, compile_page("comparison").render(content).encode(), 0o600 if judges else 0o644)
    return out
