"""The demonstration: server, run, control and figures on this machine alone, of a size that it can make in the time.

A short run from prompts alone measures how fast the bundled model draws here. All other work has a fixed
time, as it gains nothing from a processor's units for networks; a slow machine needs more for it, too.

The private data are pictures of four kinds of blood cells, or definitions of three kinds of nouns, under
labels that the provider does not understand. So prompts alone do badly, as in medicine and industry. The data
are public, so this run's figures about them may be shown.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from rich.console import Console

from pcevolve.app.first.local_server import serve_locally
from pcevolve.app.session.access import keep_files_of_demo
from pcevolve.app.session.preflight import check_run
from pcevolve.app.session.staff import Staff, staff
from pcevolve.errors import StoppedError, UsageError
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.data_source import CELLS
from pcevolve.public.encoders import WORDS
from pcevolve.public.figures import USUAL_DELTA
from pcevolve.public.modality import MODALITIES, Kind, read_kind
from pcevolve.public.pages.report.page import CONTROL
from pcevolve.public.privacy import Budget
from pcevolve.public.processes.launcher import Children
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.run.progress import Audience, Progress, error_console, show_work
from pcevolve.public.screen import ProgressCallback, lay_out, spell_estimate
from pcevolve.public.selectors import list_paid_events
from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire.console import describe_plan

SECONDS = 60.0
"""Intended length of the demonstration after installation, on two idle cores."""
CANDIDATES = (40, 30, 20)
"""Candidates of each class; fewer tell little."""
IMAGES = 28
"""Images that the run and its control request for each candidate of a class."""
OVERHEAD_SECONDS = 38.0
"""All other work on two cores: starting the server, imports, embedding, and training judges, which is nearly half."""
OVERHEAD_IMAGES = 750
"""On a slow machine, all other work takes as long as this many images."""


@dataclass(frozen=True)
class Demonstration:
    """A demonstration of one kind of data: public data under labels that the provider does not understand.

    Attributes:
        kind: Kind of data that the run makes.
        options: Options of all its runs; without the number of candidates if that depends on the machine.
        probe: Changed options of the run that measures the machine's speed; None if any machine is fast
            enough.
        secrets: Words of the private texts that one more run declares secret; empty for no such run.
    """

    kind: Kind
    model: str
    method: str
    options: Mapping[str, Any]
    probe: Mapping[str, Any] | None = None
    secrets: tuple[str, ...] = ()
    secret_options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def classes(self) -> int:
        """The number of classes, for private data that are named class by class."""
        return len(str(self.options["private"]).split(","))


OF_IMAGES: Final = Demonstration(
    kind="image",
    model="bundled",
    method="auto",
    options={
        "private": "cells:" + ",".join(f"{kind}=type {place}" for place, kind in enumerate(CELLS, 1)),
        "domain": "blood smear",
        "epsilon": "10",
        "shots": 10,
        "iterations": 1,  # to show the whole way, back to the provider and from it; selection alone does as well
        "steps": 4,
        "guidance": 1.0,
        "batch": 30,
        "seed": 2026,
        "encoder": "bundled",  # the same on every machine, whatever was fetched there
        "first_contact": 120.0,
    },
    probe={"method": "t2i", "iterations": None, "candidates": 15},
)
OF_TEXTS: Final = Demonstration(
    kind="text",
    model="text:bundled",
    method="pe",  # what did best in docs/results/texts.md
    options={
        "private": "terms:disease=type A,drug=type B,body part=type C",
        "dialect": "chat",
        "model": "bundled-text",
        "domain": "definition",
        "epsilon": "10",
        "shots": 10,
        "candidates": 40,
        "initial": 160,
        "iterations": 5,
        "tokens": 40,
        "seed": 2026,
        "encoder": WORDS,
        "first_contact": 120.0,
    },
    secrets=("lung", "wing", "wood"),
    secret_options={
        "method": "secpe",
        "secret_size": 30,
        "iterations": 2,
    },
)
OF_CONTROL: Final = {"method": "random", "min_usable": 0.01}
"""Options of a control: as it costs nothing, it is shown even if it is poor.

