"""Three owners of blood cells at epsilon 1, by real processes: what one has alone, and two and three together.

    make demo-clinics        (ARGS="--rounds 3" for three draws of the noise each, and intervals)

A server with the bundled model, and for each dataset a run of its own: one owner alone; a coordinator and two, then
three owners, whose sums are added under masks; and beside them one owner of all thirty images of a class, a choice at
random, and words alone. A network that is trained from scratch on each dataset, and did not vote, is tested on cells
that nobody has. Ledgers are each run's own, for these data are public. It continues where it was cut off.
"""

from __future__ import annotations

import json
import runpy
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.rows import parser_of
from pcevolve.auditing import audit
from pcevolve.keeper.clinics.keys import OwnerKey
from pcevolve.keeper.evaluation.heads import CNN_SIDE, QUICK_STEPS, Training, train_cnn
from pcevolve.keeper.private.bundled import load_cells
from pcevolve.public.encoders.singly import pixel_array
from pcevolve.public.pages.rendering import compile_page, inline_parts, read_own, read_style
from pcevolve.public.pages.report.charts import Chart, FigureOverSeeds, Series
from pcevolve.public.screen import lay_out

PREPARE = Path(__file__).parents[1] / "docker" / "clinics" / "prepare.py"
PAGE = Path(__file__).with_suffix(".html.j2")
BIN = Path(sys.executable).parent
OWNERS = ("north", "east", "south")
EPSILON = "1"
BESIDE = {"words": "words alone", "random": "random", "pooled": "all images with one owner"}
SECONDS = 900
Row = dict[str, Any]


@dataclass(frozen=True)
class Dataset:
    """A dataset to be made: of so many owners together, or one of ``BESIDE``, in one of the rounds."""

    kind: str
    round: int

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.round}"


@dataclass(frozen=True)
class Demo:
    """Where everything lies, and who draws."""

    root: Path
    api: str
    candidates: int

    def make(self, wanted: Dataset) -> Path:
        """Have a dataset made; the folder of its run."""
        folder = self.root / wanted.name
        if (folder / "run" / "summary.json").exists():
            return folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if wanted.kind in ("2", "3"):
            self._together(folder, wanted)
        else:
            self._alone(folder, wanted)
        return folder / "run"

    def _alone(self, folder: Path, wanted: Dataset) -> None:
        turned = [*OWNERS[wanted.round % 3 :], *OWNERS[: wanted.round % 3]]
        private, shots = self.root / "owners" / turned[0] / "images", 10
        if wanted.kind == "pooled":
            private, shots = self.root / "owners" / "all", 10 * len(OWNERS)
        method = {"words": "t2i", "random": "random"}.get(wanted.kind, "dp-means")
        words = [
            "run",
            "--private",
            str(private),
            "--shots",
            str(shots),
            *self._asked(folder, wanted, method),
        ]
        _require_done(folder, {"run": _start(folder, "run", words)})

    def _together(self, folder: Path, wanted: Dataset) -> None:
        many = int(wanted.kind)
        names = [OWNERS[(wanted.round + place) % 3] for place in range(many)]
        keys = {name: self.root / "owners" / name / "own.key" for name in names}
        roster, port = folder / "roster.toml", find_port()
        runpy.run_path(str(PREPARE))["write_roster"](
            roster, {name: OwnerKey.load(key).public for name, key in keys.items()}
        )
        door = ["--clinics", str(roster), "--listen", f"127.0.0.1:{port}"]
        started = {"run": _start(folder, "run", ["run", *door, *self._asked(folder, wanted, "dp-means")])}
        for name, key in keys.items():
            own = folder / name
            words = [
                "join",
                f"http://127.0.0.1:{port}",
                "--private",
                str(self.root / "owners" / name / "images"),
            ]
            words += ["--roster", str(roster), "--key", str(key), "--out", str(own)]
            words += [
                "--ledger",
                str(folder / f"{name}-ledger" / "ledger.sqlite"),
                "--yes",
                "--max-epsilon",
                EPSILON,
            ]
            started[name] = _start(folder, name, words)
        _require_done(folder, started)
        for name in names:
            assert all(each.holds for each in audit(folder / name)), f"the record of {name} does not hold"

    def _asked(self, folder: Path, wanted: Dataset, method: str) -> list[str]:
        settings = {
            "privacy.ledger": folder / "ledger" / "ledger.sqlite", "provider.steps": 4, "provider.guidance": 1.0,
            "provider.batch": 30, "provider.seed": 2026 + wanted.round, "encoder.name": "bundled",
            **({} if method == "t2i" else {"method.iterations": 1}),
            **({"method.min_usable": 0.01} if method == "random" else {}),
        }  # fmt: skip
        return [
            "--domain", "blood smear", "--epsilon", EPSILON, "--method", method, "--api", self.api, "--candidates",
            str(self.candidates), "--out", str(folder / "run"), "--yes",
            *(word for name, value in settings.items() for word in ("--set", f"{name}={value}")),
        ]  # fmt: skip


