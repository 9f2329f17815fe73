"""How often a small language model, counted from some texts, guesses the next word of others; private.

It stands in for fine-tuning a language model on the texts (Xie et al. 2024, next-token accuracy): a back-off model of
at most two words before, which says the word that most often came after them. It never voted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from pcevolve.modality.texts.reading import Text

ORDER = 2
"""Words before, at most, by which the next one is guessed."""
_END, _BEGIN = "", " "
"""What comes after the last word and before the first; no word is either."""

Context = tuple[str, ...]


def next_word_accuracy(learned: Sequence[Text | None], tested: Sequence[Text | None]) -> float:
    """Share of words, ends of texts included, that are guessed from those before them, letters' case aside.

    Args:
        learned: What the model is counted from.
        tested: Held out from it, at least one text.

    Returns:
        In [0, 1]; 0 where there is nothing to learn from.
    """
    best = _best(learned)
    guesses = [(best.get(_longest(context, best)), word) for context, word in _steps(tested)]
    return sum(guess == word for guess, word in guesses) / len(guesses)


def _best(texts: Sequence[Text | None]) -> dict[Context, str]:
    """After each context the word that follows most often; of equally frequent ones the first in the alphabet."""
    counts: dict[Context, Counter[str]] = defaultdict(Counter)
    for context, word in _steps(texts):
        for start in range(len(context) + 1):
            counts[context[start:]][word] += 1
    return {context: min(own, key=lambda word: (-own[word], word)) for context, own in counts.items()}


def _longest(context: Context, known: dict[Context, str]) -> Context:
    """As much of a context's end as is known."""
    return next((context[start:] for start in range(len(context)) if context[start:] in known), ())


def _steps(texts: Sequence[Text | None]) -> Iterator[tuple[Context, str]]:
    """Every word with the words before it."""
    for text in texts:
        words = [_BEGIN, *(text or "").casefold().split(), _END]
        for place in range(1, len(words)):
            yield tuple(words[max(0, place - ORDER) : place]), words[place]
