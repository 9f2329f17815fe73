"""What a plan knows of the kind of data that it makes, without a question which kind that is."""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol, TypeAlias

Kind: TypeAlias = Literal["image", "text"]
Said: TypeAlias = list[tuple[str, object]]
"""Settings in words, each under its title."""


class Making(Protocol):
    """What both members of a plan's ``modality`` say of themselves.

    Attributes:
        verb: What a provider does to make one.
        in_question: Whether what is varied goes back in the words of the question, and not as a file beside them.
        refuses_looks: Why one cannot be given an appearance; empty where it can.
        more_of_it: What else may help where a provider sends nothing that can be used; empty for nothing.
        other_provider: What to do where a provider does not make what was released, without its full stop.
    """

    verb: ClassVar[str]
    in_question: ClassVar[bool]
    refuses_looks: ClassVar[str]
    more_of_it: ClassVar[str]
    other_provider: ClassVar[str]

    @property
    def asked_size(self) -> str:
        """How large each is asked to be, ``64 x 64``; empty where no size is asked for."""
        ...

    @property
    def has_adapter(self) -> bool:
        """Whether variations take a prototype as an image prompt, too."""
        ...

    @property
    def beside_prompts(self) -> Said:
        """What goes with every prompt."""
        ...

    @property
    def said(self) -> Said:
        """How each one is asked for."""
        ...

    @property
    def in_summary(self) -> dict[str, str]:
        """What a run's summary says of its kind."""
        ...

    def asked_with(self, degrees: str, advice: str) -> str:
        """How each one is asked for, in a line for the owner.

        Args:
            degrees: Of variation, first and last; empty without any.
            advice: What the API recommends, if anything.
        """
        ...

    def degree(self, of: float) -> str:
        """How different a variation is, in words; from 0 to 1."""
        ...

    @classmethod
    def spoken(cls, words: str) -> str:
        """What our own words say of images, as it is said of this kind."""
        ...
