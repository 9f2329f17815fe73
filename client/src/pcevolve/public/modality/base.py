"""The interface of a kind of data that a run can make. Each kind has its own file in this folder."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self, TypeAlias

from pcevolve.public.settings import Form, Section

if TYPE_CHECKING:
    from pcevolve.public.config.providers import PublicProvider

Kind: TypeAlias = str
"""A kind's name, ``image`` or ``text``; the key of ``MODALITIES``."""
Described: TypeAlias = list[tuple[str, object]]
"""Titles and values of settings."""
UNASKED: Final = "the API's default (the requests set none)"
OWN_DEGREE: Final = "to a degree that the API chose"
"""Printed for variations whose strength the API chooses itself."""


def join(things: list[str]) -> str:
    """Join words as in a sentence: one, two and three."""
    return " and ".join(filter(None, [", ".join(things[:-1]), *things[-1:]]))


@dataclass(frozen=True)
class Nouns:
    """The nouns for the items that a run makes. Code that prints text about a run inserts them into its sentences.

    Attributes:
        one: The kind's name, which also names the privacy unit if units are single items.
        an: The name with its article.
    """

    one: str
    many: str
    an: str

    def count(self, number: int) -> str:
        """Return a number of items in words: ``1 image``, ``2,000 images``."""
        return f"{number:,} {self.one if number == 1 else self.many}"


@dataclass(frozen=True)
class ModelSize:
    """Native size of the provider's model, in pixels."""

    width: int
    height: int


@dataclass(frozen=True)
class Advice:
    """A provider's recommended settings for its model; they affect quality only.

    Below strength ``low``, a variation hardly differs from its source. Above ``high``, it keeps hardly anything.

    Attributes:
        domains: Names of all domains that the model can draw; empty if unknown.
    """

    steps: int
    guidance: float
    low: float
    high: float
    domains: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Describe the settings for people."""
        return f"{self.steps} steps, guidance {self.guidance:g}, strength {self.low:g} to {self.high:g}"


class Modality(Section):
    """Settings of requests for a kind, which a plan embeds, and facts about the kind that do not depend on a plan.

    Attributes:
        nouns: Nouns for items of the kind.
        medium: Module and name, in ``media``, of the object that decodes, compares, shows and releases items. It
            is loaded at first use, because it imports libraries that rules and plan do not need.
        verb: What a provider does to make one item.
        template: The default prompt; ``unlabelled_template`` for data without labels.
        sends_inline: True if a varied item is sent inside the prompt, with some words blank; False if it is sent
            as a separate file.
        from_tables: True if private items may be rows of a table.
        refuses_looks: Why items cannot be given an appearance; empty if they can.
        refuses_sheets: Why a sheet of pictures cannot show items, as words that follow a run's name; empty if it can.
        needs_decoder: True if the keeper lets a separate process decode the provider's items.
        retry_hint: Further advice if a provider sends nothing usable; empty for none.
        other_provider: Advice if a provider does not make the released classes, without its full stop.
        far_unlike: Agreement (see ``usefulness``) below which a far dataset counts as being of another domain; None if
            the dataset's nearest items decide instead.
        forms: Formats in which the dataset can be exported.
        unused_fields: Fields of a plan that do not apply to the kind.
        independent_classifier: Name of the judge that shares nothing with any encoder, and therefore never voted.
    """

    nouns: ClassVar[Nouns]
    medium: ClassVar[str]
    verb: ClassVar[str]
    template: ClassVar[str]
    unlabelled_template: ClassVar[str]
    sends_inline: ClassVar[bool] = False
    from_tables: ClassVar[bool] = False
    refuses_looks: ClassVar[str] = ""
    refuses_sheets: ClassVar[str] = ""
    needs_decoder: ClassVar[bool] = False
    retry_hint: ClassVar[str] = ""
    other_provider: ClassVar[str]
    far_unlike: ClassVar[float | None] = None
    forms: ClassVar[tuple[Form, ...]] = ("parquet", "webdataset")
    unused_fields: ClassVar[frozenset[str]] = frozenset()
    independent_classifier: ClassVar[str]

    kind: str

    @classmethod
    @abstractmethod
    def settle(
        cls, asked: PublicProvider, size: ModelSize, advice: Advice | None, taken: AbstractSet[str]
    ) -> dict[str, object]:
        """Return a plan's settings: the user's, otherwise the API's recommendations, otherwise the defaults.

        Args:
            size: Native size of the API's model.
            taken: Capabilities of the API; settings for other capabilities stay unset.

        Raises:
            UsageError: The user's settings contradict each other.
        """

    @property
    def asked_size(self) -> str:
        """The requested size, ``64 x 64``; empty if no size is requested."""
        return ""

    @property
    def is_graded(self) -> bool:
        """True if requests set the degree of variation, by blanks or a strength; False if the API chooses it."""
        return True

    @property
    def has_adapter(self) -> bool:
        """True if variations also use a prototype as an image prompt."""
        return False

    @property
    def extra_prompts(self) -> Described:
        """Texts that are sent with every prompt."""
        return []

    @property
    def in_summary(self) -> dict[str, str]:
        """The entries of a summary for this kind; images are the default and have none."""
        return {"modality": self.kind}

    @abstractmethod
    def describe(self) -> Described:
        """Describe the settings of a request, as far as the API accepts them."""

    @abstractmethod
    def describe_asking(self, degrees: str, advice: str) -> str:
        """Describe in one line for the owner how each item is requested.

        Args:
            degrees: First and last degree of variation; empty without variations.
            advice: The API's recommendations, if any.
        """

    @abstractmethod
    def describe_degree(self, of: float) -> str:
        """Describe the degree of a variation, from 0 to 1."""

    def list_asked(self) -> Mapping[str, bool]:
        """Return, for each capability that the settings cover, whether requests use it."""
        return {}

    def list_unproven(self) -> tuple[str, ...]:
        """List the plan's fields that requests of this kind cannot prove, besides the fields that no request proves."""
        return ()

    def ask_for_one(self) -> Self | None:
        """Return the settings for an API that accepts no number of items; None if the kind never asks for several."""
        return None
