"""Runs, as ``pcevolve run``, ``preview`` and ``run --from`` make them: the same processes, the same record."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Unpack

from rich.console import Console

from pcevolve.app.interface.options import RunOptions
from pcevolve.app.interface.results import Result
from pcevolve.app.session.preflight import check_run, read_options
from pcevolve.app.session.staff import carry_out, look
from pcevolve.errors import TranscriptError, UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.media.images.decoding import DecodedImage, decode_picture
from pcevolve.public.options import AS_KEYWORDS, spell_as
from pcevolve.public.pages.notebook import render_pictures
from pcevolve.public.processes import launcher
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.progress import Audience, Tell, error_console, tell_nobody
from pcevolve.public.transcript.reader import RunReader

LOCAL = "http://127.0.0.1:8000"
RUNS = Path("runs")


@dataclass(frozen=True)
class Provider:
    """An image API that is not trusted.

    Attributes:
        url: Scheme, host, port and path; ``pcevolve-server serve`` listens at the default.
        dialect: How it speaks: ``getimg`` for ``pcevolve-server``, ``openai``, ``chat`` for texts, or another one; a
            name that there is not is answered with all that there are.
        key: What opens it; ``PCEVOLVE_API_KEY`` in the environment if None. It is never written down.
        model: Which of its models is asked.
    """

    url: str = LOCAL
    dialect: str = "getimg"
    key: str | None = field(default=None, repr=False)
    model: str = "bundled"

    @property
    def settings(self) -> dict[str, str]:
        """The run's options that say where it goes and how it is spoken to; not the key."""
        return {"api": self.url, "dialect": self.dialect, "model": self.model}


@dataclass(frozen=True)
class PreviewImage:
    """One of a provider's first images.

    Attributes:
        data: The bytes as they came.
    """

    label: str
    data: bytes = field(repr=False)

    def open(self) -> DecodedImage:
        """The pixels, as a PIL image in RGB; ``TranscriptError`` where the provider sent no image."""
        pixels = decode_picture(self.data)
        if pixels is None:
            raise TranscriptError("what the provider sent is no image")
        return pixels


