"""The bundled counts of words."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from pcevolve_server import models, sources
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.language.counts import WordCounts
from pcevolve_server.model_settings import ModelSettings

pytestmark = pytest.mark.models


def test_without_its_files_the_server_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(sources, "locate", lambda name: str(tmp_path))
    with pytest.raises(ModelLoadError, match="language model"):
        models.load(ModelSettings(model="text:bundled"))
    with pytest.raises(OSError, match="phrases"):
        WordCounts(tmp_path)


WORDS = ["lung", "of", "the"]  # 2, 3 and 4
PAIRS = [(0, 2, 3.0), (1, 2, 1.0), (1, 4, 4.0), (2, 3, 2.0), (2, 4, 1.0), (3, 4, 1.0)]
"""First word, next word, and how often; none follows the fourth word."""
TRIPLES = [((1, 4), 2, 5.0), ((2, 3), 0, 2.0), ((2, 3), 4, 1.0)]
TOPICS = [(0, 2, 6.0), (0, 4, 2.0), (1, 3, 1.0)]
TRUST, PRIOR = 0.25, 50.0


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> WordCounts:
    """Counts of three words, which can be reckoned by hand."""
    folder = tmp_path_factory.mktemp("counts")
    names = [["disease", "illness"], ["food"]]
    (folder / "phrases.json").write_text(json.dumps({"words": WORDS, "topics": names}), "ascii")
    numbers = [pair[:2] for pair in PAIRS]
    columns = {
        "pair_first": [first for first, _, _ in PAIRS],
        "pair_next": [following for _, following, _ in PAIRS],
        "pair_count": [count for *_, count in PAIRS],
        "triple_pair": [numbers.index(pair) for pair, _, _ in TRIPLES],
        "triple_next": [following for _, following, _ in TRIPLES],
        "triple_count": [count for *_, count in TRIPLES],
        "topic": [topic for topic, _, _ in TOPICS],
        "topic_word": [word for _, word, _ in TOPICS],
        "topic_count": [count for *_, count in TOPICS],
    }
    save_file(
        {name: np.array(column, dtype=np.int32) for name, column in columns.items()},
        folder / "phrases.safetensors",
    )
    return WordCounts(folder)


def reckon_alone(word: int) -> float:
    return sum(count for _, each, count in PAIRS if each == word) / sum(count for *_, count in PAIRS)


def reckon(followers: list[tuple[int, float]], word: int, less: float) -> float:
    """The probability of a word after a context, by Witten and Bell's estimate with less trust in what is unseen."""
    if not followers:
        return less
    total = sum(count for _, count in followers) + TRUST * len(followers)
    seen = sum(count for each, count in followers if each == word)
    return (TRUST * len(followers) * less + seen) / total


def reckon_after_one(last: int, word: int) -> float:
    return reckon([(each, count) for first, each, count in PAIRS if first == last], word, reckon_alone(word))


@pytest.mark.parametrize("earlier", range(-1, 5))
@pytest.mark.parametrize("last", range(5))
def test_the_next_word_is_as_likely_as_by_hand(counts, earlier, last):
    followers = [(each, count) for pair, each, count in TRIPLES if pair == (earlier, last)]
    expected = [reckon(followers, word, reckon_after_one(last, word)) for word in range(5)]
    assert counts.after([0, earlier, last]) == pytest.approx(expected)
    assert sum(expected) == pytest.approx(1)


def test_after_an_unknown_word_words_are_as_likely_as_alone(counts):
    assert counts.after([2, -1]) == pytest.approx([reckon_alone(word) for word in range(5)])


@pytest.mark.parametrize("word", range(5))
def test_the_word_before_is_as_likely_as_by_hand(counts, word):
    assert counts.ahead_of(word) == pytest.approx([reckon_after_one(first, word) for first in range(5)])
    assert list(counts.ahead_of(-1)) == [1.0] * 5


def test_a_topic_makes_its_own_words_likelier_by_its_counts_and_a_prior(counts):
    expected = np.zeros((2, 5))
    for topic in range(2):
        total = sum(count for each, _, count in TOPICS if each == topic) + PRIOR
        for word in range(2, 5):
            seen = sum(count for each, own, count in TOPICS if (each, own) == (topic, word))
            expected[topic, word] = np.log((seen / reckon_alone(word) + PRIOR) / total)
    assert counts.lean == pytest.approx(expected, abs=1e-3)
    assert counts.bytes == 4 * (3 * len(PAIRS) + 3 * len(TRIPLES) + 3 * len(TOPICS)) + counts.lean.nbytes


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("Write one definition about DISEASE.", [0]),
        ("foods, and illness", [0, 1]),
        ("food", [1]),
        ("diseased seafood", []),
    ],
)
def test_a_text_names_topics_by_whole_words_and_their_plural(counts, text, topics):
    assert counts.topics_in(text) == topics
