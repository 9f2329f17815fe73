"""Files that the command which was typed keeps while its processes work: none that is private.

It reads its user's files until it knows what is asked for. From Python this process is the caller's, and stays free.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pcevolve.errors import UsageError
from pcevolve.public.config.files import find_ledger
from pcevolve.public.processes import confinement
from pcevolve.public.processes.landlock import Files
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.places import list_ledger_folders


def keep_files_of_run(run: CheckedRun) -> None:
    """Keep the folders of a run and of its ledger, which are made; names of all files, for links among private ones."""
    source = run.settings.data.from_run
    run.folder.root.mkdir(parents=True, exist_ok=True)
    _keep([run.folder.root], [] if source is None else [source], run.settings.privacy.ledger)


def keep_files_of_keeper(run: CheckedRun) -> None:
    """Keep the ledger's folder, and read that of the run, which another command makes."""
    root = run.folder.root.absolute()
    _keep([], [root if root.exists() else root.parent], run.settings.privacy.ledger)


def keep_files_of_client(root: Path) -> None:
    """Keep the run's folder, which is made, and nothing else."""
    root.mkdir(parents=True, exist_ok=True)
    _keep([root], [], None)


def keep_files_of_demo(folders: Iterable[Path], ledger: Path, log: Path) -> None:
    """Keep the folders of all runs of a demonstration, and read what its server says."""
    log.touch()
    _keep(folders, [log], ledger)


def _keep(writes: Iterable[Path], reads: Iterable[Path], ledger: Path | None) -> None:
    written, links = [*writes], []
    if ledger is not None:
        ledger.absolute().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        usual = find_ledger().parent
        with suppress(OSError):  # where no link to the owner's part can be made, the ledger has to be named
            usual.mkdir(mode=0o700, parents=True, exist_ok=True)
        links = [usual] * usual.is_dir()
        written += [*list_ledger_folders(ledger), *links]
    files = Files(
        reads=[str(each) for each in reads],
        writes=[str(each) for each in written],
        lists=["/"],
        links=[str(each) for each in links],
        makes=[str(each.absolute().parent) for each in written],
    )
    try:
        confinement.leave_files(files)
    except confinement.ConfinementError as error:
        raise UsageError(str(error)) from None
