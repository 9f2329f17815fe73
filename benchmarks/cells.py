"""In how many cells SecPE should count: what its first selection keeps, for some numbers of cells.

    .venv/bin/python -m benchmarks.cells --out docs/results/cells

The worlds and the promises are those of ``pcevolve-bench table text-secrets``: ninety private texts of each class, all
of which share their secret with two others, or none of which has one. The bundled language model writes the first
candidates in this process; each selection keeps forty of a class. A judge that was trained on held-out real texts says
how many of those are of their class. Nothing is varied and no dataset is made, so a row takes a second, not minutes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.rows import parser_of, table
from pcevolve.keeper.evaluation.heads import Predict, Training, train_linear
from pcevolve.keeper.private.bundled import load_terms
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private.secrets import compute_least_share
from pcevolve.keeper.private_data import SPLIT_SEED
from pcevolve.keeper.texts import hash_ngrams
from pcevolve.public.dp.mechanisms import FloatArray, SeededNoise
from pcevolve.public.encoders import WORDS, load_encoder
from pcevolve.public.media.texts import normalise
from pcevolve.public.modality import Texts
from pcevolve.public.parts import Secrecy
from pcevolve.public.privacy import Budget, Event
from pcevolve.public.selectors import METHODS, PrivateEmbeddings, Scope, SelectionInput
from pcevolve.public.selectors.cells import choose_cells
from pcevolve.public.words import fill
from pcevolve_benchmarks.texts.bench import CANDIDATES
from pcevolve_benchmarks.texts.studies import DELTA, FIRST, HOLDERS, PRIOR, RATIOS, WORLDS, find_equal_epsilon
from pcevolve_server.language.phrases import load as load_phrases
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.work import TextRecipe, TextTask

SHOTS = 90
CELLS = (2, 6, 12, 24, FIRST)
SCOPE = Scope("replace-one", iterations=3, classes=3, shots=SHOTS, candidates=CANDIDATES)
VOTES = 10
"""Of Aug-PE, as published."""
RECIPE = TextRecipe(tokens=40)
Row = dict[str, Any]
HEADER = """# In how many cells

Written by `python -m benchmarks.cells`: what share (%) of the forty texts of each class that SecPE's **first**
selection keeps are of that class, by a judge that was trained on held-out real texts and does not vote; mean and
standard error over {pools} pools of {first} first candidates a class, with {draws} releases from each. All of the
ninety private texts of a class have a secret that they share with two others, or none has one. Luck is 33.3, because
class names say nothing to the model. `aug-pe`: the first of its ten votes, at equal secrecy by group privacy. In bold:
what is done unless `--cells` says otherwise; that there are twelve cells at least was settled after a look at the
figures. No text was varied, and nothing here says what a whole dataset is worth.

"""


@dataclass(frozen=True)
class World:
    """Private classes, and who judges what is kept.

    Attributes:
        own: The private texts.
        rest: Held-out ones.
    """

    own: PrivateDataset
    rest: PrivateDataset

    @classmethod
    def of(cls, name: str) -> World:
        """Draw the private texts of a world, as the tables do."""
        kinds = {kind: f"type {chr(ord('A') + place)}" for place, kind in enumerate(WORLDS[name])}
        return cls(*load_terms(SHOTS, kinds, SPLIT_SEED))

    @cached_property
    def judge(self) -> Predict:
        """Takes hashed words and pairs of words; says which class."""
        features = hash_ngrams(self.rest.items)
        return train_linear(Training(features, self.rest.targets, len(self.rest.labels)), seed=0)

    @cached_property
    def embedded(self) -> FloatArray:
        """The private texts, float64 ``(texts, d)``."""
        return load_encoder(WORDS).embed(self.own.items)

    def weigh(self, share: float) -> PrivateEmbeddings:
        """The private texts as a selector sees them, each with this share of a vote."""
        caps = np.full(len(self.own), share)
        return PrivateEmbeddings(self.embedded, self.own.targets, np.arange(len(self.own)), caps=caps)


@dataclass(frozen=True)
class Pool:
    """First candidates of all classes.

    Attributes:
        scene: The question about them.
        right: Of each class, bool ``(candidates,)``: whether the judge takes them for texts of it.
    """

    scene: SelectionInput
    right: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, world: World, seed: int) -> Pool:
        """Write them."""
        model = load_phrases(ModelSettings(model="text:bundled"))
        pools, right = [], []
        for target, label in enumerate(world.own.labels):
            said = (("user", fill(Texts.template, "definition", label)),)
            first = FIRST * (len(world.own.labels) * seed + target)
            made = model.write([TextTask(RECIPE, said, first + place) for place in range(FIRST)])
            texts = [normalise(each.text) for each in made]
            pools.append(load_encoder(WORDS).embed(texts))
            right.append(world.judge(hash_ngrams(texts)) == target)
        scene = SelectionInput(
            world.own.labels, tuple(pools), CANDIDATES, SHOTS, 1, SCOPE.iterations, seed, SCOPE.relation
        )
        return cls(scene, tuple(right))

    def measure_kept(self, way: Asked, private: PrivateEmbeddings, draw: int) -> float:
        """The share of what a selector keeps that is of its class."""
        scene = replace(self.scene, seed=draw, cells=way.cells)
        selector = METHODS[way.method].make_selector()
        measured = selector.measure(private, scene, (way.event,), SeededNoise(draw))
        picked = selector.pick(measured, scene)
        return float(np.mean([right[rows] for right, rows in zip(self.right, picked, strict=True)]))


def event_of(method: str, epsilon: str = "10") -> Event:
    """Return the event that pays for a method's first selection."""
    scope = replace(SCOPE, iterations=VOTES) if METHODS[method].final_selection_queries_data else SCOPE
    return METHODS[method].events(Budget(Fraction(epsilon), DELTA), scope)[0][0]


