"""The demonstration: server, run, control and figures on this machine alone, sized to fit the time.

A short run from prompts alone measures how fast the bundled model draws here. The work besides drawing is
assumed to take a fixed time: unlike drawing, it is not faster on processors with units for neural networks.
On a slow machine, this work takes longer.

The private data are pictures of four kinds of blood cells, or definitions of three kinds of nouns. The
provider does not understand their labels. Prompts alone therefore do badly, as in medicine and industry.
The data are public, so this run's figures about them may be shown.
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
"""Possible numbers of candidates per class; with fewer, accuracies mean little."""
IMAGES = 28
"""Number of images that the run and its control request per candidate of a class."""
OVERHEAD_SECONDS = 38.0
"""Seconds that the work besides drawing takes on two cores: server start, imports, embedding, and training of judges.

The training takes nearly half of these seconds.
"""
OVERHEAD_IMAGES = 750
"""On a slow machine, the work besides drawing takes as long as drawing this number of images."""


@dataclass(frozen=True)
class Demonstration:
    """A demonstration of one kind of data: public data under labels that the provider does not understand.

    Attributes:
        kind: Kind of data that the run makes.
        options: Options of all runs of the demonstration; the number of candidates may depend on the
            machine.
        probe: Changes of options for the run that measures the machine's speed; None if any machine is fast
            enough.
        secrets: Words of the private texts that one more run declares secret; empty if there is no such run.
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
        """The number of classes, which are listed in the name of the private data."""
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
        "iterations": 1,  # to show variations too; selection alone is as accurate
        "steps": 4,
        "guidance": 1.0,
        "batch": 30,
        "seed": 2026,
        "encoder": "bundled",  # the same on every machine, even if others were fetched
        "first_contact": 120.0,
    },
    probe={"method": "t2i", "iterations": None, "candidates": 15},
)
OF_TEXTS: Final = Demonstration(
    kind="text",
    model="text:bundled",
    method="pe",  # the best method in docs/results/texts.md
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
"""Options of a control. A control costs no privacy, so it is shown even with few usable outputs.

Two different texts of a class are enough. Texts drawn at random in every round become equal: in three of
eight controls, fewer than a quarter were different.
"""
WEIGHING = "pcevolve.app.first.weighing:measure"
DEMONSTRATIONS: Final[dict[Kind, Demonstration]] = {each.kind: each for each in (OF_IMAGES, OF_TEXTS)}


def measure_seconds(at_work: Staff, probe: CheckedRun, counted: ProgressCallback) -> float:
    """Measure the provider's seconds per image, in a short run for this purpose.

    The run's first images do not count, because they include work that a model does only once.

    Returns:
        Seconds; infinity if all images were on record, so that the speed is unknown.

    Raises:
        ClientError: The reason why the run ended.
    """
    found: list[Progress] = []

    def tell(progress: Progress) -> None:
        found.append(progress)
        counted(progress.images, progress.total)

    at_work.carry_out(probe, Audience(Console(quiet=True), tell))
    return found[-1].seconds_per_image or math.inf


def estimate_seconds(per_image: float, candidates: int) -> float:
    """Estimate the demonstration's seconds from the start of its server, with this number of candidates per class."""
    return per_image * IMAGES * candidates + max(OVERHEAD_SECONDS, OVERHEAD_IMAGES * per_image)


def choose_candidates(per_image: float) -> int:
    """Return the largest number of candidates per class that fits the time; the smallest number if none fits."""
    enough = [each for each in CANDIDATES if estimate_seconds(per_image, each) <= SECONDS]
    return max(enough, default=min(CANDIDATES))


def demonstrate(out: Path, children: Children, kind: Kind = "image", verbose: bool = False) -> dict[str, Any]:
    """Run a method and its control against a local server, and compare their results.

    An interrupted demonstration is continued.

    Args:
        children: The processes that do the work; they end with it.

    Raises:
        ClientError: The reason why the demonstration ended.
    """
    started = time.monotonic()
    console = error_console()
    done = _read_summary(out)
    if done is not None and (found := read_kind(done)) != kind:
        raise UsageError(
            f"{out} contains a demonstration of {MODALITIES[found].nouns.many}: give another --out"
        )
    if done is not None:
        again = f"{out} contains a finished demonstration; to repeat it, remove {out} and {find_private(out)}"
        console.print(lay_out([("again", again)]))
        return done
    try:
        with _make_room(out, DEMONSTRATIONS[kind]) as (roots, own):
            keep = partial(keep_files_of_demo, [*roots, *own], _log(out))
            with staff(children, keep, roots, own) as at_work:
                return _demonstrate(out, kind, Stage(console, verbose, at_work), started)
    except (KeyboardInterrupt, StoppedError) as stopped:
        text = stopped.lines[0] if isinstance(stopped, StoppedError) else "stopped"
        raise StoppedError(text, "to continue, give the same command again") from None


@dataclass(frozen=True)
class Stage:
    """The screen of a demonstration: one line per finished step, and one bar for the current step."""

    console: Console
    verbose: bool
    at_work: Staff

    def say(self, title: str, text: str) -> None:
        """Print one or several lines."""
        self.console.print(lay_out([(title, text)]))

    def run(self, run: CheckedRun, title: str) -> dict[str, Any]:
        """Carry out a run with one progress bar, and return its summary; warnings are in summary and report."""
        if self.verbose:
            self.console.print(f"\n{title}")
            return self.at_work.carry_out(run, Audience(self.console, verbose=True))
        with show_work(self.console, title) as counted:
            quiet = Audience(Console(quiet=True), lambda each: counted(each.images, each.total))
            return self.at_work.carry_out(run, quiet)


def _demonstrate(out: Path, kind: Kind, stage: Stage, started: float) -> dict[str, Any]:
    shown = DEMONSTRATIONS[kind]
    given = f"{shown.options['shots']} private {MODALITIES[kind].nouns.many} each, epsilon {shown.options['epsilon']}"
    stage.console.print(f"PCEvolve demo: {shown.classes} classes, {given}; the server is starting")
    with serve_locally(_log(out), _port(out), shown.model) as address:
        options, pace = _affordable(out, address, shown, stage)
        stage.say("server", f"{shown.model} at {address} ({_log(out)}){pace}")
        main = _check(out, out, address, **options, method=shown.method)
        summary = stage.run(main, "1/3 evolve")
        stage.say("1/3", f"the run is finished; {main.folder.preview} shows the images made from words alone")
        plan = RunReader.strict(main.folder.root).require_plan()
        greetings = summary["requests"] - len(plan.calls)
        stage.console.print(lay_out(describe_plan(plan, list_paid_events(plan), greetings)))
        blind = _beside(out, "random")
        stage.run(_check(out, blind, address, **options, **OF_CONTROL), "2/3 control")
        stage.say("2/3", "made a second dataset by random selection, for comparison")
        others = {CONTROL: str(blind)}
        if shown.secrets:
            others["secpe"] = _with_secrets(out, address, options, shown, stage)
    asked = {"summary": summary, "others": others, "started": started}
    found = stage.at_work.measure(WEIGHING, main, Audience(stage.console), **asked)
    stage.say("3/3", "measured the accuracy on held-out real data")
    return found


def _with_secrets(
    out: Path, address: str, options: dict[str, Any], shown: Demonstration, stage: Stage
) -> str:
    """Run once more with the method SecPE and some words declared secret; return that run's folder."""
    with closing(LedgerBook(_find_ledger(out))) as ledger:
        # The ledger adds up this run and the main run, because both use the same texts.
        if ledger.cap() is None:
            ledger.set_cap(Budget(Fraction(40), USUAL_DELTA))
    made, own = (
        _beside(out, "secpe"),
        {**options, **shown.secret_options, "secrets": _beside(out, "secrets.txt")},
    )
    stage.run(_check(out, made, address, **own), "secpe")
    stage.say(
        "secpe", f"made another dataset with protection of declared secrets: {', '.join(shown.secrets)}"
    )
    return str(made)


def _affordable(out: Path, address: str, shown: Demonstration, stage: Stage) -> tuple[dict[str, Any], str]:
    """Return the options of all runs, and a sentence about their duration.

    A run that has begun keeps its number of candidates. Otherwise the number is the largest that this
    machine can make in the intended time; its speed is measured with a few images from prompts. If any
    machine is fast enough, the sentence is empty.
    """
    if shown.probe is None:
        return dict(shown.options), ""
    if (began := _find_options(out)) is not None:
        return {**shown.options, "candidates": began.method.candidates}, ""
    probe = _beside(out, "probe")
    with show_work(stage.console, "measuring the speed of this machine") as counted:
        asked = _check(probe, probe, address, **{**shown.options, **shown.probe})
        per_image = measure_seconds(stage.at_work, asked, counted)
    found = choose_candidates(per_image)
    about = f", {spell_estimate(estimate_seconds(per_image, found))} in all" if isfinite(per_image) else ""
    return {**shown.options, "candidates": found}, about


@contextmanager
def _make_room(out: Path, shown: Demonstration) -> Iterator[tuple[list[Path], list[Path]]]:
    """Create the folders of all runs of a demonstration, and the owner's folders; at the end, remove empty ones."""
    names = ["random", *(["probe"] if shown.probe else []), *(["secpe"] if shown.secrets else [])]
    roots = [out.absolute(), *(_beside(out, name) for name in names)]
    own = [find_private(each) for each in (out, _beside(out, "probe")) if each in roots or each == out]
    # Folders of runs may be shared; the owner's are private.
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
    """Return a checked new or resumed run of the demonstration; all its runs share one ledger."""
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
    """Return the summary of a finished demonstration, with every judge's measurements."""
    owner = OwnerFolder.find(out, _find_ledger(out))
    summary: dict[str, Any] = json.loads(owner.result.read_text()) if owner and owner.result.exists() else {}
    return summary if "accuracy" in summary else None


def _port(out: Path) -> int:
    """Return the port in an interrupted demonstration's plan; otherwise 0, for any free port."""
    began = _find_options(out)
    return 0 if began is None else urlsplit(began.provider.api).port or 0


def _log(out: Path) -> Path:
    return _beside(out, "server.log")


def _beside(out: Path, name: str) -> Path:
    """Return the path of a file or folder beside the demonstration's main run."""
    main = out.absolute()  # ``.`` has no name
    return main.with_name(f"{main.name}-{name}")
