"""What a demonstration shows: public data under labels that the provider does not understand, and options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Demonstration:
    """One kind's.

    Attributes:
        model: What the server serves.
        method: What is shown.
        options: Of all its runs, beside how many candidates they have where that depends on the machine.
        probe: What is other in the run that finds how many candidates this machine makes in the time; None where any
            machine is fast enough.
        secrets: What is declared secret in one more run, words of the private texts; empty for no such run.
        secret_options: What is other in that run.
    """

    model: str
    method: str
    options: Mapping[str, Any]
    probe: Mapping[str, Any] | None = None
    secrets: tuple[str, ...] = ()
    secret_options: Mapping[str, Any] = field(default_factory=dict)