def _start(folder: Path, name: str, words: Sequence[str]) -> subprocess.Popen[bytes]:
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen([BIN / "pcevolve", *words], stdout=log, stderr=log, stdin=subprocess.DEVNULL)


def _require_done(folder: Path, started: Mapping[str, subprocess.Popen[bytes]]) -> None:
    """Wait for commands; one that fails ends all, and shows what it said."""
    end = time.monotonic() + SECONDS
    try:
        while any(each.poll() is None for each in started.values()):
            failed = [name for name, each in started.items() if each.poll()]
            if failed or time.monotonic() > end:
                break
            time.sleep(0.1)
        for name, each in started.items():
            if each.poll() != 0:
                sys.exit(
                    f"{name} failed ({folder / name}.log):\n{(folder / f'{name}.log').read_text()[-2000:]}"
                )
    finally:
        for each in started.values():
            each.kill()
            each.wait()


def find_port() -> int:
    """A free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def serve(root: Path) -> Iterator[str]:
    """Serve the bundled model; its address, once it can draw. A demonstration that goes on has the port that it had."""
    kept = root / "port"
    if not kept.exists():
        kept.write_text(str(find_port()))
    address = f"http://127.0.0.1:{kept.read_text()}"
    with (root / "server.log").open("wb") as log:
        words = [str(BIN / "pcevolve-server"), "serve", "--port", kept.read_text()]
        server = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        while not _is_ready(address):
            if server.poll() is not None:
                sys.exit(f"the server ended: {root / 'server.log'}")
            time.sleep(0.5)
        yield address
    finally:
        server.terminate()
        server.wait()


def _is_ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/readyz", timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


def measure(run: Path, networks: int) -> float:
    """Accuracy, per cent, on cells that nobody has, of networks that are trained on a dataset."""
    prepared = runpy.run_path(str(PREPARE))
    _, held_out = load_cells(prepared["SHOTS"] * len(OWNERS), prepared["NAMES"])
    made, targets = [], []
    for target, label in enumerate(held_out.labels):
        for path in sorted((run / "release" / label).glob("*.png")):
            with Image.open(path) as image:
                made.append(image.convert("RGB"))
            targets.append(target)
    training = Training(pixel_array(made, CNN_SIDE), np.array(targets), len(held_out.labels))
    real = pixel_array(held_out.items, CNN_SIDE)
    found = [
        (train_cnn(training, seed, QUICK_STEPS)(real) == held_out.targets).mean() for seed in range(networks)
    ]
    return 100 * float(np.mean(found))


def collect(rows: Sequence[Row], kind: str) -> FigureOverSeeds:
    """A kind's accuracy over the rounds."""
    return FigureOverSeeds.of([row["accuracy"] for row in rows if row["kind"] == kind])


def spell(figure: FigureOverSeeds) -> str:
    """A mean with its interval, if there are rounds enough for one."""
    return f"{figure.mean:.0f}" if figure.half is None else f"{figure.mean:.0f} ± {figure.half:.0f}"


