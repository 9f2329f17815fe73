"""Declared secrets: listed by the owner, by column, or detected; what texts hold which.

Names, diagnoses and whatever else has no form of its own are not found; whoever needs them found lists them, from any
detector. Found or not, every text keeps its (ε, δ) guarantee.

A secret is a line of a list, a value in a column, or what a detector finds. Who holds it is settled before anything is
released; a spelling that is on no list is protected as every text is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from pcevolve.dp.attacks import secret_budget
from pcevolve.dp.mechanisms import FloatArray
from pcevolve.errors import DataError
from pcevolve.modality.texts import Text, normalise
from pcevolve.private.dataset import PrivateDataset
from pcevolve_shared.reading import read_file

_MONTH: Final = r"(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-zäé]{0,7}\.?"
# Bounded, wherever the rest may fail: a long word of no form would be searched from each of its letters to its end.
_FORMS: Final = (
    r"[\w.+-]{1,254}@[\w-]+(?:\.[\w-]+)+",
    r"https?://[^\s<>\"']+|www\.[^\s<>\"']+",
    r"\b(?:\d{1,3}\.){3}\d{1,3}\b",
    r"\b[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){2,7}(?: ?[a-z0-9]{1,4})?\b",
    r"\b\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b",
    rf"\b\d{{1,2}}\.? {_MONTH} \d{{4}}\b|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}\b",
    r"(?<!\w)\+?\d(?:[ ()./-]{0,2}\d){4,}(?!\w)",
    r"\b(?=[a-z0-9-]{0,254}\d)(?=[a-z0-9-]{0,254}[a-z])[a-z0-9]{1,254}(?:-[a-z0-9]{1,254}){0,31}\d{2}[a-z0-9-]*\b",
)
"""E-mail, web and network addresses; account numbers; dates in figures and words; numbers of five digits and more, as
telephones, patients and postal codes have; and codes of letters and digits, as cases and samples have."""
_ANY: Final = re.compile("|".join(f"(?:{each})" for each in _FORMS))


def find_in(text: Text) -> set[str]:
    """Return the secrets found in a text, in small letters."""
    return {found.group().rstrip(".,;:!?)") for found in _ANY.finditer(text.casefold())}


SHORTEST = 3
"""Characters of a secret."""
MOST_BYTES = 2**26
MOST = 100_000
FORM = "a secret a line, or a secret, its prior and its bound with tabs between them"


@dataclass(frozen=True, repr=False)
class Secret:
    """A secret by its letters.

    Attributes:
        letters: In the normal form of texts and small letters.
        budget: η; see ``dp.attacks.secret_budget``.
    """

    letters: str
    budget: float


@dataclass(frozen=True, repr=False)
class Held:
    """A secret that texts hold; ``name`` says where the owner finds it, and nothing of it."""

    name: str
    budget: float
    places: Sequence[int]

    def join(self, other: Held) -> Held:
        """Return the same secret, declared twice: the stricter promise holds, for all texts that hold it."""
        places = sorted({*self.places, *other.places})
        return Held(self.name, min(self.budget, other.budget), places)


@dataclass(frozen=True, repr=False)
class Sources:
    """The owner's declaration of secrets.

    Attributes:
        columns: Columns of the table in which every value is a secret.
        detected: Whether what looks like a number, a date or an address is one.
        budget: η of each that has none of its own.
    """

    listed: tuple[Secret, ...]
    columns: tuple[str, ...]
    detected: bool
    budget: float

    def __repr__(self) -> str:
        """Nothing about the secrets."""
        return "Sources"

    def compute_digest(self, data: PrivateDataset) -> bytes:
        """Digest of the secrets, whatever their budgets and order, for the ledger's keyed fingerprints alone."""
        # Sorted, without budgets: the same list in another order is the same
        # secrets, and adds up with it in the ledger.
        said = [sorted(each.letters for each in self.listed), sorted(self.columns), self.detected]
        # Which text holds which value: with another value in a column another secret was protected there, or none.
        order = sorted(range(len(self.columns)), key=lambda at: self.columns[at])
        held = zip(data.digests, data.marks, strict=True) if self.columns else ()
        marked = sorted((digest.hex(), [own[at] for at in order]) for digest, own in held)
        return hashlib.sha256(b"secrets\n" + json.dumps([*said, marked]).encode()).digest()

    def find_held(self, data: PrivateDataset) -> Iterable[Held]:
        """Every secret that texts hold, once, with all that hold it: by the list, in any column or by its form."""
        found: dict[str, Held] = {}
        for letters, held in self._find_by_source(data):
            known = found.get(letters)
            found[letters] = held if known is None else known.join(held)
        return found.values()

    def _find_by_source(self, data: PrivateDataset) -> Iterator[tuple[str, Held]]:
        """Secrets by their letters, each as often as it is declared."""
        small = [text.casefold() for text in data.items] if self.listed else []
        found = find_holders([each.letters for each in self.listed], small)
        for number, (secret, places) in enumerate(zip(self.listed, found, strict=True), 1):
            yield secret.letters, Held(f"secret {number} of method.secrets", secret.budget, places)
        for at, column in enumerate(self.columns):
            for letters, places in _alike([{each[at]} - {""} for each in data.marks]):
                name = f"the value of column {column!r} in {_place(data, places)}"
                yield letters, Held(name, self.budget, places)
        if self.detected:
            for letters, places in _alike([find_in(text) for text in data.items]):
                yield letters, Held(f"something detected in {_place(data, places)}", self.budget, places)


