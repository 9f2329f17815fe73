"""Curves of privacy: normal tails, delta of Gaussian noise, Rényi divergence of a bounded range."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtr

from pcevolve.public.dp.curves import (
    bounded_range_renyi,
    gaussian_delta,
    gaussian_epsilon,
    log_normal_cdf,
    normal_cdf,
)

deltas = st.floats(1e-12, 0.9)


@given(mu=st.floats(0.01, 20), delta=deltas)
def test_the_epsilon_of_gaussian_noise_is_the_first_float_whose_delta_is_small_enough(mu, delta):
    found = gaussian_epsilon(mu, delta)
    assert gaussian_delta(mu, found) <= delta
    assert found == 0 or gaussian_delta(mu, math.nextafter(found, 0)) > delta


def decimal_renyi(eta: float, order: float, steps: int = 1500) -> float:
    """The curve with 60 digits, by trying many pairs; ``order`` is α - 1."""
    with localcontext() as context:
        context.prec = 60
        b, a = Decimal(eta), Decimal(order)

        def divergence(t: Decimal) -> Decimal:
            q = (1 - (t - b).exp()) / (t.exp() - (t - b).exp())
            return (q * ((1 + a) * t).exp() + (1 - q) * ((1 + a) * (t - b)).exp()).ln() / a

        return float(max(divergence(b * k / steps) for k in range(1, steps)))


@pytest.mark.parametrize("eta", [1e-6, 1e-3, 0.25, 3.0, 40.0])
@pytest.mark.parametrize("order", [1e-6, 1e-2, 1.0, 30.0])
def test_the_curve_is_precise_where_floats_are_not(eta, order):
    ours = float(bounded_range_renyi(eta, np.array([order]))[0])
    truth = decimal_renyi(eta, order)
    assert truth <= ours <= truth * (1 + 1e-4)


@given(x=st.floats(-60, 35) | st.floats(-1e6, -60))
def test_normal_tails_are_those_of_scipy(x: float):
    assert log_normal_cdf(x) == pytest.approx(log_ndtr(x), rel=4e-15 * (1 + max(x, 0) ** 2), abs=1e-300)
    assert normal_cdf(x) == pytest.approx(ndtr(x), rel=4e-15 * (1 + x * x), abs=1e-300)
