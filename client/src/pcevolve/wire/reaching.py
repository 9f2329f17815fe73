"""How a run's API is reached, and notes on its first answers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import NamedTuple

from rich.console import Console

from pcevolve.errors import ProviderReplyError
from pcevolve.public.config.providers import PublicProvider
from pcevolve.public.config.runner import PublicConfig
from pcevolve.public.plan import PublicPlan
from pcevolve.public.transcript.layout import RunLayout
from pcevolve.public.transcript.log import Transcript
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Answered
from pcevolve.wire.egress.address import Address, Route
from pcevolve.wire.egress.allowance import Allowance, Meter
from pcevolve.wire.egress.gate import Gate
from pcevolve.wire.egress.http_transport import HttpTransport
from pcevolve.wire.egress.pace import Pace
from pcevolve.wire.egress.retry import RetryPolicy
from pcevolve.wire.providers.dialect import Dialect

PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy")
"""Variables that set a proxy for other programs."""


class ProviderConnection(NamedTuple):
    """The gate to a run's provider, and the meter that counts its requests."""

    gate: Gate
    meter: Meter

    def bill(self) -> str:
        """Describe requests and cost so far."""
        return self.meter.bill()


def make_address(provider: PublicProvider, spoken: Dialect, api: str, key: str | None) -> Address:
    """Return the API's address; ``UsageError`` if requests cannot be sent there."""
    return Address(
        api, key, spoken.abilities.scheme, provider.greeting, Route(provider.ca_file, provider.proxy)
    )


@contextmanager
def connect(
    settings: PublicConfig,
    spoken: Dialect,
    address: Address,
    transcript: Transcript,
    console: Console,
) -> Iterator[ProviderConnection]:
    """Open the gate to a run's API on the run's record; sends nothing."""
    provider = settings.provider
    if address.warning:
        console.print(address.warning)
    transport = HttpTransport(provider.timeout, address.route)
    allowance = Allowance(provider.max_requests, provider.max_cost, provider.price)
    with closing(transport):
        meter = Meter(allowance, spoken, transcript, address.is_nearby)
        pace = Pace(settings.privacy.pace)
        goes_on = RunLayout(settings.output.folder).resume_command
        patience = replace(_make_patience(provider, console), advice=f"continue with {goes_on}")
        gate = Gate(transcript, spoken, address, transport, patience, pace, meter)
        yield ProviderConnection(gate, meter)


def _make_patience(provider: PublicProvider, console: Console) -> RetryPolicy:
    """Return how long to retry an API that does not answer, and how to tell the owner."""
    usual = RetryPolicy(
        provider.patience, provider.first_contact, lambda notice: console.print(notice.message)
    )
    # A proxy of the environment is not used: other programs' settings must not redirect private runs. A hint
    # is enough.
    ignored = next((name for name in PROXIES if name in os.environ), None)
    if provider.proxy is not None or ignored is None:
        return usual
    return replace(usual, hint=f"{ignored} is not used: --set provider.proxy=URL names a proxy")


def note_answers(plan: PublicPlan, record: RunReader, spoken: Dialect) -> Iterator[str]:
    """Yield the API's remarks on its first answers that the answers themselves do not show."""
    calls = {call.slot: call for call in plan.opening if call.slot in record.outputs}
    answers = [
        entry.record
        for entry in record.entries
        if isinstance(entry.record, Answered) and entry.record.slot in calls
    ]
    found: Counter[str] = Counter()
    for each in answers:
        body = record.bodies.get(each.body)
        if not each.succeeded:
            if (fault := spoken.fault(each.status, body)).reason == "content":
                found[f"refusals of its moderation ({fault.said})"] += 1
            continue
        with suppress(ProviderReplyError):  # it was asked for again
            found.update(spoken.remarks(plan.prompt_of(calls[each.slot]), body))
    yield from (
        f"{count} of the API's first {len(calls)} answers: {remark}" for remark, count in found.items()
    )
