"""A replica: in a process of its own, and on a cluster's machine."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from pcevolve_server.engines.replica import ReplicaProcess
from pcevolve_server.errors import EngineLostError, GenerationError
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.models import ModelCache
from pcevolve_server.work import Recipe, Task
from support.painters import Breakable, Device, GpuPainter
from support.served import wait_until


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


@pytest.mark.system
def test_a_replica_that_waits_ends_by_itself_and_one_that_hangs_by_force():
    for prompt, code in (("p", 0), ("hang", -signal.SIGKILL)):
        replica = ReplicaProcess(partial(ModelCache, [Breakable]))
        replica.wait_until_open()
        with ThreadPoolExecutor() as pool:
            run = pool.submit(replica.run, tasks(1, prompt=prompt))
            wait_until(run.done if prompt == "p" else replica.pulse)
            begun = time.monotonic()
            replica.close()
            assert time.monotonic() - begun < 30
        assert replica._process.exitcode == code
