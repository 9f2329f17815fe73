"""The demonstration: server, run, control and figures on this machine alone, of a size that it can make in time.

A short run of prompts alone says how fast the bundled model draws here. Everything else that a demonstration does takes
its time whatever the model gains by what a processor has for networks; on a slow machine it is slow as well.

The private data are scikit-learn's handwritten 3s and 8s, or for texts meanings of nouns of three kinds, under labels
that the provider does not understand, so its prompts alone do badly, as in medicine and industry. They are public data,
which is why this run's figures about them may be shown.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from rich.console import Console

from pcevolve.config.config import RunConfig
from pcevolve.encoders import WORDS
from pcevolve.errors import StoppedError, UsageError
from pcevolve.pages.report import AccuracyPoint, write_report
from pcevolve.private.dataset import PrivateDataset
from pcevolve.public.modality import Kind
from pcevolve.session.execution import Outcome, execute
from pcevolve.session.finished.judging import Scores, accuracy_of_dataset, keep_accuracy, tests_of
from pcevolve.session.first.local_server import local_server
from pcevolve.session.folder import RunFolder
from pcevolve.session.preflight import CheckedRun, checked
from pcevolve.session.progress import Audience, Progress, duration, error_console
from pcevolve.transcript import RunReader

SECONDS = 90.0
"""That the demonstration should take after installation, on two quiet cores."""
CANDIDATES = (100, 60, 45, 30, 20)
"""Per class; fewer tell little."""
IMAGES = 14
"""That the run and its control ask for, per candidate."""
OVERHEAD_SECONDS = 75.0
"""All else, on two cores: starting the server, reading libraries, embedding; training what measures is nearly half."""
OVERHEAD_IMAGES = 1900
"""Images in whose time a slow machine does all else, which it does more slowly, too."""


@dataclass(frozen=True)
class Demonstration:
    """The demonstration of a kind: public data under labels that the provider does not understand.

    Attributes:
        model: What the server serves.
        method: What is shown.
        options: Of all its runs, beside how many candidates they have where that depends on the machine.
        probe: What is other in the run that finds how many candidates this machine makes in the time; None where any
            machine is fast enough.
        secrets: What is declared secret in one more run, words of the private texts; empty for no such run.
        secret_options: What is other in that run.
    """

    model: str
    method: str
    options: Mapping[str, Any]
    probe: Mapping[str, Any] | None = None
    secrets: tuple[str, ...] = ()
    secret_options: Mapping[str, Any] = field(default_factory=dict)


OF_IMAGES: Final = Demonstration(
    model="bundled",
    method="auto",
    options={
        "private": "digits:3=type A,8=type B",
        "domain": "handwritten mark",
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
    probe={"method": "t2i", "iterations": None, "candidates": 30},
)
OF_TEXTS: Final = Demonstration(
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
        "lifetime_epsilon": "40",  # the main run has spent on the same texts, and the ledger adds both up
    },
)
DEMONSTRATIONS: Final[Mapping[Kind, Demonstration]] = {"image": OF_IMAGES, "text": OF_TEXTS}


def seconds_per_image(probe: CheckedRun) -> float:
    """Measure how long the provider takes for an image, by a run of which nothing else is wanted.

    Its first images, which wait for what a model does once, are those that are shown before: they do not count.

    Returns:
        Infinity where all of it was on record, and this machine's pace is not known.

    Raises:
        ClientError: Why it ended.
    """
    told: list[Progress] = []
    execute(probe, Audience(tell=told.append))
    return told[-1].seconds_per_image or math.inf


def expected_seconds(per_image: float, candidates: int) -> float:
    """Estimate how long the demonstration takes with so many candidates per class, from the start of its server on."""
    return per_image * IMAGES * candidates + max(OVERHEAD_SECONDS, OVERHEAD_IMAGES * per_image)


def affordable(per_image: float) -> int:
    """The most candidates per class for which the time is enough; the fewest that make sense, if it never is."""
    enough = [each for each in CANDIDATES if expected_seconds(per_image, each) <= SECONDS]
    return max(enough, default=min(CANDIDATES))


def demonstrate(out: Path, kind: Kind = "image") -> dict[str, Any]:
    """Run a method and its control against a local server and compare what they are worth.

    A demonstration that was cut off is continued.

    Args:
        out: Folder of the run.
        kind: What is made.

    Raises:
        ClientError: Why it ended.
    """
    started = time.monotonic()
    console = error_console()
    done = _shown_before(out)
    if done is not None:
        console.print(
            f"{out} holds a finished demonstration: here it is again; remove the folder to run it anew"
        )
        return done
    try:
        return _demonstrated(out, kind, console, started)
    except StoppedError as stopped:
        raise StoppedError(stopped.lines[0], "to go on: the same command again") from None


def _demonstrated(out: Path, kind: Kind, console: Console, started: float) -> dict[str, Any]:
    """Start the server, make both runs, and measure them."""
    console.print(f"An API server starts, a process of its own; it logs to {_log(out)}")
    shown = DEMONSTRATIONS[kind]
    with local_server(_log(out), _port(out), shown.model) as address:
        console.print(f"API server at {address}")
        options = {**shown.options, **_affordable(out, address, shown, console)}
        main = execute(_checked(out, out, address, **options, method=shown.method))
        console.print("\nThe same once more without looking at the private data, for comparison:")
        blind = _beside(out, "random")
        control = execute(_checked(out, blind, address, **options, method="random"))
        others = {"random control": blind}
        if shown.secrets:
            others["secpe"] = _with_secrets(out, address, options, shown, console)
    console.print("Measuring them on held-out real data ...")
    rows, points = _measured(main, control)
    readers = {name: RunReader.strict(root) for name, root in others.items()}
    page = write_report(RunReader.strict(out), points, main.folder.private_report, readers)
    told = {"wall_seconds": round(time.monotonic() - started, 1), "report": str(page)}
    return keep_accuracy(replace(main, summary=main.summary | told), rows)


def _with_secrets(
    out: Path, address: str, options: dict[str, Any], shown: Demonstration, console: Console
) -> Path:
    """The same once more by SecPE, with some words declared secret; the folder of that run."""
    console.print(
        f"\nOnce more with secrets declared ({', '.join(shown.secrets)}), which SecPE protects besides:"
    )
    listed = RunFolder(out).private / "secrets.txt"
    listed.write_text("\n".join(shown.secrets) + "\n")
    own = {**options, **shown.secret_options, "secrets": listed}
    return execute(_checked(out, _beside(out, "secpe"), address, **own)).folder.root


def _measured(main: Outcome, control: Outcome) -> tuple[list[dict[str, Any]], list[AccuracyPoint]]:
    """Return each judge's scores of the run and of its control's dataset: for the summary, and for the page."""
    rows, points = [], []
    for test in tests_of(main, _public_test(main)):
        scores, chance = Scores.of(main, test, every=True), accuracy_of_dataset(control, test)
        rows.append(scores.as_json() | {"random": chance.to_json()})
        judge, last = (scores.judge, scores.voted), len(scores.by_iteration) - 1
        own = enumerate(scores.by_iteration)
        points += [AccuracyPoint(main.plan.method, *judge, t, each.mean, each.sem) for t, each in own]
        points.append(AccuracyPoint("random control", *judge, last, chance.mean, chance.sem))
    return rows, points


def _affordable(out: Path, address: str, shown: Demonstration, console: Console) -> dict[str, int]:
    """Return the candidates per class: as the run began, or as many as this machine makes in the time.

    Nothing is said of a demonstration that any machine makes in the time.
    """
    if shown.probe is None:
        return {}
    config = RunFolder(out).config
    if config.exists():
        return {"candidates": RunConfig.load(config).method.candidates}
    console.print("How fast is this machine? A few images by prompt alone:")
    probe = _beside(out, "probe")
    per_image = seconds_per_image(_checked(probe, probe, address, **{**shown.options, **shown.probe}))
    found = affordable(per_image)
    pace = f"{1 / per_image:.1f} images per second" if isfinite(per_image) else "these were on record already"
    about = f", {duration(expected_seconds(per_image, found))} in all" if isfinite(per_image) else ""
    console.print(f"{pace}: {found} candidates per class{about}\n")
    return {"candidates": found}


def _checked(root: Path, out: Path, address: str, **options: object) -> CheckedRun:
    """One run of the demonstration, or the rest of it; the ledger of all of them lies in the main run's folder."""
    ledger = RunFolder(root).private / "ledger.sqlite"
    own = {"out": out, "api": address, "ledger": ledger}
    return checked(RunConfig.of({**options, **own}), resume=True)


def _public_test(outcome: Outcome) -> PrivateDataset:
    if outcome.components.test is None or not outcome.components.test_is_public:
        raise UsageError("the demonstration shows figures about its test data, so these must be public")
    return outcome.components.test


def _shown_before(out: Path) -> dict[str, Any] | None:
    """The summary of a demonstration that ran to its end, measurements by every judge included."""
    path = RunFolder(out).result
    summary: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    # Until November 2026 the voter alone was asked: an object, not a list; such a demonstration is measured anew.
    return summary if isinstance(summary.get("accuracy"), list) else None


def _port(out: Path) -> int:
    """The port of a demonstration that was cut off, because its plan names it; else 0, for any free one."""
    config = RunFolder(out).config
    stored = urlsplit(RunConfig.load(config).provider.api).port if config.exists() else None
    return stored or 0


def _log(out: Path) -> Path:
    return _beside(out, "server.log")


def _beside(out: Path, name: str) -> Path:
    """Something of the demonstration that is no part of its main run."""
    return out.with_name(f"{out.name}-{name}")
