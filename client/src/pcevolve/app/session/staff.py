"""The processes of a command: a keeper without network, a runner without private files, and their helpers.

The process that starts them sends each its orders, answers the runner's questions at the terminal, forwards
progress, and receives the summary. The keeper itself tells the owner why it refuses something, so nothing
private comes here.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pcevolve.app.session.access import keep_files_of_run, list_files
from pcevolve.app.session.orders import (
    ACCURACY,
    ADDER,
    KEEPER,
    DoorAddress,
    attend,
    describe,
    measure,
    order,
    order_decoder,
    order_runner,
)
from pcevolve.errors import ClientError, StoppedError, UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.data_source import FolderSource, find_roster, parse_source
from pcevolve.public.durable import write_private
from pcevolve.public.processes.launcher import Children
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.run.progress import Audience


def carry_out(
    run: CheckedRun,
    audience: Audience,
    children: Children,
    open_page: bool = False,
    door: DoorAddress | None = None,
) -> dict[str, Any]:
    """Carry out a run, or the rest of one, and measure its accuracy if there are test data.

    Args:
        children: The processes that do the work; they end with it.
        open_page: Whether to open the live page in the browser.
        door: The address where several owners connect.

    Returns:
        The finished run's summary, with the accuracies.

    Raises:
        ClientError: The reason for an early end; what was paid for is on record, and the run can be
            resumed.
    """
    if open_page:
        from pcevolve.wire.showing import show_page

        show_page(run.folder.live, audience.console)
    with staff(children, partial(keep_files_of_run, run)) as at_work:
        summary = at_work.carry_out(run, audience, door=door)
        if may_be_measured(run.settings):
            summary = at_work.measure(ACCURACY, run, audience, summary=summary)
    return summary


def look(run: CheckedRun, audience: Audience, children: Children) -> Path:
    """Begin a run, show the provider's first images, and stop; no privacy budget is spent.

    Returns:
        The page that shows the images.

    Raises:
        ClientError: The reason why the run ended.
    """
    with staff(children, partial(keep_files_of_run, run)) as at_work:
        at_work.carry_out(run, audience, only_look=True)
    return run.folder.preview


@dataclass(frozen=True)
class Staff:
    """The running processes of a command.

    Attributes:
        room: A folder for temporary files of the processes with private files; torch needs one.
        shares: Folders of further runs, given at the start because the first orders fix what a process may access.
        own: Further files that processes with private files may write, for further runs.
    """

    children: Children
    room: Path
    shares: tuple[Path, ...] = ()
    own: tuple[Path, ...] = ()

    def carry_out(
        self,
        run: CheckedRun,
        audience: Audience,
        *,
        only_look: bool = False,
        door: DoorAddress | None = None,
    ) -> dict[str, Any]:
        """Carry out a run or the rest of one, or show its first images; return its summary, if any.

        Args:
            door: The address where several owners connect; their data replace the run's own.

        Raises:
            ClientError: The reason for an early end; for the keeper's refusals, an error of the same kind.
        """
        if (find_roster(run.settings.data.private) is None) != (door is None):
            raise UsageError("a run of several owners must be started with pcevolve run --clinics ROSTER")
        runner, settings, source = self.children.runner, run.settings, run.settings.data.from_run
        with claim(run.folder, run.resume), _ending(self.children):
            settings.privacy.ledger.absolute().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if source is None:
                begun: Callable[[], None] = partial(link_owners, run)
                self._order_keeper(KEEPER if door is None else ADDER, run, audience)
            else:
                begun = begin_without_keeper(run)
            order_runner(
                *(runner, settings.public(), run.key, audience),
                source=source,
                writes=self.shares,
                only_look=only_look,
                door=door,
            )
            summary = attend(runner, runner, run.folder, audience, begun)
            if not only_look:
                if source is not None:
                    write_private(find_owners(run).bind().result, summary)
                run.folder.forget_times()
        return summary

    def measure(self, work: str, run: CheckedRun, audience: Audience, **asked: object) -> dict[str, Any]:
        """Have runs' results measured on private data.

        Args:
            work: The function that measures (``module:name``); it receives the run and ``asked``.
        """
        with _ending(self.children):
            orders = {**describe(run, audience, self.room), "measure": work, "asked": asked}
            return measure(self.children.judge, run, audience, self._list_files(run), orders)

    def _order_keeper(self, work: str, run: CheckedRun, audience: Audience) -> None:
        order_decoder(self.children.decoder, run.settings)
        order(self.children.keeper, work, *self._list_files(run), **describe(run, audience, self.room))

    def _list_files(self, run: CheckedRun) -> tuple[list[str], list[str]]:
        reads, writes = list_files(run, self.room)
        return [*reads, *map(str, self.shares)], [*writes, *map(str, self.own)]


@contextmanager
def staff(
    children: Children, keep_files: Callable[[], None], shares: Sequence[Path] = (), own: Sequence[Path] = ()
) -> Iterator[Staff]:
    """Give started processes one task after the other, until the with block ends.

    Args:
        keep_files: Restricts this process to the folders that the processes work in.
    """
    with _ending(children):
        keep_files()
        with give_room() as room:
            yield Staff(children, room, tuple(shares), tuple(own))
            children.end()


@contextmanager
def _ending(children: Children) -> Iterator[None]:
    """End all processes if one failed, or somebody stopped them."""
    try:
        yield
    except ClientError as error:
        # A process that is about to end by itself may still have a message for its owner.
        children.end(kill=isinstance(error, StoppedError))
        raise
    except BaseException:
        children.end(kill=True)
        raise


def find_owners(run: CheckedRun) -> OwnerFolder:
    """Return the owner's private folder of a run; errors as in ``OwnerFolder.of``."""
    return OwnerFolder.of(run.folder.root, run.settings.privacy.ledger)


def link_owners(run: CheckedRun) -> None:
    """Beside the default ledger, link to the owner's private folder of a run; the keeper cannot create links."""
    find_owners(run).link()


def begin_without_keeper(run: CheckedRun) -> Callable[[], None]:
    """Return a function that stores the options of a run without a keeper, once its owner has agreed.

    The function also removes the options of an earlier start that never fixed its plan. These are looked up
    now, because a new record has another id.
    """
    false_start = (
        None if run.folder.has_plan() else OwnerFolder.find(run.folder.root, run.settings.privacy.ledger)
    )

    def begin() -> None:
        if false_start is not None:
            false_start.forget()
        find_owners(run).keep_options(run.settings)

    return begin


@contextmanager
def claim(folder: RunFolder, resume: bool) -> Iterator[None]:
    """Lock the run's folder, which the runner can write in but not lock; after a refusal, remove a new folder."""
    is_new = not folder.root.exists() or not any(folder.root.iterdir())
    try:
        with folder.claim(resume):
            yield
    finally:
        # With nothing but the lock in it, the folder was made for a run that never began.
        if (
            is_new
            and folder.root.exists()
            and {each.name for each in folder.root.iterdir()} <= {folder.lock.name}
        ):
            shutil.rmtree(folder.root)


@contextmanager
def give_room() -> Iterator[Path]:
    """Create a folder for temporary files of the processes with private files; torch needs one."""
    room = Path(tempfile.mkdtemp(prefix="pcevolve-"))
    try:
        yield room
    finally:
        shutil.rmtree(room, ignore_errors=True)


def may_be_measured(settings: RunConfig) -> bool:
    """True if there may be test data: the owner's, or the rest of bundled data."""
    own = isinstance(parse_source(settings.data.private), FolderSource)  # a roster counts as a folder too
    return settings.data.test is not None or not own
