"""The processes of a command at work: a keeper without network, a runner without private files, and who helps them.

Whoever starts them hands each what it has to know, answers the runner's questions at the terminal, passes on its
progress, and gets the summary. Why the keeper refuses something, it tells the owner itself: nothing private comes here.
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
from pcevolve.app.session.reach import keep_files_of_run, list_files
from pcevolve.errors import ClientError, StoppedError, UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.durable import write_private
from pcevolve.public.processes.launcher import Children
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.run.progress import Audience
from pcevolve.public.sources import FolderSource, find_roster, parse_source


def carry_out(
    run: CheckedRun,
    audience: Audience,
    children: Children,
    open_page: bool = False,
    door: DoorAddress | None = None,
) -> dict[str, Any]:
    """Carry out a run, or the rest of one, and measure its accuracy if there are test data.

    Args:
        children: Processes that do the work, and end with it.
        open_page: Whether the page that shows the run while it goes on is opened in the browser.
        door: Where several owners come.

    Returns:
        The finished run's summary, with the accuracies.

    Raises:
        ClientError: Why it ended; what was paid for is on record, and the run can be resumed from there.
    """
    if open_page:
        from pcevolve.wire.dashboard import show_page

        show_page(run.folder.live, audience.console)
    with staff(children, partial(keep_files_of_run, run)) as at_work:
        summary = at_work.carry_out(run, audience, door=door)
        if may_be_measured(run.settings):
            summary = at_work.measure(ACCURACY, run, audience, summary=summary)
    return summary


def look(run: CheckedRun, audience: Audience, children: Children) -> Path:
    """Begin a run, show the provider's first images, and leave it there: no privacy budget is spent.

    Returns:
        The page that shows them.

    Raises:
        ClientError: Why it ended.
    """
    with staff(children, partial(keep_files_of_run, run)) as at_work:
        at_work.carry_out(run, audience, only_look=True)
    return run.folder.preview


@dataclass(frozen=True)
class Staff:
    """The processes of a command at work.

    Attributes:
        room: A folder for temporary files of those with private files, such as torch wants.
        shares: Folders of further runs: what a process may reach is settled by the first.
        own: What those with private files may write besides, for further runs.
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
        """Have a run, or the rest of one, carried out, or its first images shown; its summary, if it has one.

        Args:
            door: Where several owners come, whose data are in place of any here.

        Raises:
            ClientError: Why it ended; of what the keeper refused, the kind.
        """
        if (find_roster(run.settings.data.private) is None) != (door is None):
            raise UsageError("several owners work only with pcevolve run --clinics ROSTER")
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
        """Have what runs made measured on private data.

        Args:
            work: What measures (``module:name``), which is told the run and what is asked.
        """
        with _ending(self.children):
            told = {**describe(run, audience, self.room), "measure": work, "asked": asked}
            return measure(self.children.judge, run, audience, self._list_files(run), told)

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
    """Give processes that were started work, one after the other, until there is no more.

    Args:
        keep_files: Leaves this process the folders that they work in, and no others.
    """
    with _ending(children):
        keep_files()
        with give_room() as room:
            yield Staff(children, room, tuple(shares), tuple(own))
            children.end()


@contextmanager
def _ending(children: Children) -> Iterator[None]:
    """End all processes where one failed, or somebody stopped them."""
    try:
        yield
    except ClientError as error:
        # What is about to end by itself may still have a word for its owner.
        children.end(kill=isinstance(error, StoppedError))
        raise
    except BaseException:
        children.end(kill=True)
        raise


def find_owners(run: CheckedRun) -> OwnerFolder:
    """What is the owner's of a run; errors as ``OwnerFolder.of``."""
    return OwnerFolder.of(run.folder.root, run.settings.privacy.ledger)


def link_owners(run: CheckedRun) -> None:
    """Have the usual ledger's folder lead to what is the owner's of a run; the keeper can make no link."""
    find_owners(run).link()


def begin_without_keeper(run: CheckedRun) -> Callable[[], None]:
    """Return what keeps the options of a run that has no keeper, when its owner has agreed.

    What was kept of one that never fixed its plan goes, which is looked for now: a new record has another id.
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
    """Hold the run's folder, which the runner can write in and not lock; a refusal leaves none that was not there."""
    is_new = not folder.root.exists() or not any(folder.root.iterdir())
    try:
        with folder.claim(resume):
            yield
    finally:
        if (
            is_new
            and folder.root.exists()
            and {each.name for each in folder.root.iterdir()} <= {folder.lock.name}
        ):
            shutil.rmtree(folder.root)


@contextmanager
def give_room() -> Iterator[Path]:
    """A folder for the keeper's temporary files, such as torch wants."""
    room = Path(tempfile.mkdtemp(prefix="pcevolve-"))
    try:
        yield room
    finally:
        shutil.rmtree(room, ignore_errors=True)


def may_be_measured(settings: RunConfig) -> bool:
    """True if there may be test data: the owner's, or of a library whose data play the private ones."""
    own = isinstance(parse_source(settings.data.private), FolderSource)  # which that of a roster is as well
    return settings.data.test is not None or not own
