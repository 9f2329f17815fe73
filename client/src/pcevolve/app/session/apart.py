"""A run in two processes: a keeper without network and a runner without private files, seen from who starts them.

Whoever starts them hands each what it has to know, answers the runner's questions at the terminal, passes on its
progress, and gets the summary. Why the keeper refuses something, it tells the owner itself: nothing private comes here.
"""

from __future__ import annotations

import json
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import TypeAdapter, ValidationError

from pcevolve.errors import ClientError, ProtocolError, StoppedError, UsageError, make_told, printable
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.runner import PublicConfig
from pcevolve.public.durable import write_private
from pcevolve.public.options import spells_keywords
from pcevolve.public.processes.confinement import list_caches
from pcevolve.public.processes.launcher import Child, Children
from pcevolve.public.processes.links import follow_links
from pcevolve.public.processes.pipe import GoneError, Pipe, PipeError
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.run.places import list_ledger_folders
from pcevolve.public.run.progress import Audience, Progress, tell_nobody
from pcevolve.public.sources import FolderSource, find_roster, parse_source

KEEPER = "pcevolve.keeper.keeping:keep"
RUNNER = "pcevolve.wire.running:run"
FOLLOWER = "pcevolve.wire.running:vary"
ADDER = "pcevolve.keeper.clinics.keeping:add_up"
COORDINATOR = "pcevolve.wire.clinics.coordinating:run"
JUDGE = "pcevolve.app.session.whole:judge"
DECODER = "pcevolve.public.decoder:serve"


@dataclass(frozen=True)
class DoorAddress:
    """Where several owners come to a coordinator.

    Attributes:
        certificate: File with a certificate for TLS, and one with its key if that is another.
    """

    host: str
    port: int
    certificate: tuple[Path | None, Path | None] = (None, None)

    def orders(self) -> dict[str, object]:
        """What the process with the network has to know of it."""
        files = [None if each is None else str(each.absolute()) for each in self.certificate]
        return {"listen": [self.host, self.port], "certificate": files}


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
            false_start = None if source is None or run.folder.has_plan() else _find_owners(run)
            if source is None:
                self._order_keeper(KEEPER if door is None else ADDER, run, audience)
            order_runner(
                *(runner, settings.public(), run.key, audience),
                source=source,
                writes=self.shares,
                only_look=only_look,
                door=door,
            )
            runner.pass_on_words()
            begun = (
                partial(link_owners, run)
                if source is None
                else partial(_begin_without_keeper, run, false_start)
            )
            summary = attend(runner, runner, run.folder, audience, begun)
            if source is not None and not only_look:
                owner = OwnerFolder.of(run.folder.root, settings.privacy.ledger).bind()
                write_private(owner.result, summary)
            if not only_look:
                run.folder.forget_times()
        return summary

    def measure(self, work: str, run: CheckedRun, audience: Audience, **asked: object) -> dict[str, Any]:
        """Have what runs made measured on private data.

        Args:
            work: Of a process with private files (``module:name``), which is told the run and what is asked.
        """
        with _ending(self.children):
            told = {**describe(run, audience, self.room), **asked}
            order_judge(self.children.judge, work, self._list_files(run), told)
            return attend(self.children.judge, None, run.folder, audience, lambda: None)

    def _order_keeper(self, work: str, run: CheckedRun, audience: Audience) -> None:
        try:
            order_decoder(self.children.decoder)
            self.children.keeper.order(work, *self._list_files(run), **describe(run, audience, self.room))
        except GoneError:
            raise ProtocolError("a process of the run could not begin") from None

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


def _find_owners(run: CheckedRun) -> OwnerFolder | None:
    return OwnerFolder.find(run.folder.root, run.settings.privacy.ledger)


def _begin_without_keeper(run: CheckedRun, false_start: OwnerFolder | None) -> None:
    """Keep the options of a run that has no keeper; what was kept of one that never fixed its plan goes."""
    if false_start is not None:
        false_start.forget()
    OwnerFolder.of(run.folder.root, run.settings.privacy.ledger).keep_options(run.settings)


def link_owners(run: CheckedRun) -> None:
    """Have the usual ledger's folder lead to what is the owner's of a run; the keeper can make no link."""
    OwnerFolder.of(run.folder.root, run.settings.privacy.ledger).link()


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


def order_runner(
    runner: Child,
    settings: PublicConfig,
    key: str | None,
    audience: Audience,
    *,
    source: Path | None = None,
    writes: Sequence[Path] = (),
    only_look: bool = False,
    at_door: bool = False,
    door: DoorAddress | None = None,
) -> None:
    """Hand the process with the network all that it may know; with a release to start from, it is a run's only one."""
    files = (settings.provider.ca_file, source, *(() if door is None else door.certificate))
    reads = [each for each in files if each is not None and Path(each).exists()]
    work = RUNNER if door is None else COORDINATOR
    try:
        runner.order(
            work if source is None else FOLLOWER,
            [*map(str, reads)],
            [str(each) for each in (settings.output.folder.absolute(), *writes)],
            quiet=audience.console.quiet,
            verbose=audience.verbose,
            settings=settings.model_dump(mode="json"),
            key=key,
            only_look=only_look,
            at_door=at_door,
            is_there=audience.person.is_there(),
            tells=audience.tell is not tell_nobody,
            **({} if door is None else door.orders()),
        )
    except GoneError:
        raise ProtocolError("a process of the run could not begin") from None


