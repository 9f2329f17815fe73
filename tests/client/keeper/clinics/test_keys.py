"""Owners' private keys: kept for their owner alone, and never written over."""

from __future__ import annotations

import stat
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from pcevolve.errors import UsageError
from pcevolve.keeper.clinics.keys import OwnerKey, make_mask
from pcevolve.public.clinics.grid import Grid, to_residues
from pcevolve.public.clinics.owners import split_key
from pcevolve.public.dp.mechanisms import SecureNoise
from pcevolve.public.privacy import Event
from support.clinics import make_clinics, make_key


def test_a_key_is_the_same_after_it_was_saved_and_only_its_owner_can_read_it(tmp_path):
    path = tmp_path / "own.key"
    key = OwnerKey.new()
    key.save(path)
    assert OwnerKey.load(path).public == key.public
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert repr(key) == "OwnerKey"


def test_a_key_is_never_written_over(tmp_path):
    path = tmp_path / "own.key"
    make_key(1).save(path)
    with pytest.raises(UsageError, match="was not overwritten"):
        make_key(2).save(path)
    assert OwnerKey.load(path).public == make_key(1).public


def test_a_key_that_others_can_read_is_refused(tmp_path):
    path = tmp_path / "own.key"
    make_key(1).save(path)
    path.chmod(0o640)
    with pytest.raises(UsageError, match="other users can read this file"):
        OwnerKey.load(path)


@pytest.mark.parametrize("text", ["", "pcevolve-owner-private-1:", "pcevolve-owner-private-1:AAAA", "\xff"])
def test_what_is_no_key_is_told(tmp_path, text):
    path = tmp_path / "own.key"
    path.write_text(text, encoding="latin-1")
    path.chmod(0o600)
    with pytest.raises(UsageError, match="is not an owner's private key"):
        OwnerKey.load(path)
    with pytest.raises(UsageError, match="makes one key with pcevolve clinics key"):
        OwnerKey.load(tmp_path / "none")


def test_two_owners_agree_on_what_no_third_does():
    keys = [make_key(number) for number in (1, 2, 3)]
    halves = [split_key(each.public)[1] for each in keys]
    assert keys[0].agree(halves[1]) == keys[1].agree(halves[0]) != keys[2].agree(halves[0])


def test_a_key_by_which_anybody_knows_the_secret_is_refused():
    with pytest.raises(UsageError, match="cannot be used for key agreement"):
        make_key(1).agree(b"\0" * 32)


QUESTION, OTHER = "a" * 64, "b" * 64


def make_masks(owners: int, questions: list[str], size: int = 50) -> list[np.ndarray]:
    clinics = make_clinics(owners)
    return [
        make_mask(make_key(place + 1), clinics, place, question, size)
        for place, question in enumerate(questions)
    ]


@pytest.mark.parametrize("owners", [2, 3, 10])
def test_masks_of_all_owners_add_up_to_nothing_exactly(owners):
    total = np.sum(make_masks(owners, [QUESTION] * owners), axis=0, dtype=np.uint64)
    assert not total.any()


def test_without_one_owner_they_do_not():
    masks = make_masks(3, [QUESTION] * 3)
    for left_out in range(3):
        rest = np.sum(
            [each for place, each in enumerate(masks) if place != left_out], axis=0, dtype=np.uint64
        )
        assert np.count_nonzero(rest) == 50


def test_an_owner_who_was_asked_another_question_has_masks_that_cancel_nobodys():
    total = np.sum(make_masks(3, [QUESTION, QUESTION, OTHER]), axis=0, dtype=np.uint64)
    assert np.count_nonzero(total) == 50


def test_an_owner_with_another_roster_has_masks_that_cancel_nobodys():
    masks = make_masks(2, [QUESTION, QUESTION])
    lied_to = make_mask(make_key(1), make_clinics(2, colluding=0), 0, QUESTION, 50)
    assert np.count_nonzero(lied_to + masks[1]) == 50


def test_a_coordinator_with_an_owner_of_its_own_cannot_take_the_others_masks_away():
    # Of three owners it plays the third; what it learns of the first is hidden by the mask with the second.
    masks, own = make_masks(3, [QUESTION] * 3), make_masks(3, [QUESTION] * 3)[2]
    assert np.count_nonzero(masks[0] + own) == 50


def test_one_owners_vector_alone_is_uniform():
    (mask, _) = make_masks(2, [QUESTION, QUESTION], size=25_000)
    answer = (np.arange(25_000, dtype=np.uint64) % 7) + mask  # small numbers, of which nothing shows
    counts = np.bincount(answer.view(np.uint8), minlength=256)
    assert stats.chisquare(counts).pvalue > 1e-6
    bare = np.bincount((np.arange(25_000, dtype=np.uint64) % 7).view(np.uint8), minlength=256)
    assert stats.chisquare(bare).pvalue < 1e-30


def test_each_question_has_masks_of_its_own():
    one, other = make_masks(2, [QUESTION] * 2)[0], make_masks(2, [OTHER] * 2)[0]
    assert np.count_nonzero(one == other) == 0


DRAWS, SIGMA = 10_000, 6.0


def release(owners: int, colluding: int, share: float = 1.0) -> np.ndarray:
    """What owners' masked answers add up to, less the sum of their data; each has this part of its noise."""
    clinics = make_clinics(owners, colluding=colluding)
    grid = Grid.of(SIGMA, Event("gaussian", "3"), DRAWS, clinics, 60)
    grid = replace(grid, share=share * grid.share)
    sums = np.random.default_rng(5).uniform(-50, 50, (owners, DRAWS))
    answers = [
        to_residues(grid.add_noise(grid.round(own)))
        + make_mask(make_key(place + 1), clinics, place, QUESTION, DRAWS)
        for place, own in enumerate(sums)
    ]
    return grid.add_up(answers) - sums.sum(axis=0)


def compare(released: np.ndarray, wider: float = 1.0) -> float:
    """How likely two sets of draws are of one distribution: the owners', and of one owner who has all the data."""
    alone = SecureNoise().gaussian("pooled", np.zeros(DRAWS), SIGMA * wider)
    edges = SIGMA * wider * stats.norm.ppf(np.arange(1, 20) / 20)
    counts = [np.bincount(np.digitize(each, edges), minlength=20) for each in (released, alone)]
    return float(stats.chi2_contingency(counts).pvalue)


def test_masked_sums_are_distributed_like_the_release_of_one_owner_who_has_all_the_data():
    assert compare(release(3, colluding=0)) > 1e-7
    # All three owners add noise, of which two alone would be enough.
    assert compare(release(3, colluding=1), wider=1.5**0.5) > 1e-7


def test_masked_sums_with_thirty_percent_less_noise_are_not():
    assert compare(release(3, colluding=0, share=0.7)) < 1e-30
    assert compare(release(3, colluding=1)) < 1e-30