def judge_figures(rows: Sequence[Row]) -> str:
    """Say what the figures show, and what they cannot show."""
    one, three = collect(rows, "1"), collect(rows, "3")
    if one.half is None or three.half is None:
        return (
            "one or two draws of the noise each: another draw moves a figure by some fifteen points, so these show no "
            'difference (make demo-clinics ARGS="--rounds 3" draws thrice; docs/results/clinics.md has ten draws)'
        )
    if three.mean - three.half > one.mean + one.half:
        return "three owners together have more than one alone: their 95 % intervals are apart"
    return "too noisy to tell: three owners' 95 % interval does not lie above one owner's"


def draw(rows: Sequence[Row]) -> Chart:
    """The picture: accuracy over the number of owners, and what stands beside it."""
    found = [collect(rows, kind) for kind in ("1", "2", "3")]
    own = tuple((place, each.mean) for place, each in enumerate(found))
    series = [Series("summed under masks", own, tuple(each.half or 0.0 for each in found))]
    for kind, told in BESIDE.items():
        mean = collect(rows, kind).mean
        series.append(Series(f"{told}: {mean:.0f}", tuple((place, mean) for place in range(3))))
    summary = f"one owner {spell(found[0])}, two {spell(found[1])}, three {spell(found[2])} %"
    return Chart(
        "Accuracy on real images over the number of owners", summary, series, top=100.0,
        spell=lambda value: f"{value:.0f} %", axis="owners", columns=("1", "2", "3"),
    )  # fmt: skip


def write_page(rows: Sequence[Row], root: Path) -> Path:
    """A page with the picture, the figures and what they show."""
    names = {"1": "one owner alone", "2": "two owners, summed", "3": "three owners, summed", **BESIDE}
    template = compile_page("report/chart").environment.from_string(PAGE.read_text(encoding="utf-8"))
    page, style = root / "clinics.html", inline_parts(read_style(), read_own("report/chart.css"))
    facts = [(told, spell(collect(rows, kind))) for kind, told in names.items()]
    page.write_text(
        template.render(
            style=style, epsilon=EPSILON, verdict=judge_figures(rows), drawn=draw(rows), rows=facts
        ),
        encoding="utf-8",
    )
    return page


def main() -> None:
    """Make, measure and draw."""
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/demo-clinics"))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--candidates", type=int, default=20, help="of each class")
    parser.add_argument(
        "--networks", type=int, default=2, help="that judge each dataset; their mean is its figure"
    )
    given = parser.parse_args()
    root, began = given.out.absolute(), time.monotonic()
    root.mkdir(parents=True, exist_ok=True)
    if not (root / "roster.toml").exists():
        runpy.run_path(str(PREPARE))["prepare"](root / "roster.toml", root / "owners", [*OWNERS])
        for name in OWNERS:
            for path in (root / "owners" / name / "images").rglob("*.png"):
                to = root / "owners" / "all" / path.parent.name / f"{name}-{path.name}"
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, to)
    rows: list[Row] = []
    with serve(root) as api:
        for turn in range(given.rounds):
            for kind in ("1", "2", "3", *BESIDE):
                run = Demo(root, api, given.candidates).make(Dataset(kind, turn))
                rows.append({"kind": kind, "round": turn, "accuracy": measure(run, given.networks)})
                print(
                    f"{time.monotonic() - began:4.0f} s  {run.parent.name}: {rows[-1]['accuracy']:.0f} %",
                    flush=True,
                )
    (root / "clinics.json").write_text(json.dumps(rows, indent=1) + "\n")
    page = write_page(rows, root)
    from rich.console import Console

    facts = [("accuracy", f"one owner {spell(collect(rows, '1'))}, two {spell(collect(rows, '2'))}, three "
              f"{spell(collect(rows, '3'))} %, at epsilon {EPSILON}"),
             ("beside", ", ".join(f"{told} {spell(collect(rows, kind))}" for kind, told in BESIDE.items())),
             ("verdict", judge_figures(rows)), ("audit", "every owner's record holds"),
             ("page", str(page)), ("took", f"{time.monotonic() - began:.0f} s")]  # fmt: skip
    Console(highlight=False).print(lay_out(facts))


if __name__ == "__main__":
    main()
