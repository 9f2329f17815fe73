"""``pcevolve bench text`` and its like: methods on real texts with the bundled language model, beside the shots."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from rich.console import Console

from pcevolve.bench.text_studies import Study
from pcevolve.public.plan import PublicPlan
from pcevolve.run.attack import attacked
from pcevolve.run.checks import checked
from pcevolve.run.evaluating import Question, evaluated
from pcevolve.run.execution import execute
from pcevolve.run.local_server import local_server
from pcevolve.run.progress import Audience
from pcevolve.run.settings import RunSettings

Row = dict[str, Any]
Told = Callable[[int, int], None]

SHOWN: Final = ("ngrams dataset", "ngrams both", "words dataset", "next word")
MEASURES: Final = ("Fréchet distance", "MAUVE", "distinct pairs", "copied words")
"""Shown where rows know them; the first two by the encoder that voted, or by the bundled one."""
CANDIDATES: Final = 40


@dataclass(frozen=True)
class TextBench:
    """What is measured.

    Attributes:
        study: What it is about.
        out: Folder of the rows and of the page.
        small: Whether it is only to be seen that everything works.
        seeds: Of each row; None for the study's own.
    """

    study: Study
    out: Path
    small: bool = False
    seeds: int | None = None

    def made(self, told: Told) -> list[Row]:
        """Measure what is missing, keep each row, and write the page."""
        self.out.mkdir(parents=True, exist_ok=True)
        kept = self.out / f"{self._stem}.jsonl"
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
        (self.out / f"{self._stem}.md").write_text(tables(self.study, mine))
        return mine

    @property
    def _stem(self) -> str:
        """Of the files: small runs are no part of the whole table."""
        return f"{self.study.name}-smoke" if self.small else self.study.name

    def _wanted(self) -> Iterator[tuple[str, int, str]]:
        worlds, methods = list(self.study.worlds), list(self.study.methods)
        for seed in range(self.seeds or (2 if self.small else self.study.seeds)):
            for world in worlds[:1] if self.small else worlds:
                for name in self.study.small if self.small else methods:
                    yield world, seed, name

    def _measured(self, world: str, seed: int, name: str, api: str) -> Row:
        """One run, and what judges say of it."""
        folder = Path(tempfile.mkdtemp(prefix="pcevolve-text-"))
        try:
            data = self.study.data(world, folder)
            settings = RunSettings.of(
                {**self._options(folder, api, seed), **self.study.options_of(name, folder), **self._sizes()}
                | {"private": data["private"]}
            )
            started = time.monotonic()
            outcome = execute(checked(settings), Audience(Console(quiet=True)))
            seconds = time.monotonic() - started
            found = evaluated(settings.out, Question(data["test"], data["private"], mix=True))
        finally:
            shutil.rmtree(folder)
        next_word, judges = cast("tuple[dict[str, float], Any]", (found["next_word"], found["judges"]))
        diversity = cast("dict[str, float]", found["distinct_pairs"])
        row: Row = {
            "world": world,
            "seed": seed,
            "method": name,
            "requests": outcome.summary["requests"],
            "seconds": round(seconds, 1),
            "next word": next_word["dataset"],
            "next word private": next_word["private"],
            "distinct pairs": diversity["dataset"],
            "distinct pairs private": diversity["private"],
            "copied words": found["longest_copied_words"],
            **_attack(outcome.plan),
        }
        for verdict in judges:
            for what in ("dataset", "private", "both"):
                row[f"{verdict['judge']} {what}"] = verdict[what]["accuracy"]["mean"]
            if "distances" in verdict:
                row["Fréchet distance"], row["MAUVE"] = verdict["distances"]["frechet"], verdict["mauve"]
        return row

    def _options(self, folder: Path, api: str, seed: int) -> dict[str, Any]:
        return {
            "domain": "definition",
            "dialect": "chat",
            "model": "bundled-text",
            "api": api,
            "out": folder / "run",
            "ledger": folder / "ledger.sqlite",
            "candidates": CANDIDATES,
            "tokens": 40,
            "seed": seed,
            "pad_selection": 0.0,
            "yes": True,
        }

    def _sizes(self) -> dict[str, int]:
        return {"candidates": 10, "initial": 40, "iterations": 1} if self.small else {}


def as_json(study: Study, rows: Sequence[Row]) -> dict[str, object]:
    """Mean accuracy of each method by the judge that did not vote, for programs."""
    own = {name: [row["ngrams dataset"] for row in rows if row["method"] == name] for name in study.methods}
    attacks = {row["method"]: row["attack"] for row in rows if row.get("attack")}
    figures = {name: round(float(np.mean(values)), 4) for name, values in own.items() if values}
    shots = float(np.mean([row["ngrams private"] for row in rows]))
    return {
        "bench": study.name,
        "judge": "ngrams",
        **figures,
        "shots": round(shots, 4),
        "rows": len(rows),
        **({"attack": attacks} if attacks else {}),
    }


def tables(study: Study, rows: Sequence[Row]) -> str:
    """A Markdown table for each world."""
    parts = []
    for world, kinds in study.worlds.items():
        groups: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            if row["world"] == world:
                groups[row["method"]].append(row)
        if groups:
            title = f"{world[0].upper()}{world[1:]} ({100 / len(kinds):.0f} % is luck)"
            parts.append(f"## {title}\n\n{_table(study, groups)}")
    return "\n".join(parts)


def _table(study: Study, groups: Mapping[str, Sequence[Row]]) -> str:
    heads = (
        "method",
        "seeds",
        "requests",
        "seconds",
        "ngrams",
        "ngrams, with shots",
        "words: **voted**",
        "next word",
        *(figure for figure in MEASURES if _known(groups, figure)),
        *(["attack ≤ r"] if _known(groups, "attack") else []),
    )
    lines = [heads, ("---",) * len(heads)]
    for name in (name for name in study.methods if groups.get(name)):
        own = groups[name]
        cells = [_cell(own, figure) for figure in SHOWN]
        more = [_number(own, figure) for figure in MEASURES if _known(groups, figure)]
        more += [_attacks(own)] if _known(groups, "attack") else []
        lines.append((name, str(len(own)), str(own[0]["requests"]), _seconds(own), *cells, *more))
    every = [row for own in groups.values() for row in own]
    private = [_cell(every, f"{judge} private") for judge in ("ngrams", "words", "next word")]
    rest = [
        _number(every, "distinct pairs private") if head == "distinct pairs" else "–" for head in heads[8:]
    ]
    lines.append(("shots", "–", "–", "–", private[0], "–", *private[1:], *rest))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _seconds(rows: Sequence[Row]) -> str:
    return f"{np.median([row['seconds'] for row in rows]):.0f}"


def _cell(rows: Sequence[Row], figure: str) -> str:
    """Mean and standard error over seeds, in percent."""
    values = 100 * np.array([row[figure] for row in rows])
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.1f}" if len(values) > 1 else ""
    return f"{values.mean():.1f}{error}"


def _number(rows: Sequence[Row], figure: str) -> str:
    """Mean and standard error over seeds, as it is; a dash where no row knows it."""
    values = np.array([row[figure] for row in rows if row.get(figure) is not None], dtype=np.float64)
    if not len(values):
        return "–"
    # rounded first: of equal figures floating point leaves a difference
    error = f" ± {round(float(values.std(ddof=1) / np.sqrt(len(values))), 6):.2g}" if len(values) > 1 else ""
    return f"{values.mean():.3g}{error}"


def _known(groups: Mapping[str, Sequence[Row]], figure: str) -> bool:
    """Whether any row knows a figure: those of earlier versions do not know all, and MAUVE is not everywhere."""
    return any(row.get(figure) is not None for own in groups.values() for row in own)


def _attack(plan: PublicPlan) -> Row:
    """What the best attack on a declared secret finds out, where anything is promised of one."""
    found = attacked(plan)
    return {} if found is None else {"attack": asdict(found)}


def _attacks(rows: Sequence[Row]) -> str:
    """The share of right guesses with its limits, and what is allowed; the same in all seeds, whose plans are alike."""
    own = [row["attack"] for row in rows if row.get("attack")]
    if not own:
        return "–"
    span = f"{own[0]['low']:.3f} … {own[0]['high']:.3f}"
    return f"{own[0]['success']:.3f} ({span}) of {own[0]['bound']:.3f}"


def _of(row: Row) -> tuple[str, int, str]:
    return row["world"], row["seed"], row["method"]
