"""Sends batches to the deployment, and again where a replica died."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from ray import exceptions, serve
from ray.serve.exceptions import DeploymentUnavailableError, ReplicaUnavailableError
from ray.serve.handle import DeploymentHandle, DeploymentResponse

from pcevolve_server.engines.cancelling import finished
from pcevolve_server.engines.cluster.connection import Connection
from pcevolve_server.engines.cluster.deploying import deploy, ready
from pcevolve_server.engines.cluster.deployment import APPLICATION
from pcevolve_server.engines.engine import Told, untold
from pcevolve_server.errors import (
    EngineLostError,
    GenerationError,
    NotReadyError,
    RequestError,
)
from pcevolve_server.settings import Settings
from pcevolve_server.shelf import Offer, Traffic
from pcevolve_server.work import Made, Work
from pcevolve_shared.wire import ModelInfo

logger = logging.getLogger(__name__)

_ATTEMPTS = 3
"""Of a batch; one that takes three replicas with it is most likely why they died."""
_LOST = (
    exceptions.RayActorError,
    exceptions.ObjectLostError,
    exceptions.WorkerCrashedError,
    ReplicaUnavailableError,
)
"""What says that a replica, its machine or its answer is gone."""


async def opened(connection: Connection, settings: Settings) -> ClusterEngine:
    """Return the engine before the cluster's application, which is deployed if it is not there.

    Args:
        connection: Started; the engine ends it.
        settings: What to deploy, and how many batches to run at once.

    Raises:
        ModelLoadError: No replica could load the model.
    """
    deploys = APPLICATION not in (await connection.do(serve.status)).applications
    if deploys:
        await connection.do(deploy, connection, settings)
    there = await ready(connection)
    handle = serve.get_app_handle(APPLICATION)
    offers = await handle.describe.remote()
    at_once = max(settings.replicas, settings.max_replicas) or there
    return ClusterEngine(connection, handle, offers, at_once, deploys)


class ClusterEngine:
    """Replicas of a generator, behind a handle of Ray Serve's."""

    def __init__(
        self,
        connection: Connection,
        handle: DeploymentHandle,
        offers: tuple[Offer, ...],
        replicas: int,
        deployed: bool,
        watch_seconds: float = 10.0,
    ) -> None:
        """Keep what is needed to run batches and to end.

        Args:
            connection: Ends with the engine.
            handle: Of the application.
            offers: Of its models.
            replicas: Batches that are sent at once; those for which no replica is free wait in the cluster.
            deployed: Whether the application ends with the engine.
            watch_seconds: From one look at the cluster to the next, while a batch is under way and while none is.
        """
        self._connection, self._handle, self.offers = connection, handle, offers
        self._replicas, self._deployed, self._watch_seconds = replicas, deployed, watch_seconds

    @property
    def info(self) -> ModelInfo:
        """What the first model can do."""
        return self.offers[0].info

    @property
    def companions(self) -> int:
        """Of the first model."""
        return self.offers[0].companions

    @property
    def padded(self) -> bool:
        """Of the first model."""
        return self.offers[0].padded

    @property
    def traffic(self) -> Traffic:
        """Nothing: replicas keep it to their logs."""
        return Traffic()

    @property
    def replicas(self) -> int:
        """Batches that may run at once."""
        return self._replicas

    async def run(self, tasks: Sequence[Work], told: Told = untold) -> list[Made]:
        """Return what became of tasks that share one recipe, in their order; nothing is told of their steps.

        A batch whose replica dies runs again on another, for it depends on its tasks alone. Cancelling returns when
        Serve has passed it on; the replica ends after the model's current step, and is sent nothing before.

        Raises:
            GenerationError: Replica after replica died.
            NotReadyError: There is no replica and none will come.
            EngineLostError: There is no cluster any more.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return await self._sent(tasks)
            except _LOST as error:
                logger.warning(
                    "a replica died with its batch",
                    extra={"attempt": attempt, "error": type(error).__name__},
                )
            except DeploymentUnavailableError as error:
                raise NotReadyError("no replica can load the model", code="failed") from error
        raise GenerationError("the model's process died at every try", code="replica_died")

    async def _sent(self, tasks: Sequence[Work]) -> list[Made]:
        response = self._handle.run.remote(tasks)
        outcome: list[Made] | RequestError = await finished(self._answer(response), response.cancel)
        if isinstance(outcome, RequestError):
            raise outcome
        return outcome

    async def _answer(self, response: DeploymentResponse) -> list[Made] | RequestError:
        """Wait for a replica's answer as long as there is a cluster; without one, Serve would wait for ever."""
        answer: asyncio.Future[list[Made] | RequestError] = asyncio.ensure_future(response)
        while not (await asyncio.wait({answer}, timeout=self._watch_seconds))[0]:
            if not await self._connection.alive():
                answer.cancel()
                raise _gone()
        return answer.result()

    async def lost(self) -> EngineLostError:
        """Return when there is no cluster any more, whether anybody asks for images or not."""
        # Twice: Ray may be slow to answer on a machine that is busy, and nobody waits for it here.
        while await self._connection.alive() or await self._connection.alive():
            await asyncio.sleep(self._watch_seconds)
        return _gone()

    async def close(self) -> None:
        """Leave the cluster; an application that this process deployed ends, and so does a cluster that it started."""
        if self._deployed and not self._connection.own:
            await self._connection.do(serve.delete, APPLICATION)
        await self._connection.end()


def _gone() -> EngineLostError:
    return EngineLostError("the Ray cluster is gone: start the server anew")
