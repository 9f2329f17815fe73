"""Refusals before any of a run's data is read: options, then paths, then budget and ledger.

None of a run's libraries is imported here (torch, SciPy, an HTTP client), so that a refusal comes at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pcevolve.errors import DataError, TranscriptError, UsageError
from pcevolve.keeper.ledger.creation import locate_key, require_volume
from pcevolve.public.addresses import require_address, require_key
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.files import REST, find_ledger_volume
from pcevolve.public.declared import list_options, spell
from pcevolve.public.dialects import find_abilities
from pcevolve.public.encoders import AUTO, require_encoder, require_torch
from pcevolve.public.modality import MODALITIES, Modality
from pcevolve.public.options import spell_before, spell_flag
from pcevolve.public.run.checked import (
    CheckedRun,
    find_foreign_options,
    find_idle_namespace,
    refuse_options,
    require_ledger,
)
from pcevolve.public.run.folder import LOST, RunFolder
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.run.places import require_apart
from pcevolve.public.sources import (
    OF_CLASSES,
    OF_IMAGES,
    FolderSource,
    find_roster,
    parse_source,
    require_folder,
    require_kind,
)

TAKEN: Final = frozenset(
    {
        *(
            "from_run",
            "out",
            "candidates",
            "seed",
            "batch",
            "at_once",
            "strength_end",
            "api",
            "operator",
            "retention",
        ),
        *("formats", "licence"),
    }
)
"""Options of a run that starts from a release, beside those of how its API is reached; all others are the release's."""


def ask_run(given: Mapping[str, Any], resume: Path | None = None, *, may_go_on: bool = False) -> CheckedRun:
    """From options by name, as somebody gave them, to a run request.

    Args:
        resume: Folder of a run to go on with, or to begin where none has begun there yet.
        may_go_on: Whether a run that is in the folder named by the options is gone on with.

    Raises:
        ClientError: As ``read_options``, ``continue_options`` and ``check_run``.
    """
    settings = read_options(given) if resume is None else continue_options(resume, given)
    return check_run(settings, may_go_on or resume is not None)


def check_run(settings: RunConfig, resume: bool = False, key: str | None = None) -> CheckedRun:
    """Refuse a run that cannot be carried out as it was asked for; nothing is made or changed.

    Raises:
        UsageError: An option or the folder of the run is not as it must be.
        DataError: There is no such folder of private or test images.
        LedgerError: The ledger is gone, would not outlive a container, or cannot have such a name.
    """
    folder = RunFolder(settings.output.folder)
    if resume and (stored := _find_stored(folder, settings.privacy.ledger)) is not None:
        settings = merge_options(stored, settings)
    run = CheckedRun(settings, resume, settings.key() if key is None else key)
    # From what takes least to tell to what takes most, so that a typing error is answered at once.
    _ = run.budget, run.lifetime
    require_address(settings.provider.api)
    _require_writers(settings)
    _check_paths(settings, folder, resume)
    require_key(run.key, find_abilities(settings.provider.dialect).scheme)
    _require_encoder(settings)
    return run


def continue_options(root: Path, given: Mapping[str, Any]) -> RunConfig:
    """The options of the run in a folder, under what was given now; ``check_run`` refuses what may not change.

    Args:
        root: Folder of a run that was cut off; or of one that is to begin there, if ``given`` says enough for that.

    Raises:
        UsageError: There is no run to continue, or an option cannot be.
    """
    out = given.get("out")
    if out is not None and Path(str(out)).absolute() != root.absolute():
        raise UsageError(f"--resume {root} and --out {out} are two folders: leave --out out")
    folder = RunFolder(root)
    ledger = given.get("ledger")
    if (stored := _find_stored(folder, None if ledger is None else Path(str(ledger)))) is not None:
        # Who said yes when it began may be somebody else than who goes on.
        return stored.changed(**{"yes": False, **given, "out": root})
    if folder.has_traces():
        lost = LOST.format(out=spell_flag("out"))
        raise TranscriptError(f"{root} has lost its record: restore the newest copy of the folder; {lost}")
    if not given.keys() & {"private", "domain", "from_run"}:
        raise UsageError(f"--resume {root}: there is no run to continue; pcevolve run begins one")
    return read_options({**given, "out": root})


def _find_stored(folder: RunFolder, ledger: Path | None) -> RunConfig | None:
    """The options of the run in a folder; None where none has begun, ``UsageError`` where they are not at hand."""
    begun = folder.has_plan()  # asked first: another version's options may be no options of this one
    owner = OwnerFolder.find(folder.root, ledger)
    if owner is None:
        return None
    return owner.require_options() if begun else owner.find_options()


