"""The interface of a kind of data that a run can make; each kind has a file of its own beside this one."""

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
"""A kind's word, ``image`` or ``text``; the key of ``MODALITIES``."""
Described: TypeAlias = list[tuple[str, object]]
"""Settings in words, each with its title."""
UNASKED: Final = "the API's own: it is not asked for any"
OWN_DEGREE: Final = "to the API's own degree"
"""For variations whose strength the API chooses itself."""


def join(things: list[str]) -> str:
    """Join words as in a sentence: one, two and three."""
    return " and ".join(filter(None, [", ".join(things[:-1]), *things[-1:]]))


@dataclass(frozen=True)
class Nouns:
    """The nouns for what a run makes; code that writes about a run inserts them into its own sentences.

    Attributes:
        one: The kind's word; also the word for an unnamed privacy unit of one of them.
        an: The word with its article.
    """

    one: str
    many: str
    an: str

    def count(self, number: int) -> str:
        """Return a number of them in words: ``1 image``, ``2,000 images``."""
        return f"{number:,} {self.one if number == 1 else self.many}"


@dataclass(frozen=True)
class ModelSize:
    """Native size of the provider's model, in pixels."""

    width: int
    height: int


@dataclass(frozen=True)
class Advice:
    """A provider's recommended settings for its model; they affect quality only.

    Below strength ``low`` a variation hardly differs, and above ``high`` it keeps hardly anything.

    Attributes:
        domains: Words for all that the model can draw; empty if unknown.
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
    """Settings by which a kind is requested, which a plan embeds, and facts about the kind that need no plan.

    Attributes:
        nouns: Its nouns in sentences.
        medium: Module and name, in ``media``, of the object that decodes, compares, shows and releases it. It
            is loaded at first use, because it needs libraries that rules and plan do without.
        verb: What a provider does to make one.
        template: The default prompt; ``unlabelled_template`` for data without labels.
        sends_inline: Whether a varied item goes back inside the prompt, some words blank, and not as a file
            beside it.
        from_tables: Whether private ones may be rows of a table.
        refuses_looks: Why it cannot be given an appearance; empty if it can.
        refuses_sheets: Why a sheet of pictures cannot show it, to follow a run's name; empty if it can.
        needs_decoder: Whether the keeper leaves it to a process of its own to decode what a provider sent.
        retry_hint: What else may help if a provider sends nothing usable; empty for nothing.
        other_provider: What to do if a provider does not make what was released, without its full stop.
        far_unlike: A far dataset counts as another domain only if its classes' cosine is also below this;
            None if its nearest items decide. See ``usefulness``.
        forms: Formats in which its dataset can be exported.
        unused_fields: Fields of a plan that do not apply to it.
        independent_classifier: Name of the judge that shares nothing with an encoder, and so never voted.
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
        """Return the settings of a plan: the user's, else the API's recommendations, else the defaults.

        Args:
            size: Native size of the API's model.
            taken: Capabilities of the API; settings for others stay unset.

        Raises:
            UsageError: The user's settings contradict each other.
        """

    @property
    def asked_size(self) -> str:
        """The requested size, ``64 x 64``; empty if no size is requested."""
        return ""

    @property
    def is_graded(self) -> bool:
        """True if requests set the degree of variations, by blanks or a strength; else the API chooses it."""
        return True

    @property
    def has_adapter(self) -> bool:
        """True if variations take a prototype as an image prompt, too."""
        return False

    @property
    def extra_prompts(self) -> Described:
        """Return texts that go with every prompt."""
        return []

    @property
    def in_summary(self) -> dict[str, str]:
        """Return a summary's entries for this kind; images are the default and have none."""
        return {"modality": self.kind}

    @abstractmethod
    def describe(self) -> Described:
        """Describe the settings of a request, as far as the API takes them."""

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
        """List fields of a plan that requests do not prove, beside those that no kind's requests prove."""
        return ()

    def ask_for_one(self) -> Self | None:
        """Return the settings for an API that takes no number of items; None if the number is never in question."""
        return None
