"""Refusals before any of a run's data is read: options, then paths, then budget and ledger.

None of a run's libraries is imported here (torch, SciPy, an HTTP client), so that a refusal comes at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcevolve.egress.address import require_address, require_key
from pcevolve.encoders import require_encoder
from pcevolve.encoders.choice import AUTO
from pcevolve.errors import DataError, LedgerError, UsageError
from pcevolve.ledger.creation import key_beside, require_volume
from pcevolve.privacy import Budget
from pcevolve.private.sources import (
    OF_CLASSES,
    OF_IMAGES,
    PICTURES,
    TermsSource,
    parse_source,
    require_folder,
)
from pcevolve.public.fields import IN_PROCESS
from pcevolve.public.figures import parse_epsilon
from pcevolve.public.options import flag, options_of
from pcevolve.session.folder import RunFolder
from pcevolve.session.settings import REST, RunSettings, ledger_volume

if TYPE_CHECKING:
    from pcevolve.egress.in_process import Generator


@dataclass(frozen=True)
class CheckedRun:
    """A run that was asked for, and that nothing speaks against as far as one can tell without its data.

    Attributes:
        settings: Its options; those that it began with, if it is resumed.
        folder: Where it goes.
        resume: Whether a run in that folder may be continued.
        budget: What the run may spend.
        lifetime: What all runs together may spend on any one privacy unit.
        key: What opens the API; None where it wants none.
        generator: Makes the images inside this process, without any boundary; None where an API does.
    """

    settings: RunSettings
    folder: RunFolder
    resume: bool
    budget: Budget
    lifetime: Budget
    key: str | None = field(default=None, repr=False)
    generator: Generator | None = None


def checked(
    settings: RunSettings,
    resume: bool = False,
    key: str | None = None,
    generator: Generator | None = None,
) -> CheckedRun:
    """Refuse a run that cannot be carried out as it was asked for; nothing is made or changed.

    Args:
        settings: What was asked for.
        resume: Whether to continue the run that is in its folder, if there is one.
        key: What opens the API; as the settings say where none is given.
        generator: Makes the images inside this process; the settings have ``IN_PROCESS`` for an address then.

    Raises:
        UsageError: An option or the folder of the run is not as it must be.
        DataError: There is no such folder of private or test images.
        LedgerError: The ledger is gone, would not outlive a container, or cannot have such a name.
    """
    folder = RunFolder(settings.out)
    if resume and folder.config.exists():
        settings = resumed(RunSettings.load(folder.config), settings)
    key = settings.key() if key is None else key
    _check_figures(settings)
    _require_somebody(settings, generator)
    _check_paths(settings, folder, resume)
    _check_names(settings, key)
    budget = _budget(settings)
    return CheckedRun(settings, folder, resume, budget, _lifetime(settings, budget), key, generator)


def continued(root: Path, given: Mapping[str, Any]) -> RunSettings:
    """The options of the run in a folder, under what was given now; ``checked`` says which of that may be.

    Args:
        root: Folder of a run that was cut off; or of one that is to begin there, if ``given`` says enough for that.
        given: Options by name, as they were typed.

    Raises:
        UsageError: There is no run to continue, or an option cannot be.
    """
    out = given.get("out")
    if out is not None and Path(str(out)).absolute() != root.absolute():
        raise UsageError(f"--resume {root} and --out {out} are two folders: leave --out out")
    folder = RunFolder(root)
    begun = folder.has_plan()  # asked first: another version's options may be no options of this one
    config = folder.config
    if config.exists():
        # Who said yes when it began may be somebody else than who goes on.
        began = RunSettings.load(config).model_dump(exclude_none=True, exclude={"yes"})
        return RunSettings.of({**began, **given, "out": root})
    if begun:
        raise UsageError(f"{config} is gone, and with it the options that this run began with: restore it")
    if not given.keys() & {"private", "domain"}:
        raise UsageError(f"--resume {root}: there is no run to continue; pcevolve run begins one")
    return RunSettings.of({**given, "out": root})


def resumed(stored: RunSettings, given: RunSettings) -> RunSettings:
    """The options that a run began with, with new ones for how to reach the API and for limits on its use.

    Raises:
        UsageError: Another option was given that is not what the run began with.
    """
    changeable = {each.name for each in options_of(RunSettings) if each.setting.resumable}
    for option in sorted(options_of(RunSettings), key=lambda option: option.name):
        began, now = getattr(stored, option.name), getattr(given, option.name)
        fixed = option.name in given.model_fields_set - changeable - {"out"}
        # ``auto`` is the encoder that it began with, whatever was fetched since.
        left_open = option.name == "encoder" and now == AUTO
        if fixed and now != began and not left_open:
            raise UsageError(
                f"{option.flag} is not what this run began with, which was {began}: a run's options do not change; "
                "leave it out, or begin a new run with another --out"
            )
    return stored.model_copy(update=given.model_dump(include=changeable))


def _check_figures(settings: RunSettings) -> None:
    """Refuse figures and an address that no run can have, which takes least to tell."""
    parse_epsilon(settings.epsilon)
    if settings.lifetime_epsilon is not None:
        parse_epsilon(settings.lifetime_epsilon, "--lifetime-epsilon")
    require_address(settings.api)
    _require_writers(settings)
    _require_engine(settings)


def _check_names(settings: RunSettings, key: str | None) -> None:
    """Refuse a dialect and an encoder that there are not; the dialects take a moment to import."""
    from pcevolve.providers import dialect

    require_key(key, dialect(settings.dialect).scheme)
    _require_encoder(settings)


def _require_writers(settings: RunSettings) -> None:
    """Refuse a form that could not be written in the end."""
    if settings.formats:
        from pcevolve.publish.exports import require_writer

        for form in settings.formats:
            require_writer(form)


def _require_engine(settings: RunSettings) -> None:
    """Refuse an engine that is not installed, or that cannot read these data."""
    if settings.engine != "ray":
        if settings.ray_address is not None:
            raise UsageError("--ray-address is for --engine ray: give both, or neither")
        return
    if find_spec("ray") is None or find_spec("pyarrow") is None:
        raise UsageError("--engine ray needs Ray: install pcevolve[ray], or leave --engine out")
    if isinstance(parse_source(settings.private), PICTURES):
        raise UsageError(
            "--engine ray reads images from files: give --private a folder, or leave --engine out"
        )


def _require_somebody(settings: RunSettings, generator: Generator | None) -> None:
    """Refuse a run that would call itself one inside the process and is none, and the other way round."""
    if (settings.api == IN_PROCESS) != (generator is not None):
        raise UsageError(
            f"--api {IN_PROCESS} is what a run has for an address whose generator is handed to pcevolve.evolve as an "
            "object; it leads nowhere: give the address of an API, or such a generator"
        )


def _require_encoder(settings: RunSettings) -> None:
    """Refuse an encoder that there is not, and weights that nobody says the architecture of."""
    if settings.encoder != AUTO:
        require_encoder(settings.encoder)
    elif settings.encoder_weights is not None:
        raise UsageError("--encoder-weights FILE: say with --encoder NAME which encoder's weights these are")


def _check_paths(settings: RunSettings, folder: RunFolder, resume: bool) -> None:
    """Refuse paths that lead nowhere, or where a run would overwrite or lose something."""
    folder.refuse_overwriting(resume)
    _check_data(settings)
    if settings.prompts is not None and not Path(settings.prompts).is_file():
        raise UsageError(f"--prompts {settings.prompts}: no such file; pcevolve prompts writes one")
    require_volume(settings.ledger, ledger_volume())
    key_beside(settings.ledger)
    if resume and folder.has_plan():
        require_ledger(settings.ledger)


def _check_data(settings: RunSettings) -> None:
    """Refuse private and held-out data that the API's kind could not be; the dialects take a moment to import."""
    from pcevolve.providers import dialect

    makes_texts = dialect(settings.dialect).makes == "text"
    (_require_texts if makes_texts else _require_images)(settings)


