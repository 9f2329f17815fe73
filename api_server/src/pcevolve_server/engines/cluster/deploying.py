"""Asks the cluster for the application, and waits until it is there."""

from __future__ import annotations

import asyncio
from typing import Final

import ray
from ray import serve
from ray.serve.schema import ApplicationStatus, ApplicationStatusOverview

from pcevolve_server import sources
from pcevolve_server.engines.cluster.connection import Connection
from pcevolve_server.engines.cluster.deployment import APPLICATION, Scale, Wanted, application
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.settings import ModelSettings, Settings

_POLL_SECONDS: Final = 0.2


def deploy(connection: Connection, settings: Settings) -> None:
    """Ask the cluster to start the replicas; returns before they have loaded anything.

    Raises:
        ModelLoadError: A model is not on this machine, which is the whole cluster.
    """
    if connection.own:
        for each in settings.models:
            sources.check(each)
    least = settings.replicas or 1
    most = max(least, settings.max_replicas)
    scale = Scale(least, most, max(1, settings.model.threads), _share_of_gpus(settings.model, most))
    # HTTP stays outside: Serve's own proxies are not started.
    serve.start(proxy_location="Disabled")
    wanted = Wanted(settings.models, settings.model_memory_mib)
    target = serve.RunTarget(application(wanted, scale), name=APPLICATION, route_prefix=None)
    serve.run_many([target], wait_for_applications_running=False)


def _share_of_gpus(model: ModelSettings, replicas: int) -> float:
    """Of each replica: a whole one where there are enough, else a share."""
    there = float(ray.cluster_resources().get("GPU", 0.0))
    if model.device not in ("auto", "cuda") or not there:
        return 0.0
    return min(1.0, int(there / replicas * 1000) / 1000)


async def ready(connection: Connection) -> int:
    """Wait for the replicas; return how many there are.

    Raises:
        ModelLoadError: None of them could load the model.
    """
    while True:
        status = (await connection.do(serve.status)).applications[APPLICATION]
        running: int = sum(each.replica_states.get("RUNNING", 0) for each in status.deployments.values())
        if status.status == ApplicationStatus.DEPLOY_FAILED and not running:
            raise ModelLoadError(_reason(status))
        # During an update some of them answer already, after one that failed those of before do.
        if running and status.status != ApplicationStatus.DEPLOYING:
            return running
        await asyncio.sleep(_POLL_SECONDS)


def _reason(status: ApplicationStatusOverview) -> str:
    """Why the model failed to load, out of the traceback that Serve passes on as text."""
    text = " ".join(deployment.message for deployment in status.deployments.values())
    _, found, reason = text.rpartition("ModelLoadError: ")
    return reason.splitlines()[0].strip() if found else "no replica could load the model; Ray's logs say why"