@dataclass(frozen=True)
class Asked:
    """One way to select: how it is called, what selects, what pays for it, and what it does with secrets.

    Attributes:
        ratio: r/p; None where nothing is secret.
        name: K = 6, or aug-pe.
        method: Whose selector.
        event: What pays for the first selection.
        cells: Most of each class; None for a selector that has none.
        share: What secrets leave each private text of a vote.
        usual: Whether it is what is done unless somebody says otherwise.
    """

    ratio: int | None
    name: str
    method: str
    event: Event
    cells: int | None = None
    share: float = 1.0
    usual: bool = False


def list_promises() -> Iterator[Asked]:
    """Every promise, with every number of cells, and by votes."""
    event = event_of("secpe")
    for ratio in (None, *RATIOS):
        share, epsilon = 1.0, "10"
        if ratio is not None:
            promise = Secrecy(prior=PRIOR, bound=ratio * PRIOR, most=HOLDERS)
            share = compute_least_share(promise, event, SCOPE.relation)
            epsilon = find_equal_epsilon(PRIOR, promise.bound, HOLDERS, DELTA)
        usual = choose_cells(event, SCOPE, share, FIRST)
        for cells in sorted({*CELLS, usual}):
            yield Asked(ratio, f"K = {cells}", "secpe", event, cells, share, cells == usual)
        yield Asked(ratio, "aug-pe", "aug-pe", event_of("aug-pe", epsilon))


def measure(world: World, pools: Sequence[Pool], draws: int) -> Iterator[Row]:
    """Return what each way keeps, on average over the releases from each pool."""
    for way in track(list(list_promises())):
        private = world.weigh(way.share)
        kept = [np.mean([pool.measure_kept(way, private, draw) for draw in range(draws)]) for pool in pools]
        figures = {"kept": float(np.mean(kept)), "error": float(np.std(kept, ddof=1) / len(kept) ** 0.5)}
        yield {"r/p": way.ratio, "by": way.name, "usual": way.usual, "share": way.share, **figures}


def page(found: Sequence[Row], pools: int, draws: int) -> str:
    """The table: a row for each way, a column for each promise."""
    ways = sorted({row["by"] for row in found}, key=_place)
    heads = ["", "none secret", *(f"r/p = {ratio}" for ratio in RATIOS)]
    lines = []
    for way in ways:
        own = {row["r/p"]: row for row in found if row["by"] == way}
        lines.append([way, *(_cell(own.get(ratio)) for ratio in (None, *RATIOS))])
    return HEADER.format(draws=draws, pools=pools, first=FIRST) + table(heads, lines)


def _place(way: str) -> int:
    """Of a row: by the number of cells, and what has none comes last."""
    return int(way.removeprefix("K = ")) if way.startswith("K") else FIRST + 1


def _cell(row: Row | None) -> str:
    if row is None:
        return "–"
    said = f"{100 * row['kept']:.1f} ± {100 * row['error']:.1f}"
    return f"**{said}**" if row["usual"] else said


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write."""
    parser = parser_of(__doc__)
    parser.add_argument("--world", choices=WORLDS, default=next(iter(WORLDS)))
    parser.add_argument("--pools", type=int, default=5)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--out", type=Path, default=Path("docs/results/cells"))
    given = parser.parse_args(arguments)
    world = World.of(given.world)
    pools = [Pool.of(world, seed) for seed in range(given.pools)]
    found = list(measure(world, pools, given.draws))
    given.out.with_suffix(".md").write_text(page(found, given.pools, given.draws))
    given.out.with_suffix(".jsonl").write_text("".join(json.dumps(row) + "\n" for row in found))


if __name__ == "__main__":
    main()
