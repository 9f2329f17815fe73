"""A replica on a cluster's machine."""

from __future__ import annotations

import asyncio
import logging

import pytest

from pcevolve_server.errors import EngineLostError, GenerationError
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.models import ModelCache
from pcevolve_server.work import Recipe, Task
from support.painters import Device, GpuPainter


@pytest.fixture
def cluster():
    """The two modules that import Ray."""
    pytest.importorskip("ray", reason="needs pcevolve-server[ray]")
    from pcevolve_server.engines.cluster import deployment, engine

    return deployment, engine


def test_a_replica_raises_nothing_to_ray_and_logs_no_message(cluster, fake, caplog):
    deployment, _ = cluster
    replica = deployment.ServedReplica(
        deployment.Wanted((ModelSettings(),)), lambda _: ModelCache([lambda: fake])
    )
    with caplog.at_level(logging.ERROR):
        failure, _ = asyncio.run(replica.run([Task(Recipe(8, 8), "explode", "", 1)]))
    assert isinstance(failure, GenerationError)
    assert "SECRET" not in str(failure) + caplog.messages[0]


def tasks(count, side=8, prompt="p"):
    return [Task(Recipe(side, side), prompt, "", seed) for seed in range(count)]


def test_rays_health_check_tells_of_a_lost_device_and_the_batch_goes_elsewhere():
    pytest.importorskip("ray", reason="needs pcevolve-server[ray]")
    from pcevolve_server.engines.cluster import deployment

    wanted = deployment.Wanted((ModelSettings(),))
    replica = deployment.ServedReplica(wanted, lambda _: ModelCache([lambda: GpuPainter(Device())]))
    replica.check_health()
    outcome, _ = asyncio.run(replica.run(tasks(1, prompt="break")))
    assert isinstance(outcome, EngineLostError)
    with pytest.raises(EngineLostError, match="the device failed"):
        replica.check_health()
