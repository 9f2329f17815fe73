"""Files that each process of a run may reach, and those that the command which was typed keeps meanwhile.

That command reads its user's files until it knows what is asked for, and then keeps none that is private. From Python
its process is the caller's, and stays free.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from pcevolve.errors import UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.files import find_ledger
from pcevolve.public.processes import confinement
from pcevolve.public.processes.confinement import list_caches
from pcevolve.public.processes.landlock import Files
from pcevolve.public.processes.links import follow_links
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.owner import RUNS
from pcevolve.public.run.places import list_ledger_folders
from pcevolve.public.sources import FolderSource, find_roster, parse_source


def list_files(run: CheckedRun, room: Path) -> tuple[list[str], list[str]]:
    """What a process with private files may read, and what it may write."""
    settings, root = run.settings, run.folder.root.absolute()
    # A client that is another command makes the run's folder later; beside it lie other runs.
    runs = root if root.exists() else root.parent
    reads = [*follow_links(list_private_paths(settings)), *list_caches(), str(runs)]
    return reads, [*map(str, list_ledger_folders(settings.privacy.ledger)), str(room)]


def list_private_paths(settings: RunConfig) -> list[str]:
    """All files and folders of the owner that a run reads, as far as they are there."""
    source = parse_source(settings.data.private)
    found = [source.path] if isinstance(source, FolderSource) else []
    found += [each for each in [find_roster(settings.data.private)] if each is not None]
    given = (settings.data.test, settings.data.unit_map, settings.data.secrets, settings.provider.prompts)
    found += [Path(each).expanduser() for each in (*given, settings.encoder.weights) if each is not None]
    return [str(each.absolute()) for each in found if each.exists()]


def keep_files_of_run(run: CheckedRun) -> None:
    """Keep the folders of a run and of its ledger, which are made, and names of private files, some of them links."""
    source = run.settings.data.from_run
    _keep(run.settings, [run.folder.root], [] if source is None else [source])


def keep_files_of_keeper(run: CheckedRun) -> None:
    """Keep the ledger's folder, and read that of the run, which another command makes."""
    root = run.folder.root.absolute()
    _keep(run.settings, [], [root if root.exists() else root.parent])


def keep_files_of_client(root: Path) -> None:
    """Keep the run's folder, which is made, and nothing else."""
    _keep(None, [root], [])


def keep_files_of_demo(folders: Iterable[Path], log: Path) -> None:
    """Keep the folders of all runs of a demonstration and of their ledger, and read what its server says."""
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
    """Where links to the owner's part of runs lie, in the usual ledger's folder; none where it cannot be made."""
    links = find_ledger().parent / RUNS
    try:
        links.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return []
    return [links]
