"""A run of two commands, each in its own container: a keeper without network, and a client without private files.

The two share a socket file and the folder of runs, which the keeper can only read. They exchange the same
messages as the processes of one command. The keeper has all options, and sends the client the public ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from pcevolve.app.session.access import keep_files_of_client, keep_files_of_keeper, list_files
from pcevolve.app.session.joining import Joining, order_front
from pcevolve.app.session.orders import (
    ACCURACY,
    attend,
    describe,
    measure,
    order,
    order_decoder,
    order_runner,
)
from pcevolve.app.session.staff import claim, give_room, link_owners, may_be_measured
from pcevolve.errors import ClientError, DeclinedError, ProtocolError, UsageError, rebuild_error
from pcevolve.public.config.addresses import require_key
from pcevolve.public.config.options import at_door
from pcevolve.public.dialects import find_abilities
from pcevolve.public.encoders import has_torch
from pcevolve.public.processes.confinement import find_enforcement
from pcevolve.public.processes.doorway import is_contained
from pcevolve.public.processes.launcher import ClientsSide, KeepersSide
from pcevolve.public.processes.pipe import GoneError
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.meeting import (
    ClientStatement,
    FrontSettings,
    Welcome,
    agree,
    receive,
    require_agreed,
    wait_for_word,
)
from pcevolve.public.run.progress import Audience
from pcevolve.wire.asking import GONE

KEEPER: Final = "pcevolve.keeper.at_door:keep_at_door"
OWN: Final = "pcevolve.keeper.clinics.keeping:own_at_door"
NOBODY: Final = (
    "agreeing to the plan needs a terminal: run the command at a terminal, or give --yes and --max-epsilon"
)


@at_door()
def keep_at_door(
    run: CheckedRun, side: KeepersSide, socket: Path, audience: Audience, *, is_demanded: bool = False
) -> None:
    """Keep one run's private data for the client that connects to a socket file; then measure, if there are test data.

    Raises:
        ClientError: The reason for an early end; for the keeper's refusals, an error of the same kind.
    """
    with _keeping(run, side, socket) as room:
        files, orders = list_files(run, room), describe(run, audience, room)
        order(side.keeper, KEEPER, *files, **orders, door=str(socket), is_demanded=is_demanded)
        audience.console.print(f"waiting for a client at {socket}")
        figures = attend(side.keeper, None, run.folder, audience, partial(link_owners, run))
        if figures and may_be_measured(run.settings) and has_torch():
            asked = {"measure": ACCURACY, "asked": {"summary": figures}}
            measure(side.judge, run, audience, list_files(run, room), {**orders, **asked})


@at_door()
def join_at_door(
    joining: Joining, side: KeepersSide, socket: Path, audience: Audience, *, is_demanded: bool = False
) -> None:
    """Be the keeper of one owner's data in a run of several owners. The front end connects to a socket file.

    Raises:
        ClientError: The run ended early. If the keeper refused, the error has the class of the keeper's error.
    """
    run, audience = joining.check(), joining.address(audience)
    front = joining.front().model_dump(mode="json")
    with _keeping(run, side, socket) as room:
        met = {"front": front, "door": str(socket), "is_demanded": is_demanded}
        joining.order_owner(side.keeper, OWN, run, audience, room, **met)
        audience.console.print(f"waiting for pcevolve run --keeper at {socket}")
        person = audience.person

        def ask(question: str) -> bool:
            return person.is_there() and person.agrees(question)

        try:
            attend(side.keeper, None, run.folder, audience, lambda: None, ask)
        except DeclinedError:
            if person.is_there():
                raise
            raise UsageError(NOBODY) from None


@contextmanager
def _keeping(run: CheckedRun, side: KeepersSide, socket: Path) -> Iterator[Path]:
    """Prepare the processes with private data for work, and end them with the block.

    Yields:
        A folder for their temporary files.
    """
    for folder in (run.settings.privacy.ledger.absolute().parent, socket.absolute().parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    run.folder.root.absolute().parent.mkdir(parents=True, exist_ok=True)
    keep_files_of_keeper(run)
    is_over = False
    with give_room() as room:
        try:
            order_decoder(side.decoder, run.settings)
            yield room
            is_over = True
        finally:
            # The keeper informs the client of the end and waits until it has ended, because the first process
            # to end ends both containers.
            for each in (side.keeper, side.judge, side.decoder):
                each.end(kill=not is_over)


@at_door()
def run_at_door(side: ClientsSide, audience: Audience, *, is_demanded: bool = False) -> dict[str, Any]:
    """Run as the client of a keeper that is another command; return the finished run's summary.

    Raises:
        ClientError: The reason for an early end; what was paid for is on record, and both commands continue
            from there.
    """
    is_over = False
    try:
        welcome = receive(side.door, "welcome", Welcome)
        settings, reads = welcome.settings, list[str]()
        asks: Callable[[str], bool] = audience.person.agrees
        begin: Callable[[], None]
        if isinstance(settings, FrontSettings):
            folder, reads = RunFolder(settings.folder), [str(settings.ca_file)]
            # The keeper itself asks the owner, because it does not trust the front end's report of an answer.
            begin = partial(order_front, side.runner, settings, audience, is_there=True)
            asks = _agree
        else:
            folder, key = RunFolder(settings.output.folder), settings.key()
            require_key(key, find_abilities(settings.provider.dialect).scheme)
            begin = partial(order_runner, side.runner, settings, key, audience, at_door=True)
        shared = [str(folder.root.absolute().parent), side.folder, *reads]
        claimed = ClientStatement(is_contained=is_contained(shared), landlock=_find_landlock())
        require_agreed(agree(welcome, claimed), is_demanded)
        keep_files_of_client(folder.root)
        with claim(folder, welcome.resume):
            side.door.send("claim", claimed.model_dump_json())
            begin()
            found = attend(side.runner, side.runner, folder, audience, lambda: None, asks)
            folder.forget_times()
        side.runner.end()
        # The keeper may still have to measure, and sends a message when it is done.
        wait_for_word(side.door)
        is_over = True
        return found
    except GoneError:
        raise ProtocolError(GONE) from None
    except ClientError as error:
        if error.is_reported:  # the reason is on the keeper's screen, for the owner alone
            raise rebuild_error(
                type(error).__name__,
                "the keeper refused to continue; see its own messages",
                is_reported=False,
            ) from None
        raise
    finally:
        side.runner.end(kill=not is_over)


def _agree(_question: str) -> bool:
    return True


def _find_landlock() -> int:
    found = find_enforcement()
    return found.landlock if found.is_whole else 0
