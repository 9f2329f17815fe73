"""The vocabulary of privacy: neighbour relations, budgets, and the events that spend them.

An event records an access; ``dp.accountants`` computes its cost.

>>> Event("gaussian", "5/2").on_group(2).parameter
'5/4'
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field

Relation = Literal["replace-one", "add-remove"]
"""``replace-one``: neighbouring datasets differ in one privacy unit, labels included.

``add-remove``: one neighbour has one unit more than the other.
"""

MechanismName = Literal["exponential", "permute-and-flip", "gaussian", "uniform", "post-processing"]
# A string instead of a float, because a plan is stored and hashed, and T charges of ε/T must sum to exactly ε.
ExactNumber = Annotated[str, Field(pattern=r"^[0-9]{1,400}(/[1-9][0-9]{0,399})?$")]


@dataclass(frozen=True)
class Budget:
    """An (ε, δ) guarantee, or an upper limit for one.

    Attributes:
        epsilon: Exact, > 0.
        delta: In [0, 1); 0 for pure differential privacy.
    """

    epsilon: Fraction
    delta: float = 0.0


@dataclass(frozen=True)
class Event:
    """One kind of access to the private data, and the number of consecutive accesses.

    The parameter already includes the neighbour relation of the run that made the access:

    - ``exponential``: the bounded range η of the draw, in nats. Over all outcomes, the log-ratios of the probabilities
      under two neighbouring datasets span at most η (Dong, Durfee & Rogers 2020). A draw with bounded range η is η-DP.
    - ``permute-and-flip``: pure ε. No current method draws it, but a record may contain it.
    - ``gaussian``: the noise multiplier, the standard deviation of the noise over the L2 sensitivity.
    - ``uniform``, ``post-processing``: "0"; the private data are not accessed.

    Attributes:
        parameter: Exact non-negative fraction, ``"1/4"``.
        count: Number of consecutive accesses. Each may depend on the outcomes before it (adaptive composition).
    """

    mechanism: MechanismName
    parameter: ExactNumber = "0"
    count: Annotated[int, Field(ge=1, le=10**9)] = 1

    @cached_property
    def value(self) -> Fraction:
        """The parameter as an exact number."""
        return Fraction(self.parameter)

    @property
    def free(self) -> bool:
        """True if the event does not access the private data."""
        return self.mechanism in ("uniform", "post-processing")

    def on_group(self, size: int) -> Self:
        """Return this event's effect on ``size`` privacy units that change together, by group privacy.

        A bounded range and a pure ε are multiplied by ``size``; a noise multiplier is divided by ``size``.
        """
        if self.free or size == 1:
            return self
        # A group moves the query ``size`` times as far while the noise stays the same, so the multiplier shrinks.
        value = self.value / size if self.mechanism == "gaussian" else self.value * size
        return replace(self, parameter=str(value))


Events = tuple[Event, ...]
"""The events of one transaction on the private data, in order. Each may depend on the outcomes before it."""
FREE = Event("post-processing")
