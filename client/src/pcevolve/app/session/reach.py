"""The files that each process of a run may reach, and those that the typed command itself keeps meanwhile.

The command reads its user's files until it knows what to do, and then keeps no private ones. From Python its
process belongs to the caller, and is not confined.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from pcevolve.errors import ClientError, UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.files import find_ledger
from pcevolve.public.processes import confinement
from pcevolve.public.processes.confinement import list_caches
from pcevolve.public.processes.landlock import Files
from pcevolve.public.processes.links import follow_links
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.owner import RUNS, OwnerFolder
from pcevolve.public.run.places import list_ledger_folders
from pcevolve.public.sources import FolderSource, find_roster, parse_source


def list_files(run: CheckedRun, room: Path) -> tuple[list[str], list[str]]:
    """Return the files that a process with private files may read, and those that it may write."""
    settings, root = run.settings, run.folder.root.absolute()
    # A client that is another command creates the run's folder later; its parent also has other runs.
    runs = root if root.exists() else root.parent
    reads = [*follow_links(list_private_paths(settings)), *list_caches(), str(runs)]
    return reads, [*map(str, list_ledger_folders(settings.privacy.ledger)), str(room)]


def list_private_paths(settings: RunConfig) -> list[str]:
    """Return all existing files and folders of the owner that a run reads."""
    source = parse_source(settings.data.private)
    found = [source.path] if isinstance(source, FolderSource) else []
    found += [each for each in [find_roster(settings.data.private)] if each is not None]
    given = (settings.data.test, settings.data.unit_map, settings.data.secrets, settings.provider.prompts)
    found += [Path(each).expanduser() for each in (*given, settings.encoder.weights) if each is not None]
    return [str(each.absolute()) for each in found if each.exists()]


def list_owned(given: Iterable[Path | str | None]) -> list[str]:
    """Return the existing ones of some files and folders, and the targets of links in the folders."""
    paths = (Path(each).expanduser().absolute() for each in given if each is not None)
    return follow_links(str(each) for each in paths if _is_there(each))


def list_data(given: str | None) -> list[str]:
    """Return the same for data, which may come with a library."""
    source = None if given is None else parse_source(given)
    return list_owned([source.path]) if isinstance(source, FolderSource) else []


def list_finished(run: Path) -> list[str]:
    """Return the files about a finished run: its folder, the owner's part of it, and its ledger's.

    The same for runs that it started from. The command itself reports missing files.
    """
    found, more, options = [run, find_ledger().parent], list[str](), None
    with suppress(ClientError, OSError):
        owner = OwnerFolder.of(run)
        found.append(owner.root)
        options = owner.find_options()
    if options is not None:
        source, weights = options.data.from_run, options.encoder.weights
        found += [*list_ledger_folders(options.privacy.ledger), *([] if weights is None else [Path(weights)])]
        more = [] if source is None or not source.is_dir() else list_finished(source)
    # Targets of links are left out: a folder from somebody else could have links to private files.
    return [str(each.absolute()) for each in found if _is_there(each)] + more


def list_evaluated(
    run: Path, control: Path | None, given: Iterable[str | None], judges: Iterable[str], weights: str | None
) -> list[str]:
    """Return the files that evaluating a finished run reads; ``given`` are test data and private data."""
    beside = run.absolute()
    controls = [control or beside.with_name(f"{beside.name}-random")]
    finished = [path for each in (run, *controls) if each.is_dir() for path in list_finished(each)]
    files = [weights, *(each.partition("=")[2] or None for each in judges)]
    return [*finished, *list_owned(files), *(path for each in given for path in list_data(each))]


def _is_there(path: Path) -> bool:
    with suppress(OSError):  # in a folder that is closed to this user
        return path.exists()
    return False


def keep_files_of_run(run: CheckedRun) -> None:
    """Keep the folders of a run and its ledger, which are created, and names of private files, which may be links."""
    source = run.settings.data.from_run
    _keep(run.settings, [run.folder.root], [] if source is None else [source])


def keep_files_of_keeper(run: CheckedRun) -> None:
    """Keep the ledger's folder, and read access to that of the run, which another command creates."""
    root = run.folder.root.absolute()
    _keep(run.settings, [], [root if root.exists() else root.parent])


def keep_files_of_client(root: Path) -> None:
    """Keep the run's folder, which is created, and nothing else."""
    _keep(None, [root], [])


def keep_files_of_demo(folders: Iterable[Path], log: Path) -> None:
    """Keep the folders of all runs of a demonstration and of their ledger, and read access to the server's log."""
    log.touch()
    _keep(None, folders, [log], _make_usual())


def _keep(
    settings: RunConfig | None, writes: Iterable[Path], reads: Iterable[Path], links: Sequence[Path] = ()
) -> None:
    if not confinement.may_leave_files():
        return
    written, listed = [*writes], []
    for each in written:
        if not each.is_file():  # a list of secrets
            each.mkdir(parents=True, exist_ok=True)
    if settings is not None:
        settings.privacy.ledger.absolute().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        written += list_ledger_folders(settings.privacy.ledger)
        links = _make_usual()
        listed = [each for each in follow_links(list_private_paths(settings)) if Path(each).is_dir()]
    files = Files(
        reads=[str(each) for each in reads],
        writes=[str(each) for each in (*written, *links)],
        lists=listed,
        links=[str(each) for each in links],
        makes=[str(each.absolute().parent) for each in written],
    )
    try:
        confinement.leave_files(files)
    except confinement.ConfinementError as error:
        raise UsageError(str(error)) from None


def _make_usual() -> list[Path]:
    """Return the folder in the default ledger's folder with links to the owner's part of runs.

    Empty if it cannot be created.
    """
    links = find_ledger().parent / RUNS
    try:
        links.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return []
    return [links]
