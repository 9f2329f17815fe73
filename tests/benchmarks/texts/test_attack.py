"""The attack in the tables of texts comes up to what is promised of secrets, no further, and finds out weak noise."""

from __future__ import annotations

import pytest

from pcevolve.public.dp.attacks import most_success, secret_budget
from pcevolve.public.parts import Secrecy
from pcevolve.public.plan import PublicPlan
from pcevolve_benchmarks.texts.attack import PRIOR, attack
from support.runs import small_plan

RELEASES = 3_000


def plan(bound: float = 1e-3, **changes: object) -> PublicPlan:
    own = {"method": "secpe", "pool": "all", "keep": "selected", "cells": 2, "delta": 1e-5}
    return small_plan(**{**own, "secrecy": Secrecy(prior=1e-4, bound=bound, most=3), **changes})


@pytest.mark.statistical
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("bound", [2e-4, 1e-3, 5e-3])
def test_the_attack_is_as_good_as_is_allowed_and_no_better(relation: str, bound: float):
    found = attack(plan(bound, relation=relation), RELEASES)
    assert found.bound == pytest.approx(most_success(secret_budget(1e-4, bound), PRIOR))
    assert found.low <= found.bound <= found.high
    assert not found.refutes


@pytest.mark.statistical
def test_noise_that_is_30_percent_too_small_is_found_out():
    assert attack(plan(5e-3), RELEASES, weaker=0.7).refutes


def test_where_nothing_is_promised_of_secrets_there_is_nothing_to_attack():
    assert attack(small_plan(method="pe", delta=1e-5), 1) is None
    assert attack(plan(noise="INSECURE-seeded"), 1) is None
