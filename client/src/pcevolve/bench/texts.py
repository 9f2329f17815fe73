"""``pcevolve bench text``: methods on real texts with the bundled language model, beside controls and the shots."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console

from pcevolve.run.checks import checked
from pcevolve.run.evaluating import Question, evaluated
from pcevolve.run.execution import execute
from pcevolve.run.local_server import local_server
from pcevolve.run.progress import Audience
from pcevolve.run.settings import RunSettings

Row = dict[str, Any]
Told = Callable[[int, int], None]

NAME: Final = "text"
WORLDS: Final = {
    "disease, drug, body part": ("disease", "drug", "body part"),
    "bird, fish, food": ("bird", "fish", "food"),
    "garment, musical instrument, vehicle, weapon": ("garment", "musical instrument", "vehicle", "weapon"),
}
"""Private classes; on the first some settings were tried, the others were looked at once."""
METHODS: Final[Mapping[str, Mapping[str, object]]] = {
    "t2i": {"method": "t2i"},
    "random": {"method": "random", "iterations": 5, "initial": 160},
    "aug-pe": {"method": "aug-pe", "iterations": 4, "initial": 160},
    "pe": {"method": "pe", "iterations": 5, "initial": 160},
    "secpe": {"method": "secpe", "iterations": 4, "initial": 160, "secret_size": 30},
    "dp-means": {"method": "dp-means"},
    "dp-means, 2 rounds": {"method": "dp-means", "iterations": 2},
}
SMALL: Final = ("random", "aug-pe", "secpe")
SECRETS: Final = ("lung", "wing", "wood")
"""Words that are taken for secrets: texts that hold one count less."""
SHOTS, CANDIDATES, SEEDS = 10, 40, 10


@dataclass(frozen=True)
class TextBench:
    """What is measured.

    Attributes:
        out: Folder of the rows and of the page.
        worlds: Of ``WORLDS``, by name.
        methods: Of ``METHODS``, by name.
        seeds: Of each.
        sizes: Changes to the options of all runs.
    """

    out: Path
    worlds: tuple[str, ...] = tuple(WORLDS)
    methods: tuple[str, ...] = tuple(METHODS)
    seeds: range = range(SEEDS)
    sizes: Mapping[str, object] | None = None

    @classmethod
    def of(cls, out: Path, smoke: bool, seeds: int | None) -> TextBench:
        """All of it, or a small part, to see that everything works."""
        if not smoke:
            return cls(out, seeds=range(seeds or SEEDS))
        sizes = {"candidates": 10, "initial": 40, "iterations": 1}
        return cls(out, tuple(WORLDS)[:1], SMALL, range(seeds or 2), sizes)

    def made(self, told: Told) -> list[Row]:
        """Measure what is missing, keep each row, and write the page."""
        self.out.mkdir(parents=True, exist_ok=True)
        kept = self.out / "texts.jsonl"
        rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
        wanted = list(self._wanted())
        missing = [each for each in wanted if not any(_of(row) == each for row in rows)]
        if missing:
            with local_server(self.out / "server.log", model="text:bundled") as api:
                for number, each in enumerate(missing, 1):
                    rows.append(self._measured(*each, api))
                    with kept.open("a") as file:
                        file.write(json.dumps(rows[-1]) + "\n")
                    told(len(wanted) - len(missing) + number, len(wanted))
        mine = [row for row in rows if _of(row) in set(wanted)]
        (self.out / "text.md").write_text(tables(mine))
        return mine

    def _wanted(self) -> Iterator[tuple[str, int, str]]:
        for seed in self.seeds:
            for world in self.worlds:
                for name in self.methods:
                    yield world, seed, name

    def _measured(self, world: str, seed: int, name: str, api: str) -> Row:
        """One run, and what judges say of it."""
        private = "terms:" + ",".join(
            f"{kind}=type {chr(ord('A') + place)}" for place, kind in enumerate(WORLDS[world])
        )
        folder = Path(tempfile.mkdtemp(prefix="pcevolve-text-"))
        try:
            settings = RunSettings.of(self._options(name, private, folder, api, seed))
            outcome = execute(checked(settings), Audience(Console(quiet=True)))
            found = evaluated(settings.out, Question(private, private, mix=True))
        finally:
            shutil.rmtree(folder)
        row: Row = {"world": world, "seed": seed, "method": name, "requests": outcome.summary["requests"]}
        judges: Any = found["judges"]
        for verdict in judges:
            for what in ("dataset", "private", "both"):
                row[f"{verdict['judge']} {what}"] = verdict[what]["accuracy"]["mean"]
        return row

    def _options(self, name: str, private: str, folder: Path, api: str, seed: int) -> dict[str, Any]:
        given = {
            "private": private,
            "domain": "definition",
            "dialect": "chat",
            "model": "bundled-text",
            "api": api,
            "out": folder / "run",
            "ledger": folder / "ledger.sqlite",
            "shots": SHOTS,
            "candidates": CANDIDATES,
            "tokens": 40,
            "seed": seed,
            "pad_selection": 0.0,
            "yes": True,
            **METHODS[name],
            **(self.sizes or {}),
        }
        if name == "secpe":
            given["secrets"] = folder / "secrets.txt"
            (folder / "secrets.txt").write_text("\n".join(SECRETS) + "\n")
        return given


def as_json(rows: Sequence[Row]) -> dict[str, object]:
    """Mean accuracy of each method by the judge that did not vote, for programs."""
    own = {name: [row["ngrams dataset"] for row in rows if row["method"] == name] for name in METHODS}
    figures = {name: round(float(np.mean(values)), 4) for name, values in own.items() if values}
    shots = float(np.mean([row["ngrams private"] for row in rows]))
    return {"bench": NAME, "judge": "ngrams", **figures, "shots": round(shots, 4), "rows": len(rows)}


def tables(rows: Sequence[Row]) -> str:
    """A Markdown table for each world."""
    parts = []
    for world in WORLDS:
        groups: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            if row["world"] == world:
                groups[row["method"]].append(row)
        if groups:
            title = f"{world[0].upper()}{world[1:]} ({100 / len(WORLDS[world]):.0f} % is luck)"
            parts.append(f"## {title}\n\n{_table(groups)}")
    return "\n".join(parts)


def _table(groups: Mapping[str, Sequence[Row]]) -> str:
    heads = ("method", "seeds", "requests", "ngrams", "ngrams, with shots", "words: **voted**")
    lines = [heads, ("---",) * len(heads)]
    for name in (name for name in METHODS if groups.get(name)):
        own = groups[name]
        cells = [_cell(own, figure) for figure in ("ngrams dataset", "ngrams both", "words dataset")]
        lines.append((name, str(len(own)), str(own[0]["requests"]), cells[0], cells[1], cells[2]))
    every = [row for own in groups.values() for row in own]
    lines.append(("shots", "–", "–", _cell(every, "ngrams private"), "–", _cell(every, "words private")))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(rows: Sequence[Row], figure: str) -> str:
    """Mean and standard error over seeds, in percent."""
    values = 100 * np.array([row[figure] for row in rows])
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.1f}" if len(values) > 1 else ""
    return f"{values.mean():.1f}{error}"


def _of(row: Row) -> tuple[str, int, str]:
    return row["world"], row["seed"], row["method"]
