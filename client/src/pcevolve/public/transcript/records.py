"""The lines of a transcript, and the manifest of its release: frozen models with one canonical form each."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from pcevolve.public.answers import LONGEST_FAULT, is_error, is_success, parse
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Event, Relation
from pcevolve.public.publish.usefulness import Assessment
from pcevolve.public.release import Receipt
from pcevolve.public.settings import Digest
from pcevolve.public.transcript.bodies import BodyRef
from pcevolve.public.transcript.layout import FORMAT

Header = tuple[str, str]
FailureReason = Literal[
    # A fixed list, because an exception's text may hold addresses, and differs between versions.
    "connection refused or no such host",
    "the certificate is not trusted",
    "the certificate is another host's",
    "the certificate is out of date",
    "that port speaks no TLS",
    "the proxy refused",
    "the proxy is not there",
    "no connection in time",
    "the connection broke",
    "the answer took too long",
    "the answer is too large",
    "the answer repeats the API key",
    "cut off",
]
"""Why no usable answer was received. ``cut off``: the process ended while it waited."""
UNSENT: Final[Collection[FailureReason]] = (
    "connection refused or no such host", "no connection in time", "the certificate is not trusted",
    "the certificate is another host's", "the certificate is out of date", "the proxy refused",
    "the proxy is not there",
)  # fmt: skip
"""Failures that happen before the first byte of a request is sent."""
GREETING_SLOT: Final = "hello"
BALANCE_SLOT: Final = "account"
TRIAL_SLOT: Final = "trial"
REFUSED_FIELDS: Final = (400, 422)
"""HTTP statuses with which APIs refuse an unknown field."""
Part = Literal["call", "job", "cancel", "link"]
"""Parts of a call: the call itself, a further step of a job, its cancellation, or the image behind a link."""
_PART: Final = re.compile(r"(.+)/(job|cancel|link)([0-9]+)")


def link_slot(slot: str, index: int) -> str:
    """Name the request that follows the ``index``-th link of an answer."""
    return f"{slot}/link{index}"


def job_slot(slot: str, index: int) -> str:
    """Name the request that follows the ``index``-th answer of a job."""
    return f"{slot}/job{index}"


def cancel_slot(slot: str, index: int) -> str:
    """Name the ``index``-th request that cancels a call's job."""
    return f"{slot}/cancel{index}"


def planned_slot(slot: str) -> str:
    """Return the slot of the planned request: the slot itself, or that of the call whose answer led to the request."""
    found = _PART.fullmatch(slot)
    return found[1] if found else slot


def part_of(slot: str) -> Part:
    """Return which part of its call a request is."""
    found = _PART.fullmatch(slot)
    part: Part = found[2] if found else "call"  # type: ignore[assignment]
    return part


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Opened(_Record):
    """The first line: the address of all requests, and the path to it.

    Attributes:
        authority: Digest of the file with the only trusted certificates; None for the system's certificate authorities.
        proxied: True if a proxy carries the connections. Its address is not recorded, because it would reveal
            facts about the owner.
    """

    kind: Literal["opened"] = "opened"
    format: Literal[3] = FORMAT
    run_id: str
    api: str
    dialect: str
    greets: bool = True
    authority: Digest | None = None
    proxied: bool = False


class Planned(_Record):
    """The public plan, fixed before the first image is requested."""

    kind: Literal["planned"] = "planned"
    plan: PublicPlan


class RecordedRelease(_Record):
    """A receipt that the ledger exported. From this line on, its prototypes may be sent.

    The receipt's measurement is a stored file.

    Attributes:
        answers: Digest of all owners' stored answers, if several owners made the release.
    """

    kind: Literal["released"] = "released"
    receipt: Receipt
    answers: Annotated[Digest | None, Field(exclude_if=lambda value: value is None)] = None


class Sent(_Record):
    """A request, on disk before its first byte is sent. The value of the API key is not recorded."""

    kind: Literal["sent"] = "sent"
    slot: str
    method: str
    url: str
    headers: tuple[Header, ...]
    body: BodyRef
    wire_bytes: Annotated[int, Field(ge=0)]


