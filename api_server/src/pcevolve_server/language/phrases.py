"""Write and fill in short texts from counted word sequences, each weighted towards a topic."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import numpy as np
from safetensors import SafetensorError

from pcevolve_server import sources
from pcevolve_server.errors import AbandonedError, ModelLoadError
from pcevolve_server.language.counts import END, START, WORD, Floats, WordCounts
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.work import Completion, IsCancelled, TextRecipe, TextTask, never_cancelled
from pcevolve_shared import limits
from pcevolve_shared.blanks import BLANK, parse_question
from pcevolve_shared.wire import ModelInfo

_READ = 100
"""Largest number of words of a text from which its topic is guessed."""


class Phrases:
    """The bundled language model. A completion depends on its task alone, bit for bit.

    A new text is about a topic that the question names, or about any topic. When the model fills in blanks, it
    guesses the topic from the rest of the text.
    """

    fixed_cost_batches = on_gpu = False

    def __init__(self, info: ModelInfo, counts: WordCounts, most: int) -> None:
        """Store counts of words.

        Args:
            most: Largest number of texts in one run.
        """
        self.info, self._counts, self.bit_exact_batch_size = info, counts, most

    @property
    def memory(self) -> int:
        return self._counts.bytes

    def write(
        self, tasks: Sequence[TextTask], is_cancelled: IsCancelled = never_cancelled
    ) -> list[Completion]:
        """Write completions, in the order of the tasks, which share one recipe.

        Raises:
            AbandonedError: The run was cancelled.
        """
        return [self._completion(task, is_cancelled) for task in tasks]

    def _completion(self, task: TextTask, is_cancelled: IsCancelled) -> Completion:
        if is_cancelled():
            raise AbandonedError("the caller no longer waits for this text")
        started, random = time.monotonic(), np.random.default_rng(task.seed)
        said = "\n".join(words for role, words in task.messages if role != "assistant")
        question = parse_question(said)
        if question is None:
            found, whole = self._write(said, task.recipe, random)
        else:
            found, whole = self._fill(*question, task.recipe, random)
        text = " ".join(found)
        stops = [place for stop in task.recipe.stops if (place := text.find(stop)) >= 0]
        return Completion(
            text=text[: min(stops)] if stops else text,
            finish="stop" if whole or stops else "length",
            prompt_tokens=len(said.split()),
            tokens=len(found),
            seconds={"write_text": time.monotonic() - started},
        )

    def _write(self, said: str, recipe: TextRecipe, random: np.random.Generator) -> tuple[list[str], bool]:
        """Return the words of a new text, and whether the text ended by itself."""
        topics = self._counts.topics_in(said) or range(len(self._counts.lean))
        lean = self._lean(int(random.choice(list(topics))))
        written = [START, START]
        for length in count():
            if length == recipe.tokens:
                break
            likely = self._counts.after(written) * lean
            likely[START] = 0.0
            likely[END] *= length > 1  # a text has words
            written.append(_draw(likely, recipe, random))
            if written[-1] == END:
                return [self._counts.words[word] for word in written[2:-1]], True
        return [self._counts.words[word] for word in written[2:]], False

    def _fill(
        self, prompt: str, blanked: str, recipe: TextRecipe, random: np.random.Generator
    ) -> tuple[list[str], bool]:
        """Return the words of a text with new words in place of the blanks, and whether the text is complete."""
        given = blanked.split()
        found = given[: recipe.tokens]
        spots = [None if word == BLANK else self._place(word) for word in found]
        lean = self._lean(self._guess_topic(prompt, [spot for spot in spots if spot is not None], random))
        read = [START, START]
        for place, spot in enumerate(spots):
            if spot is None:
                following = spots[place + 1] if place + 1 < len(spots) else END
                likely = self._counts.after(read) * lean
                likely[[START, END]] = 0.0
                if following is not None:
                    likely *= self._counts.ahead_of(following)
                spot = _draw(likely, recipe, random)
                found[place] = self._counts.words[spot]
            read.append(spot)
        return found, len(found) == len(given)

    def _guess_topic(self, prompt: str, spots: Sequence[int], random: np.random.Generator) -> int:
        """Draw a topic that suits the rest of a text. If the prompt names topics, draw one of these."""
        topics = self._counts.topics_in(prompt) or list(range(len(self._counts.lean)))
        seen = [spot for spot in spots[:_READ] if spot > START]
        hints = self._counts.lean[np.ix_(topics, seen)].astype(np.float64).sum(axis=1)
        shares = np.exp(hints - hints.max())
        return int(topics[int(random.choice(len(topics), p=shares / shares.sum()))])

    def _lean(self, topic: int) -> Floats:
        leaning: Floats = np.exp(self._counts.lean[topic].astype(np.float64))
        return leaning

    def _place(self, word: str) -> int:
        """Return the index of a word; -1 if the word is unknown."""
        found = WORD.search(word.lower())
        return -1 if found is None else self._counts.places.get(found[0], -1)


def _draw(likely: Floats, recipe: TextRecipe, random: np.random.Generator) -> int:
    if recipe.temperature == 0:
        return int(likely.argmax())
    # Divided by the largest value, because powers of small numbers alone would all be 0.
    shares = (likely / likely.max()) ** (1.0 / max(recipe.temperature, 0.05))
    if recipe.top_p < 1:
        shares = _nucleus(shares, recipe.top_p)
    sums = shares.cumsum()
    return int(np.searchsorted(sums, random.random() * sums[-1], side="right"))


def _nucleus(shares: Floats, part: float) -> Floats:
    """Return the likeliest words that together have this share of the probability."""
    order = np.argsort(-shares, kind="stable")
    sums = shares[order].cumsum()
    kept = order[: int(np.searchsorted(sums, part * sums[-1])) + 1]
    nucleus: Floats = np.zeros_like(shares)
    nucleus[kept] = shares[kept]
    return nucleus


def load(settings: ModelSettings) -> Phrases:
    """Load the counts that are installed with the server.

    Raises:
        ModelLoadError: The server was installed without the counts.
    """
    identity = sources.identify(settings)
    try:
        counts = WordCounts(Path(sources.locate(sources.BUNDLED_TEXT)))
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise ModelLoadError(sources.explain_failure(sources.BUNDLED, "language model", error)) from error
    info = ModelInfo(
        id=identity, name=identity, family="phrases", pipelines=("chat",), negative_prompts=False
    )
    return Phrases(info, counts, limits.MAX_COMPLETIONS)
