"""Worth of rounds in which prompts are reworded, where neither names nor first prompts say what is private.

    .venv/bin/python -m benchmarks.rewording --seeds 5

Classes are called "type A", "type B" and so on. Every class begins with the same few prompts, none of which has a
class's own word; a vocabulary of words has it. The rewriter is no language model: it exchanges a prompt's word for one
of the vocabulary, half of the time, by the call's seed. So this measures the loop, votes and rewordings, and not what a
language model knows. It continues where it was cut off, and writes docs/results/rewording.{md,json}.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.private_sets import draw
from benchmarks.prompt_variation import WORDS
from benchmarks.rows import measure_and_write, options, summary, table
from benchmarks.selectors.grid import Trial
from benchmarks.selectors.local import LocalGenerator
from benchmarks.selectors.trial import make_plan, model
from benchmarks.selectors.ways import JUDGES, evolve_and_score, group_by_way, list_accuracies, list_missing
from benchmarks.split import SETS
from pcevolve.evolution import Ask
from pcevolve.modality.answering import read_rewording
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate
from pcevolve.public.words import TEMPLATE, fill

WORLDS = ("digits:3,5,8", "blood:platelet,red blood cells,single red blood cell,white blood cell")
CANDIDATES = 20
"""Images of a class in each round."""
KEEPS = 2
"""A rewriter keeps a prompt's word once in so many times."""
REWRITER = {
    "api": "http://in-process.invalid",
    "model": "vocabulary",
    "texts": {"kind": "text", "tokens": 60, "temperature": 1.0},
}


@dataclass(frozen=True)
class Way:
    """How classes without a name are asked for.

    Attributes:
        method: Of selection.
        iterations: Rounds.
        vary_by: What goes back.
    """

    method: str
    iterations: int
    vary_by: str = "image"


WAYS = {
    "t2i (control)": Way("t2i", 0),
    "random, 3 rewordings (control)": Way("random", 3, "rewording"),
    "pe, 1 rewording": Way("pe", 1, "rewording"),
    "pe, 3 rewordings": Way("pe", 3, "rewording"),
}


@dataclass
class Rewording(LocalGenerator):
    """A generator beside a rewriter that exchanges words of a vocabulary.

    Attributes:
        vocabulary: Words of which a prompt has one.
        words: The prompt of each candidate, and each rewording, by id.
    """

    vocabulary: Sequence[str] = ()
    words: dict[str, str] = field(default_factory=dict)

    def answers(self, asks: Sequence[Ask]) -> Iterator[tuple[Candidate, ...]]:
        for call, source in asks:
            before = self.plan.prompt_of(call) if source is None else self.words[source.candidate.id]
            if call.purpose == "reword":
                said = self._rewrite(before, call.seed)
                self.words[call.output(0)] = read_rewording(said, before)
                name = call.output(0)
                yield (Candidate(name, call.label, call.iteration, None, name),)
                continue
            words = self.words.get(call.rewording, before) if call.purpose == "vary" else before
            made = self._name(replace(call, words=words), None)
            self.words.update((each.id, words) for each in made)
            yield made

    def _rewrite(self, prompt: str, seed: int) -> str:
        draw = np.random.default_rng(seed)
        if draw.integers(KEEPS) == 0:
            return prompt
        word = max((each for each in self.vocabulary if prompt.endswith(each)), key=len)
        return prompt.removesuffix(word) + str(draw.choice(list(self.vocabulary)))


def measure(world: str, seed: int, name: str, pictures: Path) -> dict[str, object]:
    """One run in one way."""
    way = WAYS[name]
    trial = Trial(world, way.method, "10", 10, seed, candidates=CANDIDATES, iterations=way.iterations)
    named, _ = draw(world, trial.shots, seed)
    nameless = tuple(f"type {chr(ord('A') + k)}" for k in range(len(named.labels)))
    private = dataclasses.replace(named, labels=nameless)
    plan, method = make_plan(trial, private.labels)
    plan = _word(plan, world, way, named.labels)
    generator = Rewording(plan, model(), pictures, vocabulary=WORDS[world])
    found, made = evolve_and_score(trial, plan, method, private, generator)
    due = {target: _prompt(world, own) for target, own in enumerate(_own_words(world, named.labels))}
    right = float(np.mean([generator.words[each.id] == due[target] for each, target in made]))
    return {"world": world, "seed": seed, "way": name, "right": right, **found}


def _own_words(world: str, labels: Sequence[str]) -> list[str]:
    """The word of the vocabulary that draws each class."""
    return [
        next(each for each in WORDS[world] if label in (each, each.removeprefix("digit ")))
        for label in labels
    ]


def _prompt(world: str, word: str) -> str:
    return fill(TEMPLATE, SETS[world].domain, word)


def _word(plan: PublicPlan, world: str, way: Way, labels: Sequence[str]) -> PublicPlan:
    """The plan with its first prompts: four words, none a class's own; every way varies as many prototypes."""
    others = [each for each in WORDS[world] if each not in _own_words(world, labels)][:4]
    own = tuple(_prompt(world, word) for word in others)
    changes: dict[str, object] = {"prompts": (own,) * len(plan.labels), "vary_by": way.vary_by}
    changes |= {"vary_with": "own prompt"} | ({"strengths": ()} if way.vary_by != "image" else {})
    changes |= {"prototypes": plan.candidates} if way.iterations else {}
    changes |= {"rewriter": REWRITER} if way.vary_by == "rewording" else {}
    return PublicPlan.model_validate({**plan.model_dump(), **changes})


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, and write."""
    given = options(__doc__, seeds=5).parse_args(arguments)
    missing = partial(list_missing, seeds=given.seeds, worlds=WORLDS, ways=WAYS)
    measure_and_write(given, "rewording", missing, measure, page)


HEADER = """# Rounds in which prompts are reworded

Written by `python -m benchmarks.rewording`: accuracies on held-out real images (%, mean ± standard error over seeds,
each another draw of the shots, other candidates and other noise), ε = 10, ten shots, N = 20, bundled generator, on sets
that may be tuned on. Classes are called "type A" and so on, and begin with four prompts, none of which has a class's
own word. The rewriter is a script that exchanges a prompt's word for one of eight or ten, half of the time: this
measures the loop and no language model. `own word`: share of the dataset that was drawn by its class's own word. The
mean is over the three judges that did not vote; the last column's encoder **voted**.
"""


def page(rows: Sequence[dict[str, Any]]) -> str:
    """The tables, one for each set."""
    parts = [HEADER]
    for world in WORLDS:
        groups = group_by_way(rows, world)
        heads = ["way", "seeds", "API images", "own word, %", "mean", *JUDGES.values()]
        lines = [_line(name, groups[name]) for name in WAYS if groups.get(name)]
        parts += [f"## {SETS[world].title}\n\n{table(heads, lines)}"] if lines else []
    return "\n".join(parts)


def _line(name: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    found = list_accuracies(rows)
    right = np.array([row["right"] for row in rows]) * 100
    cells = [
        name,
        str(len(rows)),
        str(rows[0]["images"]),
        summary(right),
        summary(found[:, :-1].mean(axis=1)),
    ]
    return [*cells, *(summary(column) for column in found.T)]


if __name__ == "__main__":
    main()
