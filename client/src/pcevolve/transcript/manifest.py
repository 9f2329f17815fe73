"""The manifest of a release: what is in it, what it promises, and where its transcript ends."""

from __future__ import annotations

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict

from pcevolve.privacy import Event, Relation
from pcevolve.public.plan import PublicPlan
from pcevolve.public.settings import Digest
from pcevolve.transcript.layout import FORMAT


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Guarantee(_Part):
    """A run's guarantee.

    Attributes:
        epsilon_spent: What it spent, at ``delta``; None for an INSECURE run, which promises nothing.
        epsilon_folder: What one unit of the folder bears that the private dataset was drawn from, at ``delta``;
            None where nothing was drawn, or nothing is promised.
        events: Every mechanism that was run, with its exact parameters.
    """

    epsilon_budget: float
    epsilon_spent: float | None
    epsilon_folder: float | None = None
    delta: float
    relation: Relation
    unit: str
    events: tuple[Event, ...]
    statement: str
    assumed_public: tuple[str, ...]


class TranscriptEnd(_Part):
    """The end of the transcript: its number of lines and the digest of the last one."""

    head: Digest
    lines: int


class ReleasedImage(_Part):
    """A file of the dataset.

    Attributes:
        path: In the release folder, with ``/``.
        received_sha256: Of the bytes that the provider had sent, which the transcript holds.
    """

    path: str
    sha256: Digest
    candidate: str
    received_sha256: Digest


class Manifest(_Part):
    """``release/manifest.json``.

    Attributes:
        marks: Warnings that nobody can switch off.
        unreadable: Candidates that would be in it, could what the provider sent be used.
    """

    format: Literal[2] = FORMAT
    marks: tuple[str, ...]
    plan: PublicPlan
    guarantee: Guarantee
    how_made: str
    receipts: int
    transcript: TranscriptEnd
    files: tuple[ReleasedImage, ...]
    unreadable: tuple[str, ...]

    def encode(self) -> bytes:
        """The one spelling of the manifest: a function of the transcript and of the images' bytes."""
        # One spelling, because an audit makes the file again and compares bytes.
        return json.dumps(self.model_dump(mode="json"), indent=1, sort_keys=True).encode() + b"\n"
