"""The files that each process of a run may access, and those that the command itself keeps access to meanwhile.

The command reads its user's files until it knows its task, and then gives up access to private ones. If a
Python program calls pcevolve as a library, the process belongs to the program and is not confined. Access
to a folder extends to all folders below it, so data, ledger and run are refused if one is inside another.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import permutations, product
from pathlib import Path
from typing import Literal, TypeAlias

from pcevolve.errors import ClientError, UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.data_source import FolderSource, find_roster, parse_source
from pcevolve.public.config.declared import spell
from pcevolve.public.config.files import REST, find_ledger
from pcevolve.public.config.options import spell_before, spell_flag
from pcevolve.public.processes import confinement
from pcevolve.public.processes.confinement import list_caches
from pcevolve.public.processes.landlock import Files
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.owner import RUNS, OwnerFolder


def follow_links(paths: Iterable[str]) -> list[str]:
    """Return files and folders, and the targets of all links in the folders, recursively."""
    found: dict[str, None] = {}
    waiting = list(reversed([*paths]))
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found[path] = None
        for folder, folders, files in os.walk(path):
            entries = (os.path.join(folder, name) for name in sorted((*folders, *files)))  # noqa: PTH118
            targets = [os.path.realpath(each) for each in entries if os.path.islink(each)]  # noqa: PTH114
            waiting += [each for each in reversed(targets) if os.path.exists(each)]  # noqa: PTH110
    return [*found]


def list_files(run: CheckedRun, room: Path) -> tuple[list[str], list[str]]:
    """Return the files that a process with private files may read, and those that it may write."""
    settings, root = run.settings, run.folder.root.absolute()
    # If the client is another command, it creates the run's folder later, and the parent also has other runs.
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
    """Return those of the given files and folders that exist, and the targets of links in the folders."""
    paths = (Path(each).expanduser().absolute() for each in given if each is not None)
    return follow_links(str(each) for each in paths if _is_there(each))


def list_data(given: str | None) -> list[str]:
    """Return the files of data, as ``list_owned`` does; none for bundled data."""
    source = None if given is None else parse_source(given)
    return list_owned([source.path]) if isinstance(source, FolderSource) else []


def list_finished(run: Path) -> list[str]:
    """Return the files about a finished run: its folder, the owner's private folder of it, and its ledger's files.

    The files of runs that it started from are included. The command itself reports missing files.
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
    # Targets of links are left out, because somebody else's folder could link to private files.
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
    with suppress(OSError):  # the path is in a folder that this user cannot read
        return path.exists()
    return False


def keep_files_of_run(run: CheckedRun) -> None:
    """Create the folders of a run and its ledger; keep access to them and to the names of private files.

    Names are needed to follow links.
    """
    source = run.settings.data.from_run
    _keep(run.settings, [run.folder.root], [] if source is None else [source])


def keep_files_of_keeper(run: CheckedRun) -> None:
    """Keep access to the ledger's folder, and read access to the run's folder, which another command creates."""
    root = run.folder.root.absolute()
    _keep(run.settings, [], [root if root.exists() else root.parent])


def keep_files_of_client(root: Path) -> None:
    """Create the run's folder, and keep access to nothing else."""
    _keep(None, [root], [])


def keep_files_of_demo(folders: Iterable[Path], log: Path) -> None:
    """Keep access to the folders of a demonstration's runs and their ledger, and read access to the server's log."""
    log.touch()
    _keep(None, folders, [log], _make_usual())


def _keep(
    settings: RunConfig | None, writes: Iterable[Path], reads: Iterable[Path], links: Sequence[Path] = ()
) -> None:
    if not confinement.may_leave_files():
        return
    written, listed = [*writes], []
    for each in written:
        if not each.is_file():  # such as a list of secrets
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
    """Return the folder beside the default ledger with links to the owner's private folders of runs.

    The list is empty if that folder cannot be created.
    """
    links = find_ledger().parent / RUNS
    try:
        links.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return []
    return [links]


Holding: TypeAlias = Literal["data", "ledger", "run", "source", "python"]
HOLDS: dict[Holding, str] = {
    "data": "which is private",
    "ledger": "the ledger's folder, which is private",
    "run": "the run's folder, which may be shared",
    "source": "the folder of the run that is varied",
    "python": "from which Python loads its modules",
}


@dataclass(frozen=True)
class _Place:
    """A file or folder, with its name in messages."""

    holds: Holding
    name: str
    path: Path

    def lies_in(self, other: _Place) -> bool:
        """True if this is inside the other, following links, ``..`` and mounts; missing paths are compared by name."""
        path, folder = self.path.resolve(), other.path.resolve()
        if not folder.exists():
            return path.is_relative_to(folder)
        return any(each.exists() and each.samefile(folder) for each in (path, *path.parents))


def require_apart(settings: RunConfig, key: Path | None = None) -> None:
    """Refuse data, ledger and run if one is inside another (``UsageError`` tells what to move); creates nothing.

    Args:
        key: An owner's private key, protected like data.
    """
    places = [*_list_places(settings)]
    if key is not None:
        places.append(_Place("data", f"--key {key}", key))
    private = [each for each in places if each.holds in ("data", "ledger")]
    for inner, outer in (*permutations(places, 2), *product(private, _list_modules())):
        if inner.holds != outer.holds and inner.lies_in(outer):
            raise UsageError(
                f"{inner.name} lies in {outer.path}, {HOLDS[outer.holds]}: {_advise(inner, outer)}"
            )


def find_nearest(folder: Path) -> Path:
    """Return the folder, or its nearest existing parent."""
    return next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())


def list_ledger_folders(ledger: Path) -> list[Path]:
    """Return the existing folders of a ledger's file: its own, and if the file is a link, its target's."""
    found = dict.fromkeys([ledger.absolute().parent, ledger.resolve().parent])
    return [each for each in found if each.is_dir()]


def _list_places(settings: RunConfig) -> Iterator[_Place]:
    data, ledger = settings.data, settings.privacy.ledger
    yield _Place("ledger", f"the ledger {ledger}", ledger.parent)
    yield _Place("run", f"{spell_flag('out')} {settings.output.folder}", settings.output.folder)
    # A run from a release reads no private data.
    if data.from_run is not None:
        yield _Place("source", f"--from {data.from_run}", data.from_run)
        return
    source = parse_source(data.private)
    given = {
        "private": source.path if isinstance(source, FolderSource) else None,
        "test": None if data.test in (None, REST) else data.test,
        "unit_map": data.unit_map,
        "secrets": data.secrets,
    }
    for name, path in given.items():
        if path is not None and (name != "test" or isinstance(parse_source(str(path)), FolderSource)):
            yield _Place("data", f"{spell_before(name)}{path}", Path(path))


def _list_modules() -> Iterator[_Place]:
    """Yield the folders that any Python process may read."""
    found = {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values()}
    yield from (_Place("python", each, Path(each)) for each in sorted(found) if each != os.sep)


def _advise(inner: _Place, outer: _Place) -> str:
    if outer.holds == "ledger":
        own = outer.path / "ledger" / "ledger.sqlite"
        moving = ", and move the ledger's files there" if any(outer.path.glob("*.key")) else ""
        return f"put the ledger into a separate folder{moving}: {spell('ledger', RunConfig)}={own}"
    if inner.holds == "run":
        return f"give {spell_flag('out')} a folder elsewhere"
    return "move it elsewhere"
