"""The judge: chooses what the private data prefer, pays, and says nothing else."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pcevolve_client.budget.ledger import Ledger, Limits
from pcevolve_client.budget.mechanisms import ExponentialMechanism
from pcevolve_client.errors import BudgetError, DataError
from pcevolve_client.private.dataset import PrivateDataset
from pcevolve_client.private.judge import PrivateJudge
from pcevolve_client.release import Candidate, Query
from pcevolve_shared import images

RUN = "0" * 32


class MeanColour:
    """An encoder that a person can follow: the mean of each channel."""

    name = "mean-colour"
    dimension = 3

    def __init__(self) -> None:
        self.calls = 0

    def embed(self, pictures):
        self.calls += 1
        rows = [
            np.full(3, np.nan) if p is None else np.asarray(p, dtype=float).mean((0, 1)) for p in pictures
        ]
        return np.array(rows)


def plain(colour: tuple[int, int, int]) -> Image.Image:
    return Image.new("RGB", (8, 8), colour)


RED, GREEN, BLUE = (250, 0, 0), (0, 250, 0), (0, 0, 250)
DATA = PrivateDataset(
    labels=("green", "red"),
    images=tuple(plain(c) for c in (GREEN, (0, 230, 0), RED, (230, 0, 0))),
    targets=np.array([0, 0, 1, 1]),
    units=(b"a", b"b", b"c", b"d"),
)
BYTES = {
    "red": images.encode(plain((240, 0, 0))),
    "blue": images.encode(plain(BLUE)),
    "green": images.encode(plain(GREEN)),
    "junk": b"not an image",
}
POOL = {
    "red": tuple(Candidate(name, "red", 0, None, name, "image/png") for name in BYTES),
    "green": tuple(Candidate(name, "green", 0, None, name, "image/png") for name in BYTES),
}


def judge(path: Path, epsilon: int, encoder: MeanColour | None = None) -> PrivateJudge:
    limits = Limits(Fraction(10_000), Fraction(10_000))
    account = Ledger(path / "ledger.sqlite").enrol(RUN, DATA.units, "replace-one", limits)
    return PrivateJudge(
        data=DATA,
        encoder=encoder or MeanColour(),
        received=BYTES.__getitem__,
        account=account,
        mechanism=ExponentialMechanism(),
        epsilon=Fraction(epsilon),
        utility="pcevolve",
    )


def test_with_a_large_budget_the_most_similar_candidate_of_the_class_wins(tmp_path):
    receipt = judge(tmp_path, 1000).release(Query(RUN, 1, "red"), POOL)
    assert [each.id for each in receipt.chosen] == ["red"]
    assert receipt.cost == 1000


def test_a_paid_query_is_answered_without_looking_again(tmp_path):
    first = judge(tmp_path, 1000).release(Query(RUN, 1, "red"), POOL)
    encoder = MeanColour()
    assert judge(tmp_path, 1000, encoder).release(Query(RUN, 1, "red"), POOL) == first
    assert encoder.calls == 0


def test_without_budget_nothing_is_released(tmp_path):
    with pytest.raises(BudgetError, match="nothing was drawn"):
        judge(tmp_path, 10_001).release(Query(RUN, 1, "red"), POOL)


def test_a_private_image_without_an_embedding_stops_the_run_before_anything_is_drawn(tmp_path):
    blind = MeanColour()
    blind.embed = lambda pictures: np.full((len(pictures), 3), np.nan)
    with pytest.raises(DataError, match="cannot embed a private image"):
        judge(tmp_path, 1, blind).release(Query(RUN, 1, "red"), POOL)
    assert judge(tmp_path, 1).account.receipts() == ()


def test_the_judge_does_not_show_what_it_holds(tmp_path):
    assert repr(judge(tmp_path, 1)) == "PrivateJudge"
