"""Counts of a suite of attempts, printed as one JSON line when pytest has said all it has to say.

Workers hand their counts to the process that started them, which adds them up.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

TALLIES: dict[str, Tally] = {}
"""Of this process, by suite."""
Given = tuple[str, list[str], list[tuple[str, str, int]]]
"""A tally as it goes from worker to controller: suite, names, and how often what became of attempts of a family."""


@dataclass
class Tally:
    """Outcomes of the attempts of one suite; made once for each suite and process.

    Attributes:
        suite: Its name: leaks, hostile, boundary or compose.
        names: All that can become of an attempt, in the order of printing; the first of them counts every attempt.
        counts: By family, which may be empty, and by name.
    """

    suite: str
    names: tuple[str, ...]
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        TALLIES[self.suite] = self

    def add(self, outcome: str, family: str = "", times: int = 1) -> None:
        """Count attempts.

        Raises:
            ValueError: No such outcome in this suite.
        """
        if outcome not in self.names[1:]:
            raise ValueError(f"{outcome!r} is not one of {self.names[1:]}")
        self.counts[family, outcome] += times

    def lines(self) -> Iterator[str]:
        for family in dict.fromkeys(family for family, _ in self.counts if family):
            found = ", ".join(f"{self.counts[family, name]} {name}" for name in self.names[1:])
            yield f"{self.suite}: {family}: {found}"

    def result(self) -> str:
        """The result as JSON: ``{"suite": "leaks", "tried": 212, "refused": 212, "escaped": 0}``."""
        totals: Counter[str] = Counter()
        for (_, outcome), times in self.counts.items():
            totals.update({outcome: times, self.names[0]: times})
        return json.dumps({"suite": self.suite, **{name: totals[name] for name in self.names}})


def list_given() -> list[Given]:
    return [
        (each.suite, list(each.names), [(*key, times) for key, times in each.counts.items()])
        for each in TALLIES.values()
    ]


def add_up(counted: Iterable[Given]) -> None:
    """Add what another process has counted."""
    for suite, names, counts in counted:
        tally = TALLIES.get(suite) or Tally(suite, tuple(names))
        for family, outcome, times in counts:
            tally.add(outcome, family, times)
