"""Tables of texts: methods on real texts with one language model or several, beside the shots."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from pcevolve.app.first.local_server import serve_locally
from pcevolve.app.session.preflight import check_run
from pcevolve.errors import UsageError
from pcevolve.keeper.evaluation.judge import Evaluator, find_usable
from pcevolve.keeper.evaluation.labelled import Labelled
from pcevolve.keeper.finished.evaluating import Evaluation
from pcevolve.keeper.finished.judging import load_judges
from pcevolve.keeper.kind import read_owned, read_run
from pcevolve.public.config.config import RunConfig
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.run.progress import Audience
from pcevolve.public.selectors import find_method
from pcevolve.public.transcript.reader import RunReader
from pcevolve_benchmarks.baselines.catalogue import BASELINES
from pcevolve_benchmarks.heads import with_papers_head
from pcevolve_benchmarks.runner import BenchResult, run, settings_of
from pcevolve_benchmarks.texts.attack import attack
from pcevolve_benchmarks.texts.figures import (
    measure_distinct_pairs,
    measure_mauve,
    measure_next_word_accuracy,
)
from pcevolve_benchmarks.texts.page import BUNDLED_ID, Row, name_writer, page
from pcevolve_benchmarks.texts.studies import Study
from pcevolve_benchmarks.together import execute

ProgressCallback = Callable[[int, int], None]

CANDIDATES: Final = 40
BUNDLED: Final = "bundled"
Wanted = tuple[str, int, str, str]
"""World, seed, method, and who writes."""


@dataclass(frozen=True)
class TextBench:
    """One measurement on texts.

    Attributes:
        study: What it is about.
        out: Folder of the rows and of the page.
        small: Whether it is only to be seen that everything works.
        seeds: Of each row; None for the study's own.
        writers: Language models, each as ``pcevolve-server serve --model text:WRITER`` takes it.
    """

    study: Study
    out: Path
    small: bool = False
    seeds: int | None = None
    writers: tuple[str, ...] = (BUNDLED,)

    def make(self, show_progress: ProgressCallback) -> list[Row]:
        """Measure what is missing, keep each row, and write the page."""
        self.out.mkdir(parents=True, exist_ok=True)
        kept = self.out / f"{self._stem}.jsonl"
        rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
        wanted = list(self._list_wanted())
        known = {_of(row) for row in rows}
        missing = [each for each in wanted if each not in known]
        done = len(wanted) - len(missing)
        for writer in self.writers:
            for row in self._measure_by(
                writer, [each for each in missing if each[3] == _name_as_served(writer)]
            ):
                rows.append(row)
                with kept.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                show_progress(done := done + 1, len(wanted))
        mine = [row for row in rows if _of(row) in set(wanted)]
        (self.out / f"{self._stem}.md").write_text(page(self.study, mine))
        return mine

    @property
    def _stem(self) -> str:
        """Of the files: small runs are no part of the whole table."""
        return f"{self.study.name}-smoke" if self.small else self.study.name

    def _list_wanted(self) -> Iterator[Wanted]:
        worlds = list(self.study.worlds)[: 1 if self.small else None]
        methods = self.study.small if self.small else list(self.study.methods)
        seeds = range(self.seeds or (1 if self.small else self.study.seeds))
        for writer, seed, world, name in product(self.writers, seeds, worlds, methods):
            yield world, seed, name, _name_as_served(writer)

    def _measure_by(self, writer: str, wanted: Sequence[Wanted]) -> Iterator[Row]:
        """Rows of one language model, behind a server of its own."""
        if wanted:
            with serve_locally(self.out / "server.log", model=f"text:{writer}") as api:
                for world, seed, name, served in wanted:
                    yield self._measure(world, seed, name, served, api)

    def _measure(self, world: str, seed: int, name: str, writer: str, api: str) -> Row:
        """One run, and what judges say of it."""
        folder = Path(tempfile.mkdtemp(prefix="pcevolve-text-"))
        try:
            data = self.study.data(world, folder)
            options = {
                **self._options(folder, api, seed, writer),
                **self.study.options_of(name, folder),
                **self._sizes(),
                "private": data["private"],
            }
            started = time.monotonic()
            requests, attack = _carry_out(options, folder / "run")
            seconds = time.monotonic() - started
            found = _evaluate(options, folder / "run", data)
        finally:
            shutil.rmtree(folder)
        return {
            "world": world,
            "seed": seed,
            "method": name,
            "writer": writer,
            "requests": requests,
            "seconds": round(seconds, 1),
            **found,
            **attack,
        }

    def _options(self, folder: Path, api: str, seed: int, writer: str) -> dict[str, Any]:
        return {
            "domain": "definition",
            "dialect": "chat",
            "model": writer,
            "api": api,
            "ledger": folder / "ledger" / "ledger.sqlite",
            "candidates": CANDIDATES,
            "tokens": 40,
            "seed": seed,
            "pad_selection": 0.0,
            "yes": True,
        }

    def _sizes(self) -> dict[str, int]:
        return {"candidates": 10, "initial": 40, "iterations": 1} if self.small else {}


def _carry_out(options: dict[str, Any], out: Path) -> tuple[int, Row]:
    """Make a run: how many requests it took, and what an attack on a secret finds out."""
    if options["method"] in BASELINES:
        return int(run(options, out).facts["requests"]), {}
    outcome = execute(check_run(RunConfig.of({**options, "out": out})), Audience(Console(quiet=True)))
    found = attack(outcome.plan)
    return outcome.summary["requests"], {} if found is None else {"attack": asdict(found)}


def _evaluate(options: dict[str, Any], out: Path, data: dict[str, str]) -> Row:
    """Judge a run's dataset, alone and together with the private texts."""
    made = BenchResult.load(out)
    if made is None:
        plan, began = RunReader.strict(out).require_plan(), OwnerFolder.of(out).find_options()
        test, private = (
            Labelled.of(read_owned(data[name], plan, f"--{name}", began)) for name in ("test", "private")
        )
        labels, dataset = plan.labels, Labelled.released(out, plan.labels)
        voter = plan.encoder.name if find_method(plan.method.name).queries_data else None
    else:
        read = read_run(settings_of(options, out))
        if read.test is None:
            raise UsageError("a table of texts needs held-out ones")
        test, private, labels = Labelled.of(read.test), Labelled.of(read.data), read.data.labels
        dataset, voter = made.dataset(labels), made.voter
    judges = [with_papers_head(each) for each in load_judges((), voter, "auto", "text")]
    found = Evaluation(out, labels, dataset, judges, test, private, mix=True, kind="text").judge()
    row: Row = {"copied words": found["longest_copied_words"]}
    for name, own in (("", dataset), (" private", private)):
        row[f"next word{name}"] = measure_next_word_accuracy(own.images, test.images)
        row[f"distinct pairs{name}"] = measure_distinct_pairs(own.images)
    for judge, verdict in zip(judges, cast("list[dict[str, Any]]", found["judges"]), strict=True):
        for what in ("dataset", "private", "both"):
            row[f"{judge.name} {what}"] = verdict[what]["accuracy"]["mean"]
        if "distances" in verdict:
            row["Fréchet distance"] = verdict["distances"]["frechet"]
            row["MAUVE"] = measure_mauve(*(_embed(judge, each) for each in (dataset, test)))
    return row


def _embed(judge: Evaluator, some: Labelled) -> NDArray[np.float64]:
    """Embeddings of the texts that have one."""
    features = judge.look(some.images)
    return np.asarray(features[find_usable(features)], dtype=np.float64)


def _of(row: Row) -> Wanted:
    return row["world"], row["seed"], row["method"], name_writer(row)


def _name_as_served(writer: str) -> str:
    """Name a language model as a server does: a directory by its name alone."""
    if writer == BUNDLED:
        return BUNDLED_ID
    path = Path(writer).expanduser()
    return path.resolve().name if path.is_dir() else writer
