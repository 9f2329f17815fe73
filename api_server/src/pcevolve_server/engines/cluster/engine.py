"""The application on the cluster. Deploys it, waits for it, sends it batches, and repeats a dead replica's batch."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

import ray
from ray import exceptions, serve
from ray.serve.exceptions import DeploymentUnavailableError, ReplicaUnavailableError
from ray.serve.handle import DeploymentHandle, DeploymentResponse
from ray.serve.schema import ApplicationStatus, ApplicationStatusOverview

from pcevolve_server import sources
from pcevolve_server.engines import finish
from pcevolve_server.engines.cluster.connection import Connection
from pcevolve_server.engines.cluster.deployment import APPLICATION, Answer, Scale, Wanted, application
from pcevolve_server.errors import (
    EngineLostError,
    GenerationError,
    ModelLoadError,
    NotReadyError,
    RequestError,
)
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.models import ModelDescription
from pcevolve_server.settings import Settings
from pcevolve_server.work import Made, Work

_POLL_SECONDS: Final = 0.2


def deploy(connection: Connection, settings: Settings) -> None:
    """Ask the cluster to start the replicas. Return before they have loaded their models.

    Raises:
        ModelLoadError: The cluster is this machine alone, and a model is not on it.
    """
    if connection.own:
        for each in settings.models:
            sources.check(each)
    least = settings.replicas or 1
    most = max(least, settings.max_replicas)
    scale = Scale(least, most, max(1, settings.model.threads), _share_of_gpus(settings.model, most))
    # Serve's own HTTP proxies are not started: this server answers HTTP.
    serve.start(proxy_location="Disabled")
    wanted = Wanted(settings.models, settings.model_memory_mib, settings.stall_seconds)
    target = serve.RunTarget(application(wanted, scale), name=APPLICATION, route_prefix=None)
    serve.run_many([target], wait_for_applications_running=False)


def _share_of_gpus(model: ModelSettings, replicas: int) -> float:
    """Return each replica's share of the GPUs: a whole GPU if there are enough, otherwise a part of one."""
    there = float(ray.cluster_resources().get("GPU", 0.0))
    if model.device not in ("auto", "cuda") or not there:
        return 0.0
    # The share is rounded down: if the shares exceeded the GPUs, one replica would get none.
    return min(1.0, int(there / replicas * 1000) / 1000)


async def ready(connection: Connection) -> int:
    """Wait for the replicas, and return their number.

    Raises:
        ModelLoadError: No replica could load the model.
    """
    while True:
        status = (await connection.do(serve.status)).applications[APPLICATION]
        running: int = sum(each.replica_states.get("RUNNING", 0) for each in status.deployments.values())
        if status.status == ApplicationStatus.DEPLOY_FAILED and not running:
            raise ModelLoadError(_reason(status))
        # During an update, some replicas of the new version answer already. After a failed update, those of the old
        # version answer.
        if running and status.status != ApplicationStatus.DEPLOYING:
            return running
        await asyncio.sleep(_POLL_SECONDS)


def _reason(status: ApplicationStatusOverview) -> str:
    """Return the reason why the model failed to load, from the traceback that Serve passes on as text."""
    text = " ".join(deployment.message for deployment in status.deployments.values())
    _, found, reason = text.rpartition("ModelLoadError: ")
    return (
        reason.splitlines()[0].strip()
        if found
        else "no replica could load the model; Ray's logs contain the reason"
    )


logger = logging.getLogger(__name__)

_ATTEMPTS = 3
"""Number of attempts at a batch. If three replicas die with a batch, the batch is most likely the cause."""


class _DeviceFailedError(Exception):
    """A replica's device failed or hangs."""


_LOST = (
    _DeviceFailedError,
    exceptions.RayActorError,
    exceptions.ObjectLostError,
    exceptions.WorkerCrashedError,
    ReplicaUnavailableError,
)
"""Errors which mean that a replica, its machine or its answer is lost."""


