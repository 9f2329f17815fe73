"""Check a run before any of its data is read: options, then paths, then budget and ledger.

This module imports none of a run's libraries (torch, SciPy, an HTTP client), so that errors are reported at
once.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pcevolve.app.session.access import require_apart
from pcevolve.errors import DataError, TranscriptError, UsageError
from pcevolve.keeper.ledger.creation import locate_key, require_volume
from pcevolve.public.config.addresses import require_address, require_key
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.data_source import (
    OF_CLASSES,
    OF_IMAGES,
    FolderSource,
    find_roster,
    parse_source,
    require_folder,
    require_kind,
)
from pcevolve.public.config.declared import list_options, spell
from pcevolve.public.config.files import REST, find_ledger_volume
from pcevolve.public.config.options import spell_before, spell_flag
from pcevolve.public.dialects import find_abilities
from pcevolve.public.encoders import AUTO, require_encoder, require_torch
from pcevolve.public.modality import MODALITIES, Modality
from pcevolve.public.run.checked import (
    CheckedRun,
    find_foreign_options,
    find_unused_namespace,
    refuse_options,
    require_ledger,
)
from pcevolve.public.run.folder import LOST, RunFolder
from pcevolve.public.run.owner import OwnerFolder

TAKEN: Final = frozenset({
    "from_run", "out", "candidates", "seed", "batch", "at_once", "strength_end", "api", "operator",
    "retention", "formats", "licence",
})  # fmt: skip
"""Options that a run from a release accepts, besides those of its API; the release fixes all others."""


def ask_run(given: Mapping[str, Any], resume: Path | None = None, *, may_go_on: bool = False) -> CheckedRun:
    """Turn given options into a run request.

    Args:
        resume: Folder of a run to continue, or to begin if none has begun there.
        may_go_on: Whether a run in the options' own folder may be continued.

    Raises:
        ClientError: As in ``read_options``, ``continue_options`` and ``check_run``.
    """
    settings = read_options(given) if resume is None else continue_options(resume, given)
    return check_run(settings, may_go_on or resume is not None)


def check_run(settings: RunConfig, resume: bool = False, key: str | None = None) -> CheckedRun:
    """Refuse a run that cannot be carried out with its options; nothing is created or changed.

    Raises:
        UsageError: An option or the folder of the run is wrong.
        DataError: The folder of private or test images does not exist.
        LedgerError: The ledger is missing, would be lost with its container, or has an impossible name.
    """
    folder = RunFolder(settings.output.folder)
    if resume and (stored := _find_stored(folder, settings.privacy.ledger)) is not None:
        settings = merge_options(stored, settings)
    run = CheckedRun(settings, resume, settings.key() if key is None else key)
    # Fast checks first, so that a typing error is reported at once.
    _ = run.budget, run.lifetime
    require_address(settings.provider.api)
    _require_writers(settings)
    _check_paths(settings, folder, resume)
    require_key(run.key, find_abilities(settings.provider.dialect).scheme)
    _require_encoder(settings)
    return run


def continue_options(root: Path, given: Mapping[str, Any]) -> RunConfig:
    """Return the options of the run in a folder, with those given now; ``check_run`` refuses changes of fixed ones.

    Args:
        root: Folder of an interrupted run; or of a new run, if ``given`` has all its options.

    Raises:
        UsageError: There is no run to continue, or an option is impossible.
    """
    out = given.get("out")
    if out is not None and Path(str(out)).absolute() != root.absolute():
        raise UsageError(f"--resume {root} and --out {out} are different folders: leave --out out")
    folder = RunFolder(root)
    ledger = given.get("ledger")
    if (stored := _find_stored(folder, None if ledger is None else Path(str(ledger)))) is not None:
        # ``yes`` is not stored, because another person may continue the run.
        return stored.changed(**{"yes": False, **given, "out": root})
    if folder.has_traces():
        lost = LOST.format(out=spell_flag("out"))
        raise TranscriptError(f"{root} has lost its record: restore the newest copy of the folder; {lost}")
    if not given.keys() & {"private", "domain", "from_run"}:
        raise UsageError(
            f"--resume {root}: there is no run to continue in this folder; pcevolve run begins a run"
        )
    return read_options({**given, "out": root})


def _find_stored(folder: RunFolder, ledger: Path | None) -> RunConfig | None:
    """Return the options of the run in a folder; None if none has begun, ``UsageError`` if they cannot be found."""
    begun = folder.has_plan()  # checked first, because another version may have other options
    owner = OwnerFolder.find(folder.root, ledger)
    if owner is None:
        return None
    return owner.require_options() if begun else owner.find_options()


def read_options(given: Mapping[str, Any]) -> RunConfig:
    """Return a new run's options; if the run starts from a release, options not given come from the release.

    Raises:
        UsageError: An option is missing, wrong, or fixed by the release; or there is no such release.
        TranscriptError: The release's run is damaged.
    """
    if given.get("from_run") is None:
        return RunConfig.of(given)
    for option in list_options(RunConfig):
        if option.name in given and option.name not in TAKEN and not option.setting.resumable:
            raise UsageError(
                f"the release that the run varies determines {spell(option.name, RunConfig)}: leave this "
                "option out"
            )
    if "candidates" not in given:
        raise UsageError(
            f"give {spell_flag('candidates')}: the number of images that the new run makes per class"
        )
    from pcevolve.public.publish.source import SourceRun  # NumPy takes a moment to import

    root = Path(str(given["from_run"]))
    plan = SourceRun.at(root).run.plan
    settled = {
        "domain": plan.data.domain,
        "shots": plan.data.shots,
        "epsilon": plan.privacy.epsilon,
        **{name: getattr(plan.provider, name) for name in ("api", "dialect", "model")},
    }
    return RunConfig.of({**settled, "private": str(root), **given})


def merge_options(stored: RunConfig, given: RunConfig) -> RunConfig:
    """Return a run's stored options with new limits and API settings; ``UsageError`` if other options differ."""
    changeable = {}
    for option in sorted(list_options(RunConfig), key=lambda option: option.name):
        began, now = option.of(stored), option.of(given)
        # ``yes`` is not stored, because another person may continue the run.
        if option.setting.resumable and (option.is_given(given) or option.name == "yes"):
            changeable[option.name] = now
        fixed = option.is_given(given) and not option.setting.resumable and option.name != "out"
        # ``auto`` keeps the encoder that the run began with, even if a better one was fetched since.
        left_open = option.name == "encoder" and now == AUTO
        if fixed and now != began and not left_open:
            raise UsageError(
                f"{spell(option.name, RunConfig)} differs from the value that this run began with "
                f"({'none' if began is None else began}), and the options of a run cannot change: leave "
                f"this option out, or begin a new run with another {spell_flag('out')}"
            )
    # The folder may have moved, or be mounted at another path.
    return stored.changed(**changeable, out=given.output.folder)


