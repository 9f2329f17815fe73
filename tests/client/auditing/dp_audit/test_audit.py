"""Correct methods survive the audit, with little room to spare; broken ones do not.

Noise is seeded, so that an audit in here is right always or never.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pcevolve.auditing.dp_audit.audit import audit_method, audit_selector, noises
from pcevolve.auditing.dp_audit.claim import Claim, ClaimVerdict
from pcevolve.errors import UsageError
from pcevolve.public.dp.calibration import deviation_sum_sensitivity
from pcevolve.public.dp.mechanisms import Noise
from pcevolve.public.privacy import Budget, Events, Relation
from pcevolve.public.selectors import Measurement, PrivateEmbeddings, SelectionInput, Selector
from pcevolve.public.selectors.rounds import exponential_draws
from pcevolve.public.selectors.selection import deviation
from pcevolve.public.selectors.sums import class_sums
from support.contract import CONTRACTED, usual_delta
from support.draws import Misscaled
from support.examples import is_nightly

pytestmark = pytest.mark.statistical

PRIVATE = sorted(CONTRACTED)
RELATIONS: list[Relation] = ["replace-one", "add-remove"]
COUNTING = ["pe", "pe-em", "jvem", "dp-means"]
"""Methods in which records add up; PCEvolve's class centres are means."""
RUNS = 1000 if is_nightly() else 500
HONEST_RUNS = RUNS if is_nightly() else 300
"""Of what is to survive."""


def claim(method: str, **changes: Any) -> Claim:
    """ε = 3 at the method's own δ, one round, one image per unit."""
    values = {"relation": "replace-one", "images": 1, "rounds": 1, "runs": RUNS, "confidence": 0.95}
    delta = usual_delta(method)
    return Claim(method, Budget(Fraction(3), delta), **{**values, **changes})


def run_audit(
    tested: Claim, selector: Selector | None = None, noise: Callable[[int], Noise] | None = None
) -> ClaimVerdict:
    """Audit a method with parts of it exchanged."""
    method = CONTRACTED[tested.method]
    if method.name == "pe-em":  # five draws share an epsilon so small that they take many more runs to see
        method = replace(method, tight=exponential_draws(1), prototypes=1)
    return audit_selector(
        tested, method, selector or honest(method.name), noise or noises(seed=1), lambda: None
    )


def honest(method: str) -> Selector:
    return CONTRACTED[method].make_selector()


def too_little_noise(number: int) -> Noise:
    return Misscaled(noises(seed=1)(number), Fraction(1, 2))


@dataclass(frozen=True)
class Twice:
    """Counts every record twice and pays for one: a sensitivity understated by half."""

    honest: Selector

    def measure(
        self, private: PrivateEmbeddings, scene: SelectionInput, events: Events, noise: Noise
    ) -> Measurement:
        rows = np.repeat(np.arange(len(private.targets)), 2)
        doubled = PrivateEmbeddings(private.embeddings[rows], private.targets[rows], np.arange(len(rows)))
        return self.honest.measure(doubled, scene, events, noise)


@dataclass(frozen=True)
class Unitless:
    """Takes every image for a privacy unit of its own."""

    honest: Selector

    def measure(
        self, private: PrivateEmbeddings, scene: SelectionInput, events: Events, noise: Noise
    ) -> Measurement:
        single = PrivateEmbeddings(private.embeddings, private.targets, np.arange(len(private.targets)))
        return self.honest.measure(single, scene, events, noise)


@dataclass(frozen=True)
class Talkative:
    """Releases an exact private number beside what it paid for."""

    honest: Selector

    def measure(
        self, private: PrivateEmbeddings, scene: SelectionInput, events: Events, noise: Noise
    ) -> Measurement:
        measured = self.honest.measure(private, scene, events, noise)
        return {**measured, "mean": private.embeddings.mean(axis=0)}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("method", PRIVATE)
def test_no_method_is_refuted(method, relation):
    assert run_audit(claim(method, relation=relation, runs=HONEST_RUNS)).holds


