"""Open a run's record, and reach and greet its API."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rich.console import Console

from pcevolve.errors import TranscriptError
from pcevolve.public import protocol
from pcevolve.public.config.options import spell_flag
from pcevolve.public.config.providers import PublicProvider
from pcevolve.public.config.runner import PublicConfig
from pcevolve.public.dialects import find_abilities
from pcevolve.public.run.folder import LOST, RunFolder
from pcevolve.public.transcript.log import Transcript
from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire.egress.address import Address, Route
from pcevolve.wire.egress.allowance import Allowance, Meter
from pcevolve.wire.egress.gate import Gate
from pcevolve.wire.egress.http_transport import HttpTransport
from pcevolve.wire.egress.pace import Pace
from pcevolve.wire.egress.retry import RetryPolicy
from pcevolve.wire.providers import dialect
from pcevolve.wire.providers.dialect import Dialect

PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy")
"""Environment variables that set a proxy for other programs."""


@dataclass(frozen=True)
class RunnerJob:
    """A runner's orders; ``key`` is the key to the API."""

    settings: PublicConfig
    folder: RunFolder
    key: str | None = field(repr=False)

    @property
    def api_dialect(self) -> Dialect:
        return dialect(self.settings.provider.dialect)


class ProviderConnection(NamedTuple):
    """The gate to a run's provider, and the meter that counts its requests."""

    gate: Gate
    meter: Meter
    address: Address

    def bill(self) -> str:
        return self.meter.bill()


@contextmanager
def open_record(folder: RunFolder) -> Iterator[Transcript]:
    """Open a run's record for writing, in a claimed folder; remove the files of a run that never fixed its plan.

    Raises:
        TranscriptError: A stored file is missing or changed, or the release folder does not match the
            record.
    """
    if folder.has_plan():
        run = RunReader.strict(folder.root)
        if (fault := run.find_release_fault()) is not None:
            raise TranscriptError(fault)
        _require_stored_files(run)
    else:
        folder.refuse_strange_release()
        folder.clear_false_start()
    with closing(Transcript(folder.transcript)) as transcript:
        yield transcript


def _require_stored_files(run: RunReader) -> None:
    """Refuse to resume if a stored file is missing or changed, because the finished dataset would lack it."""
    for name in run.stored:
        try:
            run.bodies.file(name)
        except TranscriptError as error:
            raise TranscriptError(
                f"{error}; nothing was sent: restore {run.layout.root} from its newest copy; "
                f"{LOST.format(out=spell_flag('out'))}"
            ) from error


def make_address(provider: PublicProvider, key: str | None) -> Address:
    """Return the API's address; ``UsageError`` if requests cannot be sent there."""
    scheme, route = find_abilities(provider.dialect).scheme, Route(provider.ca_file, provider.proxy)
    return Address(provider.api, key, scheme, provider.greeting, route)


@contextmanager
def connect(
    job: RunnerJob, address: Address, transcript: Transcript, console: Console
) -> Iterator[ProviderConnection]:
    """Open the gate to a run's API on the run's record; sends nothing."""
    provider, api_dialect = job.settings.provider, job.api_dialect
    if address.warning:
        console.print(address.warning)
    with closing(HttpTransport(provider.timeout, address.route)) as transport:
        allowance = Allowance(provider.max_requests, provider.max_cost, provider.price)
        meter = Meter(allowance, api_dialect, transcript, address.is_nearby)
        patience = replace(
            _make_patience(provider, console), advice=f"continue with {job.folder.resume_command}"
        )
        gate = Gate(
            transcript, api_dialect, address, transport, patience, Pace(job.settings.privacy.pace), meter
        )
        yield ProviderConnection(gate, meter, address)


def greet(job: RunnerJob, gate: Gate, run_id: str) -> protocol.Settle:
    """Greet the API, and refuse a model that cannot do the run; return the API's statements about itself."""
    provider, api_dialect, greeting = job.settings.provider, job.api_dialect, gate.questions.hello(run_id)
    if not provider.greeting:
        return protocol.Settle()
    if provider.adapter is not None:
        api_dialect.require_adapter(provider.model, provider.adapter, greeting)
    if provider.negative_prompt:
        api_dialect.require_negative_prompts(provider.model, greeting)
    return note_greeting(api_dialect, provider.model, greeting)


def note_greeting(api_dialect: Dialect, model: str, greeting: bytes) -> protocol.Settle:
    """Return an API's statements about itself and a model, from its answer to the greeting."""
    return protocol.Settle(
        size=api_dialect.native_size(model, greeting),
        library=api_dialect.library(model, greeting),
        advice=api_dialect.advice(model, greeting),
        takes_strength=api_dialect.takes_strength(model, greeting),
        exact=api_dialect.exact(model, greeting),
    )


def _make_patience(provider: PublicProvider, console: Console) -> RetryPolicy:
    """Return the policy for retries of an API that does not answer, and for notices to the owner."""
    usual = RetryPolicy(
        provider.patience, provider.first_contact, lambda notice: console.print(notice.message)
    )
    # A proxy of the environment is not used, because other programs' settings must not redirect private runs;
    # the message only hints at it.
    ignored = next((name for name in PROXIES if name in os.environ), None)
    if provider.proxy is not None or ignored is None:
        return usual
    return replace(usual, hint=f"{ignored} is ignored: to use a proxy, give --set provider.proxy=URL")
