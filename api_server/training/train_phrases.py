"""Counts what the bundled language model knows: which word follows which, and which words each topic has.

::

    python api_server/training/train_phrases.py --wordnet FOLDER --out api_server/src/pcevolve_server/bundled_text

``FOLDER`` has WordNet's ``data.noun`` (Debian: wordnet-base). A minute; the same bytes for the same input.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from wordnet import Meaning, meanings, topics, words

FEWEST_WORDS = 2
"""Times that a word must be met to be known."""
FEWEST_TRIPLES = 2
END, START = 0, 1
"""Places of what ends a text and of what comes before it among the words."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--wordnet", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    given = options.parse_args()
    everything = meanings(given.wordnet)
    taught = [each for each in everything if each.taught]
    given.out.mkdir(exist_ok=True)
    counted = Counter(word for each in taught for word in words(each.text))
    known = ["", " ", *sorted(word for word, count in counted.items() if count >= FEWEST_WORDS)]
    places = {word: place for place, word in enumerate(known)}
    texts = [[places.get(word, -1) for word in words(each.text)] for each in taught]
    kinds = topics(everything)
    tensors = {**_sequences(texts, len(known)), **_topics(taught, texts, list(kinds))}
    save_file(tensors, given.out / "phrases.safetensors")
    spelled = {"words": known[2:], "topics": list(kinds.values())}
    (given.out / "phrases.json").write_text(json.dumps(spelled, separators=(",", ":")) + "\n", "ascii")
    for name, values in tensors.items():
        print(name, values.dtype, values.shape)


def _sequences(texts: list[list[int]], size: int) -> dict[str, np.ndarray]:
    """Counts of words, of pairs and of triples; what holds an unknown word is left out."""
    pairs: Counter[tuple[int, int]] = Counter()
    triples: Counter[tuple[int, int, int]] = Counter()
    for text in texts:
        row = [START, START, *text, END]
        pairs.update(pair for pair in pairwise(row[1:]) if -1 not in pair)
        triples.update(each for each in zip(row, row[1:], row[2:], strict=False) if -1 not in each)
    ordered = sorted(pairs)
    place = {pair: number for number, pair in enumerate(ordered)}
    kept = sorted(each for each, count in triples.items() if count >= FEWEST_TRIPLES and each[:2] in place)
    return {
        "pair_first": np.array([first for first, _ in ordered], dtype=np.uint16),
        "pair_next": np.array([following for _, following in ordered], dtype=np.uint16),
        "pair_count": np.array([min(pairs[pair], 65535) for pair in ordered], dtype=np.uint16),
        "triple_pair": np.array([place[each[:2]] for each in kept], dtype=np.uint32),
        "triple_next": np.array([each[2] for each in kept], dtype=np.uint16),
        "triple_count": np.array([min(triples[each], 65535) for each in kept], dtype=np.uint16),
        "size": np.array([size], dtype=np.uint32),
    }


def _topics(taught: list[Meaning], texts: list[list[int]], kinds: list[str]) -> dict[str, np.ndarray]:
    """How often each topic has each word."""
    number = {kind: place for place, kind in enumerate(kinds)}
    found: Counter[tuple[int, int]] = Counter()
    for each, text in zip(taught, texts, strict=True):
        own = [number[kind] for kind in each.kinds if kind in number]
        found.update((topic, word) for topic in own for word in text if word >= 0)
    ordered = sorted(found)
    return {
        "topic": np.array([topic for topic, _ in ordered], dtype=np.uint16),
        "topic_word": np.array([word for _, word in ordered], dtype=np.uint16),
        "topic_count": np.array([min(found[each], 65535) for each in ordered], dtype=np.uint16),
    }


if __name__ == "__main__":
    main()
