"""What is measured of texts beside what judges say: what was copied, how varied they are, what a model learns."""

from __future__ import annotations

from collections.abc import Mapping

from pcevolve.dp.mechanisms import FloatArray
from pcevolve.evaluation.copies import longest_copied_span
from pcevolve.evaluation.diversity import distinct_pairs
from pcevolve.evaluation.mauve import mauve
from pcevolve.evaluation.next_word import next_word_accuracy
from pcevolve.run.labelled import SHUFFLED, Labelled


def of_sets(sets: Mapping[str, Labelled], test: Labelled, private: Labelled | None) -> dict[str, object]:
    """Figures about words; see ``concerns.Measuring``."""
    own = {name: each for name, each in sets.items() if name != SHUFFLED}  # it has the dataset's own texts
    return {
        **({} if private is None else _copied(sets["dataset"], private)),
        "distinct_pairs": {
            # Of two sets together it says nothing.
            name: distinct_pairs(each.images)
            for name, each in own.items()
            if name != "both"
        },
        "next_word": {name: next_word_accuracy(each.images, test.images) for name, each in own.items()},
    }


def of_embeddings(made: FloatArray, real: FloatArray) -> dict[str, object]:
    """MAUVE; see ``concerns.Measuring``."""
    return {"mauve": mauve(made, real)}


def _copied(dataset: Labelled, private: Labelled) -> dict[str, object]:
    """The longest run of words that a synthetic text has from a private one."""
    words, place = longest_copied_span(dataset.images, private.images)
    return {"longest_copied_words": words, "copied_in": dataset.names[place] if words else None}
