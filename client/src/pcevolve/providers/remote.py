"""The remote generator: spells calls in a dialect and hands them to the egress gate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pcevolve.providers.dialect import Dialect, WireRequest
from pcevolve.public.plan import Call, PublicPlan
from pcevolve.public.release import Candidate, Prototype, PublicEcho, PublicPrompt


class Channel(Protocol):
    """What lets requests out."""

    def exchange(
        self, request: WireRequest, call: Call, source: Prototype | PublicEcho | None
    ) -> tuple[Candidate, ...]:
        """Send one call of the plan and name what comes back."""
        ...


@dataclass(frozen=True)
class RemoteGenerator:
    """``Generator`` over HTTP; accepts public prompts, released prototypes and what the plan itself names."""

    plan: PublicPlan
    dialect: Dialect
    channel: Channel
    received: Callable[[str], bytes]
    """Bytes of an earlier candidate, by digest."""

    def create(self, call: Call, prompt: PublicPrompt) -> tuple[Candidate, ...]:
        """See ``Generator.create``."""
        return self.channel.exchange(self.dialect.encode(self.plan, call, prompt, None), call, None)

    def vary(self, call: Call, prompt: PublicPrompt, source: Prototype | PublicEcho) -> tuple[Candidate, ...]:
        """See ``Generator.vary``."""
        image = self.received(source.candidate.digest)
        return self.channel.exchange(self.dialect.encode(self.plan, call, prompt, image), call, source)
