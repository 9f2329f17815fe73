"""Honest runs, made once, of which a forger hands out altered copies."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from pcevolve.auditing import audit
from pcevolve.public.encoders import Encoder, frame_digest
from pcevolve.public.encoders.files import PublicFrame
from pcevolve.public.plan import PublicPlan
from pcevolve.wire.egress.transport import Incoming, Outgoing, Transport
from support.paid import encoder, make_paid_run
from support.predictions import JobProvider
from support.provider import FakeProvider, linking
from support.runs import ADDRESS, following_plan, small_plan

SELECTED = {
    "method": "dp-means",
    "delta": 1e-5,
    "pool": "all",
    "keep": "selected",
    "candidates": 2,
    "initial": 4,
    "prototypes": 2,
    "iterations": 1,
    "strengths": (0.8,),
    "centre_first": True,
}
RENAMED = ("max_tokens=max_completion_tokens", "temperature=")
IMAGE_HOST = "127.0.0.1:8"
LINKED = {"dialect": "siliconflow", "api": ADDRESS.base_url, "image_hosts": (IMAGE_HOST,)}


JOBS = {"dialect": "replicate", "model": "lab/painter:5c7d5dc6", "image_hosts": ("pictures.example",)}


class Slashed(FakeProvider):
    """Writes ``\\/`` for ``/``, as some servers' JSON does, so that images stand in the record's text as they are."""

    def send(self, request: Outgoing) -> Incoming:
        answer = super().send(request)
        return Incoming(answer.status, answer.headers, answer.body.replace(b"/", b"\\/"))


class Refusing(FakeProvider):
    """Does not carry out the sixth request and the fifteenth, of the first round, however often they come."""

    def __init__(self) -> None:
        super().__init__(self._refuse)
        self._known: list[bytes] = []

    def _refuse(self, request: Outgoing) -> Incoming | None:
        if request.body not in self._known:
            self._known.append(request.body)
        if self._known.index(request.body) not in (5, 14):
            return None
        return Incoming(422, (("content-type", "application/json"),), b'{"detail": "too long"}')


@dataclass(frozen=True)
class Kind:
    """A kind of run.

    Attributes:
        plan: What is planned.
        provider: Who answers.
    """

    plan: Callable[[], PublicPlan]
    provider: Callable[[], Transport] = FakeProvider


KINDS = {
    "control": Kind(small_plan),
    "kept": Kind(lambda: small_plan(keep="selected", pool="all", iterations=1, strengths=(0.8,))),
    "following": Kind(following_plan),
    "evolved": Kind(lambda: small_plan(method="pcevolve", lookahead=1, prototypes=3)),
    "auto": Kind(lambda: small_plan(**SELECTED, appearance="auto")),
    "matched": Kind(lambda: small_plan(**SELECTED, appearance="matched")),
    "as-is": Kind(lambda: small_plan(**SELECTED)),
    "at once": Kind(lambda: small_plan(**{**SELECTED, "centre_first": False})),
    "framed": Kind(lambda: small_plan(**SELECTED, frame=frame_digest("bundled", None))),
    "linked": Kind(lambda: small_plan(**LINKED), lambda: FakeProvider(linking)),
    "jobs": Kind(lambda: small_plan(**JOBS), JobProvider),
    "slashed": Kind(lambda: small_plan(lookahead=1), Slashed),
    "missing": Kind(lambda: small_plan(candidates=6, initial=6, batch=1), Refusing),
    "renamed": Kind(
        lambda: small_plan(
            dialect="chat", modality={"kind": "text", "tokens": 40, "temperature": None, "fields": RENAMED}
        )
    ),
}


@dataclass(frozen=True)
class Remembered:
    """An encoder that embeds no image twice: audits of copies ask for the same ones."""

    name: str = "bundled"
    known: dict[bytes, np.ndarray] = field(default_factory=dict)

    @property
    def dimension(self) -> int:
        return encoder().dimension

    @property
    def frame(self) -> PublicFrame | None:
        return encoder().frame

    def embed(self, pictures: Sequence[Image.Image | None]) -> np.ndarray:
        return np.concatenate([self._one(picture) for picture in pictures])

    def _one(self, picture: Image.Image | None) -> np.ndarray:
        key = b"" if picture is None else repr((picture.size, picture.mode)).encode() + picture.tobytes()
        if key not in self.known:
            self.known[key] = encoder().embed([picture])
        return self.known[key]


@cache
def remember() -> Encoder:
    return Remembered()


def faults(root: Path) -> list[str]:
    """List all that the audit says against a run."""
    return [fault for finding in audit(root, lambda name: remember()) for fault in finding.faults]


def doubts(root: Path) -> list[str]:
    """List all that the audit says against a run, and all that was NOT CHECKED."""
    findings = audit(root, lambda name: remember())
    return [
        each
        for finding in findings
        for each in (*finding.faults, *([f"NOT CHECKED: {finding.unchecked}"] if finding.unchecked else []))
    ]


@dataclass(frozen=True)
class Honest:
    """Finished runs of each kind, made when first asked for.

    Attributes:
        folder: Where they are.
    """

    folder: Path

    def copy(self, kind: str, to: Path) -> Path:
        """A copy that may be altered."""
        return Path(shutil.copytree(self._made(kind), to / "run", symlinks=True))

    def _made(self, kind: str) -> Path:
        root = self.folder / kind
        if not root.exists():
            make_paid_run(root, KINDS[kind].plan(), KINDS[kind].provider())
        return root
