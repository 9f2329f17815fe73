"""Dialects: each encodes a plan's calls for one remote API. Pure functions; no sockets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol, TypeAlias

from pcevolve.errors import ProviderError, ProviderReplyError
from pcevolve.public.calls import Call
from pcevolve.public.config.workflow import takes_image
from pcevolve.public.dialects import Abilities
from pcevolve.public.modality import Advice, ModelSize
from pcevolve.public.parts import Exact, Library
from pcevolve.public.plan import PublicPlan
from pcevolve.wire.providers.faults import Fault, Reason, fault
from pcevolve_shared import wire

Output: TypeAlias = bytes | ProviderError
"""One requested image or text: its bytes, empty if the API withheld it, or the error if it is unusable."""


@dataclass(frozen=True)
class WireRequest:
    """A request relative to the API's address, without what the transport adds (host, key)."""

    method: str
    path: str
    body: bytes = b""
    content_type: str = "application/json"
    accept: str = "application/json"


class Dialect(Protocol):
    """One remote API's protocol; features that most APIs lack have a default here.

    Attributes:
        abilities: The dialect's name and capabilities.
        one_a_request: The option that makes an API return one output per request.
        links_images: Whether answers only link to the images.
        makes_jobs: Whether an answer only names a job, whose state has to be polled.
        reports_cost: Whether answers state their cost.
        reasons: Meanings of the API's error codes that no retry fixes.
        unknown: Advice if the first request finds nothing at its address.
    """

    abilities: ClassVar[Abilities]
    one_a_request: ClassVar[str] = "provider.batch=1"
    links_images: ClassVar[bool] = False
    makes_jobs: ClassVar[bool] = False
    reports_cost: ClassVar[bool] = False
    currency: ClassVar[str] = "in the currency of your account"
    reasons: ClassVar[Mapping[str, Reason]] = {}
    unknown: ClassVar[str] = (
        "check --api. For an API without a list of models, give --set provider.greeting=false"
    )

    @property
    def name(self) -> str:
        return self.abilities.name

    def encode(self, plan: PublicPlan, call: Call, image: bytes | None) -> WireRequest:
        """Encode a call of the plan, with the unchanged bytes of the varied image; None for text-to-image.

        Returns:
            The request; equal arguments give equal bytes.
        """
        ...

    def follow_up(self, plan: PublicPlan, call: Call, answers: Sequence[bytes]) -> WireRequest | None:
        """Return the next request about a call's job after the answers so far; usually for the job's state.

        Returns:
            None once the last answer has the call's result, which ``links`` and ``decode`` read.

        Raises:
            ProviderReplyError: The job failed, or the last answer breaks the API's contract.
        """
        return None

    def cancel(self, answers: Sequence[bytes]) -> tuple[WireRequest, ...]:
        """Return the requests that end a job; none if the job has ended. Never raises."""
        return ()

    def links(self, call: Call, body: bytes) -> tuple[str | WireRequest, ...]:
        """Return the links to images in an answer, as addresses or as requests to the API itself.

        Raises:
            ProviderReplyError: The answer breaks the API's contract.
        """
        return ()

    def decode(self, call: Call, body: bytes, linked: Sequence[Output] = ()) -> list[Output]:
        """Read the images of an answer; ``linked`` are the images behind ``links``, in order.

        Errors as in ``links``.
        """
        ...

    def read_outputs(self, call: Call, body: bytes, linked: Sequence[Output] = ()) -> list[Output]:
        """Return as many outputs as requested; an error that gives the reason replaces a missing output."""
        # No more than requested: further images have no place in the plan, and the provider would choose
        # them.
        made = self.decode(call, body, linked)[: call.count]
        advice = (
            f": it may make only one per request; start a new run with --set {self.one_a_request}"
            if made
            else ""
        )
        short = ProviderReplyError(f"the API sent {len(made)} where {call.count} were requested{advice}")
        # Each missing place is filled, so that the others keep theirs: place and seed belong together.
        return made + [short] * (call.count - len(made))

    def answered_by(self, body: bytes) -> str | None:
        """Return the model that an answer names; None without one."""
        return None

    def remarks(self, prompt: str, body: bytes) -> frozenset[str]:
        """Return an answer's statements that its outputs do not show; each is a phrase that follows "answers"."""
        return frozenset()

    def hello(self) -> WireRequest:
        """Build a free request that shows whether address and key are right; most APIs list their models."""
        return WireRequest("GET", wire.MODELS)

    def native_size(self, model: str, body: bytes) -> ModelSize | None:
        """Return a model's size from the answer to ``hello``, if the API reports it.

        Raises:
            UsageError: The API does not have the model.
            ProviderReplyError: The answer breaks the API's contract.
        """
        return None

    def require_adapter(self, model: str, adapter: str, body: bytes) -> None:
        """Refuse an IP-Adapter that a model lacks, by the answer to ``hello``, before anything is paid.

        Raises:
            UsageError: The API does not have the adapter.
            ProviderReplyError: The answer breaks the API's contract.
        """
        return

    def require_negative_prompts(self, model: str, body: bytes) -> None:
        """Refuse a model without negative prompts, by the answer to ``hello``, before anything is paid.

        Raises:
            UsageError: The model takes no negative prompts.
            ProviderReplyError: The answer breaks the API's contract.
        """
        return

    def takes_strength(self, model: str, body: bytes) -> bool:
        """True if a model takes a strength, by the answer to ``hello``; errors as in ``links``."""
        return "strength" in self.abilities.capabilities

    def advice(self, model: str, body: bytes) -> Advice | None:
        """Return recommended settings from the answer to ``hello``; None without any.

        Errors as in ``links``.
        """
        return None

    def library(self, model: str, body: bytes) -> Library | None:
        """Return a model's library of real images from the answer to ``hello``; None without a library.

        Errors as in ``links``.
        """
        return None

    def exact(self, model: str, body: bytes) -> Exact | None:
        """Return, from the answer to ``hello``, what the API promises for repeated requests; None without a promise.

        Errors as in ``links``.
        """
        return None

    def trial(self, model: str) -> WireRequest | None:
        """Return a request for two texts at once, if only its answer shows whether that works; else None."""
        return None

    def takes_several(self, body: bytes) -> bool:
        """True if a request may ask for several texts, by the answer to ``trial``."""
        return True

    def balance_request(self) -> WireRequest | None:
        """Return a free request for the account's balance; None if the API has none."""
        return None

    def balance(self, body: bytes) -> float | None:
        """Return the remaining balance; None if nothing is billed (``ProviderReplyError`` as in ``links``)."""
        return None

    def cost(self, body: bytes) -> float | None:
        """Return the cost that a successful answer states, in the account's currency; None if it states none."""
        return None

    def fault(self, status: int, body: bytes) -> Fault:
        """Read an unsuccessful answer."""
        return fault(status, body, self.reasons)


