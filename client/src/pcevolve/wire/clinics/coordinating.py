"""The coordinator's runner process: from its orders to the summary, with a door for the owners."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pcevolve.public import protocol
from pcevolve.public.plan import PublicPlan
from pcevolve.public.processes.confinement import Enforcement
from pcevolve.public.processes.pipe import Pipe
from pcevolve.public.run.progress import Audience
from pcevolve.wire.clinics.adding import AddingJudge, AddingSide, RemoteCoordinator
from pcevolve.wire.clinics.door import Door, serve
from pcevolve.wire.execution import carry_out
from pcevolve.wire.reaching import RunnerJob
from pcevolve.wire.running import work


@dataclass(frozen=True)
class OwnersAtDoor:
    """The owners who connect to a door."""

    side: AddingSide
    door: Door

    def make_judge(self, keeper: protocol.PrivateSide, head: Callable[[], str]) -> AddingJudge:
        """Return a judge that asks them."""
        return AddingJudge(keeper, head, side=self.side, gather=self.door.gather)

    def wait(self, plan: PublicPlan) -> None:
        """Wait until all have agreed."""
        self.door.wait(plan)


def run(orders: Mapping[str, Any], _enforced: Enforcement, up: Pipe, across: Pipe) -> None:
    """Be the runner of a coordinator."""
    side = RemoteCoordinator(across, partial(up.send, "begun"))

    def go(job: RunnerJob, audience: Audience) -> dict[str, Any]:
        door = Door(job.folder, version("pcevolve"), audience.console.print)
        files = [None if each is None else Path(each) for each in orders["certificate"]]
        server = serve(orders["listener"], door, *files)
        try:
            summary = carry_out(job, side, audience, OwnersAtDoor(side, door))[2]
            door.finish(summary)
            return summary
        finally:
            side.close(protocol.Close())
            server.shutdown()

    work(go, orders, up)
