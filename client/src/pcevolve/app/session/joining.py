"""An owner takes part in a run of several: a keeper of its data without network, and a front without private files."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from pcevolve.app.session.apart import attend, claim, give_room, list_files, order_decoder
from pcevolve.app.session.reach import keep_files_of_run
from pcevolve.errors import ClientError, DataError, ProtocolError, StoppedError
from pcevolve.public.addresses import require_address
from pcevolve.public.config.config import RunConfig
from pcevolve.public.processes.launcher import Child, Children
from pcevolve.public.processes.pipe import GoneError
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.places import require_apart
from pcevolve.public.run.progress import Audience, Person

OWN: Final = "pcevolve.keeper.clinics.keeping:own"
FRONT: Final = "pcevolve.wire.clinics.joining:join"
QUESTION: Final = "Take part in this run, with your data as they are?"


class JoinedFolder(RunFolder):
    """An owner's copy of a coordinator's record."""

    @property
    def resume_command(self) -> str:
        """How it goes on."""
        return "the same command"


@dataclass(frozen=True)
class Joining:
    """What an owner says.

    Attributes:
        own: Options of its own, as text, that its keeper is told: ``keeper.clinics.owner.OwnOptions``.
        yes: Whether nobody has to be asked.
    """

    url: str
    own: dict[str, Any]
    ca_file: Path | None
    yes: bool

    def check(self) -> CheckedRun:
        """The run as far as it is known.

        Raises:
            DataError: There are no such private data.
            UsageError: The address is none, or folders lie in each other.
        """
        own = self.own
        require_address(self.url, "URL")
        if not Path(own["private"]).exists():
            raise DataError(f"--private {own['private']}: no such folder or file")
        # What the plan says is not known yet, and decides nothing here.
        unknown = {
            "domain": "unknown",
            "shots": 1,
            "epsilon": "1",
            "model": "unknown",
            "api": "http://127.0.0.1",
        }
        known = {"private": own["private"], "out": own["folder"], "ledger": own["ledger"]}
        mapped = {} if own["unit_map"] is None else {"unit_map": own["unit_map"]}
        weights = {} if own["weights"] is None else {"encoder_weights": own["weights"]}
        settings = RunConfig.of({**unknown, **known, **mapped, **weights})
        require_apart(settings, Path(own["key"]))
        return CheckedRun(settings, resume=True)


class _Yes:
    """Somebody who said yes beforehand."""

    def is_there(self) -> bool:
        """True."""
        return True

    def agrees(self, _question: str) -> bool:
        """Yes."""
        return True


def join(joining: Joining, audience: Audience, children: Children) -> dict[str, Any]:
    """Take part in a run until it is over; its summary.

    Raises:
        ClientError: Why it ended; what was answered stays paid, and the same command goes on from there.
    """
    run = joining.check()
    if joining.yes:
        audience = replace(audience, person=_Yes())
    keep_files_of_run(run)
    with claim(run.folder, resume=True), give_room() as room:
        try:
            _order(joining, run, audience, children, room)
            children.runner.pass_on_words()
            summary = attend(
                *(children.runner, children.runner, JoinedFolder(run.folder.root), audience),
                begun=lambda: None,
                asks=partial(_ask, children.keeper, audience.person),
            )
        except GoneError:
            raise ProtocolError("a process of the run could not begin") from None
        except ClientError as error:
            # What is about to end by itself may still have a word for its owner.
            children.end(kill=isinstance(error, StoppedError))
            raise
        except BaseException:
            children.end(kill=True)
            raise
        children.end()
        run.folder.forget_times()
    return summary


def _ask(keeper: Child, person: Person, _worded: str) -> bool:
    """Ask about the plan that the keeper has shown, and tell the keeper: the front could be in other hands."""
    keeper.pipe.receive()
    agrees = person.agrees(QUESTION)
    keeper.pipe.send("answer", json.dumps(agrees))
    return agrees


def _order(joining: Joining, run: CheckedRun, audience: Audience, children: Children, room: Path) -> None:
    reads, writes = list_files(run, room)
    reads += [str(joining.own[name]) for name in ("roster", "key") if Path(joining.own[name]).exists()]
    common = {"quiet": audience.console.quiet, "verbose": audience.verbose}
    order_decoder(children.decoder)
    children.keeper.order(OWN, reads, writes, own=joining.own, room=str(room), **common)
    certificates = [joining.ca_file] if joining.ca_file is not None and joining.ca_file.exists() else []
    children.runner.order(
        FRONT,
        [str(each.absolute()) for each in certificates],
        [str(run.folder.root.absolute())],
        url=joining.url,
        ca_file=None if joining.ca_file is None else str(joining.ca_file.absolute()),
        folder=str(run.folder.root.absolute()),
        is_there=audience.person.is_there(),
        tells=False,
        **common,
    )