class Answered(_Record):
    """The answer to the last ``sent`` request in its slot."""

    kind: Literal["answered"] = "answered"
    slot: str
    status: int
    headers: tuple[Header, ...]
    body: BodyRef
    wire_bytes: Annotated[int, Field(ge=0)]

    @property
    def succeeded(self) -> bool:
        """True if the status reports success and the body reports no error; see ``public.answers``."""
        # The status of a job is a successful answer even if it reports that the job failed.
        if part_of(self.slot) == "job":
            return is_success(self.status)
        # A long body is an image or a text, not an error message. Parsing every long body would take as long as the
        # rest of the audit.
        if self.body.size > LONGEST_FAULT or self.body.text is None:
            return is_success(self.status)
        return is_success(self.status) and not is_error(parse(self.body.text.encode()))

    @property
    def states_number(self) -> bool:
        """True if the answer shows whether the API accepts a request for two texts.

        A success shows that it does; the refusal of a field shows that it does not.
        """
        return self.succeeded or self.status in REFUSED_FIELDS


class Received(_Record):
    """The outputs of an answer as digests, in order; each output is a stored file."""

    kind: Literal["received"] = "received"
    slot: str
    outputs: tuple[Digest, ...]


class Failed(_Record):
    """The last ``sent`` request in its slot brought no usable answer."""

    kind: Literal["failed"] = "failed"
    slot: str
    reason: FailureReason


class Finished(_Record):
    """The closing line: the number of requests, and the assessment of the dataset, if there is one."""

    kind: Literal["finished"] = "finished"
    sent: int
    assessment: Assessment | None = None


Record = Opened | Planned | RecordedRelease | Sent | Answered | Received | Failed | Finished
_ADAPTER: TypeAdapter[Record] = TypeAdapter(Annotated[Record, Field(discriminator="kind")])


def to_event(record: Record) -> dict[str, Any]:
    return record.model_dump(mode="json")


def from_event(event: dict[str, Any]) -> Record:
    """Parse a record from a line's JSON values (pydantic's ``ValidationError`` if this version does not define it)."""
    # Parse from JSON text, so that strict types are JSON's: a tuple is a list, and 1 is not True.
    return _ADAPTER.validate_json(json.dumps(event))


class Guarantee(_Record):
    """A run's guarantee.

    Attributes:
        epsilon_spent: ε for one unit of the private folder, at ``delta``; None for an INSECURE run.
        epsilon_drawn: ε for a unit that was drawn from the folder; None if the whole folder is used or the
            run is INSECURE.
        events: Every mechanism that was run, with its exact parameters.
    """

    epsilon_budget: float
    epsilon_spent: float | None
    epsilon_drawn: float | None = None
    delta: float
    relation: Relation
    unit: str
    events: tuple[Event, ...]
    statement: str
    assumed_public: tuple[str, ...]


class TranscriptEnd(_Record):
    """The end of the transcript: its number of lines, and the digest of the last line."""

    head: Digest
    lines: int


class ReleasedImage(_Record):
    """A file of the dataset.

    Attributes:
        path: Path relative to the release folder, with ``/``.
        received_sha256: SHA-256 of the bytes that the provider sent, which the transcript stores.
    """

    path: str
    sha256: Digest
    candidate: str
    received_sha256: Digest

    @property
    def label(self) -> str:
        """The class, which is the folder's name."""
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class Manifest(_Record):
    """``release/manifest.json``.

    Attributes:
        marks: Warnings that cannot be switched off.
        unreadable: Candidates that are omitted because the provider's bytes cannot be decoded.
    """

    format: Literal[3] = FORMAT
    marks: tuple[str, ...]
    plan: PublicPlan
    guarantee: Guarantee
    how_made: str
    receipts: int
    transcript: TranscriptEnd
    files: tuple[ReleasedImage, ...]
    unreadable: tuple[str, ...]

    def encode(self) -> bytes:
        """Encode the manifest in canonical form; it depends only on the transcript and the images' bytes."""
        # The form is canonical because an audit rebuilds the file and compares bytes.
        return json.dumps(self.model_dump(mode="json"), indent=1, sort_keys=True).encode() + b"\n"
