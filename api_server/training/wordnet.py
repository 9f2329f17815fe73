"""WordNet's nouns as public texts: what each noun means, and the kinds that it belongs to.

The files are those of WordNet 3.0 (Debian: wordnet-base), whose licence permits use, copies and changes for any
purpose.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FEWEST, MOST = 150, 4000
"""Meanings of a kind that is a topic."""
TAUGHT = 0.6
"""Share of all meanings that the bundled models learn from; the others are for demonstrations and measurements."""
_HYPERNYM = re.compile(r"@i? (\d{8}) n")
_WORD = re.compile(r"[a-z]+(?:['-][a-z]+)*")


@dataclass(frozen=True)
class Meaning:
    """One noun in one of its meanings.

    Attributes:
        key: WordNet's name for it.
        names: What it is called.
        text: What it means.
        kinds: Keys of all kinds that it belongs to.
    """

    key: str
    names: tuple[str, ...]
    text: str
    kinds: frozenset[str]

    @property
    def taught(self) -> bool:
        """Tell if the bundled models may learn from it; fixed once and for all."""
        return int(hashlib.sha256(self.key.encode()).hexdigest()[:8], 16) < TAUGHT * 16**8


def words(text: str) -> list[str]:
    """The words of a text in small letters; everything else is left out."""
    return _WORD.findall(text.lower())


def meanings(folder: Path) -> list[Meaning]:
    """All nouns of WordNet's ``data.noun`` whose meaning is at least three words long."""
    rows = [_row(line) for line in (folder / "data.noun").read_text("ascii").splitlines() if line[0] != " "]
    above = {key: kinds for key, _, _, kinds in rows}
    found = (
        Meaning(key, names, text, frozenset(_ancestors(key, above)))
        for key, names, text, _ in rows
        if len(words(text)) > 2
    )
    return list(found)


def topics(found: list[Meaning]) -> dict[str, tuple[str, ...]]:
    """The kinds that have neither too few nor too many meanings, and what they are called."""
    sizes = Counter(kind for each in found for kind in each.kinds)
    names = {each.key: each.names for each in found}
    return {kind: names[kind] for kind, size in sizes.items() if FEWEST <= size <= MOST and kind in names}


def _row(line: str) -> tuple[str, tuple[str, ...], str, tuple[str, ...]]:
    head, _, gloss = line.partition(" | ")
    fields = head.split(" ")
    count = int(fields[3], 16)
    names = tuple(fields[4 + 2 * place].replace("_", " ").lower() for place in range(count))
    return fields[0], names, _definition(gloss), tuple(_HYPERNYM.findall(head))


def _definition(gloss: str) -> str:
    """A gloss without its examples and remarks."""
    plain = re.sub(r"\([^)]*\)", " ", gloss.split('; "')[0].split("--")[0])
    return " ".join(plain.replace("`", "'").split()).strip(" ;:,.")


def _ancestors(key: str, above: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """A noun's kinds, and theirs, itself among them."""
    seen, waiting = set(), [key]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting.extend(above.get(one, ()))
            yield one