def read_options(given: Mapping[str, Any]) -> RunConfig:
    """The options of a new run, by name; one that starts from a release takes from it what is not given.

    Raises:
        UsageError: An option is missing, wrong, or settled by the release; or there is no such release.
        TranscriptError: The run of that release is damaged.
    """
    if given.get("from_run") is None:
        return RunConfig.of(given)
    for option in list_options(RunConfig):
        if option.name in given and option.name not in TAKEN and not option.setting.resumable:
            raise UsageError(
                f"{spell(option.name, RunConfig)} is settled by the release that the run starts from: leave it out"
            )
    if "candidates" not in given:
        raise UsageError(
            f"say with {spell_flag('candidates')} how many images of each class the new run makes"
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
    """Return a run's stored options with new limits and ways to reach the API; ``UsageError`` if others differ."""
    changeable = {}
    for option in sorted(list_options(RunConfig), key=lambda option: option.name):
        began, now = option.of(stored), option.of(given)
        # Who said yes when it began may be somebody else than who goes on.
        if option.setting.resumable and (option.is_given(given) or option.name == "yes"):
            changeable[option.name] = now
        fixed = option.is_given(given) and not option.setting.resumable and option.name != "out"
        # ``auto`` is the encoder that it began with, whatever was fetched since.
        left_open = option.name == "encoder" and now == AUTO
        if fixed and now != began and not left_open:
            raise UsageError(
                f"{spell(option.name, RunConfig)} is not what this run began with, which was "
                f"{'nothing' if began is None else began}: a run's options do not change; leave it out, or begin a new "
                f"run with another {spell_flag('out')}"
            )
    # Its folder may have moved, or be another one as seen from here.
    return stored.changed(**changeable, out=given.output.folder)


def _require_writers(settings: RunConfig) -> None:
    """Refuse a form that could not be written in the end."""
    if settings.output.formats:
        from pcevolve.public.publish.exports import find_form

        for form in settings.output.formats:
            find_form(form, find_abilities(settings.provider.dialect).makes)


def _require_encoder(settings: RunConfig) -> None:
    """Refuse an encoder that there is not, and weights that nobody says the architecture of."""
    if settings.encoder.name != AUTO:
        require_encoder(settings.encoder.name, settings.encoder.weights)
    elif settings.encoder.weights is not None:
        raise UsageError("encoder.weights FILE: say with --encoder NAME which encoder's weights these are")


def _check_paths(settings: RunConfig, folder: RunFolder, resume: bool) -> None:
    """Refuse paths that lead nowhere, or where a run would overwrite or lose something."""
    folder.refuse_overwriting(resume)
    locate_key(settings.privacy.ledger)
    if find_roster(settings.data.private) is not None:
        own = ("test", "unit_map", "unit_column", "unit_namespace", "unlabelled", "subsample", "secrets")
        refuse_options(settings, own, " is about private data, which are with the owners: leave it out")
    elif settings.data.from_run is None:
        _require_private(settings)
    require_apart(settings)
    if settings.data.from_run is not None:
        return
    if settings.provider.prompts is not None and not Path(settings.provider.prompts).is_file():
        raise UsageError(
            f"provider.prompts {settings.provider.prompts}: no such file; pcevolve prompts writes one"
        )
    if find_roster(settings.data.private) is not None:  # the owners have ledgers
        return
    require_volume(settings.privacy.ledger, find_ledger_volume())
    if resume and folder.has_plan():
        require_ledger(settings.privacy.ledger)


def find_made(settings: RunConfig) -> type[Modality]:
    """What the API makes, so that the private data are of that kind too."""
    return MODALITIES[find_abilities(settings.provider.dialect).makes]


OF_FILES: Final = (
    "test", "unit_map", "unit_column", "unlabelled", "subsample", "window", "secret_columns"
)  # fmt: skip
"""Options about private files, which mean nothing of data that come with the client."""


def _require_private(settings: RunConfig) -> None:
    """Refuse paths of private data that lead nowhere, and options that are about data of another kind."""
    made = find_made(settings)
    for fault in (*find_foreign_options(settings, made.nouns.one), *find_idle_namespace(settings)):
        raise UsageError(fault)
    source = parse_source(settings.data.private)
    require_kind(source, made.nouns.one, f"{spell_flag('private')} {settings.data.private}")
    if isinstance(source, FolderSource):
        (_require_records if made.from_tables else _require_folders)(settings, source.path)
    else:
        why = f" is for {made.nouns.many} of your own, not for those that come with the client: leave it out"
        refuse_options(settings, OF_FILES, why)


def _require_folders(settings: RunConfig, private: Path) -> None:
    """Refuse a folder of private or held-out images, a map or weights that are not there."""
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
    """Refuse private or held-out texts, columns or weights that are not there."""
    from pcevolve.keeper.private.records import require_records  # NumPy takes a moment to import

    require_records(private, spell_before("private"))
    if settings.data.secret_columns and private.is_dir():
        raise UsageError("data.secret_columns names a column of a table, and --private is a folder")
    if settings.encoder.weights is not None and not Path(settings.encoder.weights).is_dir():
        raise UsageError(f"encoder.weights {settings.encoder.weights}: no such directory")
    if settings.data.test is not None:
        require_torch(f"{spell_flag('test')}, which trains a network,")
    if settings.data.test not in (None, REST):
        require_records(Path(settings.data.test), spell_before("test"))