ALWAYS_ASKED: Final = frozenset({"steps", "guidance", "size"})
"""Settings that requests always carry if the API takes them; other settings are optional."""


def find_misstatements(dialect: Dialect, plan: PublicPlan) -> Iterator[str]:
    """Yield each difference between the plan's settings and the settings that requests carry."""
    # Checked in both directions, because auditors read the settings as those that the images were made with.
    asked, graded = dialect.abilities.capabilities, plan.modality.is_graded
    calls = plan.calls.values()
    varies_images = not plan.varies_prompts and any(each.purpose != "create" for each in calls)
    if varies_images and "vary" not in asked:
        yield f"the plan asks for variations, which dialect {dialect.name} cannot request"
    if (most := max(each.count for each in calls)) > dialect.abilities.most:
        allowed = dialect.abilities.most
        yield f"the plan asks for {most} outputs in one request, but dialect {dialect.name} allows {allowed}"
    # A plan without strengths is for a model that takes none; without variations the difference has no
    # effect.
    if "strength" in asked and not graded and not varies_images:
        yield "the plan leaves the strength to the API, but it has no variations that could have a strength"
    if ("workflow" in asked) != bool(plan.provider.workflow):
        yield "the plan has no workflow for its dialect, or a workflow that its dialect does not use"
    elif plan.provider.workflow and varies_images and not takes_image(plan.provider.workflow):
        yield "the plan asks for variations, but its workflow does not accept an image"
    for name, is_asked in plan.modality.list_asked().items():
        if is_asked and name not in asked:
            yield f"the plan says that {name} is asked for, and it is not"
        if not is_asked and name in asked and name in ALWAYS_ASKED:
            yield f"the plan says that {name} is not asked for, and it is"
