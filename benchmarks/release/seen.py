"""One draw of a private set as voter and judges see it, and what benchmarks of single selections share."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.judges import Look
from benchmarks.release.data import SHOTS, RealSet, draw_candidates, embed_once
from benchmarks.split import SETS, by_role
from pcevolve.public.encoders import load_encoder
from pcevolve.public.encoders.files import PublicFrame

VOTER, CANDIDATES = "voter", 60


@dataclass(frozen=True)
class Seen:
    """One set as all encoders see it: real images, and of each class the generator's."""

    real: dict[str, np.ndarray]
    drawn: dict[str, list[np.ndarray]]
    targets: np.ndarray


@dataclass(frozen=True)
class Draw:
    """Rows of the real images: shots, unlabelled candidates, and what is tested on."""

    shots: np.ndarray
    unlabelled: np.ndarray
    test: np.ndarray
    seed: int

    @classmethod
    def of(cls, targets: np.ndarray, seed: int) -> Draw:
        random = np.random.default_rng(seed)
        classes = range(int(targets.max()) + 1)
        shots = np.concatenate([random.permutation(np.flatnonzero(targets == c))[:SHOTS] for c in classes])
        rest = random.permutation(np.delete(np.arange(len(targets)), shots))
        half = len(rest) // 2
        return cls(shots, rest[:half], rest[half:], seed)


def embed_by_all(real: RealSet, cache: Path, looks: Mapping[str, Look]) -> Seen:
    """Embed a set and the candidates that the bundled generator draws for it, by voter and judges."""
    drawn = draw_candidates(real, CANDIDATES, cache)
    return Seen(
        {name: embed_once(name, real.images, look, cache) for name, look in looks.items()},
        {name: [embed_once(name, each, look, cache) for each in drawn] for name, look in looks.items()},
        real.targets,
    )


@cache
def load_frame(voter: str) -> PublicFrame | None:
    """Return the bundled voter's frame of public images; others have none."""
    return load_encoder("bundled").frame if voter == VOTER else None


def repeat_classes(pools: Sequence[np.ndarray]) -> np.ndarray:
    """The class of each row of several pools, int64 ``(rows,)``."""
    return np.repeat(np.arange(len(pools)), [len(each) for each in pools])


def measure_head(made: np.ndarray, labels: np.ndarray, real: np.ndarray, truth: np.ndarray) -> float:
    """Accuracy on real embeddings of a linear head that is trained on made ones, standardised by those."""
    centre, scale = made.mean(axis=0), made.std() + 1e-12
    head = LogisticRegression(max_iter=300).fit((made - centre) / scale, labels)
    return float(head.score((real - centre) / scale, truth))


def arguments(told: str | None, seeds: int) -> argparse.Namespace:
    """The options of such a benchmark; makes the folder of its cache."""
    parser = argparse.ArgumentParser(description=told, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--cache", type=Path, required=True, help="folder for embeddings and drawn candidates"
    )
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=by_role(), metavar="NAME")
    given = parser.parse_args()
    given.cache.mkdir(parents=True, exist_ok=True)
    return given
