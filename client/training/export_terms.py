"""Chooses the meanings of nouns that ``--private terms`` offers, out of those that nothing is trained on.

::

    PYTHONPATH=api_server/training python client/training/export_terms.py --wordnet FOLDER --out client/src/pcevolve/keeper/private/terms.jsonl

``FOLDER`` has WordNet's ``data.noun``.
"""  # noqa: E501 - a command

from __future__ import annotations

import argparse
import json
from pathlib import Path

from wordnet import meanings, topics, words

from pcevolve.public.config.data_source import TERMS as KINDS

MOST = 150
"""Of each kind."""
SHORTEST, LONGEST = 4, 30
"""Words."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--wordnet", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    given = options.parse_args()
    everything = meanings(given.wordnet)
    named = {names[0]: kind for kind, names in topics(everything).items()}
    lines, seen = [], set()
    for name in KINDS:
        others = {named[other] for other in KINDS if other != name}
        kept = 0
        for each in everything:
            fits = not each.taught and named[name] in each.kinds and not others & each.kinds
            if (
                fits
                and kept < MOST
                and SHORTEST <= len(words(each.text)) <= LONGEST
                and each.text not in seen
            ):
                lines.append(json.dumps({"kind": name, "text": each.text}))
                seen.add(each.text)
                kept += 1
    given.out.write_text("\n".join(lines) + "\n", "ascii")
    print(len(lines), "meanings")


if __name__ == "__main__":
    main()