def require_ledger(path: Path) -> None:
    """Refuse to go on with a run whose ledger is gone, and with it the memory of what the run has drawn.

    Raises:
        LedgerError: There is no ledger at the path.
    """
    if not path.exists():
        raise LedgerError(
            f"the ledger of this run is gone from {path}: restore it and its key, or begin a new run; with "
            "another ledger this one would draw again what it has drawn"
        )


def _budget(settings: RunSettings) -> Budget:
    """Return the budget of the run; where no δ is given, with its method's.

    Raises:
        UsageError: There is no such method.
    """
    from pcevolve.selectors import default_delta

    delta = default_delta(settings.method)  # looked up whether it is needed or not: the method has to exist
    return Budget(parse_epsilon(settings.epsilon), delta if settings.delta is None else settings.delta)


def _lifetime(settings: RunSettings, budget: Budget) -> Budget:
    """Return the budget of all runs together for any one privacy unit; this run's where nothing else is given."""
    epsilon = parse_epsilon(settings.lifetime_epsilon) if settings.lifetime_epsilon else budget.epsilon
    return Budget(epsilon, budget.delta if settings.lifetime_delta is None else settings.lifetime_delta)


OF_TEXTS_ALONE = (
    "text_column",
    "label_column",
    "unit_column",
    "secrets",
    "secret_columns",
    "detect_secrets",
)
"""Options that no run with images has, beside those that its dialect lacks."""