@pytest.mark.parametrize(
    "more", [{"rounds": 3, "runs": HONEST_RUNS // 2}, {"images": 4, "runs": HONEST_RUNS}]
)
@pytest.mark.parametrize("method", PRIVATE)
def test_no_method_is_refuted_over_several_rounds_nor_by_a_unit_of_several_images(method, more):
    assert run_audit(claim(method, **more)).holds


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("method", PRIVATE)
def test_half_the_noise_is_caught(method, relation):
    runs = 1000 if method == "pcevolve" else RUNS  # its utilities move least
    assert not run_audit(claim(method, relation=relation, runs=runs), noise=too_little_noise).holds


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("method", COUNTING)
def test_counting_records_twice_is_caught(method, relation):
    assert not run_audit(claim(method, relation=relation), selector=Twice(honest(method))).holds


@pytest.mark.parametrize("method", COUNTING)
def test_forgetting_that_images_belong_together_is_caught(method):
    assert not run_audit(claim(method, images=4), selector=Unitless(honest(method))).holds


@pytest.mark.parametrize("method", PRIVATE)
def test_a_number_released_without_noise_is_caught(method):
    assert not run_audit(claim(method, runs=500), selector=Talkative(honest(method))).holds


@dataclass(frozen=True)
class Outspoken:
    """Adds noise to everything but one access."""

    honest: Noise
    bare: str

    def __getattr__(self, name: str) -> Any:
        return getattr(self.honest, name)

    def gaussian(self, key: str, values: np.ndarray, sigma: float) -> np.ndarray:
        bare = key.rpartition("/")[2] == self.bare
        return values if bare else self.honest.gaussian(key, values, sigma)


@pytest.mark.parametrize("access", ["appearance", "middle", "deviations"])
def test_an_access_without_noise_is_caught(access):
    def outspoken(number: int) -> Noise:
        return Outspoken(noises(seed=1)(number), access)

    assert not run_audit(claim("dp-means", runs=500), noise=outspoken).holds


@pytest.mark.parametrize("relation", RELATIONS)
def test_noise_around_a_centre_that_is_30_percent_too_small_is_caught(relation):
    def quiet(number: int) -> Noise:
        return Misscaled(noises(seed=1)(number), Fraction(7, 10))

    assert not run_audit(claim("dp-means", relation=relation, runs=3000), noise=quiet).holds


@dataclass(frozen=True)
class Unclipped:
    """Does not clip deviations from the centre."""

    def measure(
        self, private: PrivateEmbeddings, scene: SelectionInput, events: Events, noise: Noise
    ) -> Measurement:
        frame = scene.coordinates
        event, sums = events[1], class_sums(frame.points(private.embeddings), private, 2, np.inf)
        sigma = deviation(event, frame.radius * deviation_sum_sensitivity(scene.relation))
        return {"means": noise.gaussian("means", sums, sigma)}


def test_deviations_that_are_not_clipped_are_caught():
    assert not run_audit(claim("dp-means", runs=500), selector=Unclipped()).holds


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"rounds": 0}, "needs a round"),
        ({"images": 0}, "an image"),
        ({"runs": 99}, "--runs 100"),
        ({"confidence": 0.9}, "0.95"),
    ],
)
def test_a_claim_that_cannot_be_tested_is_refused(change, complaint):
    with pytest.raises(UsageError, match=complaint):
        claim("pe", **change)


def test_a_bound_is_shown_as_no_more_than_it_is_and_a_claim_as_what_it_is():
    tested = replace(claim("jvem"), budget=Budget(Fraction("2.3454")))
    shown = ClaimVerdict(
        tested, 2.3459, 5.0, "any mechanism", "score >= 1", "second", (1, 9), 9, "os-csprng"
    ).sentence
    assert shown.endswith("(epsilon 2.3454) is REFUTED: with confidence 0.95, epsilon is at least 2.345")


def test_an_audit_repeats_itself_for_the_same_seed_and_counts_every_run():
    ticks: list[int] = []
    tested = claim("pcevolve", runs=200)
    first, second = (audit_method(tested, seed=3, tick=lambda: ticks.append(1)) for _ in range(2))
    assert first == second
    assert len(ticks) == 2 * 2 * 200
    assert first != audit_method(tested, seed=4, tick=lambda: None)


def test_an_audit_uses_real_noise_unless_it_is_told_otherwise():
    assert audit_method(claim("pcevolve", runs=100), seed=None, tick=lambda: None).noise == "os-csprng"
    assert audit_method(claim("pcevolve", runs=100), seed=1, tick=lambda: None).noise == "INSECURE-seeded"
