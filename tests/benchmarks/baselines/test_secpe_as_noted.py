"""SecPE as noted by the runner: who is sampled how often, and that it runs on texts with listed secrets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pcevolve.dp.secrecy import secret_budget
from pcevolve.errors import DataError
from pcevolve.public.secrecy import Secrecy
from pcevolve_benchmarks.baselines.secpe_as_noted import sampling_rates
from pcevolve_benchmarks.runner import settings_of

PROMISE = Secrecy(prior=1e-4, bound=1e-3, most=4)
ETA = secret_budget(1e-4, 1e-3)
HELD = [((0, 1, 2), ETA), ((2, 3, 4, 5), ETA), ((6,), ETA)]


def test_the_toy_is_sampled_as_its_fair_weights_say_and_texts_without_secrets_always():
    found = sampling_rates(HELD, 9, PROMISE)
    weights = np.array([ETA * 3 / 8] * 2 + [ETA / 4] * 4 + [ETA])
    assert found[:7] == pytest.approx(weights / (weights.max() * weights.sum()))
    assert found[7:].tolist() == [1.0, 1.0]


def test_a_secret_that_more_texts_hold_than_is_promised_is_refused():
    with pytest.raises(DataError, match="stands in more than 4 texts: say a larger --secret-size"):
        sampling_rates([((0, 1, 2, 3, 4), ETA)], 5, PROMISE)


def test_there_is_a_cell_around_every_first_candidate_unless_somebody_says_another_number():
    given = {
        "method": "secpe-as-noted", "private": "terms:disease=ill,drug=well", "domain": "definition", "candidates": 5,
        "dialect": "chat",
    }  # fmt: skip
    assert settings_of(given, Path("out")).get("cells") == 20
    assert settings_of({**given, "cells": 3}, Path("out")).get("cells") == 3
