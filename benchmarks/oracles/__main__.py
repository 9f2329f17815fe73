"""Where usefulness stops: accuracy of a selected dataset with each part replaced by its ideal, one after the other.

    PCEVOLVE_BENCH_DATA=DIR .venv/bin/python -m benchmarks.oracles --cache runs/oracles

It writes docs/results/oracles.{md,json}. One selection out of a pool, no rounds, ten shots per class, (10, 1e-5)-DP
under replace-one unless a row says otherwise; sets that may be tuned on. Ideals:

- generator: unlabelled real images of the set itself are the candidates, half of what is not among the shots;
- voter: a strong encoder that is not the judge selects, in the frame of the candidates;
- frame: that of real images of the set;
- noise: none.

Judges are linear heads on a MobileNet and a SqueezeNet, tested on the other half; neither voted where it judges.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.judges import ONNX
from benchmarks.release.budget import CENTRE_FIRST, SHOTS, interval
from benchmarks.release.data import real_sets
from benchmarks.release.seen import (
    CANDIDATES,
    VOTER,
    Draw,
    Seen,
    arguments,
    brought,
    head_accuracy,
    repeated,
    seen_by_all,
)
from pcevolve.dp.mechanisms import SeededNoise
from pcevolve.privacy import Event, Events
from pcevolve.selectors import PrivateEmbeddings, Scene
from pcevolve.selectors.frame import Frame
from pcevolve.selectors.means import Means

PICKED = 20
NOISELESS: Events = (Event("gaussian", f"1/{10**9}"), Event("gaussian", f"1/{10**9}"))


@dataclass(frozen=True)
class Case:
    """Which parts are ideal, or, with ``method``, what is trained on instead of a selection."""

    title: str
    generator: bool = False
    voter: bool = False
    frame: bool = False
    noise: bool = False
    method: str = "selected"


CASES = (
    Case("t2i: the generator's images, unselected", method="t2i"),
    Case("as it is"),
    Case("ideal noise", noise=True),
    Case("ideal frame", frame=True),
    Case("ideal voter", voter=True),
    Case("ideal voter, frame and noise", voter=True, frame=True, noise=True),
    Case("ideal generator", generator=True),
    Case("ideal generator and noise", generator=True, noise=True),
    Case("ideal generator, frame and noise", generator=True, frame=True, noise=True),
    Case("ideal generator, voter, frame and noise", generator=True, voter=True, frame=True, noise=True),
    Case("the ten shots (not private)", method="shots"),
)


def main() -> None:
    """Measure all sets and write the table."""
    given = arguments(__doc__, seeds=20)
    found = []
    for name, real in real_sets().items():
        seen = seen_by_all(real, given.cache)
        for case in CASES:
            for judge in ONNX:
                values = [
                    _accuracy(case, seen, Draw.of(seen.targets, seed), judge) for seed in range(given.seeds)
                ]
                mean, half = interval(values)
                row = {"set": name, **asdict(case), "judge": judge, "voted": False, "seeds": given.seeds}
                found.append({**row, "accuracy": mean, "half_width_95": half})
            print(name, case.title, [round(100 * each["accuracy"], 1) for each in found[-2:]], flush=True)
        _write(given.out, found)


def _accuracy(case: Case, seen: Seen, draw: Draw, judge: str) -> float:
    """Of a linear head on one judge, trained on what a case gives."""
    made, labels = _made(case, seen, draw, judge)
    return head_accuracy(made, labels, seen.real[judge][draw.test], seen.targets[draw.test])


def _made(case: Case, seen: Seen, draw: Draw, judge: str) -> tuple[np.ndarray, np.ndarray]:
    """A training set as the judge sees it, and its labels."""
    if case.method == "shots":
        return seen.real[judge][draw.shots], seen.targets[draw.shots]
    if case.method == "t2i":
        pools = [each[:PICKED] for each in seen.drawn[judge]]
        return np.concatenate(pools), repeated(pools)
    voter = next(name for name in ONNX if name != judge) if case.voter else VOTER
    picked = _picked(case, seen, draw, voter)
    pools = [seen.real[judge][draw.unlabelled]] * len(picked) if case.generator else seen.drawn[judge]
    chosen = [pool[rows] for pool, rows in zip(pools, picked, strict=True)]
    return np.concatenate(chosen), repeated(chosen)


def _picked(case: Case, seen: Seen, draw: Draw, voter: str) -> tuple[np.ndarray, ...]:
    """Rows of each class's pool that are selected."""
    real, classes = seen.real[voter], int(seen.targets.max()) + 1
    pools = [real[draw.unlabelled]] * classes if case.generator else seen.drawn[voter]
    names = tuple(str(each) for each in range(classes))
    frame = Frame.of(real[draw.unlabelled]) if case.frame else None
    known = None if case.frame else brought(voter)
    scene = Scene(names, tuple(pools), PICKED, SHOTS, 1, 0, draw.seed, "replace-one", 0.0, frame, known)
    private = PrivateEmbeddings(real[draw.shots], seen.targets[draw.shots], np.arange(len(draw.shots)))
    events = NOISELESS if case.noise else CENTRE_FIRST
    return Means().pick(Means().measure(private, scene, events, SeededNoise(draw.seed)), scene)


def _write(out: Path, found: list[dict[str, object]]) -> None:
    (out / "oracles.json").write_text(json.dumps(found, indent=1) + "\n")
    sets = list(dict.fromkeys(str(each["set"]) for each in found))
    lines = [HEADER, f"| | {' | '.join(sets)} |", "|---|" + "---|" * len(sets)]
    for case in CASES:
        rows = [each for each in found if each["title"] == case.title]
        cells = [_cell([each for each in rows if each["set"] == name]) for name in sets]
        lines.append(f"| {case.title} | {' | '.join(cells)} |")
    (out / "oracles.md").write_text("\n".join(lines) + "\n")


def _cell(rows: list[dict[str, object]]) -> str:
    figures = [[100 * float(str(each[key])) for key in ("accuracy", "half_width_95")] for each in rows]
    return " / ".join(f"{mean:.1f} ± {half:.1f}" for mean, half in figures)


HEADER = f"""# Where it stops: each part replaced by its ideal

Written by `python -m benchmarks.oracles`: one selection of {PICKED} images per class out of {CANDIDATES} that the
bundled generator drew for the class's prompt, or out of unlabelled real ones; no rounds, ten shots per class, ε = 10,
δ = 1e-5, replace-one unless noise is ideal; sets that were tuned on. Accuracy on real images of linear heads on a
MobileNet / a SqueezeNet, neither of which voted where it judges, %, mean ± half of a 95 % interval over seeds.
*Ideal* generator: unlabelled real images of the set are the candidates. Voter: the other one of the two judges selects,
in its candidates' frame. Frame: that of real images of the set. Noise: none.

Seeds draw shots, noise and the division of the real images; the generator's images are the same in all, so intervals
of rows with them do not cover another draw of images. They are taken as they come, without the released
appearance: on digits their mixed polarity and blur cost the judges most.
"""

if __name__ == "__main__":
    main()