@dataclass(frozen=True)
class PreviewResult:
    """A run that was begun to see what the provider draws.

    Attributes:
        page: Shows them.
        images: Of each class in the plan's order, those that the provider sent.
    """

    folder: Path
    page: Path
    images: tuple[PreviewImage, ...] = field(repr=False)

    @classmethod
    def of(cls, folder: Path, page: Path) -> PreviewResult:
        """Read the first images from the run's record."""
        run = RunReader.lenient(folder)
        plan = run.require_plan()
        ordered = sorted(plan.round(0), key=lambda call: plan.labels.index(call.label))
        images = (
            PreviewImage(call.label, run.bodies.file(digest))
            for call in ordered
            for digest in run.outputs.get(call.slot, ())
        )
        return cls(folder, page, tuple(images))

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a row of pictures for each class."""
        kind = RunReader.lenient(self.folder).require_plan().modality.kind
        labels = dict.fromkeys(each.label for each in self.images)
        rows = [(label, [each.data for each in self.images if each.label == label]) for label in labels]
        return render_pictures(kind, rows)


def evolve(
    *,
    private: str | os.PathLike[str],
    domain: str,
    provider: Provider | str = LOCAL,
    epsilon: float | str | Fraction = 10,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Tell = tell_nobody,
    quiet: bool = False,
    **options: Unpack[RunOptions],
) -> Result:
    """Evolve a synthetic dataset under differential privacy: ``pcevolve run`` as a function.

    Args:
        private: Folder of class folders, or ``digits`` for scikit-learn's handwritten digits. No image of it leaves.
        domain: Public words for what the images show.
        provider: Who makes images, or the address alone. A model of your own is served by ``pcevolve-server``.
        epsilon: Total privacy budget of the run, > 0. A text or a fraction is taken exactly.
        out: Folder of the run; a new one under ``runs`` if None. Nothing in it is ever overwritten.
        resume: Continue the run that is in ``out`` where it was cut off.
        progress: Is called with a ``Progress`` whenever the run has come further. What it raises ends the run, which
            can be resumed.
        quiet: Print nothing on stderr. What the run costs and warns of is in the result and in what it writes.
        options: All other options of a run (``shots=10``, ``method="pe"``), which editors complete; see ``RunOptions``.

    Raises:
        UsageError: An option is unknown or out of bounds, or the folder holds something else.
        DataError: The private images cannot be used; nothing was spent.
        BudgetError: Not enough is left; nothing was drawn.
        ProviderError: The API failed; what was paid for is on record, ``resume=True`` goes on from there.
        ClientError: Any other reason; all of these are of this kind.
    """
    folder = _choose_folder(out)
    run = _check_run(private, domain, provider, epsilon, folder, resume, options)
    with spell_as(AS_KEYWORDS):
        summary = carry_out(run, _make_audience(progress, quiet), launcher.start_children())
    return Result.of(folder, summary)


def preview(
    *,
    private: str | os.PathLike[str],
    domain: str,
    provider: Provider | str = LOCAL,
    epsilon: float | str | Fraction = 10,
    out: str | os.PathLike[str] | None = None,
    progress: Tell = tell_nobody,
    quiet: bool = False,
    **options: Unpack[RunOptions],
) -> PreviewResult:
    """Show what the provider draws for the classes: ``pcevolve preview`` as a function. No privacy budget is spent.

    It takes what ``evolve`` takes, begins that run, asks for the first images of each class and leaves it there.

    Returns:
        The first images. ``evolve`` with the same options, its folder as ``out`` and ``resume=True`` goes on.

    Raises:
        ClientError: As ``evolve`` does.
    """
    folder = _choose_folder(out)
    run = _check_run(private, domain, provider, epsilon, folder, True, options)
    with spell_as(AS_KEYWORDS):
        page = look(run, _make_audience(progress, quiet), launcher.start_children())
    return PreviewResult.of(folder, page)


def vary(
    run: str | os.PathLike[str],
    *,
    candidates: int,
    out: str | os.PathLike[str] | None = None,
    key: str | None = None,
    resume: bool = False,
    progress: Tell = tell_nobody,
    quiet: bool = False,
    **options: Any,  # noqa: ANN401 - what RunConfig declares
) -> Result:
    """More images of what a finished run released, as a run of its own: ``pcevolve run --from`` as a function.

    No private data are read, and nothing is spent: the release's promise covers what is made of it.

    Args:
        run: The finished run's folder, which does not change.
        candidates: Variations of the release for each class.
        out: Folder of the new run; a new one under ``runs`` if None.
        key: What opens the API; as for the run if None.
        resume: Continue the run that is in ``out`` where it was cut off.
        progress: Is called with a ``Progress`` whenever the run has come further.
        quiet: Print nothing on stderr.
        options: How different they are (``strength_end``), and how the API is reached (``max_cost``, ``patience``).

    Returns:
        The new run: the variations alone, with the ε of the release.

    Raises:
        UsageError: It is no finished run, or an option is settled by its release.
        ClientError: Any other reason.
    """
    folder = _choose_folder(out)
    values = {**options, "from_run": os.fspath(run), "candidates": candidates, "out": folder}
    with spell_as(AS_KEYWORDS):
        checked = check_run(read_options(values), resume, key)
        summary = carry_out(checked, _make_audience(progress, quiet), launcher.start_children())
    return Result.of(folder, summary)


def _choose_folder(out: str | os.PathLike[str] | None) -> Path:
    return RUNS / f"{datetime.now():%Y-%m-%d-%H%M%S}" if out is None else Path(out)


def _make_audience(progress: Tell, quiet: bool) -> Audience:
    return Audience(Console(quiet=True) if quiet else error_console(), progress)


def _check_run(
    private: str | os.PathLike[str],
    domain: str,
    provider: Provider | str,
    epsilon: float | str | Fraction,
    folder: Path,
    resume: bool,
    options: Mapping[str, Any],
) -> CheckedRun:
    """Refuse what cannot be carried out; errors as ``evolve``."""
    asked = Provider(provider) if isinstance(provider, str) else provider
    values = {"private": os.fspath(private), "domain": domain, "epsilon": epsilon, "out": folder}
    if not isinstance(asked, Provider):
        raise UsageError(
            f"provider is an address or a pcevolve.Provider, not a {type(asked).__name__}: a model of your own is "
            "reached through a server: pcevolve-server serve --model DIR"
        )
    if twice := sorted({"api", "dialect", "model", "api_key_file"} & options.keys()):
        raise UsageError(
            f"{twice[0]} belongs to the provider: give provider=Provider(url, dialect, key, model)"
        )
    with spell_as(AS_KEYWORDS):
        return check_run(RunConfig.of({**options, **values, **asked.settings}), resume, asked.key)