def _require_images(settings: RunSettings) -> None:
    """Refuse paths of images that lead nowhere, and options that are about texts.

    Raises:
        UsageError: An option or a path is not as it must be.
        DataError: There is no such folder or file.
    """
    _require_no_texts(settings)
    source = parse_source(settings.private)
    if isinstance(source, TermsSource):
        raise UsageError(
            "--private terms are texts, and this API makes images: --dialect chat is for APIs that write"
        )
    if not isinstance(source, PICTURES):
        _require_image_files(settings, source.path)
    elif settings.unit_map or settings.unlabelled or settings.subsample or settings.window:
        raise UsageError(
            "--unit-map, --unlabelled, --subsample and --window are for a folder of images, not for digits or cells"
        )


def _require_no_texts(settings: RunSettings) -> None:
    """Refuse an option that is about texts."""
    for name in OF_TEXTS_ALONE:
        if getattr(settings, name) not in (None, False, ()):
            raise UsageError(f"{flag(name, RunSettings)} is about texts, and this API makes images")


def _require_image_files(settings: RunSettings, private: Path) -> None:
    """Refuse a folder of private or held-out images, a map or weights that are not there."""
    require_folder(private, OF_IMAGES if settings.unlabelled else OF_CLASSES, "--private ")
    if settings.test not in (None, REST):
        require_folder(Path(settings.test), OF_CLASSES, "--test ")
    if settings.unit_map is not None and not settings.unit_map.is_file():
        raise DataError(f"--unit-map {settings.unit_map}: no such file")
    if settings.encoder_weights is not None and not Path(settings.encoder_weights).is_file():
        raise UsageError(f"--encoder-weights {settings.encoder_weights}: no such file")


OF_IMAGES_ALONE = ("unit_map", "engine", "window")
"""Options that no run with texts has, beside those that its dialect lacks."""


def _require_texts(settings: RunSettings) -> None:
    """Refuse paths of texts that lead nowhere, and options that are about images.

    Raises:
        UsageError: An option or a path is not as it must be.
        DataError: There is no such table or folder.
    """
    for name in OF_IMAGES_ALONE:
        if getattr(settings, name) not in (None, "local"):
            raise UsageError(f"{flag(name, RunSettings)} is about images, and this API writes texts")
    source = parse_source(settings.private)
    if isinstance(source, PICTURES):
        raise UsageError(
            "--private digits are images, as cells are, and this API writes texts: give a table or a folder of texts"
        )
    _require_secrets(settings)
    if not isinstance(source, TermsSource):
        _require_text_files(settings, source.path)
    elif settings.subsample or settings.unit_column or settings.unlabelled or settings.secret_columns:
        raise UsageError(
            "--subsample, --unlabelled, --unit-column and --secret-column are for your own texts, not for the terms"
        )


def _require_secrets(settings: RunSettings) -> None:
    """Refuse a list of secrets that cannot be read, or that nothing could be promised of."""
    from pcevolve.session.secrecy import declared, has_secrets, promised  # NumPy takes a moment to import

    if has_secrets(settings):
        promise = promised(settings.secret_prior, settings.secret_bound, settings.secret_size)
        declared(settings, promise)


def _require_text_files(settings: RunSettings, private: Path) -> None:
    """Refuse private or held-out texts, columns or weights that are not there."""
    from pcevolve.private.records import require_records  # NumPy takes a moment to import

    require_records(private, "--private ")
    if settings.secret_columns and private.is_dir():
        raise UsageError("--secret-column names a column of a table, and --private is a folder")
    if settings.encoder_weights is not None and not Path(settings.encoder_weights).is_dir():
        raise UsageError(f"--encoder-weights {settings.encoder_weights}: no such directory")
    if settings.test not in (None, REST):
        require_records(Path(settings.test), "--test ")