def _require_writers(settings: RunConfig) -> None:
    """Refuse an output format that could not be written at the end."""
    if settings.output.formats:
        from pcevolve.public.publish.exports import find_form

        for form in settings.output.formats:
            find_form(form, find_abilities(settings.provider.dialect).makes)


def _require_encoder(settings: RunConfig) -> None:
    """Refuse an unknown encoder, and weights without a known architecture."""
    if settings.encoder.name != AUTO:
        require_encoder(settings.encoder.name, settings.encoder.weights)
    elif settings.encoder.weights is not None:
        raise UsageError("encoder.weights FILE: give --encoder NAME, the encoder that the weights belong to")


def _check_paths(settings: RunConfig, folder: RunFolder, resume: bool) -> None:
    """Refuse missing paths, and paths where a run would overwrite or lose something."""
    folder.refuse_overwriting(resume)
    locate_key(settings.privacy.ledger)
    if find_roster(settings.data.private) is not None:
        own = ("test", "unit_map", "unit_column", "unit_namespace", "unlabelled", "subsample", "secrets")
        refuse_options(
            settings, own, " concerns private data, which only the owners have: leave this option out"
        )
    elif settings.data.from_run is None:
        _require_private(settings)
    require_apart(settings)
    if settings.data.from_run is not None:
        return
    if settings.provider.prompts is not None and not Path(settings.provider.prompts).is_file():
        raise UsageError(
            f"provider.prompts {settings.provider.prompts}: no such file; pcevolve prompts writes such a file"
        )
    if find_roster(settings.data.private) is not None:  # each owner has a ledger
        return
    require_volume(settings.privacy.ledger, find_ledger_volume())
    if resume and folder.has_plan():
        require_ledger(settings.privacy.ledger)


def find_made(settings: RunConfig) -> type[Modality]:
    """Return the kind of data that the API makes, which is also the kind of the private data."""
    return MODALITIES[find_abilities(settings.provider.dialect).makes]


OF_FILES: Final = (
    "test", "unit_map", "unit_column", "unlabelled", "subsample", "window", "secret_columns"
)  # fmt: skip
"""Options about private files, which do not apply to bundled data."""


def _require_private(settings: RunConfig) -> None:
    """Refuse missing paths of private data, and options for another kind of data."""
    made = find_made(settings)
    for fault in (*find_foreign_options(settings, made.nouns.one), *find_unused_namespace(settings)):
        raise UsageError(fault)
    source = parse_source(settings.data.private)
    require_kind(source, made.nouns.one, f"{spell_flag('private')} {settings.data.private}")
    if isinstance(source, FolderSource):
        (_require_records if made.from_tables else _require_folders)(settings, source.path)
    else:
        why = f" is only for your own {made.nouns.many}, not for built-in sample data: leave this option out"
        refuse_options(settings, OF_FILES, why)


def _require_folders(settings: RunConfig, private: Path) -> None:
    """Refuse missing folders of private or held-out images, and missing maps or weights."""
    wanted = OF_IMAGES if settings.data.unlabelled else OF_CLASSES
    require_folder(private, wanted, spell_before("private"))
    if settings.data.test is not None:
        require_torch(f"{spell_flag('test')}, which trains networks,")
    if settings.data.test not in (None, REST):
        require_folder(Path(settings.data.test), OF_CLASSES, spell_before("test"))
    if settings.data.unit_map is not None and not settings.data.unit_map.is_file():
        raise DataError(f"{spell_before('unit_map')}{settings.data.unit_map}: no such file")
    if settings.encoder.weights is not None and not Path(settings.encoder.weights).is_file():
        raise UsageError(f"encoder.weights {settings.encoder.weights}: no such file")


def _require_records(settings: RunConfig, private: Path) -> None:
    """Refuse missing private or held-out texts, columns or weights."""
    from pcevolve.keeper.private.records import require_records  # NumPy takes a moment to import

    require_records(private, spell_before("private"))
    if settings.data.secret_columns and private.is_dir():
        raise UsageError("data.secret_columns names columns of a table, but --private is a folder")
    if settings.encoder.weights is not None and not Path(settings.encoder.weights).is_dir():
        raise UsageError(f"encoder.weights {settings.encoder.weights}: no such directory")
    if settings.data.test is not None:
        require_torch(f"{spell_flag('test')}, which trains a network,")
    if settings.data.test not in (None, REST):
        require_records(Path(settings.data.test), spell_before("test"))
