"""Test the word about a dataset's use on texts: ``python -m benchmarks.usefulness.texts``.

It writes docs/results/usefulness-texts.{md,json}. As ``benchmarks.usefulness``, whose bounds stay as they are: private
texts are meanings of nouns, the encoder ``words`` votes, hashed words and pairs of words judge. Candidates of the
bundled language model are asked for by the class's own name, or by one that says nothing.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.release.seen import CANDIDATES, Seen
from benchmarks.rows import Row, parser_of
from benchmarks.usefulness.cases import EPSILONS, WORDS_VOTER, Case, Study, Verdict, group, rates, verdict
from pcevolve.keeper.private.bundled import load_terms
from pcevolve.keeper.texts import hash_ngrams
from pcevolve.public.encoders import load_encoder
from pcevolve.public.modality import Texts
from pcevolve_benchmarks.texts.studies import WORLDS
from pcevolve_server.language.phrases import Phrases, load
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.work import TextRecipe, TextTask

VOTER, JUDGE = WORDS_VOTER, "ngrams"
TOKENS = 40
NAMED, UNNAMED = "its own names", "names that say nothing"


def main() -> None:
    """Measure all sets and write the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    given = parser.parse_args()
    verdicts = {
        how: list(_verdicts({world: _embed(kinds, how) for world, kinds in WORLDS.items()}, given.seeds, how))
        for how in (NAMED, UNNAMED)
    }
    write(given.out, [{"names": how, **each.row} for how, found in verdicts.items() for each in found])


def write(out: Path, rows: Sequence[Row]) -> None:
    """The page and its rows."""
    verdicts = {how: [Verdict.of_row(row) for row in rows if row["names"] == how] for how in (NAMED, UNNAMED)}
    (out / "usefulness-texts.json").write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    (out / "usefulness-texts.md").write_text(_page(verdicts, len({row["seed"] for row in rows})))


def _verdicts(seen: dict[str, Seen], seeds: int, how: str) -> Sequence[Verdict]:
    """Of candidates that are asked for by one kind of name; those without any model are no part of the second kind."""
    sources = ("bundled", "few", "quarter", *(("real", "other") if how == NAMED else ()))
    cases = itertools.product(seen, (VOTER,), sources, EPSILONS, range(seeds))
    worlds = list(seen)
    study = Study(seen, (JUDGE,), dict(zip(worlds, [*worlds[1:], worlds[0]], strict=True)))
    found = [verdict(Case(*each), study) for each in cases]
    print(how, rates(found), flush=True)
    return found


def _embed(kinds: Sequence[str], how: str) -> Seen:
    """Private texts and the model's, as voter and judge see them."""
    names = kinds if how == NAMED else [f"type {chr(ord('A') + place)}" for place in range(len(kinds))]
    own, rest = load_terms(1, {kind: kind for kind in kinds}, 0)
    texts = [*own.items, *rest.items]
    labels = [each.labels[target] for each in (own, rest) for target in each.targets]
    written = [_write(name, place) for place, name in enumerate(names)]
    looks = {VOTER: load_encoder(VOTER).embed, JUDGE: _bags}
    return Seen(
        {name: np.asarray(look(texts), np.float64) for name, look in looks.items()},
        {name: [np.asarray(look(each), np.float64) for each in written] for name, look in looks.items()},
        np.array([kinds.index(label) for label in labels]),
    )


def _bags(texts: Sequence[str]) -> np.ndarray:
    """Hashed words; zeros where there is none."""
    return np.nan_to_num(hash_ngrams(texts))


def _write(name: str, place: int) -> list[str]:
    """Write texts for a class's prompt by the bundled model."""
    asked = (("user", Texts.template.format(domain="definition", label=name)),)
    first = 1000 * place
    tasks = [TextTask(TextRecipe(TOKENS), asked, seed) for seed in range(first, first + CANDIDATES)]
    return [each.text for each in _model().write(tasks)]


def _model() -> Phrases:
    return load(ModelSettings(model="text:bundled", offline=True))


def _page(verdicts: Mapping[str, Sequence[Verdict]], seeds: int) -> str:
    every = [
        replace(each, case=replace(each.case, source=f"{each.case.source}, {how}"))
        if each.case.source not in ("real", "other")
        else each
        for how, found in verdicts.items()
        for each in found
    ]
    titles = {"candidates": "source", "ε": "epsilon", "set": "set"}
    found = rates(every)
    told = FOOTER.format(
        useful=found["useful"][0],
        alarms=found["useful"][0] - found["useful"][1],
        worth=sum(worth for _, worth in found.values()),
        missed=found["not useful"][1],
    )
    return "\n".join([HEADER.format(seeds=seeds, count=len(every)), *group(every, titles), told])


HEADER = """# The same word about datasets of texts

Written by `python -m benchmarks.usefulness.texts`: {count} datasets of 20 texts per class, selected by ten real shots
per class at ε = 2, 5 and 10 (δ = 1e-5, replace-one, {seeds} seeds). Private texts are meanings of nouns that no model
here was trained on; the encoder `words` voted in the candidates' frame, a linear head on hashed words and pairs of
words judges on real texts. **The bounds are those that were chosen on images** ([verdict.md](verdict.md));
nothing was chosen on these texts. A dataset is *worth it* if it closes at least half of the way from chance to the
ten shots. Candidates are the bundled language model's, asked for by the class's own name or by one that says nothing
("type A"); with a few, or a quarter, of unlabelled real texts among them; unlabelled real texts alone; or real texts
of another set.
"""
FOOTER = """
Of {useful} datasets called useful {alarms} are not worth it; of the {worth} that are worth it {missed} are called not
useful: those into which a few real texts were mixed among many that say nothing, and some at ε = 2. Where class names
say nothing the bundled model's own texts were never called useful.
"""

if __name__ == "__main__":
    main()
