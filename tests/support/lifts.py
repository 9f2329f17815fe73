"""What each family of selections is better than chance by, and one event of its mechanism."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pcevolve.public.privacy import Event
from pcevolve.public.selectors.contrastive import exponential_lift
from pcevolve.public.selectors.joint import joint_lift
from pcevolve.public.selectors.means import means_lift
from pcevolve.public.selectors.votes import draws_lift, histogram_lift

LIFTS = {
    exponential_lift: "exponential",
    joint_lift: "exponential",
    draws_lift: "exponential",
    histogram_lift: "gaussian",
    means_lift: "gaussian",
}


every_lift = pytest.mark.parametrize(
    ("lift", "mechanism"), LIFTS.items(), ids=lambda each: getattr(each, "__name__", "")
)


def event(mechanism: str, value: float) -> tuple[Event, ...]:
    return (Event(mechanism, str(Fraction(value))),)
