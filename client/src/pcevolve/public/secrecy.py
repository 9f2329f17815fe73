"""The promise about the secrets on an owner's list; public, unlike the list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

USUAL_PRIOR, USUAL_BOUND, USUAL_SIZE = 1e-4, 1e-3, 10


class Secrecy(BaseModel):
    """A secret that somebody guesses with probability ``prior`` is guessed with at most ``bound`` after the run.

    Attributes:
        prior: p.
        bound: r.
        most: Private texts that one secret stands in, at most.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    prior: Annotated[float, Field(gt=0, lt=1)]
    bound: Annotated[float, Field(gt=0, lt=1)]
    most: Annotated[int, Field(ge=1)]

    @property
    def words(self) -> str:
        """The promise in a few words, for whoever sees an ε beside it."""
        return f"guessed with at most {self.bound:g} where it was {self.prior:g}, in at most {self.most} texts each"

    @model_validator(mode="after")
    def _is_weaker_than_a_guess(self) -> Self:
        if self.bound < self.prior:
            raise ValueError(
                "method.secret_bound must not be below method.secret_prior, which guessing reaches"
            )
        return self


def guessed(success: Mapping[float, float]) -> str:
    """Say in words with what probability a secret is guessed at most.

    Args:
        success: The most probability with which a secret is guessed, by what it was before.
    """
    curve = ", ".join(f"{after:.2g} where it was {_power(before)}" for before, after in success.items())
    return f"guessed with a probability of at most {curve}"


def _power(prior: float) -> str:
    """1e-4 rather than 0.0001."""
    return f"{prior:.0e}".replace("e-0", "e-")
