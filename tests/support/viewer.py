"""Read the wire viewer's page as its readers do; for tests only."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

from pcevolve.auditing import audit
from pcevolve.public.pages.report.charts import AccuracyPoint
from pcevolve.public.pages.report.page import write_report
from pcevolve.public.pages.wire.page import render_viewer
from pcevolve.public.transcript.reader import RunReader
from support.forge import Event

HOSTILE = '<script>alert("1")</script>'


class Page(HTMLParser):
    """Text without markup, and every element with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._raw = False
        self.feed(html)
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._raw = tag in {"style", "script"}
        self.text += " " * (tag in {"p", "div", "td", "th", "li", "h3", "dt", "dd", "article"})

    def handle_endtag(self, tag):
        self._raw = False

    def handle_data(self, data):
        self.text += "" if self._raw else data

    def of_class(self, name: str) -> list[dict[str, str | None]]:
        return [each for _, each in self.elements if name in (each.get("class") or "").split()]


def html(root: Path) -> str:
    return render_viewer(RunReader.lenient(root), audit(root)).decode()


def steps(root: Path) -> dict[str, Page]:
    """The page's steps by their anchors."""
    parts = re.split(r'(?=<article class="step)', html(root))[1:]
    return {match[1]: Page(part) for part in parts if (match := re.search(r' id="([rl]\d+)"', part))}


def events(root: Path) -> list[Event]:
    lines = (root / "transcript" / "log.jsonl").read_bytes().splitlines()
    return [json.loads(line)["event"] for line in lines]


POINTS = [
    AccuracyPoint("pcevolve", "bundled", True, 2, 0.88, 0.02),
    AccuracyPoint("pcevolve", "cnn", False, 0, 0.4, 0.01),
    AccuracyPoint("pcevolve", "cnn", False, 2, 0.61, 0.02),
    AccuracyPoint("random control", "cnn", False, 2, 0.43, 0.03),
]


def page(root: Path, accuracy: Sequence[AccuracyPoint] = ()) -> Page:
    return Page(write_report(RunReader.strict(root), accuracy).read_text())
