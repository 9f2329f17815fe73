"""The second provider of a run that has prompts reworded: what the plan says of it, and how the gate reaches it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final

from pcevolve.config.config import RunConfig
from pcevolve.config.providers import USUAL_TEMPERATURE
from pcevolve.egress.allowance import Allowance, Meter
from pcevolve.egress.exchange import Rewriter as Reached
from pcevolve.egress.sockets import HttpTransport
from pcevolve.egress.transport import Address, Route
from pcevolve.providers.chat import RewriterDialect
from pcevolve.public.options import validate
from pcevolve.public.parts import Rewriter
from pcevolve.public.plan import PublicPlan
from pcevolve.public.requests import CHAT_FAMILIES
from pcevolve.transcript import RunReader, Transcript

_REASONING: Final = re.compile(r"^(?:openai/)?(?:o[1-9](?:-|$)|gpt-5(?!.*chat))")
"""Names of OpenAI's models that take no temperature."""


def fields_of(given: tuple[str, ...] | None, model: str) -> tuple[str, ...]:
    """How a chat API takes the fields of a request: the user's word, or what is known of a model by its name."""
    if given is not None:
        return given
    return CHAT_FAMILIES["reasoning" if _REASONING.search(model) else "standard"]


def planned(settings: RunConfig) -> Rewriter | None:
    """The second provider as the plan has it; None where nobody rewords prompts.

    Raises:
        UsageError: An option is out of bounds.
    """
    own = settings.rewriter
    if own.api is None:
        return None
    fields = fields_of(own.fields, own.model or "")
    temperature = None if "temperature=" in fields else USUAL_TEMPERATURE
    texts = {"kind": "text", "tokens": own.tokens, "temperature": temperature, "fields": fields}
    asked = {} if own.question is None else {"question": own.question}
    return validate(Rewriter, {"api": own.api, "model": own.model, "texts": texts, **asked}, RunConfig)


def address_of(settings: RunConfig, key: str | None) -> Address | None:
    """Where prompts are reworded; None where nobody rewords any.

    Raises:
        UsageError: Nothing can be sent there like that.
    """
    own = settings.rewriter
    return None if own.api is None else Address(own.api, key, greets=False, route=Route(own.ca_file))


@contextmanager
def reached(settings: RunConfig, address: Address | None, transcript: Transcript) -> Iterator[Reached | None]:
    """The second provider as the gate needs it, with connections of its own."""
    if address is None:
        yield None
        return
    own = settings.rewriter
    limits = Allowance(own.max_requests, own.max_cost, own.price)
    with closing(HttpTransport(settings.provider.timeout, address.route)) as transport:
        meter = Meter(limits, RewriterDialect(), transcript, address.is_nearby, rewords=True)
        yield Reached(address, transport, meter)


def described(plan: PublicPlan) -> str:
    """Name the second provider of a plan that rewords, and what it is asked; empty where there is none."""
    if plan.rewriter is None:
        return ""
    asked = sum(call.purpose == "reword" for call in plan.calls.values())
    return f"{plan.rewriter.model} at {plan.rewriter.api}: {asked} prompts, the plan's first and chosen ones"


def notes(plan: PublicPlan, record: RunReader) -> Iterator[str]:
    """Yield a note if the rewriter's answer to the plan's first prompt was no other prompt."""
    if plan.rewriter is None:
        return
    trial, prompt = next(plan.rewordings(0)), plan.prompts[0][0]
    if record.outputs.get(trial.slot) == (hashlib.sha256(prompt.encode()).hexdigest(),):
        yield (
            f"the rewriter's answer to the public prompt {prompt!r} was no other prompt (but a refusal, several lines, "
            "brackets, or thought that found no end): prompts that are so answered stay as they were"
        )
