"""Generators of tests that answer one call after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pcevolve.evolution import Ask
from pcevolve.public.release import Candidate


class InTurn:
    """Answers by ``create`` and ``vary``, which its heirs have."""

    def answers(self, asks: Sequence[Ask]) -> Iterator[tuple[Candidate, ...]]:
        for call, source in asks:
            yield self.create(call) if source is None else self.vary(call, source)