def read_secrets(path: Path, budget: float) -> tuple[Secret, ...]:
    """Read secrets, one a line, in the normal form of texts and small letters; some with a prior and a bound.

    Args:
        budget: η of those that say nothing; others may only have a smaller one, because it is public as the largest.

    Raises:
        DataError: The file cannot be read, or holds no secrets, too many, or one that is too short or asks for less
            than is promised of all; none is repeated.
    """
    try:
        lines = read_file(path, MOST_BYTES).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise DataError(f"method.secrets {path} cannot be read: give a text file in UTF-8, {FORM}") from None
    found: dict[str, Secret] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            secret = _secret(line, f"method.secrets {path}: line {number}", budget)
            known = found.get(secret.letters, secret)
            # Twice on a list: the stricter promise holds for both.
            found[secret.letters] = min(known, secret, key=lambda each: each.budget)
    if not found or len(found) > MOST:
        raise DataError(f"method.secrets {path} holds {'no' if not found else f'more than {MOST:,}'} secrets")
    return tuple(found.values())


def cap_weights(
    sources: Sources, data: PrivateDataset, most: int, share: Callable[[float], float]
) -> FloatArray:
    """Return each text's weight, in units of a whole vote: all of it, or the least share of a secret that it holds.

    A text's share depends on the budgets of its own secrets alone. Where one of them has another value, the list names
    that one with the same budget, so the share is the same.

    Args:
        most: Most texts that one secret may stand in; public.
        share: Of a secret with this η; see ``dp.attacks.secret_share``.

    Returns:
        float64 ``(texts,)``.

    Raises:
        DataError: A secret stands in more texts; it is named by its place alone.
    """
    found = np.ones(len(data))
    for secret in sources.find_held(data):
        if len(secret.places) > most:
            raise DataError(
                f"{secret.name} stands in {len(secret.places)} texts, and method.secret_size says {most}: say a larger "
                "number, which is public, or leave texts out"
            )
        own = list(secret.places)
        found[own] = np.minimum(found[own], share(secret.budget))
    return found


def find_holders(secrets: Sequence[str], texts: Sequence[str]) -> list[list[int]]:
    """Of each secret, the places of the texts that contain it.

    Every secret is looked for under three letters of it, those that the fewest others have.
    """
    grams = Counter(gram for secret in secrets for gram in _grams(secret))
    known: Mapping[str, list[int]] = defaultdict(list)
    for number, secret in enumerate(secrets):
        # The rarest three letters of a secret: a text that lacks them cannot hold it, and few texts have them.
        known[min(_grams(secret), key=lambda gram: (grams[gram], gram))].append(number)
    found: list[list[int]] = [[] for _ in secrets]
    for place, text in enumerate(texts):
        for gram in known.keys() & _grams(text):
            for number in known[gram]:
                if secrets[number] in text:
                    found[number].append(place)
    return found


def _grams(text: str) -> set[str]:
    return {text[start : start + SHORTEST] for start in range(len(text) - SHORTEST + 1)}


def _alike(values: Sequence[set[str]]) -> Iterable[tuple[str, list[int]]]:
    """Each value, and the places of the texts that have it."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, own in enumerate(values):
        for value in own:
            places[value].append(place)
    return places.items()


def _place(data: PrivateDataset, places: Sequence[int]) -> str:
    return data.names[places[0]] if data.names else f"text {places[0] + 1}"


def _secret(line: str, where: str, budget: float) -> Secret:
    """Read one line of a list; ``DataError``, which repeats nothing of it, where it cannot be used."""
    letters, *numbers = line.split("\t")
    small = normalise(letters).casefold()
    if len(small) < SHORTEST:
        raise DataError(f"{where} has fewer than {SHORTEST} characters")
    if not numbers:
        return Secret(small, budget)
    try:
        prior, bound = map(float, numbers)
        own = secret_budget(prior, bound)
    except ValueError:
        raise DataError(f"{where} is not of the form: {FORM}, with 0 < prior <= bound < 1") from None
    if own > budget:
        raise DataError(
            f"{where} allows more than method.secret_prior and method.secret_bound, which are promised of every "
            "secret: raise "
            "method.secret_bound, or leave the line's numbers out"
        )
    return Secret(small, own)
