"""Declared secrets: the owner's list and secret columns, the texts that contain each secret, and these texts' votes.

The texts that contain a secret are determined before anything is released. A text with an unlisted spelling
is protected like any other text.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pcevolve.errors import DataError, UsageError
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.declared import validate
from pcevolve.public.dp.attacks import secret_budget, secret_share
from pcevolve.public.dp.mechanisms import FloatArray
from pcevolve.public.media.texts import normalise
from pcevolve.public.methods import USUAL_BOUND, USUAL_PRIOR, USUAL_SIZE, SecretEvolution
from pcevolve.public.parts import Secrecy
from pcevolve.public.privacy import Event, Relation
from pcevolve_shared.reading import read_file

SHORTEST = 3
"""Smallest number of characters of a secret."""
MOST_BYTES = 2**26
MOST = 100_000
FORM = "one secret per line, optionally followed by its prior and its bound, separated by tabs"


@dataclass(frozen=True, repr=False)
class Secret:
    """A listed secret.

    Attributes:
        letters: The secret in the normal form of texts, in lower case.
        budget: η; see ``dp.attacks.secret_budget``.
    """

    letters: str
    budget: float


@dataclass(frozen=True, repr=False)
class Held:
    """A secret and the texts that contain it.

    Attributes:
        name: Where the secret is declared; reveals nothing of the secret itself.
        budget: η; see ``dp.attacks.secret_budget``.
        places: Indices of the texts.
    """

    name: str
    budget: float
    places: Sequence[int]

    def join(self, other: Held) -> Held:
        """Merge two declarations of one secret: the stricter promise applies to all texts that contain it."""
        places = sorted({*self.places, *other.places})
        return Held(self.name, min(self.budget, other.budget), places)


@dataclass(frozen=True, repr=False)
class Sources:
    """The owner's declaration of secrets.

    Attributes:
        listed: Secrets of the list.
        columns: Columns of the table in which every value is a secret.
        budget: η of each secret without its own η.
    """

    listed: tuple[Secret, ...]
    columns: tuple[str, ...]
    budget: float

    def compute_digest(self, data: PrivateDataset) -> bytes:
        """Digest the secrets without budgets, whatever their order; for the ledger's keyed fingerprints only."""
        # Sorted and without budgets, because the ledger must recognise a reordered list as the same secrets.
        stated = [sorted(each.letters for each in self.listed), sorted(self.columns)]
        # With each text's values: if a value in a column changes, other secrets are protected.
        order = sorted(range(len(self.columns)), key=lambda at: self.columns[at])
        held = zip(data.digests, data.marks, strict=True) if self.columns else ()
        marked = sorted((digest.hex(), [own[at] for at in order]) for digest, own in held)
        return hashlib.sha256(b"secrets\n" + json.dumps([*stated, marked]).encode()).digest()

    def compute_budgets_digest(self) -> bytes:
        """Digest the promise to each listed secret, and to all values in columns."""
        stated = sorted((each.letters, each.budget) for each in self.listed)
        return hashlib.sha256(json.dumps([stated, self.budget]).encode()).digest()

    def find_held(self, data: PrivateDataset) -> Iterable[Held]:
        """Return every secret that occurs in texts, each once, with all texts in which list or columns find it."""
        found: dict[str, Held] = {}
        for letters, held in self._find_by_source(data):
            known = found.get(letters)
            found[letters] = held if known is None else known.join(held)
        return found.values()

    def _find_by_source(self, data: PrivateDataset) -> Iterator[tuple[str, Held]]:
        """Yield each secret with its letters, once for each declaration."""
        small = [text.casefold() for text in data.items] if self.listed else []
        found = find_holders([each.letters for each in self.listed], small)
        for number, (secret, places) in enumerate(zip(self.listed, found, strict=True), 1):
            yield secret.letters, Held(f"secret {number} of data.secrets", secret.budget, places)
        for at, column in enumerate(self.columns):
            holders: dict[str, list[int]] = defaultdict(list)
            for place, marks in enumerate(data.marks):
                holders[marks[at]].append(place)
            # An empty cell contains no secret.
            holders.pop("", None)
            for letters, places in holders.items():
                yield (
                    letters,
                    Held(f"the value of column {column!r} in {data.names[places[0]]}", self.budget, places),
                )


