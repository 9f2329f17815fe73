"""What a synthetic dataset of texts is worth where a class's name says nothing to the provider.

    .venv/bin/python -m benchmarks.texts --seeds 10

The tables of ``pcevolve-bench table text`` and ``text-secrets``, with their rows and in words, in docs/results.
It continues where it was cut off.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pcevolve_benchmarks.tables.text_page import tables
from pcevolve_benchmarks.tables.text_studies import STUDIES
from pcevolve_benchmarks.tables.texts import TextBench

HEADER = """# Texts

Written by `python -m benchmarks.texts`, or `pcevolve-bench table text`: accuracies on held-out real texts (%, mean ±
standard error over seeds, each with other candidates and other noise on the same ten shots), ε = 10, N = 40 texts per
class. Private texts are meanings of nouns out of WordNet that no model here was trained on; classes are called
"type A", "type B" and so on, which says nothing to the provider. The provider is the bundled language model, which was
trained on other meanings of such nouns: like the demonstration with digits, this shows what selection adds **inside the
model's own world**, and nothing about others. `ngrams` (hashed words and pairs of words, a linear head) did not vote;
`words` **voted**. `with shots`: trained on the dataset and on the ten shots together. `shots`: on the ten shots alone.
`aug-pe` has the sizes that its authors use with chat APIs: nine rounds of three variations, ten votes. With
`4 rounds of 1` it asks for as many texts as `secpe`, which with `9 rounds of 3` asks for as many as `aug-pe`.
`secpe` takes three words for secrets (p = 1e-4, r = 1e-3, in at most thirty texts): shots that hold one of them count
next to nothing. `secpe, as noted` protects these words alone, and nobody else: it is **not DP**. `seconds` of `aug-pe`
and of `9 rounds of 3` are beside other work.

Fréchet distance is by `words`, between the dataset and held-out texts. `distinct pairs`: the share of pairs of
neighbouring words that are different ones. `copied words`: the longest run of words that a synthetic text has from a
private one. `attack ≤ r`: how often the best attack on a declared secret was right in 4,000 releases at p = 0.01, with
limits, and what is allowed. MAUVE needs `pcevolve[mauve]`, and is missing where that is not installed.

On the first set some settings were tried (rounds, first texts, shares of blanks); the others were looked at once.

"""


SECRETS = """# Secrets in texts

Written by `python -m benchmarks.texts --study text-secrets`, which is `pcevolve-bench table text-secrets`: as in
[texts.md](texts.md), with ninety private texts per class, each of which has a secret that it shares with two others
(M = 3), so that nobody's vote is whole; or one text in ten has one. `secpe, r/p = 2`: a secret that somebody guesses
with p = 1e-4 beforehand is guessed with at most 2e-4 afterwards. `aug-pe, r/p = 2`: the same for whatever may be
secret in any text, without a list, by group privacy: at the ε at which three texts together have the same μ. It has
nine rounds of three variations, as published, and with `3 rounds of 1` asks for as many texts as `secpe`, which with
`9 rounds of 3` asks for as many as `aug-pe`. `none secret`: ε = 10 alone. K is the number of cells per class, out of
160 first candidates: at 160 each of these has a cell of its own, which is what all rows were made with before there
were groups. What a selection keeps with other numbers of cells is in [cells.md](cells.md); their rows here are missing
where nobody has made them yet.
`next word`: how often a small language model counted from the dataset guesses the next word of held-out texts; it never
voted. `seconds` are of whole runs on two cores, the provider's among them; of `aug-pe` and of `9 rounds of 3` beside
other work.

"""
HEADERS = {"text": HEADER, "text-secrets": SECRETS}
FILES = {"text": "texts", "text-secrets": "text-secrets"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--study", choices=STUDIES, default="text")
    parser.add_argument("--seeds", type=int)
    parser.add_argument(
        "--only", nargs="+", metavar="METHOD", help="rows to make; the page has what there is"
    )
    parser.add_argument("--work", type=Path, default=Path("runs/bench-texts"))
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    given = parser.parse_args(arguments)
    study = STUDIES[given.study]
    asked = replace(study, methods={name: study.methods[name] for name in given.only or study.methods})
    TextBench(asked, given.work, seeds=given.seeds).made(
        lambda done, all_of_them: print(done, all_of_them, flush=True)
    )
    known = map(json.loads, (given.work / f"{study.name}.jsonl").read_text().splitlines())
    rows = [row for row in known if row["seed"] < (given.seeds or study.seeds)]
    (given.out / f"{FILES[study.name]}.md").write_text(HEADERS[study.name] + tables(study, rows))
    shutil.copyfile(given.work / f"{study.name}.jsonl", given.out / f"{FILES[study.name]}.jsonl")


if __name__ == "__main__":
    main()
