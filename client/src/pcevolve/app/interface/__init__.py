"""The functions and values of ``import pcevolve``: the command line's work, for scripts and notebooks.

Nothing is decided here. Options go to ``session`` as the command line's do, and what comes back is read from the run's
folder, so that a run made here and one made there differ in nothing: gate, ledger, plan, record and audit are the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Unpack

from rich.console import Console

from pcevolve.app.interface.options import PlanOptions, RunOptions
from pcevolve.app.session.first.pricing import PlannedRun, price, tabulate_plan
from pcevolve.app.session.preflight import check_run, read_options
from pcevolve.app.session.whole import carry_out
from pcevolve.auditing import Audit as AuditResult
from pcevolve.auditing import find_encoder
from pcevolve.auditing import pack as write_pack
from pcevolve.errors import TranscriptError, UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.declared import validate
from pcevolve.public.figures import format_loss, in_full
from pcevolve.public.media.images.decoding import DecodedImage, decode_picture
from pcevolve.public.options import AS_KEYWORDS, spell_as
from pcevolve.public.pages.notebook import render_notebook, render_table
from pcevolve.public.plan import PublicPlan
from pcevolve.public.processes import launcher
from pcevolve.public.publish.dataset import summarise
from pcevolve.public.publish.exports import export_run
from pcevolve.public.publish.loss import PrivacyLoss
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.progress import Audience, Progress, Tell, error_console, tell_nobody
from pcevolve.public.selectors.planner import BudgetPlan
from pcevolve.public.transcript.layout import RunLayout
from pcevolve.public.transcript.reader import FinishedRun, RunReader

__all__ = [
    "AuditResult",
    "BudgetPlan",
    "DatasetImage",
    "Progress",
    "Provider",
    "Result",
    "audit",
    "evolve",
    "load",
    "pack",
    "plan",
    "vary",
]

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
class DatasetImage:
    """One image of a released dataset.

    Attributes:
        path: The PNG.
        id: The candidate's name on record.
    """

    path: Path
    label: str
    id: str

    @property
    def data(self) -> bytes:
        """The file."""
        return self.path.read_bytes()

    def open(self) -> DecodedImage:
        """The pixels, as a PIL image in RGB; ``TranscriptError`` if it is no image any more."""
        pixels = decode_picture(self.data)
        if pixels is None:
            raise TranscriptError(
                f"{self.path} is not the image that was released: pcevolve.audit tells more"
            )
        return pixels


@dataclass(frozen=True, repr=False)
class Result:
    """A finished run.

    Attributes:
        folder: Where it lies; it may be shared as it is.
        summary: Figures for programs; of a run that was just made also its cost, seconds and accuracies.
    """

    folder: Path
    summary: Mapping[str, Any]
    _run: FinishedRun = field(compare=False)

    @classmethod
    def of(cls, folder: Path, told: Mapping[str, Any] | None = None) -> Result:
        """Read a finished run.

        Args:
            told: The summary of a run that was just made; made anew from the record if None.

        Raises:
            UsageError: The run is unfinished, or it is none.
            TranscriptError: Its record or manifest is damaged.
        """
        RunLayout(folder).require_transcript()
        record = RunReader.strict(folder)
        run = FinishedRun.of(record)
        figures = summarise(record, run.plan, len(run.manifest.files)) if told is None else told
        return cls(folder, dict(figures), run)

    @property
    def plan(self) -> PublicPlan:
        """The public plan of the run, and with it what is assumed to be public."""
        return self._run.plan

    @property
    def epsilon(self) -> float | None:
        """ε of the run for every unit of the private folder, at ``delta``; None for one that promises nothing."""
        return self._run.manifest.guarantee.epsilon_spent

    @property
    def delta(self) -> float:
        """δ of the promise."""
        return self._run.manifest.guarantee.delta

    @property
    def marks(self) -> tuple[str, ...]:
        """Reasons to doubt the run's privacy as such; empty for a run that keeps its promise."""
        return self._run.manifest.marks

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes, in the plan's order."""
        return self._run.plan.labels

    @cached_property
    def images(self) -> tuple[DatasetImage, ...]:
        """The dataset, in the manifest's order."""
        release = self._run.record.layout.release
        return tuple(
            DatasetImage(release / each.path, each.label, each.candidate) for each in self._run.manifest.files
        )

    @property
    def dataset(self) -> Path:
        """The release folder: class folders, as ``torchvision.datasets.ImageFolder`` and ``datasets`` load them."""
        return self._run.record.layout.release

    @property
    def report(self) -> Path:
        """The page about the run."""
        return self._run.record.layout.report

    def export(self, form: str) -> Path:
        """Write the dataset as ``parquet`` or ``webdataset`` (else ``UsageError``) and return its folder."""
        with RunFolder(self.folder).hold():
            return export_run(self.folder, [form])[0]

    def audit(
        self,
        *,
        capture: str | os.PathLike[str] | None = None,
        sources: Sequence[str | os.PathLike[str]] = (),
        encoder_weights: str | None = None,
        html: bool = False,
    ) -> AuditResult:
        """Check the run from its record: ``pcevolve.audit`` of its folder."""
        return audit(
            self.folder,
            capture=capture,
            sources=sources,
            encoder_weights=encoder_weights,
            html=html,
        )

    def __repr__(self) -> str:
        """One line, the marks first."""
        said = "".join(f"{mark}; " for mark in self.marks)
        promised = (
            "no guarantee"
            if self.epsilon is None
            else PrivacyLoss.of(self.plan, self._run.manifest.guarantee.events).say(digits=4)
        )
        if self.plan.promised_secrecy is not None:
            said += f"listed secrets {self.plan.promised_secrecy.words}; "
        count = f"{len(self._run.manifest.files)} images in {len(self.labels)} classes"
        return f"<Result: {said}{count}, {promised}, delta {in_full(self.delta)}, in {str(self.folder)!r}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: marks, promise, and a contact sheet."""
        return render_notebook(self._run)


