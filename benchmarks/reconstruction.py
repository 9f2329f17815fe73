"""How often a provider finds out a declared secret: the best attacks that are known, against the client's own release.

    .venv/bin/python -m benchmarks.reconstruction --out docs/results/reconstruction

One of a hundred diseases is the secret of three private texts, each of which is its meaning out of WordNet. The
attacker knows the client's code and every other private text, and as the provider he has sent the hundred meanings
themselves as first candidates, so that each has a cell of its own. The data's texts count what ``secpe`` lets them
count; then he sees the release. Noise is seeded, so that the figures can be made again.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from rich.progress import track
from scipy.special import ndtri
from scipy.stats import binomtest

from pcevolve.keeper.private.bundled import FILE
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private.records import Records
from pcevolve.keeper.private.secrets import Sources, compute_caps
from pcevolve.public.dp.attacks import most_success, secret_budget
from pcevolve.public.dp.calibration import histogram_sensitivity
from pcevolve.public.dp.mechanisms import FloatArray, Noise, SeededNoise
from pcevolve.public.encoders import WORDS, load_encoder
from pcevolve.public.parts import Secrecy
from pcevolve.public.privacy import Budget, Event, Relation
from pcevolve.public.selectors import METHODS, PrivateEmbeddings, SelectionInput
from pcevolve.public.selectors.cells import Cells
from pcevolve.public.selectors.rounds import Scope

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.draws import Misscaled

VALUES = 100
PRIOR = 1 / VALUES
KINDS = ("disease", "drug", "body part")
SECRET = KINDS[0]
ENDS = ("", ".", "!")
"""Of the texts that hold the secret, which must differ; the encoder sees words alone."""
RELATIONS: tuple[Relation, ...] = ("add-remove", "replace-one")
RATIOS = (2, 10, 50)
HEADS = (
    "r/p", "neighbours", "noise", "right yes", "limits", "wrong yes", "which of a hundred", "limits", "r", "verdict",
)  # fmt: skip
SETTING = """
One of a hundred diseases is the secret of three private texts, each of which is its meaning out of WordNet; 250 other
private texts hold none. The attacker knows the client's code and every other text. He is the provider too, and has sent
the hundred meanings themselves as first candidates, so that each has a cell of its own. ε = 10, δ = 1e-5.
"""
WORDS_BELOW = f"""
Each row is of releases of the client's own code (caps of declared secrets, votes, counts, noise). *Right yes*: he is
asked whether the secret is one given disease or one given other, and says the first where the likelihood ratio is so
high that he is wrong in a share p = 1/{VALUES} of cases (*wrong yes*: the same releases with the question turned
round): by Neyman and Pearson no attack is right more often. *Which of a hundred*: he names the most probable of the
hundred, each of which is as probable beforehand. *Limits*: Clopper-Pearson, 99.9 %. *r*: what the promise allows;
refuted where a lower limit is above it. *Noise*: over what is due. At 0.7 it is there to be found out; so is the
published calibration, which is for records that only appear, at 1/√2. Where nothing is declared the run promises
nothing of secrets, and r is what this noise allows of three whole votes.

