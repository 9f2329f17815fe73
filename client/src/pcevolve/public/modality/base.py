"""What every kind of data answers that a run may make; each kind is a class of its own beside this one."""

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
"""A kind's word, ``image`` or ``text``, by which ``MODALITIES`` knows it."""
Described: TypeAlias = list[tuple[str, object]]
"""Settings in words, each under its title."""
UNASKED: Final = "the API's own: it is not asked for any"
OWN_DEGREE: Final = "to the API's own degree"
"""Of variations, where the API is asked for no strength."""


def join(things: list[str]) -> str:
    """Join some things as a sentence does: one, two and three."""
    return " and ".join(filter(None, [", ".join(things[:-1]), *things[-1:]]))


@dataclass(frozen=True)
class Nouns:
    """What sentences call what a run makes; whoever writes about a run puts these into a sentence of their own.

    Attributes:
        one: The kind's word; also that of a privacy unit which is one of them and has no name.
        an: It with its article.
    """

    one: str
    many: str
    an: str

    def count(self, number: int) -> str:
        """So many of them: ``1 image``, ``2,000 images``."""
        return f"{number:,} {self.one if number == 1 else self.many}"


@dataclass(frozen=True)
class ModelSize:
    """Native size of the provider's model, in pixels."""

    width: int
    height: int


@dataclass(frozen=True)
class Advice:
    """A provider's advice on how its model is best asked; a wrong word costs quality and nothing more.

    Below strength ``low`` a variation hardly differs, and above ``high`` it keeps hardly anything.

    Attributes:
        domains: What the model draws, in words, and nothing else; empty where nothing is known.
    """

    steps: int
    guidance: float
    low: float
    high: float
    domains: tuple[str, ...] = ()

    def __str__(self) -> str:
        """For people."""
        return f"{self.steps} steps, guidance {self.guidance:g}, strength {self.low:g} to {self.high:g}"


class Modality(Section):
    """Settings by which a kind is asked for, which a plan embeds, and what is known of it before there is a plan.

    Attributes:
        nouns: What sentences call it.
        medium: Where that is which decodes, compares, shows and releases it: module and name in ``media``. It is loaded
            when it is first asked for, because it needs libraries that rules and plan do without.
        verb: What a provider does to make one.
        template: The usual prompt; ``unlabelled_template`` for data without labels.
        sends_inline: Whether what is varied goes back inside the prompt, some words blank, and not as a file beside it.
        from_tables: Whether private ones may be rows of a table.
        refuses_looks: Why one cannot be given an appearance; empty where it can.
        refuses_sheets: Why a sheet of pictures cannot show it, to be read after a run's name; empty where it can.
        retry_hint: What else may help where a provider sends nothing usable; empty for nothing.
        other_provider: What to do where a provider does not make what was released, without its full stop.
        far_unlike: Cosine below which the classes of a far dataset have to differ otherwise, too, to be of another
            domain; None: far is enough. See ``usefulness``.
        forms: How its dataset may lie beside its files.
        idle_fields: Fields of a plan that mean nothing for it.
        independent_classifier: Name of the judge that is no encoder, and so never voted.
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
    retry_hint: ClassVar[str] = ""
    other_provider: ClassVar[str]
    far_unlike: ClassVar[float | None] = None
    forms: ClassVar[tuple[Form, ...]] = ("parquet", "webdataset")
    idle_fields: ClassVar[frozenset[str]] = frozenset()
    independent_classifier: ClassVar[str]

    kind: str

    @classmethod
    @abstractmethod
    def settle(
        cls, asked: PublicProvider, size: ModelSize, advice: Advice | None, taken: AbstractSet[str]
    ) -> dict[str, object]:
        """Return the settings of a plan: the user's, else what the API recommends, else the usual ones.

        Args:
            size: Of what the API's model makes.
            taken: What the API can be asked for; all else stays unsaid.

        Raises:
            UsageError: The user's do not go together.
        """

    @property
    def asked_size(self) -> str:
        """The size that is asked for, ``64 x 64``; empty where no size is asked for."""
        return ""

    @property
    def is_graded(self) -> bool:
        """True if the API is asked for a degree of its variations, by blanks or by a strength; else it is its own."""
        return True

    @property
    def has_adapter(self) -> bool:
        """True if variations take a prototype as an image prompt, too."""
        return False

    @property
    def extra_prompts(self) -> Described:
        """Text that goes with every prompt."""
        return []

    @property
    def in_summary(self) -> dict[str, str]:
        """Entries of a run's summary that are particular to its kind; images are the usual, and have none."""
        return {"modality": self.kind}

    @abstractmethod
    def describe(self) -> Described:
        """The settings of a request, in words, as far as the API is asked for them."""

    @abstractmethod
    def describe_asking(self, degrees: str, advice: str) -> str:
        """Describe in a line for the owner how each one is asked for.

        Args:
            degrees: Of variation, first and last; empty without any.
            advice: What the API recommends, if anything.
        """

    @abstractmethod
    def describe_degree(self, of: float) -> str:
        """Say in words how different a variation is, from 0 to 1."""

    def list_asked(self) -> Mapping[str, bool]:
        """Whether the settings say that requests ask for it, by each capability that they speak of."""
        return {}

    def list_unproven(self) -> tuple[str, ...]:
        """List fields of a plan that requests do not prove, beside those that no kind's do."""
        return ()

    def ask_for_one(self) -> Self | None:
        """Return the settings for an API that takes no number of them; None where no dialect asks whether it does."""
        return None