Two different texts of a class are enough. Texts that are drawn at random in every round become the same:
three of eight controls had fewer than a quarter left.
"""
WEIGHING = "pcevolve.app.first.weighing:measure"
DEMONSTRATIONS: Final[dict[Kind, Demonstration]] = {each.kind: each for each in (OF_IMAGES, OF_TEXTS)}


def measure_seconds(at_work: Staff, probe: CheckedRun, counted: ProgressCallback) -> float:
    """Measure the provider's seconds for an image, by a short run for this purpose.

    The run's first images do not count, as they include work that a model does only once.

    Returns:
        Seconds; infinity if all images were on record, so that the speed is unknown.

    Raises:
        ClientError: Why it ended.
    """
    found: list[Progress] = []

    def tell(progress: Progress) -> None:
        found.append(progress)
        counted(progress.images, progress.total)

    at_work.carry_out(probe, Audience(Console(quiet=True), tell))
    return found[-1].seconds_per_image or math.inf


def estimate_seconds(per_image: float, candidates: int) -> float:
    """Estimate the demonstration's seconds with this many candidates of each class, from the start of its server."""
    return per_image * IMAGES * candidates + max(OVERHEAD_SECONDS, OVERHEAD_IMAGES * per_image)


def choose_candidates(per_image: float) -> int:
    """Return the most candidates of each class that fit into the time; the least number if none fits."""
    enough = [each for each in CANDIDATES if estimate_seconds(per_image, each) <= SECONDS]
    return max(enough, default=min(CANDIDATES))


def demonstrate(out: Path, children: Children, kind: Kind = "image", verbose: bool = False) -> dict[str, Any]:
    """Run a method and its control against a local server, and compare their results.

    A demonstration that was cut off is continued.

    Args:
        children: The processes that do the work, and end with it.

    Raises:
        ClientError: Why it ended.
    """
    started = time.monotonic()
    console = error_console()
    done = _read_summary(out)
    if done is not None and (found := read_kind(done)) != kind:
        raise UsageError(f"{out} holds a demonstration of {MODALITIES[found].nouns.many}: give another --out")
    if done is not None:
        again = f"{out} holds a finished demonstration; remove it and {find_private(out)} to run it anew"
        console.print(lay_out([("again", again)]))
        return done
    try:
        with _make_room(out, DEMONSTRATIONS[kind]) as (roots, own):
            keep = partial(keep_files_of_demo, [*roots, *own], _log(out))
            with staff(children, keep, roots, own) as at_work:
                return _demonstrate(out, kind, Stage(console, verbose, at_work), started)
    except (KeyboardInterrupt, StoppedError) as stopped:
        text = stopped.lines[0] if isinstance(stopped, StoppedError) else "stopped"
        raise StoppedError(text, "to go on: the same command again") from None


@dataclass(frozen=True)
class Stage:
    """The screen of a demonstration: a line for each finished step, and one bar for the current step."""

    console: Console
    verbose: bool
    at_work: Staff

    def say(self, title: str, text: str) -> None:
        """Print one line or a few."""
        self.console.print(lay_out([(title, text)]))

    def run(self, run: CheckedRun, title: str) -> dict[str, Any]:
        """Carry out a run behind one bar, and return its summary; warnings are in the summary and the report."""
        if self.verbose:
            self.console.print(f"\n{title}")
            return self.at_work.carry_out(run, Audience(self.console, verbose=True))
        with show_work(self.console, title) as counted:
            quiet = Audience(Console(quiet=True), lambda each: counted(each.images, each.total))
            return self.at_work.carry_out(run, quiet)


def _demonstrate(out: Path, kind: Kind, stage: Stage, started: float) -> dict[str, Any]:
    shown = DEMONSTRATIONS[kind]
    given = f"{shown.options['shots']} private {MODALITIES[kind].nouns.many} each, epsilon {shown.options['epsilon']}"
    stage.console.print(f"PCEvolve demo: {shown.classes} classes, {given}; its server starts")
    with serve_locally(_log(out), _port(out), shown.model) as address:
        options, pace = _affordable(out, address, shown, stage)
        stage.say("server", f"{shown.model} at {address} ({_log(out)}){pace}")
        main = _check(out, out, address, **options, method=shown.method)
        summary = stage.run(main, "1/3 evolve")
        stage.say("1/3", f"evolved; {main.folder.preview} shows what words alone give")
        plan = RunReader.strict(main.folder.root).require_plan()
        greetings = summary["requests"] - len(plan.calls)
        stage.console.print(lay_out(describe_plan(plan, list_paid_events(plan), greetings)))
        blind = _beside(out, "random")
        stage.run(_check(out, blind, address, **options, **OF_CONTROL), "2/3 control")
        stage.say("2/3", "made once more, chosen at random")
        others = {CONTROL: str(blind)}
        if shown.secrets:
            others["secpe"] = _with_secrets(out, address, options, shown, stage)
    asked = {"summary": summary, "others": others, "started": started}
    found = stage.at_work.measure(WEIGHING, main, Audience(stage.console), **asked)
    stage.say("3/3", "measured on real data kept aside")
    return found


