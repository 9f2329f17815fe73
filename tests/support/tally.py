"""Counts of a suite of attempts, printed as one JSON line when pytest has said all it has to say."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    """What became of each attempt of one suite.

    Attributes:
        suite: Its name: leaks, hostile, boundary or compose.
        names: All that can become of an attempt, in the order of printing; the first of them counts every attempt.
    """

    suite: str
    names: tuple[str, ...]
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: str) -> None:
        """Count one attempt.

        Raises:
            ValueError: No such outcome in this suite.
        """
        if outcome not in self.names[1:]:
            raise ValueError(f"{outcome!r} is not one of {self.names[1:]}")
        self.counts[self.names[0]] += 1
        self.counts[outcome] += 1

    def report(self) -> None:
        """Print the result, if the suite ran."""
        if self.counts:
            print(self.line())

    def line(self) -> str:
        """The result as JSON: ``{"suite": "leaks", "tried": 212, "refused": 212, "escaped": 0}``."""
        return json.dumps({"suite": self.suite, **{name: self.counts[name] for name in self.names}})
