"""Dialects: each spells the calls of a plan for one remote API. Pure; opens no sockets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from pcevolve.errors import ProviderReplyError, UsageError
from pcevolve.providers.faults import Fault, Reason, fault
from pcevolve.public.answers import BYTE_ORDER_MARK
from pcevolve.public.calls import Call
from pcevolve.public.library import Library
from pcevolve.public.plan import PublicPlan
from pcevolve_shared import images

Model = TypeVar("Model", bound=BaseModel)
Counted = TypeVar("Counted")
Scheme = Literal["Bearer", "Basic"]
IN_PROCESS_ASKS = frozenset({"create", "vary", "strength", "seed", "batch"})
"""What ``egress.in_process`` hands to a generator."""


@dataclass(frozen=True)
class WireRequest:
    """A request as it leaves, without what the transport adds (host, key).

    Attributes:
        method: GET or POST.
        path: Below the API's address.
        body: Exact bytes.
        content_type: Media type of the body; not sent where there is none.
        accept: Media type that the answer shall have.
    """

    method: str
    path: str
    body: bytes = b""
    content_type: str = "application/json"
    accept: str = "application/json"


@dataclass(frozen=True)
class ModelSize:
    """Native size of the provider's model, in pixels."""

    width: int
    height: int


@dataclass(frozen=True)
class Advice:
    """A provider's advice on how its model is best asked; a wrong word costs quality and nothing more.

    Attributes:
        steps: Of denoising.
        guidance: Scale.
        low: Strength below which a variation hardly differs.
        high: Strength above which it keeps hardly anything.
    """

    steps: int
    guidance: float
    low: float
    high: float

    def __str__(self) -> str:
        """For people."""
        return f"{self.steps} steps, guidance {self.guidance:g}, strength {self.low:g} to {self.high:g}"


OF_DIFFUSION: Final = frozenset(
    {
        *("create", "vary", "strength", "seed", "batch", "size"),
        *("steps", "guidance", "negative_prompt", "sampler"),
    }
)
"""Capabilities of an API that says all that a diffusion model can be asked."""


class Dialect(Protocol):
    """One remote API's way of saying things; what most of them lack has a default here.

    Attributes:
        name: What ``--dialect`` calls it.
        makes: Images or texts.
        capabilities: What it can ask for: of ``create``, ``vary``, ``strength`` of what is varied, ``seed``, ``steps``,
            ``guidance``, ``negative_prompt``, ``sampler``, ``size``, ``batch``, ``adapter``, and for texts ``tokens``,
            ``fields``.
        scheme: How the key is shown; with ``Basic`` it is ``user:password``.
        most: Images that one request may ask for.
        links_images: Whether answers only point to the images.
        reports_cost: Whether answers say what they cost.
        currency: What sums are in, as it follows a figure.
        reasons: What the API's error codes mean, where asking again would not help.
    """

    name: ClassVar[str]
    makes: ClassVar[Literal["image", "text"]] = "image"
    capabilities: ClassVar[frozenset[str]]
    scheme: ClassVar[Scheme] = "Bearer"
    most: ClassVar[int] = 1
    links_images: ClassVar[bool] = False
    reports_cost: ClassVar[bool] = False
    currency: ClassVar[str] = "in the currency of your account"
    reasons: ClassVar[Mapping[str, Reason]] = {}

    def encode(self, plan: PublicPlan, call: Call, image: bytes | None) -> WireRequest:
        """Spell a call.

        Args:
            plan: Gives the prompt, and everything else that all calls have in common.
            call: One of the plan's.
            image: For a variation the bytes that are varied, as the API had sent them; else None.

        Returns:
            The same bytes for the same arguments, whoever asks and whenever.
        """
        ...

    def links(self, call: Call, body: bytes) -> tuple[str, ...]:
        """Addresses of the images, of an API that answers with those; none otherwise.

        Raises:
            ProviderReplyError: The answer breaks the API's contract.
        """
        return ()

    def decode(self, call: Call, body: bytes, linked: Sequence[bytes] = ()) -> list[bytes]:
        """Read the images out of an answer.

        Args:
            call: What was asked for.
            body: The answer.
            linked: What lay at ``links``, in their order.

        Raises:
            ProviderReplyError: The answer breaks the API's contract.
        """
        ...

    def answered_by(self, body: bytes) -> str | None:
        """Name of the model that an answer says it is from; None where it names none."""
        return None

    def hello(self) -> WireRequest:
        """A free request that tells whether address and key are right."""
        ...

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
        """Tell from the answer to ``hello`` whether variations by a model are asked for with a strength.

        Raises:
            ProviderReplyError: The answer breaks the API's contract.
        """
        return "strength" in self.capabilities

    def advice(self, model: str, body: bytes) -> Advice | None:
        """Read advice on a model from the answer to ``hello``; None if it gives none.

        Raises:
            ProviderReplyError: The answer breaks the API's contract.
        """
        return None

    def library(self, model: str, body: bytes) -> Library | None:
        """Read the description of a model's real public images from the answer to ``hello``; None if there is none.

        Raises:
            ProviderReplyError: The answer breaks the API's contract.
        """
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
        """Read the remaining balance from the answer to ``balance_request``; None when the API does not bill.

        Raises:
            ProviderReplyError: The answer breaks the API's contract.
        """
        return None

    def cost(self, body: bytes) -> float | None:
        """Read the cost that a successful answer states, in the account's currency; None if it states none."""
        return None

    def fault(self, status: int, body: bytes) -> Fault:
        """Read an answer that is no success."""
        return fault(status, body, self.reasons)