def order_decoder(decoder: Child) -> None:
    """Have the images of a run decoded for its keeper, by a process without files and without a network."""
    decoder.order(DECODER, [], [])


def order_judge(judge: Child, work: str, files: tuple[list[str], list[str]], told: Mapping[str, Any]) -> None:
    """Have what runs made measured on private data, by a process that may read and write these files."""
    try:
        judge.order(work, *files, **told)
    except GoneError:
        raise ProtocolError("the process that measures could not begin; the run is finished") from None


def list_files(run: CheckedRun, room: Path) -> tuple[list[str], list[str]]:
    """What a process with private files may read, and what it may write."""
    settings, root = run.settings, run.folder.root.absolute()
    # A client that is another command makes the run's folder later; beside it lie other runs.
    runs = root if root.exists() else root.parent
    reads = [*follow_links(list_private_paths(settings)), *list_caches(), str(runs)]
    return reads, [*map(str, list_ledger_folders(settings.privacy.ledger)), str(room)]


def describe(run: CheckedRun, audience: Audience, room: Path) -> dict[str, Any]:
    """All of a run but its key, for a process with private files."""
    return {
        "quiet": audience.console.quiet,
        "verbose": audience.verbose,
        "settings": run.settings.model_dump(mode="json"),
        "room": str(room),
        "resume": run.resume,
        "keywords": spells_keywords(),
    }


def may_be_measured(settings: RunConfig) -> bool:
    """True if there may be test data: the owner's, or of a library whose data play the private ones."""
    own = isinstance(parse_source(settings.data.private), FolderSource)  # which that of a roster is as well
    return settings.data.test is not None or not own


def list_private_paths(settings: RunConfig) -> list[str]:
    """All files and folders of the owner that a run reads, as far as they are there."""
    source = parse_source(settings.data.private)
    found = [source.path] if isinstance(source, FolderSource) else []
    found += [each for each in [find_roster(settings.data.private)] if each is not None]
    given = (settings.data.test, settings.data.unit_map, settings.data.secrets, settings.provider.prompts)
    found += [Path(each).expanduser() for each in (*given, settings.encoder.weights) if each is not None]
    return [str(each.absolute()) for each in found if each.exists()]


@dataclass(frozen=True)
class _Question:
    question: str


@dataclass(frozen=True)
class _Begun:
    """The run is in the ledger, and its options are kept."""


@dataclass(frozen=True)
class _Agreed:
    """The owner agreed to a run that has no keeper; it is answered when its options are kept."""


@dataclass(frozen=True)
class _Ended:
    summary: dict[str, Any]


@dataclass(frozen=True)
class _Failed:
    kind: str
    lines: tuple[str, ...]
    is_told: bool


_Said: TypeAlias = Progress | _Question | _Begun | _Agreed | _Ended | _Failed
_SAYS: dict[str, type[_Said]] = {
    "progress": Progress,
    "ask": _Question,
    "begun": _Begun,
    "agreed": _Agreed,
    "done": _Ended,
    "failed": _Failed,
}
"""What a process of a run says to whoever started it: a process may be in other hands, so each is checked."""


def attend(
    child: Child,
    stopped: Child | None,
    folder: RunFolder,
    audience: Audience,
    begun: Callable[[], None],
    asks: Callable[[str], bool] | None = None,
) -> dict[str, Any]:
    """Answer a process until it says how its work ended.

    Args:
        stopped: The process to which Ctrl-C is left, if there is one.
        begun: Called when the run is in the ledger.
        asks: Asks the person what the process asks, if not as it words it.
    """
    with nullcontext() if stopped is None else _leaving_stop_to(stopped):
        while True:
            match _read(child.pipe, folder):
                case Progress() as progress:
                    audience.tell(progress)
                case _Question(question):
                    with child.silence:
                        agrees = (asks or audience.person.agrees)(printable(question))
                    child.pipe.send("answer", json.dumps(agrees))
                case _Begun():
                    begun()
                case _Agreed():
                    begun()
                    child.pipe.send("kept")
                case _Ended(summary):
                    return summary
                case _Failed(kind, lines, is_told):
                    raise make_told(kind, *lines, is_told=is_told)


@cache
def _adapt(name: str) -> TypeAdapter[_Said]:
    return TypeAdapter(_SAYS[name])


def _read(pipe: Pipe, folder: RunFolder) -> _Said:
    try:
        name, body = pipe.receive()
        said = _adapt(name).validate_json(body)
    except GoneError:
        fault = "ended in the middle of it"
    except (PipeError, KeyError, ValidationError):
        fault = "sent what is no message"
    else:
        return said
    raise ProtocolError(
        f"a process of the run {fault}; what is paid for is on record: continue with {folder.resume_command}"
    )


@contextmanager
def _leaving_stop_to(stopped: Child) -> Iterator[None]:
    """Leave Ctrl-C to the runner, which says what became of the run; a second one ends it at once."""
    pressed = [False]

    def stop(_number: int, _frame: object) -> None:
        if pressed[0]:
            raise KeyboardInterrupt
        pressed[0] = True
        stopped.process.send_signal(signal.SIGINT)

    try:
        before = signal.signal(signal.SIGINT, stop)
    except ValueError:  # not the main thread, where no signal comes
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
