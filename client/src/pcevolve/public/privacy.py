"""The vocabulary of privacy: relations, budgets, and the events that spend them. Values only.

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
"""``replace-one``: one privacy unit is changed, labels included.

``add-remove``: one unit is added or removed.
"""

MechanismName = Literal["exponential", "permute-and-flip", "gaussian", "uniform", "post-processing"]
# Text and not a float: a plan is stored and hashed, and T charges of ε/T have to add up to ε exactly.
ExactNumber = Annotated[str, Field(pattern=r"^[0-9]{1,400}(/[1-9][0-9]{0,399})?$")]


@dataclass(frozen=True)
class Budget:
    """An (ε, δ) guarantee, or a limit on one.

    Attributes:
        epsilon: Exact, > 0.
        delta: In [0, 1); 0 for pure differential privacy.
    """

    epsilon: Fraction
    delta: float = 0.0


@dataclass(frozen=True)
class Event:
    """One kind of access to the private data, and the number of times it was made in a row.

    The parameter already accounts for the neighbour relation of the run that made the access:

    - ``exponential``: the bounded range η of the draw, in nats: log-ratios of the probabilities under two
      neighbouring datasets span at most η over all outcomes (Dong, Durfee & Rogers 2020). Implies η-DP.
    - ``permute-and-flip``: pure ε; no longer drawn here, but a record may contain it.
    - ``gaussian``: the noise multiplier, standard deviation of the noise over L2 sensitivity.
    - ``uniform``, ``post-processing``: "0"; the private data are not looked at.

    Attributes:
        parameter: Exact non-negative fraction, ``"1/4"``.
        count: Times in a row, each possibly chosen after seeing the one before (adaptive composition).
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
        """True if it does not look at the private data."""
        return self.mechanism in ("uniform", "post-processing")

    def on_group(self, size: int) -> Self:
        """Return this event's effect on ``size`` privacy units that change together, by group privacy.

        A bounded range and a pure ε grow by the factor ``size``; a noise multiplier shrinks by it.
        """
        if self.free or size == 1:
            return self
        # Noise keeps its width while the group moves the query ``size`` times as far, so the multiplier shrinks.
        value = self.value / size if self.mechanism == "gaussian" else self.value * size
        return replace(self, parameter=str(value))


Events = tuple[Event, ...]
"""The events of one transaction on the private data, in order; each may be chosen after seeing the ones before."""
FREE = Event("post-processing")