async def open_engine(connection: Connection, settings: Settings) -> ClusterEngine:
    """Return the engine for the cluster's application. Deploy the application first if it is missing.

    Raises:
        ModelLoadError: No replica could load the model.
    """
    deploys = APPLICATION not in (await connection.do(serve.status)).applications
    if deploys:
        await connection.do(deploy, connection, settings)
    there = await ready(connection)
    handle = serve.get_app_handle(APPLICATION)
    descriptions = await handle.describe.remote()
    at_once = max(settings.replicas, settings.max_replicas) or there
    return ClusterEngine(connection, handle, descriptions, at_once, deploys)


class ClusterEngine:
    """Replicas of a generator, behind a handle of Ray Serve."""

    def __init__(
        self,
        connection: Connection,
        handle: DeploymentHandle,
        descriptions: tuple[ModelDescription, ...],
        replicas: int,
        deployed: bool,
        watch_seconds: float = 10.0,
    ) -> None:
        """Store the state that running batches and closing need.

        Args:
            replicas: Number of batches that are sent at once. Batches without a free replica wait in the cluster.
            deployed: Whether the application ends with the engine.
            watch_seconds: Time between two checks of the cluster, with and without running batches.
        """
        self._connection, self._handle, self._deployed = connection, handle, deployed
        self.descriptions, self.replicas, self._watch_seconds = descriptions, replicas, watch_seconds

    async def run(self, tasks: Sequence[Work]) -> list[Made]:
        """Return the results of tasks that share one recipe, in the tasks' order.

        If a replica dies, its batch runs again on another replica: results depend on the tasks alone. A cancelled call
        returns when Serve has passed on the cancellation. The replica ends the run after the model's current step, and
        gets no other batch before then.

        Raises:
            GenerationError: Several replicas died with the batch.
            NotReadyError: There is no replica, and none is starting.
            EngineLostError: The cluster is gone.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return await self._send(tasks)
            except _LOST as error:
                logger.warning(
                    "a replica died while it ran a batch",
                    extra={"attempt": attempt, "error": type(error).__name__},
                )
            except DeploymentUnavailableError as error:
                raise NotReadyError("no replica can load the model", code="failed") from error
        raise GenerationError("the model's process died at every attempt", code="replica_died")

    async def _send(self, tasks: Sequence[Work]) -> list[Made]:
        response = self._handle.run.remote(tasks)
        outcome, described = await finish(asyncio.ensure_future(self._answer(response)), response.cancel)
        # A limit that one replica has learned holds for all, because the next batch may go to any replica.
        self.descriptions = tuple(
            map(ModelDescription.of_all, zip(self.descriptions, described, strict=True))
        )
        if isinstance(outcome, EngineLostError):  # of the replica, which Serve replaces for it
            raise _DeviceFailedError from outcome
        if isinstance(outcome, RequestError):
            raise outcome
        return outcome

    async def _answer(self, response: DeploymentResponse) -> Answer:
        answer: asyncio.Future[Answer] = asyncio.ensure_future(response)
        # Serve itself would wait for ever for an answer of a cluster that is gone.
        while not (await asyncio.wait({answer}, timeout=self._watch_seconds))[0]:
            if not await self._connection.alive():
                answer.cancel()
                raise _make_gone_error()
        return answer.result()

    async def wait_for_failure(self) -> EngineLostError:
        """Return when the cluster is gone, whether or not there are requests."""
        # A failed check is repeated, because Ray may answer too late once on a busy machine.
        while await self._connection.alive() or await self._connection.alive():
            await asyncio.sleep(self._watch_seconds)
        return _make_gone_error()

    async def close(self) -> None:
        """Leave the cluster. An application or cluster that this process started ends, too."""
        if self._deployed and not self._connection.own:
            await self._connection.do(serve.delete, APPLICATION)
        await self._connection.end()


def _make_gone_error() -> EngineLostError:
    return EngineLostError("the Ray cluster is gone: restart the server")