def read_secrets(path: Path, budget: float) -> tuple[Secret, ...]:
    """Read secrets, one per line, normalised and in lower case; a line may also give a prior and a bound.

    Args:
        budget: η of lines without their own numbers. A line's own η may only be smaller, because this η is
            published as the largest.

    Raises:
        DataError: The file cannot be read, has no secrets or too many, or one of its lines is too short or
            promises less than the general promise. The message repeats no secret.
    """
    try:
        lines = read_file(path, MOST_BYTES).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise DataError(f"data.secrets {path} cannot be read: give a text file in UTF-8, {FORM}") from None
    found: dict[str, Secret] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            secret = _secret(line, f"data.secrets {path}: line {number}", budget)
            known = found.get(secret.letters, secret)
            # If a secret is listed twice, the stricter promise applies.
            found[secret.letters] = min(known, secret, key=lambda each: each.budget)
    if not found or len(found) > MOST:
        raise DataError(
            f"data.secrets {path} contains {'no' if not found else f'more than {MOST:,}'} secrets"
        )
    return tuple(found.values())


def cap_weights(
    sources: Sources, data: PrivateDataset, most: int, share: Callable[[float], float]
) -> FloatArray:
    """Return each text's weight, as a share of a full vote: 1, or the least share among its secrets.

    A text's share depends only on the budgets of its own secrets. If a secret had another value, the list
    would contain that value with the same budget, so the share would be the same.

    Args:
        most: Largest number of texts that may contain one secret; public.
        share: Returns the share for a secret's η; see ``dp.attacks.secret_share``.

    Returns:
        float64 ``(texts,)``.

    Raises:
        DataError: More texts contain a secret; the message tells only where the secret is declared.
    """
    found = np.ones(len(data))
    for secret in sources.find_held(data):
        if len(secret.places) > most:
            raise DataError(
                f"{secret.name} occurs in {len(secret.places)} texts, but method.secret_size is {most}: "
                "give a larger number, which becomes public, or leave texts out"
            )
        own = list(secret.places)
        found[own] = np.minimum(found[own], share(secret.budget))
    return found


def find_holders(secrets: Sequence[str], texts: Sequence[str]) -> list[list[int]]:
    """Return, for each secret, the indices of the texts that contain it.

    Each secret is looked up by the rarest of its three-letter sequences.
    """
    grams = Counter(gram for secret in secrets for gram in _grams(secret))
    known: Mapping[str, list[int]] = defaultdict(list)
    for number, secret in enumerate(secrets):
        # A text without these three letters cannot contain the secret, and few texts have the rarest ones.
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


def _secret(line: str, where: str, budget: float) -> Secret:
    """Read one line of a list (``DataError`` for an unusable line; the message repeats nothing of it)."""
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
        raise DataError(
            f"{where} does not have the required form: {FORM}, with 0 < prior <= bound < 1"
        ) from None
    if own > budget:
        raise DataError(
            f"{where} gives weaker limits than method.secret_prior and method.secret_bound, which hold for every "
            "secret: raise method.secret_bound, or leave the numbers out of that line"
        )
    return Secret(small, own)


def find_secrets(settings: RunConfig) -> SecretEvolution | None:
    """Return the method's settings about secrets; None if no secrets are declared."""
    own, data = settings.method, settings.data
    return own if isinstance(own, SecretEvolution) and (data.secrets or data.secret_columns) else None


def make_promise(prior: float | None, bound: float | None, most: int | None) -> Secrecy:
    """Return the promise to secrets, with defaults (``UsageError`` for impossible numbers)."""
    values: dict[str, Any] = {
        "prior": prior or USUAL_PRIOR,
        "bound": bound or USUAL_BOUND,
        "most": most or USUAL_SIZE,
    }
    return validate(Secrecy, values)


def read_declared(settings: RunConfig, promise: Secrecy) -> Sources:
    """Read the declared secrets.

    Raises:
        DataError: The list is unusable.
        UsageError: A column is named twice, or is missing.
    """
    budget = secret_budget(promise.prior, promise.bound)
    columns = settings.data.secret_columns
    if len(set(columns)) < len(columns) or not all(columns):
        raise UsageError("data.secret_columns contains a column twice, or a column without a name")
    listed = () if settings.data.secrets is None else read_secrets(settings.data.secrets, budget)
    return Sources(listed, columns, budget)


def compute_least_share(promise: Secrecy, event: Event, relation: Relation) -> float:
    """Return which share of a text's vote counts if the text contains a secret with the default budget.

    The share is in [0, 1], and public.
    """
    budget = secret_budget(promise.prior, promise.bound)
    return secret_share(budget, promise.most, float(event.value), relation)


def compute_caps(
    sources: Sources, data: PrivateDataset, promise: Secrecy, event: Event, relation: Relation
) -> FloatArray:
    """Return the share of each private text's vote that counts, given its secrets, float64 ``(texts,)``.

    Errors as in ``cap_weights``.
    """
    multiplier = float(event.value)
    return cap_weights(
        sources, data, promise.most, lambda budget: secret_share(budget, promise.most, multiplier, relation)
    )
