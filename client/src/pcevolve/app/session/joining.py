"""An owner's part in a run of several: a keeper of its data without network, and a front end without private files."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from pcevolve.app.session.access import keep_files_of_run, list_files, require_apart
from pcevolve.app.session.orders import attend, order, order_decoder
from pcevolve.app.session.staff import claim, staff
from pcevolve.errors import DataError
from pcevolve.public.config.addresses import require_address
from pcevolve.public.config.config import RunConfig
from pcevolve.public.processes.launcher import Child, Children
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.meeting import FrontSettings
from pcevolve.public.run.progress import Audience, Person

OWN: Final = "pcevolve.keeper.clinics.keeping:own"
FRONT: Final = "pcevolve.wire.clinics.joining:join"


class JoinedFolder(RunFolder):
    """An owner's copy of a coordinator's record."""

    @property
    def resume_command(self) -> str:
        """The command that continues the run."""
        return "the same command"


@dataclass(frozen=True)
class Joining:
    """An owner's options.

    Attributes:
        own: The keeper's options, as text; see ``keeper.clinics.owner.OwnOptions``.
        yes: Whether the owner agreed beforehand, so that nobody is asked.
    """

    url: str
    own: dict[str, Any]
    ca_file: Path | None
    yes: bool

    def check(self) -> CheckedRun:
        """Check the options, and return the run as far as it is known.

        Raises:
            DataError: The private data do not exist.
            UsageError: The address is invalid, or one folder is inside another.
        """
        own = self.own
        require_address(self.url, "URL")
        if not Path(own["private"]).exists():
            raise DataError(f"--private {own['private']}: no such folder or file")
        # Placeholders: the plan's values are not known yet, and do not matter here.
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

    def front(self) -> FrontSettings:
        """Return the options for the process with the network."""
        ca_file = None if self.ca_file is None else self.ca_file.absolute()
        return FrontSettings(url=self.url, ca_file=ca_file, folder=Path(self.own["folder"]))

    def address(self, audience: Audience) -> Audience:
        """Return an audience that agrees without a question, if ``yes`` was given."""
        return replace(audience, person=_Yes()) if self.yes else audience

    def order_owner(
        self, keeper: Child, work: str, run: CheckedRun, audience: Audience, room: Path, **more: object
    ) -> None:
        """Send orders to the process with the private data."""
        reads, writes = list_files(run, room)
        reads += [str(self.own[name]) for name in ("roster", "key") if Path(self.own[name]).exists()]
        common = {"quiet": audience.console.quiet, "verbose": audience.verbose}
        order(keeper, work, reads, writes, own=self.own, room=str(room), **common, **more)


class _Yes:
    """A person who agreed beforehand."""

    def is_there(self) -> bool:
        return True

    def agrees(self, _question: str) -> bool:
        return True


def join(joining: Joining, audience: Audience, children: Children) -> dict[str, Any]:
    """Take part in a run until it is over; return its summary.

    Raises:
        ClientError: The reason for an early end. Answers stay paid for, and the same command continues the
            run.
    """
    run, audience = joining.check(), joining.address(audience)
    with staff(children, partial(keep_files_of_run, run)) as at_work, claim(run.folder, resume=True):
        order_decoder(children.decoder, run.settings)
        joining.order_owner(children.keeper, OWN, run, audience, at_work.room)
        order_front(children.runner, joining.front(), audience, is_there=audience.person.is_there())
        summary = attend(
            *(children.runner, children.runner, JoinedFolder(run.folder.root), audience),
            begun=lambda: None,
            asks=partial(_ask, children.keeper, audience.person),
        )
        children.end()
        run.folder.forget_times()
    return summary


def _ask(keeper: Child, person: Person, _worded: str) -> bool:
    """Ask about the plan that the keeper has shown, and send the answer to the keeper, not through the front end."""
    _, asked = keeper.pipe.receive()
    agrees = person.agrees(json.loads(asked)["question"])
    keeper.pipe.send("answer", json.dumps(agrees))
    return agrees


def order_front(runner: Child, settings: FrontSettings, audience: Audience, *, is_there: bool) -> None:
    """Send orders to the process with the network.

    Args:
        is_there: Whether a person can be asked about the plan.
    """
    folder, ca_file = str(settings.folder.absolute()), settings.ca_file
    order(
        runner,
        FRONT,
        [] if ca_file is None or not ca_file.exists() else [str(ca_file)],
        [folder],
        url=settings.url,
        ca_file=None if ca_file is None else str(ca_file),
        folder=folder,
        is_there=is_there,
        shows_progress=False,
        quiet=audience.console.quiet,
        verbose=audience.verbose,
    )
    runner.pass_on_words()
