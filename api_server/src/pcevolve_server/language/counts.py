"""The bundled language model's counts, and the probability that they give each word.

``training/train_phrases.py`` makes the counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

Floats = NDArray[np.float64]
WORD = re.compile(r"[a-z]+(?:['-][a-z]+)*")
END, START = 0, 1
"""Indexes of the two marks among the words: a text's end and its start."""
_TRUST = 0.25
"""Weight of words unseen after a context, relative to Witten and Bell's estimate. Rare words seldom fit."""
_TOPIC_PRIOR = 50.0
"""Number of words, distributed as in all topics, that are added to the counts of each topic."""


@dataclass(frozen=True)
class _Followers:
    """The words that followed each context.

    Attributes:
        starts: Start of each context's followers. There is one entry more than contexts.
        words: The followers.
        counts: How often each follower occurred.
    """

    starts: NDArray[np.int64]
    words: NDArray[np.int64]
    counts: Floats

    @classmethod
    def of(
        cls, contexts: NDArray[np.int64], words: NDArray[np.int64], counts: Floats, size: int
    ) -> _Followers:
        """Return the followers of contexts. ``contexts`` has each follower's context number, in ascending order."""
        return cls(np.searchsorted(contexts, np.arange(size + 1)), words, counts)

    def after(self, context: int, less: Floats) -> Floats:
        """Return each word's probability to follow a context, float64 ``(words,)``.

        Args:
            less: The words' probabilities after a shorter context.
        """
        own = slice(self.starts[context], self.starts[context + 1])
        kinds = own.stop - own.start
        if not kinds:
            return less
        total = self.counts[own].sum() + _TRUST * kinds
        likely: Floats = less * (_TRUST * kinds / total)
        likely[self.words[own]] += self.counts[own] / total
        return likely


class WordCounts:
    """Words, their successors, and topics.

    Attributes:
        words: All known words. The first two are ``END`` and ``START``.
        places: Index of each word.
        lean: How much likelier each topic makes each word, as a logarithm, float16 ``(topics, words)``.
    """

    def __init__(self, folder: Path) -> None:
        spelled = json.loads((folder / "phrases.json").read_text("ascii"))
        tensors = load_file(folder / "phrases.safetensors")
        self.words: list[str] = ["", "", *spelled["words"]]
        self.places = {word: place for place, word in enumerate(self.words) if word}
        self._names: list[tuple[str, ...]] = [tuple(each) for each in spelled["topics"]]
        size = len(self.words)
        first = tensors["pair_first"].astype(np.int64)
        following = tensors["pair_next"].astype(np.int64)
        counts = tensors["pair_count"].astype(np.float64)
        self._alone: Floats = np.bincount(following, counts, minlength=size) / counts.sum()
        self._pairs = _Followers.of(first, following, counts, size)
        self._triples = _Followers.of(
            tensors["triple_pair"].astype(np.int64),
            tensors["triple_next"].astype(np.int64),
            tensors["triple_count"].astype(np.float64),
            len(first),
        )
        self._before = _before(first, following, counts, size)
        self._unseen = _estimate_unseen(self._pairs)
        self.lean = _leanings(tensors, self._alone, len(self._names))
        self.bytes = sum(each.nbytes for each in tensors.values()) + self.lean.nbytes

    def topics_in(self, text: str) -> list[int]:
        """Return the topics that a text names, in their order."""
        said = " " + " ".join(WORD.findall(text.lower())) + " "
        return [
            topic
            for topic, names in enumerate(self._names)
            if any(f" {name} " in said or f" {name}s " in said for name in names)
        ]

    def after(self, before: Sequence[int]) -> Floats:
        """Return each word's probability after the last two words, float64 ``(words,)``. Index -1: unknown word."""
        earlier, last = before[-2], before[-1]
        if last < 0:
            return self._alone
        likely = self._pairs.after(last, self._alone)
        pair = self._pair(earlier, last)
        return likely if pair is None else self._triples.after(pair, likely)

    def ahead_of(self, word: int) -> Floats:
        """Return each word's probability to precede this word, float64 ``(words,)``; 1 if this word is unknown."""
        if word < 0:
            return np.ones(len(self.words))
        likely: Floats = self._unseen * self._alone[word]
        places, shares = self._before[word]
        likely[places] += shares
        return likely

    def _pair(self, earlier: int, last: int) -> int | None:
        """Return the number of a pair of known words."""
        if earlier < 0:
            return None
        own = slice(self._pairs.starts[earlier], self._pairs.starts[earlier + 1])
        place = int(np.searchsorted(self._pairs.words[own], last))
        found = place < own.stop - own.start and self._pairs.words[own][place] == last
        return int(own.start) + place if found else None


def _before(
    first: NDArray[np.int64], following: NDArray[np.int64], counts: Floats, size: int
) -> list[tuple[NDArray[np.int64], Floats]]:
    """Return, for each word, the words that occur before it, and its share among the successors of each of them."""
    totals = np.bincount(first, counts, minlength=size) + _TRUST * np.bincount(first, minlength=size)
    order = np.argsort(following, kind="stable")
    bounds = np.searchsorted(following[order], np.arange(size + 1))
    shares = counts / totals[first]
    parts = (order[start:stop] for start, stop in pairwise(bounds))
    return [(first[part], shares[part]) for part in parts]


def _estimate_unseen(pairs: _Followers) -> Floats:
    """Return each word's probability to be followed by an unseen word, float64 ``(words,)``."""
    kinds = np.diff(pairs.starts)
    sums = np.add.reduceat(np.append(pairs.counts, 0.0), np.minimum(pairs.starts[:-1], len(pairs.counts)))
    totals = np.where(kinds > 0, sums, 0.0) + _TRUST * kinds
    return np.where(kinds > 0, _TRUST * kinds / np.maximum(totals, 1.0), 1.0)


def _leanings(tensors: Mapping[str, NDArray[np.generic]], alone: Floats, topics: int) -> NDArray[np.float16]:
    """Return the logarithms of the factors by which each topic makes each word likelier."""
    topic, word = tensors["topic"].astype(np.int64), tensors["topic_word"].astype(np.int64)
    count = tensors["topic_count"].astype(np.float64)
    totals = np.bincount(topic, count, minlength=topics) + _TOPIC_PRIOR
    base = np.log(_TOPIC_PRIOR / totals)
    leanings = np.repeat(base[:, None], len(alone), axis=1)
    known = alone[word]
    share = np.divide(count, known, out=np.zeros_like(count), where=known > 0)
    leanings[topic, word] = np.log((share + _TOPIC_PRIOR) / totals[topic])
    leanings[:, END] = leanings[:, START] = 0.0
    return leanings.astype(np.float16)
