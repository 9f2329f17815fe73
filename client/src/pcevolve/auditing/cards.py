"""Judges the cards that travel with a dataset: this version's words, another version's, or words that are not so.

A card is a view, so its words may differ; the figures of its promise may not. The card that this version renders from
the record is the measure of both.
"""

from __future__ import annotations

import math
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pcevolve.auditing.rebuilt import RebuiltRelease
from pcevolve.public.finding import Finding
from pcevolve.publish import collect_facts, read_facts, write_card
from pcevolve.transcript.bodies import MOST_BYTES
from pcevolve.transcript.layout import CARD, EXPORTS, RELEASE, Form, kind_of
from pcevolve_shared.reading import read_file

CLAIM: Final = "the cards say what the record gives"
WORDS: Final = "not this version's words; its figures are those of the manifest, and nobody read the rest"
MOST_ABOVE: Final = 1.01
"""How far above a figure of the manifest a rounded one may lie, as a factor; below it none may."""
_IS: Final = (
    r"[\s*_`$(]*(?:=|<=|≤|<|≈|~|:|\bis\b|\bof\b|\bat most\b|\bequals\b|\s)+[\s*_`$(]*"
    r"([0-9][0-9.,]*(?:e[-+]?[0-9]+)?)"
)
_FIGURES: Final = {
    "epsilon": re.compile(rf"(?:\bepsilon|[εϵ𝜀]){_IS}", re.IGNORECASE),
    "delta": re.compile(rf"(?:\bdelta|[δ𝛿]){_IS}", re.IGNORECASE),
}
_WORDS: Final = {
    "neighbour relation": re.compile(r"neighbou?r\w* relation\W{0,9}(replace-one|add-remove)", re.IGNORECASE),
    "privacy unit": re.compile(r"privacy unit\W{0,4}one (\w+)", re.IGNORECASE),
}


@dataclass(frozen=True)
class JudgedCard:
    """A card that is no rendering of this version; without ``faults`` it is in other words alone."""

    path: str
    faults: tuple[str, ...]


def check_cards(released: RebuiltRelease) -> Finding:
    """Check if the cards beside a release and its other forms are this version's, or at least state its figures."""
    other = find_other_cards(released)
    faults = tuple(f"{each.path} {fault}" for each in other for fault in each.faults)
    unchecked = ", ".join(each.path for each in other if not each.faults)
    return Finding(CLAIM, faults, len(_cards(released)), f"{unchecked}: {WORDS}" if unchecked else "")


def find_other_cards(released: RebuiltRelease) -> list[JudgedCard]:
    """The cards that this version does not render so."""
    found = []
    for path, form in _cards(released).items():
        # The card that this version would write is the measure, so that nothing about its words is written down twice.
        expected = write_card(released.release, len(released.files), form)
        try:
            text = read_file(released.run.layout.root / path, MOST_BYTES)
        except OSError as error:
            found.append(JudgedCard(path, (f"cannot be read: {error.strerror}",)))
            continue
        if text != expected.encode():
            found.append(JudgedCard(path, tuple(_faults(released, text, expected))))
    return found


def _cards(released: RebuiltRelease) -> dict[str, Form | None]:
    """Paths of the cards that are there, and the form that each lies beside."""
    exports: dict[str, Form | None] = {f"{folder}/{CARD}": form for form, folder in EXPORTS.items()}
    paths = {f"{RELEASE}/{CARD}": None} | exports
    root = released.run.layout.root
    return {path: form for path, form in paths.items() if kind_of(root / path) == stat.S_IFREG}


def _faults(released: RebuiltRelease, found: bytes, expected: str) -> Iterator[str]:
    """Yield each false statement of a card; ``expected`` is this version's rendering of it."""
    text = found.decode(errors="replace")
    promised = released.release.guarantee
    stated, true = read_facts(text), collect_facts(released.plan, promised)
    # The facts at the top come first: they are what a program reads of a card, so they must be there and true.
    if stated is None or not true.keys() <= stated.keys():
        yield "says nothing that can be checked: the facts at its top are missing, or are no facts"
        return
    for name, value in true.items():
        if stated[name] != value:
            yield f"states {name} {_spell_out(stated[name])}, and the manifest {_spell_out(value)}"
    losses = (promised.epsilon_spent, promised.epsilon_folder, promised.epsilon_budget)
    yield from _figures("epsilon", text, expected, [each for each in losses if each is not None])
    yield from _figures("delta", text, expected, [promised.delta])
    for name, pattern in _WORDS.items():
        for word in sorted(set(pattern.findall(text)) - set(pattern.findall(expected))):
            yield f"states {name} {_spell_out(word)}, which is not the manifest's"


def _figures(name: str, text: str, expected: str, promised: list[float]) -> Iterator[str]:
    """Figures in a card's text that are neither in this version's, nor the manifest's rounded up."""
    pattern = _FIGURES[name]
    ours = set(map(_value, pattern.findall(expected)))
    for figure in sorted({each.rstrip(".,") for each in pattern.findall(text)}):  # a sentence may end with it
        value = _value(figure)
        # Never below: rounding a loss down is what a card must not do.
        if value not in ours and not any(each <= value <= each * MOST_ABOVE for each in promised):
            yield f"states {name} {_spell_out(figure)}, which is no figure of the manifest"


def _value(figure: str) -> float:
    """The number in a text; NaN, which equals nothing, for what is none."""
    try:
        return float(figure.rstrip(".,"))
    except ValueError:
        return math.nan


def _spell_out(value: object) -> str:
    """A value of a card's, with nothing in it that a terminal would obey."""
    return ascii(value)[:100]
