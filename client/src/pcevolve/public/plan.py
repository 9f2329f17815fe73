"""The public plan of a run: what anybody may know beforehand, and every call that follows from it.

Nothing in here is computed from private data, so two private datasets with the same public description have the
same plan, and with it the same requests in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Self

from pydantic import model_validator

from pcevolve.public.calls import Call, Schedule
from pcevolve.public.consistency import require_consistent
from pcevolve.public.fields import Extension, PlanFields


class PublicPlan(PlanFields):
    """Everything about a run that the provider, an auditor and the reader of the result may see."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        require_consistent(self)
        return self

    def prompt_of(self, call: Call) -> str:
        """The text prompt of a call; a class's ``prompts`` share its first images equally, in order."""
        if call.wording is None:
            return self.prompt(call.label)
        return self.prompts[self.labels.index(call.label)][call.wording]

    @cached_property
    def _schedule(self) -> Schedule:
        return Schedule(self)

    def round(self, iteration: int) -> Iterator[Call]:
        """The calls that make a population, in sending order; see ``Schedule``."""
        return self._schedule.round(iteration)

    @property
    def opening(self) -> tuple[Call, ...]:
        """The first turns of a plan, so that a person can look at some of each class."""
        return self._schedule.opening

    def lookaheads(self, iteration: int) -> Iterator[Call]:
        """Lookahead on a population: ``lookahead`` variations of every candidate, in public order."""
        return self._schedule.lookaheads(iteration)

    def extensions(self) -> Iterator[Call]:
        """More samples: ``more`` variations of every image of the last population, in public order."""
        return self._schedule.extensions()

    def enlargements(self) -> Iterator[Call]:
        """The calls of all extensions, in the order in which they were asked for."""
        return self._schedule.enlargements()

    def enlargement(self, number: int, extension: Extension) -> Iterator[Call]:
        """The calls of an extension of the released dataset.

        Args:
            number: Which of the run it is, from 1.
            extension: How many, and how different.
        """
        return self._schedule.enlargement(number, extension)

    @cached_property
    def calls(self) -> Mapping[str, Call]:
        """Every call of the run by slot, in sending order."""
        return MappingProxyType({call.slot: call for call in self._schedule.all()})

    def extended_by(self, extensions: Iterable[Extension]) -> Self:
        """This plan, with all that was asked for after its dataset was released."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**{**fields, "extended": tuple(extensions)})
