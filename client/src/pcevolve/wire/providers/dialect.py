"""Dialects: each spells the calls of a plan for one remote API. Pure; opens no sockets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol, TypeAlias

from pcevolve.errors import ProviderError, ProviderReplyError
from pcevolve.public.calls import Call
from pcevolve.public.dialects import Abilities
from pcevolve.public.modality import Advice, ModelSize
from pcevolve.public.parts import Exact, Library
from pcevolve.public.plan import PublicPlan
from pcevolve.wire.providers.faults import Fault, Reason, fault
from pcevolve_shared import wire

Output: TypeAlias = bytes | ProviderError
"""What an answer has for one image or text that was asked for: its bytes, empty where the API withheld it, or why it
cannot be taken."""


@dataclass(frozen=True)
class WireRequest:
    """A request as it leaves, below the API's address, without what the transport adds (host, key)."""

    method: str
    path: str
    body: bytes = b""
    content_type: str = "application/json"
    accept: str = "application/json"


class Dialect(Protocol):
    """One remote API's way of saying things; what most of them lack has a default here.

    Attributes:
        abilities: Its name, and what it can be asked for.
        one_a_request: The option by which an API that makes one at a time is asked for one.
        links_images: Whether answers only point to the images.
        reports_cost: Whether answers say what they cost.
        reasons: What the API's error codes mean, where asking again would not help.
        unknown: What to do where the first request finds nothing at its address.
    """

    abilities: ClassVar[Abilities]
    one_a_request: ClassVar[str] = "provider.batch=1"
    links_images: ClassVar[bool] = False
    reports_cost: ClassVar[bool] = False
    currency: ClassVar[str] = "in the currency of your account"
    reasons: ClassVar[Mapping[str, Reason]] = {}
    unknown: ClassVar[str] = (
        "is --api right? For an API without a list of models, --set provider.greeting=false"
    )

    @property
    def name(self) -> str:
        """What ``--dialect`` calls it."""
        return self.abilities.name

    def encode(self, plan: PublicPlan, call: Call, image: bytes | None) -> WireRequest:
        """Spell a call of the plan, with the bytes that it varies, as the API had sent them; None for text-to-image.

        Returns:
            The same bytes for the same arguments, whoever asks and whenever.
        """
        ...

    def links(self, call: Call, body: bytes) -> tuple[str, ...]:
        """Addresses of images, where an API answers with those; ``ProviderReplyError`` for a broken contract."""
        return ()

    def decode(self, call: Call, body: bytes, linked: Sequence[Output] = ()) -> list[Output]:
        """Read the images out of an answer; ``linked`` is what lay at ``links``, in order. Errors as ``links``."""
        ...

    def read_outputs(self, call: Call, body: bytes, linked: Sequence[Output] = ()) -> list[Output]:
        """As many outputs as were asked for, with the reason in place of those that an answer lacks."""
        made = self.decode(call, body, linked)[: call.count]
        advice = (
            f": it may make one a request; start a new run with --set {self.one_a_request}" if made else ""
        )
        short = ProviderReplyError(f"the API sent {len(made)} where {call.count} were asked for{advice}")
        return made + [short] * (call.count - len(made))

    def answered_by(self, body: bytes) -> str | None:
        """Name of the model that an answer says it is from; None where it names none."""
        return None

    def remarks(self, prompt: str, body: bytes) -> frozenset[str]:
        """Read what an answer to a prompt says of itself that what it brought does not show; each follows "answers"."""
        return frozenset()

    def hello(self) -> WireRequest:
        """Spell a free request that tells whether address and key are right: most APIs list their models."""
        return WireRequest("GET", wire.MODELS)

    def native_size(self, model: str, body: bytes) -> ModelSize | None:
        """Size of a model from the answer to ``hello``, where the API tells it.

        Raises:
            UsageError: The API does not have the model.
            ProviderReplyError: The answer breaks the API's contract.
        """
        return None

    def require_adapter(self, model: str, adapter: str, body: bytes) -> None:
        """Refuse an IP-Adapter that a model has not, by the answer to ``hello``, before anything is paid.

        Raises:
            UsageError: The API does not have it.
            ProviderReplyError: The answer breaks the API's contract.
        """
        return

    def require_negative_prompts(self, model: str, body: bytes) -> None:
        """Refuse a model that reads no negative prompts, by the answer to ``hello``, before anything is paid.

        Raises:
            UsageError: The model reads none.
            ProviderReplyError: The answer breaks the API's contract.
        """
        return

    def takes_strength(self, model: str, body: bytes) -> bool:
        """Tell by the answer to ``hello`` whether a model varies by a strength; errors as ``links``."""
        return "strength" in self.abilities.capabilities

    def advice(self, model: str, body: bytes) -> Advice | None:
        """Read advice on a model from the answer to ``hello``, None if it has none; errors as ``links``."""
        return None

    def library(self, model: str, body: bytes) -> Library | None:
        """Read from ``hello``'s answer of which library of real images a model is, if any; errors as ``links``."""
        return None

    def exact(self, model: str, body: bytes) -> Exact | None:
        """Read from ``hello``'s answer what the same request gets again, if it says so; errors as ``links``."""
        return None

    def trial(self, model: str) -> WireRequest | None:
        """A question for two texts at once, where only asking tells whether that can be; None elsewhere."""
        return None

    def takes_several(self, body: bytes) -> bool:
        """Tell from the answer to ``trial`` whether a request may ask for several texts."""
        return True

    def balance_request(self) -> WireRequest | None:
        """A free request for what is left on the account, where the API tells it."""
        return None

    def balance(self, body: bytes) -> float | None:
        """Read the remaining balance, None where nothing is billed; ``ProviderReplyError`` as ``links``."""
        return None

    def cost(self, body: bytes) -> float | None:
        """Read the cost that a successful answer states, in the account's currency; None if it states none."""
        return None

    def fault(self, status: int, body: bytes) -> Fault:
        """Read an answer that is no success."""
        return fault(status, body, self.reasons)


ALWAYS_ASKED: Final = frozenset({"steps", "guidance", "size"})
"""Of an API that can be asked for them. All else a user may leave out, and a model may take no strength."""


def find_misstatements(dialect: Dialect, plan: PublicPlan) -> Iterator[str]:
    """Yield a sentence for each option that the plan says requests ask for and they do not, or the other way round."""
    asked, graded = dialect.abilities.capabilities, plan.modality.is_graded
    calls = plan.calls.values()
    varies_images = not plan.varies_prompts and any(each.purpose != "create" for each in calls)
    if varies_images and "vary" not in asked:
        yield f"the plan varies what was made, which dialect {dialect.name} cannot be asked for"
    if (most := max(each.count for each in calls)) > dialect.abilities.most:
        yield f"the plan asks for {most} in one request, and dialect {dialect.name} for {dialect.abilities.most}"
    if "strength" in asked and not graded and not varies_images:
        yield "the plan says that no strength is asked for, and nothing is varied for which one could be"
    for name, said in plan.modality.list_asked().items():
        if said and name not in asked:
            yield f"the plan says that {name} is asked for, and it is not"
        if not said and name in asked and name in ALWAYS_ASKED:
            yield f"the plan says that {name} is not asked for, and it is"
