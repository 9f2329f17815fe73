"""Compound parts of a public plan: earlier releases, promises, the provider's statements, a run's start."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from pcevolve.errors import spell_out
from pcevolve.public import settings
from pcevolve.public.figures import in_full
from pcevolve.public.privacy import Event
from pcevolve.public.settings import Digest

LONGEST_LINE = 256
LONGEST_TEXT = 4096


def _readable(text: str) -> str:
    if not all(each.isprintable() or each == "\n" for each in text):
        raise ValueError("has characters that cannot be seen")
    return text


Line = Annotated[str, Field(max_length=LONGEST_LINE), AfterValidator(settings.require_one_line)]
Text = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(_readable)]
Count = Annotated[int, Field(ge=1, le=10**12)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)


class LedgerCap(_Part):
    """The cap when the run began: a limit on what all runs of a ledger may spend together on any one unit."""

    epsilon: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    delta: settings.Delta


class PriorReleases(_Part):
    """The releases to any provider that the ledger contained when this run began.

    All secure runs that had paid for something count, **on any data**. Which runs share images or patients is
    private, and a statement that depended on it would reveal it. The statement therefore does not claim that any
    unit took part in all of these runs; it states only the loss of such a unit. A run that was in progress counts
    with its releases so far. That run's own statement covers the rest.

    Attributes:
        releases: Number of such runs.
        events: Events of these runs, each scaled to the group of their units that changes with one unit of this run.
            None if the group is unknown: the neighbour relation differs, or the kind of unit differs and
            ``unit_size`` is unset.
        cap: None if no cap is set.
    """

    releases: Annotated[int, Field(ge=0)] = 0
    events: tuple[Event, ...] | None = ()
    cap: Annotated[LedgerCap | None, Field(exclude_if=lambda value: value is None)] = None


class Start(_Part):
    """The release that a run starts from. Its images are public, and the run sends each of them to the API.

    Attributes:
        manifest: SHA-256 of the release's ``manifest.json``.
        images: For each class, SHA-256 of its files in the manifest's order.
        strength: Image-to-image strength of all variations; None if requests set no strength.
        events: All events on the private data for that release, which determine its ε.
    """

    manifest: Digest
    images: Annotated[tuple[Annotated[tuple[Digest, ...], Field(min_length=1)], ...], Field(min_length=1)]
    strength: settings.Strength | None = None
    events: tuple[Event, ...] = ()


class Secrecy(_Part):
    """Promise: a secret guessed with probability ``prior`` before the run is guessed with at most ``bound`` after it.

    Attributes:
        prior: p.
        bound: r.
        most: Largest number of private texts that contain one secret.
    """

    prior: Annotated[float, Field(gt=0, lt=1)]
    bound: Annotated[float, Field(gt=0, lt=1)]
    most: Annotated[int, Field(ge=1)]

    @property
    def words(self) -> str:
        """The promise in a few words, printed next to an ε."""
        before = in_full(self.prior)
        return f"guessed with at most {self.bound} where it was {before}, in at most {self.most} texts each"

    @model_validator(mode="after")
    def _is_weaker_than_a_guess(self) -> Self:
        if self.bound < self.prior:
            raise ValueError(
                "method.secret_bound must not be below method.secret_prior, which guessing reaches"
            )
        return self


Exact = Literal["shared", "alone", "merged", "no"]
"""The provider's promise for a repeated request.

``shared``: the same bytes, whichever requests share the batch. ``alone``: the same bytes, because each request
has a batch to itself. ``merged``: the same up to rounding. ``no``: no promise.
"""


class Confinement(_Part):
    """The mechanism that kept private files and the network in two separate processes, as stated by the client.

    Attributes:
        by: The machine's kernel, or containers of which one has no network.
        landlock: Landlock version of the kernel; set only for ``kernel``.
    """

    by: Literal["kernel", "containers"]
    landlock: Annotated[int | None, Field(ge=1, le=99)] = None

    @property
    def words(self) -> str:
        """The enforcing mechanism, in words."""
        return (
            "by containers"
            if self.by == "containers"
            else f"by the kernel (Landlock {self.landlock}, seccomp)"
        )

    @model_validator(mode="after")
    def _names_what_is_the_kernels(self) -> Self:
        if (self.landlock is None) == (self.by == "kernel"):
            raise ValueError("landlock is what a kernel enforces")
        return self


class Licence(_Part):
    """A licence, and the number of the library's images that are under it."""

    name: Line
    images: Count


class LicenceNotice(_Part):
    """A licence, a notice or a list of sources."""

    name: Line
    sha256: Digest
    text: Text


class Library(_Part):
    """A library of real public images that replaces a generator, with its licences, as stated by its provider.

    The statement is recorded, shown as text and compared with the record. Neither requests nor promises depend on
    it.

    Attributes:
        licences: Licences of single images.
        files: Terms under which the images may be passed on.
    """

    images: Count
    licences: Annotated[tuple[Licence, ...], Field(max_length=32)] = ()
    files: Annotated[tuple[LicenceNotice, ...], Field(max_length=4)] = ()


def make_readable(text: str) -> str:
    """Truncate foreign text and escape its invisible characters, which could mislead a reader."""
    return spell_out(text)[:LONGEST_TEXT]


def make_one_line(text: str) -> str:
    """Return a text as one line, without control characters."""
    return make_readable(" ".join(text.split()))[:LONGEST_LINE]