def json_body(fields: Mapping[str, Any]) -> bytes:
    """Serialise in one canonical way, so that equal calls are equal bytes."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def strength_of(call: Call, name: str = "strength") -> dict[str, float]:
    """The field that says how different a variation shall be; none where the plan asks for no strength."""
    return {} if call.strength is None else {name: call.strength}


def parsed(model: type[Model], body: bytes) -> Model:
    """Validate an answer.

    Raises:
        ProviderReplyError: It is not what the contract promises; its content is not repeated.
    """
    try:
        return model.model_validate_json(body.removeprefix(BYTE_ORDER_MARK))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        if first["type"] == "json_invalid" and (form := _form_of(body)):
            raise ProviderReplyError(f"the API answered with {form} where JSON was expected") from None
        where = ".".join(str(part) for part in first["loc"]) or "the whole answer"
        raise ProviderReplyError(f"the API's answer breaks the contract at {where}: {first['msg']}") from None


class _Named(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)
    model: str | None = None


def model_named(body: bytes) -> str | None:
    """The model that an answer in OpenAI's form says it is from; None where it names none."""
    try:
        return _Named.model_validate_json(body).model
    except ValidationError:
        return None


def _form_of(body: bytes) -> str:
    """Name in words what an answer is that is no JSON; empty where it has no known form."""
    start = body.lstrip()[:16].lower()
    if not start:
        return "nothing"
    if start.startswith((b"data:", b"event:")):
        return "a stream of events (SSE): turn streaming off at the API"
    if start.startswith(b"<"):
        return "a page of HTML: is the address that of the API?"
    return "something packed (gzip), which it was asked not to" if start.startswith(b"\x1f\x8b") else ""


def asks_for(dialect: Dialect, in_process: bool) -> frozenset[str]:
    """Return the options that can be asked for: hardly any of a generator in this process."""
    return dialect.capabilities & IN_PROCESS_ASKS if in_process else dialect.capabilities


def require(dialect: Dialect, needed: AbstractSet[str], in_process: bool = False) -> None:
    """Refuse a run that its dialect cannot carry out, before anything is paid.

    Raises:
        UsageError: A capability is missing.
    """
    missing = ", ".join(sorted(needed - asks_for(dialect, in_process)))
    if missing and in_process:
        raise UsageError(f"a generator inside this process is not asked for {missing}: leave that out")
    if missing:
        raise UsageError(
            f"dialect '{dialect.name}' lacks {missing}, which this run needs: "
            "choose another --dialect, --set method.vary_by=prompt, which sends no image back, or --method t2i, which "
            "needs no "
            "variations; what options ask for in vain, leave out"
        )


def misstated(dialect: Dialect, plan: PublicPlan) -> Iterator[str]:
    """Yield a sentence for each option that the plan says requests ask for and they do not, or the other way round."""
    if plan.modality.kind != "image":
        return
    stated = {
        "steps": plan.images.steps is not None,
        "guidance": plan.images.guidance is not None,
        "size": plan.images.sized,
        "strength": plan.images.graded,
    }
    asked = asks_for(dialect, plan.in_process)
    for name, said in stated.items():
        if said and name not in asked:
            yield f"the plan says that {name} is asked for, and it is not"
        if not said and name in asked and name != "strength":  # a model may take none that its dialect has
            yield f"the plan says that {name} is not asked for, and it is"
    for name, value in {
        "negative_prompt": plan.images.negative_prompt,
        "sampler": plan.images.sampler,
        "adapter": plan.images.adapter,
    }.items():
        if value and name not in asked:
            yield f"the plan says that {name} is asked for, and it is not"


def counted(call: Call, received: Sequence[Counted]) -> Sequence[Counted]:
    """Pass on what an answer holds for each image.

    Raises:
        ProviderReplyError: Not as many as were asked for.
    """
    if len(received) != call.count:
        raise ProviderReplyError(f"the API sent {len(received)} where {call.count} were asked for")
    return received


def received_images(call: Call, encoded: Sequence[str]) -> list[bytes]:
    """Decode the base64 images of an answer.

    Raises:
        ProviderReplyError: Not as many as were asked for, or not canonical base64.
    """
    try:
        return [images.from_base64(_plain_base64(each)) for each in counted(call, encoded)]
    except images.ImageError as error:
        raise ProviderReplyError(f"the API sent an image that is wrong: {error}") from None


def _plain_base64(text: str) -> str:
    """Base64 without the prefix of a data URL and the ends of lines, and padded; many APIs send it otherwise."""
    inner = text.partition(";base64,")[2] if text.startswith("data:") else text
    plain = "".join(inner.split()).rstrip("=")
    return plain + "=" * (-len(plain) % 4)


def no_model(model: str, names: Iterable[str]) -> UsageError:
    """Return the error for a model that the API does not have."""
    offers = ", ".join(sorted(names)[:10]) or "none at all"
    return UsageError(f"the API has no model '{model}': it offers {offers}; choose one with --model")


def shifted(seed: int, most: int) -> int:
    """A public seed for an API where 0 means "any": from 1 to ``most``."""
    return seed % most + 1