def load(run: str | os.PathLike[str]) -> Result:
    """Open a run that was finished earlier, here or by the command line.

    Raises:
        UsageError: The run is unfinished, or it is none.
        TranscriptError: Its record or manifest is damaged.
    """
    return Result.of(Path(run))


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
    asked = Provider(provider) if isinstance(provider, str) else provider
    folder = _choose_folder(out)
    values = {"private": os.fspath(private), "domain": domain, "epsilon": epsilon, "out": folder}
    if not isinstance(asked, Provider):
        raise UsageError(
            f"provider is an address or a pcevolve.Provider, not a {type(asked).__name__}: a model of your own is "
            "reached through a server: pcevolve-server serve --model DIR"
        )
    if twice := sorted({"api", "dialect", "model", "api_key_file"} & options.keys()):
        raise UsageError(
            f"{twice[0]} is said by the provider: give provider=Provider(url, dialect, key, model)"
        )
    console = Console(quiet=True) if quiet else error_console()
    with spell_as(AS_KEYWORDS):
        run = check_run(RunConfig.of({**options, **values, **asked.settings}), resume, asked.key)
        summary = carry_out(run, Audience(console, progress), launcher.start_children())
    return Result.of(folder, summary)


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
    console = Console(quiet=True) if quiet else error_console()
    with spell_as(AS_KEYWORDS):
        checked = check_run(read_options(values), resume, key)
        summary = carry_out(checked, Audience(console, progress), launcher.start_children())
    return Result.of(folder, summary)


def _choose_folder(out: str | os.PathLike[str] | None) -> Path:
    return RUNS / f"{datetime.now():%Y-%m-%d-%H%M%S}" if out is None else Path(out)


class PricedPlan(BudgetPlan):
    """The price and the worth of a run, which a notebook shows as a table."""

    def __repr__(self) -> str:
        """One line: what it costs and whether it is worth that."""
        total = format_loss(self.epsilon_total, 4)
        return f"<Plan: {self.method}, epsilon {total} at delta {in_full(self.delta)}: {self.verdict}>"

    def _repr_html_(self) -> str:
        said = f"{self.method}: selection against noise is {self.verdict}"
        return render_table(said, tabulate_plan(self))


def plan(method: str = "auto", **options: Unpack[PlanOptions]) -> PricedPlan:
    """Price a run and say what it would be worth: ``pcevolve budget plan``. Nothing is read and nothing spent.

    Args:
        method: Which method, or ``auto``.
        options: Budget and public sizes of the run, which editors complete; see ``PlanOptions``.

    Returns:
        Price and worth; ``reason`` says why ``auto`` chose its method.

    Raises:
        UsageError: An option is unknown or out of bounds, or such a run cannot be.
    """
    with spell_as(AS_KEYWORDS):
        return PricedPlan(**vars(price(validate(PlannedRun, {"method": method, **options}))))


def audit(
    run: str | os.PathLike[str],
    *,
    capture: str | os.PathLike[str] | None = None,
    sources: Sequence[str | os.PathLike[str]] = (),
    encoder_weights: str | None = None,
    html: bool = False,
) -> AuditResult:
    """Check from a run's record alone that nothing left without a reason: ``pcevolve audit`` as a function.

    Args:
        run: The run's folder.
        capture: What an independent recorder between client and API saw.
        sources: The run whose release it starts from, if it starts from one, and so on.
        encoder_weights: The file that the run was given as ``encoder_weights``, if it was.
        html: Also write the audit's own pages into ``audit/`` in the run's folder.

    Returns:
        The findings, with what was not verified and, unless something is broken, the figures of the run; false if one
        does not hold, or was not checked.

    Raises:
        UsageError: It is not the folder of a run, or another version made it.
        TranscriptError: The capture cannot be read.
    """
    load = partial(find_encoder, weights=encoder_weights)
    with RunFolder(Path(run)).hold(as_found=True) if html else nullcontext():
        audited = AuditResult.of(
            Path(run), load, None if capture is None else Path(capture), [Path(each) for each in sources]
        )
        if html:
            audited.write_pages()
    return audited


def pack(
    run: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    encoder_weights: str | None = None,
) -> Path:
    """Write what may be shared of a finished run as one zip, and nothing else: ``pcevolve pack`` as a function.

    Args:
        run: The run's folder, which is audited first.
        out: The zip; beside the run's folder, under its name, if None.
        encoder_weights: The file that the run was given as ``encoder_weights``, if it was.

    Returns:
        The zip. It audits once it is unzipped, and is the same whenever and wherever it is made.

    Raises:
        UsageError: The run is unfinished or none, or the zip is there already.
        TranscriptError: The run's audit is broken.
    """
    root = Path(run).absolute()
    path = root.with_name(f"{root.name}.zip") if out is None else Path(out)
    return write_pack(audit(run, encoder_weights=encoder_weights), path)
