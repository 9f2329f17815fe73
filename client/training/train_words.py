"""Makes the bundled encoder of texts: a vector for each word, by latent semantic analysis of public texts.

::

    PYTHONPATH=api_server/training python client/training/train_words.py --wordnet FOLDER --out FOLDER

``--wordnet`` has WordNet's ``data.noun``. Each of the meanings that may be learned from is a document of its words, its
names and the kinds that it belongs to. Ten seconds; the same bytes on the same machine.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD
from wordnet import Meaning, meanings, topics, words

FEWEST = 3
"""Documents that must have a word."""
DIMENSION = 96
SEED = 0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--wordnet", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    given = options.parse_args()
    everything = meanings(given.wordnet)
    kinds = topics(everything)
    documents = [_document(each, kinds) for each in everything if each.taught]
    met = Counter(term for each in documents for term in set(each))
    terms = sorted(term for term, count in met.items() if count >= FEWEST)
    places = {term: place for place, term in enumerate(terms)}
    weight = np.log(len(documents) / np.array([met[term] for term in terms]))
    vectors = _vectors(documents, places, weight)
    kept = [place for place, term in enumerate(terms) if not term.startswith("<")]
    save_file(
        {"vectors": vectors[kept].astype(np.float16), "weights": weight[kept].astype(np.float16)},
        given.out / "words.safetensors",
        {"words": " ".join(terms[place] for place in kept)},
    )
    print(len(kept), "words")


def _document(each: Meaning, kinds: dict[str, tuple[str, ...]]) -> list[str]:
    """Terms a meaning is taken to have; a kind is one term, unlike any word."""
    return [
        *words(each.text),
        *words(" ".join(each.names)),
        *(f"<{kind}>" for kind in sorted(each.kinds) if kind in kinds),
    ]


def _vectors(documents: list[list[str]], places: dict[str, int], weight: np.ndarray) -> np.ndarray:
    rows, columns, values = [], [], []
    for row, document in enumerate(documents):
        for term, count in Counter(document).items():
            if term in places:
                rows.append(row)
                columns.append(places[term])
                values.append((1 + np.log(count)) * weight[places[term]])
    table = csr_matrix((values, (rows, columns)), shape=(len(documents), len(places)))
    lengths = np.sqrt(table.multiply(table).sum(axis=1)).A1
    table = csr_matrix(table.multiply(1 / np.maximum(lengths, 1e-9)[:, None]))
    found = TruncatedSVD(DIMENSION, random_state=SEED, n_iter=7).fit(table)
    vectors = found.components_.T * np.sqrt(found.singular_values_)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


if __name__ == "__main__":
    main()
