"""Measure the parts of the release of class means: ``python -m benchmarks.release --cache DIR``.

Accuracy of the nearest released mean on real images that were not among the shots, by the voter's embeddings: the
release alone, without any generated image. (10, 1e-5)-DP under replace-one, ten shots per class, seeded noise. Sets are
those that may be tuned on. The rows:

- ``at once, candidates``: one release in the frame of the bundled model's candidates, as before decision 20;
- ``at once, public`` and ``centre first, public``: in the frame that the encoder brings;
- ``centre first, joined``: in that frame joined with the candidates', as since candidates were joined (decision 20);
- ``without noise``: the means of the shots in that frame.

And with unlabelled real images of the same set in the generator's place: of ``PICKED`` images that are selected for
each class, which share is of that class (``purity``), and the accuracy of linear heads that are trained on them, on
embeddings of judges that did not vote.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from benchmarks.release.data import (
    AT_ONCE,
    CENTRE_FIRST,
    SHOTS,
    RealSet,
    draw_candidates,
    embed_once,
    embedders,
    interval,
    list_real_sets,
)
from benchmarks.release.seen import Draw, measure_head, repeat_classes
from benchmarks.rows import parser_of
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.encoders import load_encoder
from pcevolve.public.encoders.files import PublicFrame
from pcevolve.public.geometry.frame import Frame, project
from pcevolve.public.privacy import Event, Events
from pcevolve.public.selectors import PrivateEmbeddings, SelectionInput
from pcevolve.public.selectors.means import Means, means_of

PICKED, CANDIDATES = 15, 24
NOISELESS: Events = (Event("gaussian", f"1/{10**9}"),)
JUDGES = ("mobilenet", "squeezenet")
Framing: TypeAlias = Frame | PublicFrame | None
"""A frame as it is, public images to be joined with the candidates, or the candidates alone."""


@dataclass(frozen=True)
class Drawn:
    """One set, with shots drawn by a seed."""

    embeddings: np.ndarray
    targets: np.ndarray
    draw: Draw

    def measure(self, scene: SelectionInput, events: Events) -> dict[str, np.ndarray]:
        shots = self.draw.shots
        private = PrivateEmbeddings(self.embeddings[shots], self.targets[shots], np.arange(len(shots)))
        return dict(Means().measure(private, scene, events, SeededNoise(self.draw.seed)))

    def scene(self, pools: list[np.ndarray], frame: Framing) -> SelectionInput:
        labels = tuple(f"{place}" for place in range(self.targets.max() + 1))
        known = frame if isinstance(frame, PublicFrame) else None
        given = frame if isinstance(frame, Frame) else None
        return SelectionInput(
            labels, tuple(pools), PICKED, SHOTS, 1, 0, self.draw.seed, "replace-one", 0.0, given, known
        )

    def nearest(self, pools: list[np.ndarray], frame: Framing, events: Events) -> float:
        """Accuracy of the nearest released mean."""
        found = self.measure(self.scene(pools, frame), events)
        rest = np.concatenate([self.draw.unlabelled, self.draw.test])
        points = project(self.embeddings[rest], found["centre"], found["axes"])
        gaps = np.square(points[:, None] - means_of(found)[None]).sum(axis=2)
        return float((gaps.argmin(axis=1) == self.targets[rest]).mean())

    def select(self, frame: Framing, events: Events, judges: dict[str, np.ndarray]) -> dict[str, float]:
        """Purity of what is selected from half of the other images, unlabelled, and judges' accuracy on the rest."""
        candidates, test = self.draw.unlabelled, self.draw.test
        scene = self.scene([self.embeddings[candidates]] * (self.targets.max() + 1), frame)
        picked = [candidates[each] for each in Means().pick(self.measure(scene, events), scene)]
        labels, rows = repeat_classes(picked), np.concatenate(picked)
        found = {"purity": float((self.targets[rows] == labels).mean())}
        for name, judged in judges.items():
            found[name] = measure_head(judged[rows], labels, judged[test], self.targets[test])
        return found


def figures(real: RealSet, cache: Path, seeds: int, *, drawn: bool) -> dict[str, tuple[float, float]]:
    """All rows of one set: mean and half-width of each."""
    encoders = embedders()
    by_name = {name: embed_once(name, real.images, embed, cache) for name, embed in encoders.items()}
    brought = load_encoder("bundled").frame
    assert brought is not None
    frame = Frame.public(brought)
    draws = [Drawn(by_name["voter"], real.targets, Draw.of(real.targets, seed)) for seed in range(seeds)]
    nobody = [np.full((1, by_name["voter"].shape[1]), np.nan)] * len(real.labels)
    rows = {
        "without noise": [each.nearest(nobody, frame, NOISELESS) for each in draws],
        "at once, public": [each.nearest(nobody, frame, AT_ONCE) for each in draws],
        "centre first, public": [each.nearest(nobody, frame, CENTRE_FIRST) for each in draws],
    }
    if drawn:
        shown = draw_candidates(real, CANDIDATES, cache)
        pools = [embed_once("voter", each, encoders["voter"], cache) for each in shown]
        rows["at once, candidates"] = [each.nearest(pools, None, AT_ONCE) for each in draws]
        rows["centre first, candidates"] = [each.nearest(pools, None, CENTRE_FIRST) for each in draws]
        rows["centre first, joined"] = [each.nearest(pools, brought, CENTRE_FIRST) for each in draws]
    judges = {name: by_name[name] for name in JUDGES}
    for title, kind, events in (
        ("at once, candidates", None, AT_ONCE),
        ("at once, public", frame, AT_ONCE),
        ("centre first, public", frame, CENTRE_FIRST),
        ("centre first, candidates", None, CENTRE_FIRST),
        ("centre first, joined", brought, CENTRE_FIRST),
    ):
        chosen = [each.select(kind, events, judges) for each in draws]
        for name in chosen[0]:
            rows[f"selected {title}: {name}"] = [each[name] for each in chosen]
    return {name: interval(values) for name, values in rows.items()}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--cache", type=Path, required=True, help="folder for embeddings and drawn candidates"
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument(
        "--drawn", action="append", default=[], help="set for which candidates are drawn too; repeatable"
    )
    args = parser.parse_args()
    for name, real in list_real_sets().items():
        found = figures(real, args.cache, args.seeds, drawn=name in args.drawn)
        print(json.dumps({"set": name, "seeds": args.seeds, **found}), flush=True)


if __name__ == "__main__":
    main()
