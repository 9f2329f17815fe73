"""What the server asks of a language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from pcevolve_server.generator import Loaded, Unwanted, wanted


@dataclass(frozen=True)
class TextRecipe:
    """What all completions of one batch have in common; equal recipes may share a batch.

    Attributes:
        tokens: Most of a completion.
        temperature: 0 takes the likeliest token always.
        top_p: Tokens are drawn from the likeliest that have this much probability together.
        stops: Strings that end a completion and are no part of it.
        model: Id of the model; empty: the first.
    """

    tokens: int = 256
    temperature: float = 1.0
    top_p: float = 1.0
    stops: tuple[str, ...] = ()
    model: str = ""

    @property
    def runs(self) -> int:
        """Runs of the model for a completion, at most: what a place in the queue costs."""
        return self.tokens


@dataclass(frozen=True)
class TextTask:
    """One completion to write.

    Attributes:
        recipe: How.
        messages: Who said what, as (role, words).
        seed: Of its draws.
    """

    recipe: TextRecipe
    messages: tuple[tuple[str, str], ...] = field(repr=False)
    seed: int


@dataclass(frozen=True)
class Completion:
    """What became of a task.

    Attributes:
        text: What the model wrote, without what ended it.
        finish: Whether it ended by itself, or was as long as it might be.
        prompt_tokens: What the model read.
        tokens: What it wrote.
        cut_tokens: Of the prompt, dropped from its beginning because the model reads no more.
        seconds: Its share of each stage of the run that made it.
        refused: Tries that were refused; none are.
    """

    text: str = field(repr=False)
    finish: Literal["stop", "length"]
    prompt_tokens: int
    tokens: int
    cut_tokens: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)
    refused: int = 0


class Writer(Loaded, Protocol):
    """A language model. A completion depends on its task alone, up to rounding."""

    def write(self, tasks: Sequence[TextTask], unwanted: Unwanted = wanted) -> list[Completion]:
        """Write completions; the tasks share one recipe and the answer keeps their order.

        Raises:
            AbandonedError: It was not wanted any more.
        """
