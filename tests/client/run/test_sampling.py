"""How texts with secrets are sampled follows from who holds what, and the noise is enough for each of them."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest

from pcevolve.dp.secrecy import secret_budget
from pcevolve.errors import DataError
from pcevolve.private.dataset import PrivateDataset
from pcevolve.private.secrets import Secret, Sources
from pcevolve.public.secrecy import Secrecy
from pcevolve.run.secrecy import Sampling

PROMISE = Secrecy(prior=1e-4, bound=1e-3, most=4)
ETA = secret_budget(1e-4, 1e-3)
STRICTER = (1e-4, 2e-4)


def dataset(*texts: str) -> PrivateDataset:
    digests = tuple(hashlib.sha256(text.encode()).digest() for text in texts)
    return PrivateDataset(("a",), texts, np.zeros(len(texts), int), digests)


def sampling(*texts: str, secrets: tuple[Secret, ...], rounds: int = 4) -> Sampling:
    return Sampling.of(Sources(secrets, (), False, ETA), dataset(*texts), PROMISE, rounds)


TOY = ("ann", "ann", "ann bob", "bob", "bob", "bob", "cid", "nobody", "nobody again")
LISTED = tuple(Secret(name, ETA) for name in ("ann", "bob", "cid"))


def test_the_toy_is_sampled_as_its_fair_weights_say_and_texts_without_secrets_always():
    found = sampling(*TOY, secrets=LISTED)
    weights = np.array([ETA * 3 / 8] * 2 + [ETA / 4] * 4 + [ETA])
    assert found.rates[:7] == pytest.approx(weights / (weights.max() * weights.sum()))
    assert found.rates[7:].tolist() == [1.0, 1.0]


def test_every_secret_keeps_its_promise_under_the_noise_and_one_of_them_only_just():
    found = sampling(*TOY, secrets=LISTED)
    success = [each.success(4, found.sigma, 1e-4) for each in found.exposed]
    assert max(success) <= 1e-3
    least = max(0.98 * found.sigma, max(each.floor for each in found.exposed))
    assert any(not each.kept(4, least) for each in found.exposed) or least == found.sigma
    assert found.protection[1e-4] == max(success)


def test_a_secret_with_a_prior_and_a_bound_of_its_own_gets_the_noise_that_it_needs():
    own = Secret("ann", secret_budget(*STRICTER), STRICTER)
    found = sampling(*TOY, secrets=(own, *LISTED[1:]))
    assert found.sigma > sampling(*TOY, secrets=LISTED).sigma
    assert all(each.kept(4, found.sigma) for each in found.exposed)
    assert STRICTER in {(each.prior, each.bound) for each in found.exposed}


def test_of_a_secret_of_which_nothing_may_be_learned_no_text_is_ever_sampled():
    found = sampling("ann", "bob", "nobody", secrets=(Secret("ann", 0.0, (1e-4, 1e-4)), LISTED[1]))
    assert found.rates.tolist() == [0.0, 1.0, 1.0]


def test_where_no_text_holds_a_secret_all_are_counted_and_the_noise_is_the_least():
    found = sampling("nobody", "here", secrets=LISTED)
    assert (found.rates.tolist(), found.sigma) == ([1.0, 1.0], math.sqrt(2))
    assert found.protection[0.1] == 0.1


def test_a_secret_in_more_texts_than_is_said_is_refused_by_its_place():
    with pytest.raises(
        DataError, match="secret 1 of --secrets stands in 5 texts, and --secret-size says 4"
    ) as error:
        sampling(*["ann"] * 5, secrets=LISTED)
    assert "ann" not in str(error.value)


def test_what_is_sampled_does_not_depend_on_what_the_secrets_are():
    other = tuple(Secret(name, ETA) for name in ("eve", "dan", "joe"))
    swapped = [text.replace("ann", "eve").replace("bob", "dan").replace("cid", "joe") for text in TOY]
    mine, theirs = sampling(*TOY, secrets=LISTED), sampling(*swapped, secrets=other)
    assert mine.rates.tolist() == theirs.rates.tolist()
    assert mine.sigma == theirs.sigma


def test_it_shows_nothing_of_the_secrets():
    assert repr(sampling(*TOY, secrets=LISTED)) == "Sampling"