def _with_secrets(
    out: Path, address: str, options: dict[str, Any], shown: Demonstration, stage: Stage
) -> str:
    """Run again by SecPE, with some words declared secret; return that run's folder."""
    with closing(LedgerBook(_find_ledger(out))) as ledger:
        # The main run has spent on the same texts, and the ledger adds both up.
        if ledger.cap() is None:
            ledger.set_cap(Budget(Fraction(40), USUAL_DELTA))
    made, own = (
        _beside(out, "secpe"),
        {**options, **shown.secret_options, "secrets": _beside(out, "secrets.txt")},
    )
    stage.run(_check(out, made, address, **own), "secpe")
    stage.say("secpe", f"once more with secrets declared, which it protects: {', '.join(shown.secrets)}")
    return str(made)


def _affordable(out: Path, address: str, shown: Demonstration, stage: Stage) -> tuple[dict[str, Any], str]:
    """Return the options of all runs, and a sentence on how long they take.

    The number of candidates is that of a run already begun, or the most that this machine makes in the time,
    measured with a few images from prompts. If any machine is fast enough, the sentence is empty.
    """
    if shown.probe is None:
        return dict(shown.options), ""
    if (began := _find_options(out)) is not None:
        return {**shown.options, "candidates": began.method.candidates}, ""
    probe = _beside(out, "probe")
    with show_work(stage.console, "how fast is this machine?") as counted:
        asked = _check(probe, probe, address, **{**shown.options, **shown.probe})
        per_image = measure_seconds(stage.at_work, asked, counted)
    found = choose_candidates(per_image)
    about = f", {spell_estimate(estimate_seconds(per_image, found))} in all" if isfinite(per_image) else ""
    return {**shown.options, "candidates": found}, about


@contextmanager
def _make_room(out: Path, shown: Demonstration) -> Iterator[tuple[list[Path], list[Path]]]:
    """Create the folders of all runs of a demonstration, and their owner's; at the end, remove empty ones."""
    names = ["random", *(["probe"] if shown.probe else []), *(["secpe"] if shown.secrets else [])]
    roots = [out.absolute(), *(_beside(out, name) for name in names)]
    own = [find_private(each) for each in (out, _beside(out, "probe")) if each in roots or each == out]
    for mode, folders in ((0o777, roots), (0o700, own)):
        for each in folders:
            each.mkdir(mode, parents=True, exist_ok=True)
    listed = _beside(out, "secrets.txt")
    if shown.secrets:
        listed.write_text("\n".join(shown.secrets) + "\n")
    try:
        yield roots, [*own, *([listed] if shown.secrets else [])]
    finally:
        for each in (*roots, *own):
            if each.is_dir() and not any(each.iterdir()):
                each.rmdir()


def _check(root: Path, out: Path, address: str, **options: object) -> CheckedRun:
    """Return a checked run of the demonstration, or the rest of one; all runs share one ledger."""
    own = {"out": out, "api": address, "ledger": _find_ledger(root)}
    return check_run(RunConfig.of({**options, **own}), resume=True)


def _find_ledger(root: Path) -> Path:
    return find_private(root) / "ledger.sqlite"


def find_private(out: Path) -> Path:
    """Return the owner's private folder of the demonstration's run."""
    return _beside(out, "private")


def _find_options(out: Path) -> RunConfig | None:
    owner = OwnerFolder.find(out, _find_ledger(out))
    return None if owner is None else owner.find_options()


def _read_summary(out: Path) -> dict[str, Any] | None:
    """Return the summary of a finished demonstration, with the measurements of every judge."""
    owner = OwnerFolder.find(out, _find_ledger(out))
    summary: dict[str, Any] = json.loads(owner.result.read_text()) if owner and owner.result.exists() else {}
    return summary if "accuracy" in summary else None


def _port(out: Path) -> int:
    """Return the port of a demonstration that was cut off, as its plan names it; else 0, for any free port."""
    began = _find_options(out)
    return 0 if began is None else urlsplit(began.provider.api).port or 0


def _log(out: Path) -> Path:
    return _beside(out, "server.log")


def _beside(out: Path, name: str) -> Path:
    """Return the path of something beside the demonstration's main run."""
    main = out.absolute()  # ``.`` has no name
    return main.with_name(f"{main.name}-{name}")