The release knows a text only by the cell that it falls into. Diseases that share one are never told apart, so with
candidates that a provider did not choose for this attack *which of a hundred* is less.
"""


@dataclass(frozen=True)
class Row:
    """The outcome of one kind of release.

    Attributes:
        ratio: r/p as promised; None where nothing is declared.
        relation: Neighbour relation.
        noise: Its scale over what is due.
        runs: Releases.
        told: In how many the answer to yes or no was a right yes.
        wrong: In how many it would have been a wrong yes, had he been asked for the other disease.
        named: In how many the right disease was named.
        bound: r.
    """

    ratio: int | None
    relation: Relation
    noise: str
    runs: int
    told: int
    wrong: int
    named: int
    bound: float

    @property
    def refuted(self) -> bool:
        """True if an attack is better than the promise allows, beyond chance."""
        return max(limits(self.told, self.runs)[0], limits(self.named, self.runs)[0]) > self.bound


@dataclass(frozen=True)
class World:
    """All that the attacker knows: everything but the secret.

    Attributes:
        data: Private texts, those that hold the secret first.
        embedded: Of all texts, float64 ``(texts, d)``.
        values: Of the hundred meanings, float64 ``(VALUES, d)``.
        scene: The first round; its first candidates of the diseases are the hundred meanings.
    """

    data: PrivateDataset
    embedded: FloatArray
    values: FloatArray
    scene: SelectionInput

    @classmethod
    def under(cls, relation: Relation) -> World:
        """Private texts of three classes, of which three hold the secret."""
        rows = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
        of_kind = {kind: [row["text"] for row in rows if row["kind"] == kind] for kind in KINDS}
        shown = {kind: own[:VALUES] for kind, own in of_kind.items()}
        held = [shown[SECRET][0] + end for end in ENDS]
        texts = [(SECRET, each) for each in (*held, *of_kind[SECRET][VALUES:])]
        texts += [(kind, each) for kind in KINDS if kind != SECRET for each in shown[kind]]
        marks = [("theirs",)] * len(held) + [("",)] * (len(texts) - len(held))
        names = tuple(f"text {place}" for place in range(len(texts)))
        labels, items = zip(*texts, strict=True)
        data = Records(names, items, labels, marks=tuple(marks)).dataset(None)
        encoder = load_encoder(WORDS)
        pools = tuple(encoder.embed(shown[label]) for label in data.labels)
        scene = SelectionInput(data.labels, pools, 10, VALUES, 1, 4, 7, relation)
        return cls(data, encoder.embed(items), encoder.embed(shown[SECRET]), scene)

    def private(self, value: int, own: FloatArray | None) -> PrivateEmbeddings:
        """The private side, were this the secret and these the caps."""
        embedded = self.embedded.copy()
        embedded[: len(ENDS)] = self.values[value]
        return PrivateEmbeddings(embedded, self.data.targets, self.data.unit_of, caps=own)

    def cells(self, private: PrivateEmbeddings, event: Event, noise: Noise) -> FloatArray:
        """Return the release of the hundred cells."""
        start = sum(map(len, self.scene.pools[: self.data.labels.index(SECRET)]))
        measured = Cells().measure(private, self.scene, (event,), noise)
        return measured["cells"][start : start + VALUES]

    def caps(self, ratio: int | None, event: Event) -> FloatArray | None:
        """Return the share of a vote that the promise leaves each text; None for all of it."""
        if ratio is None:
            return None
        promise = Secrecy(prior=PRIOR, bound=PRIOR * ratio, most=len(ENDS))
        sources = Sources((), ("patient",), secret_budget(promise.prior, promise.bound))
        return compute_caps(sources, self.data, promise, event, self.scene.relation)


def attack(world: World, ratio: int | None, scale: str, runs: int) -> Row:
    """Attack as many releases of one kind, whose noise has this scale over what is due."""
    relation, factor = world.scene.relation, Fraction(scale)
    scope = Scope(relation, 4, len(KINDS), VALUES, 40)
    event = METHODS["secpe"].events(Budget(Fraction(10), 1e-5), scope)[0][0]
    own = world.caps(ratio, event)
    private = [world.private(value, own) for value in range(VALUES)]
    moved = len(ENDS) * (1.0 if own is None else float(own[0]))
    known = world.cells(private[0], event, Misscaled(SeededNoise(0), Fraction(1, 10**9)))
    known = known - moved * np.eye(VALUES)[0]
    sigma = float(event.value) * histogram_sensitivity(relation)
    threshold = -moved - math.sqrt(2) * sigma * float(factor) * float(ndtri(PRIOR))
    told = wrong = named = 0
    for run in track(range(runs), f"r/p {ratio}, {relation}, noise x {scale}"):
        value = run % VALUES
        left = world.cells(private[value], event, Misscaled(SeededNoise(run), factor)) - known
        more = left[value] - left[value - 1]
        told, wrong = told + bool(more > threshold), wrong + bool(-more > threshold)
        named += int(np.argmax(left)) == value
    bound = PRIOR * ratio if ratio else most_success(math.sqrt(2) * moved / sigma, PRIOR)
    return Row(ratio, relation, scale, runs, told, wrong, named, bound)


def limits(count: int, runs: int) -> tuple[float, float]:
    """Of a share, with a confidence of 99.9 %."""
    found = binomtest(count, runs).proportion_ci(0.999, method="exact")
    return float(found.low), float(found.high)


def rows(runs: int) -> Iterator[Row]:
    """Every kind of release."""
    for relation in RELATIONS:
        here = World.under(relation)
        for ratio in (*RATIOS, None):
            yield attack(here, ratio, "1", runs)
    here = World.under("replace-one")
    for ratio, scale in ((2, "0.7"), (10, "0.7"), (10, "0.7071")):
        yield attack(here, ratio, scale, runs)


def page(found: Sequence[Row]) -> str:
    """The table, with what it means."""
    made = f"Made by `python -m benchmarks.reconstruction`, {found[0].runs:,} releases a row."
    head = f"# Attacks on declared secrets\n\n{made}\n{SETTING}\n"
    return head + _line(HEADS) + _line(["---"] * len(HEADS)) + "".join(map(_report, found)) + WORDS_BELOW


def _report(row: Row) -> str:
    told, named = (f"{count / row.runs:.4f}" for count in (row.told, row.named))
    asked = (told, _span(row.told, row.runs), f"{row.wrong / row.runs:.4f}")
    ratio = "nothing declared" if row.ratio is None else str(row.ratio)
    verdict = "**refuted**" if row.refuted else "holds"
    shares = (*asked, named, _span(row.named, row.runs), f"{row.bound:.4f}")
    return _line([ratio, row.relation, row.noise, *shares, verdict])


def _span(count: int, runs: int) -> str:
    return " … ".join(f"{each:.4f}" for each in limits(count, runs))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def main() -> None:
    """Attack, print one JSON line, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20_000, help="releases per row")
    parser.add_argument("--out", type=Path, help="also write PATH.json and PATH.md")
    given = parser.parse_args()
    found = list(rows(given.runs))
    facts = {"machine": platform.machine(), "rows": [asdict(row) | {"refuted": row.refuted} for row in found]}
    print(json.dumps(facts))
    if given.out:
        given.out.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n")
        given.out.with_suffix(".md").write_text(page(found))


if __name__ == "__main__":
    main()
