"""Functions that make runs, with the same processes as ``pcevolve run``, ``preview`` and ``run --from``.

A provider is named once, and its key is never displayed:

>>> Provider("https://images.example", dialect="stability", key="sk-secret", model="sd3.5-medium")
Provider(url='https://images.example', dialect='stability', model='sd3.5-medium')
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Unpack

from rich.console import Console

from pcevolve.app.interface.notebook import render_pictures
from pcevolve.app.interface.options import RunOptions
from pcevolve.app.interface.results import Result
from pcevolve.app.session.preflight import check_run, read_options
from pcevolve.app.session.staff import carry_out, look
from pcevolve.errors import TranscriptError, UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.options import AS_KEYWORDS, spell_as
from pcevolve.public.media.images.decoding import DecodedImage, decode_picture
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
        dialect: The API's dialect: ``getimg`` for ``pcevolve-server``, ``openai``, ``chat`` for texts, or
            another. The error for an unknown name lists all.
        key: The API's key; None for ``PCEVOLVE_API_KEY`` in the environment. It is never stored.
        model: The model to use.
    """

    url: str = LOCAL
    dialect: str = "getimg"
    key: str | None = field(default=None, repr=False)
    model: str = "bundled"

    @property
    def settings(self) -> dict[str, str]:
        """The run's options for address, dialect and model; without the key."""
        return {"api": self.url, "dialect": self.dialect, "model": self.model}


@dataclass(frozen=True)
class PreviewImage:
    """One of a provider's first images.

    Attributes:
        data: The bytes as received.
    """

    label: str
    data: bytes = field(repr=False)

    def open(self) -> DecodedImage:
        """Return the pixels, as a PIL image in RGB; ``TranscriptError`` if the provider sent no image."""
        pixels = decode_picture(self.data)
        if pixels is None:
            raise TranscriptError("what the provider sent is no image")
        return pixels


@dataclass(frozen=True)
class PreviewResult:
    """A run that has begun, with the provider's first images.

    Attributes:
        page: The page that shows the images.
        images: The provider's images, class by class in the plan's order.
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
        """Return the notebook view: one row of pictures per class."""
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
        private: Folder of class folders, or ``digits`` for scikit-learn's handwritten digits. None of its
            images is sent.
        domain: Public words that describe what the images show.
        provider: The API, or its address alone. ``pcevolve-server`` serves a model of your own.
        epsilon: Total privacy budget (epsilon) of the run, > 0. A string or a fraction is exact.
        out: Folder of the run; None for a new one under ``runs``. Nothing in the folder is ever
            overwritten.
        resume: Continue the interrupted run in ``out``.
        progress: Called with a ``Progress`` at each step of the run. An error that it raises ends the run,
            which can be resumed.
        quiet: Print nothing on stderr. Costs and warnings are in the result and in the run's files.
        options: All other options of a run (``shots=10``, ``method="pe"``), which editors complete; see
            ``RunOptions``.

    Raises:
        UsageError: An option is unknown or out of bounds, or the folder contains something else.
        DataError: The private images cannot be used; nothing was spent.
        BudgetError: Too little of the budget is left; no noise was drawn.
        ProviderError: The API failed. What was paid for is on record, and ``resume=True`` continues from
            there.
        ClientError: Any other reason; the base class of the errors above.
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

    The function takes the options of ``evolve``, begins that run, requests the first images of each class,
    and stops.

    Returns:
        The first images. To continue, call ``evolve`` with the same options, this folder as ``out`` and
        ``resume=True``.

    Raises:
        ClientError: As in ``evolve``.
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
    """Make variations of a finished run's release, as a new run: ``pcevolve run --from`` as a function.

    No private data are read and nothing is spent, because the release's guarantee covers everything made
    from it.

    Args:
        run: The finished run's folder, which does not change.
        candidates: Number of variations of the release per class.
        out: Folder of the new run; None for a new one under ``runs``.
        key: The API's key; None to find it as for a run.
        resume: Continue the interrupted run in ``out``.
        progress: Called with a ``Progress`` at each step of the run.
        quiet: Print nothing on stderr.
        options: How different the variations are (``strength_end``), and how the API is used (``max_cost``,
            ``patience``).

    Returns:
        The new run, whose dataset has the variations alone, with the ε of the release.

    Raises:
        UsageError: ``run`` has no finished run, or the release already fixes an option that was given.
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
    """Check a run's options before it starts; errors as in ``evolve``."""
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
