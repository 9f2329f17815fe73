"""The engine on Ray without a cluster: a fake stands for the handle; and the files for clusters."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from pcevolve_server.errors import EngineLostError, GenerationError
from pcevolve_server.models import ModelDescription
from pcevolve_server.settings import EngineKind, Settings
from pcevolve_server.work import Recipe, Task
from support.served import FakeGenerator

INFO = FakeGenerator().info
TASKS = [Task(Recipe(width=8, height=8), "p", "", 1)]


@pytest.fixture
def cluster():
    """The two modules that import Ray."""
    pytest.importorskip("ray", reason="needs pcevolve-server[ray]")
    from pcevolve_server.engines.cluster import deployment, engine

    return deployment, engine


class Response:
    """A handle's answer: it is awaited, or cancelled."""

    def __init__(self, outcome):
        self.outcome, self.cancelled = outcome, asyncio.Event()

    def __await__(self):
        return self._arrived().__await__()

    async def _arrived(self):
        if self.outcome is None:
            await self.cancelled.wait()
        if isinstance(self.outcome, type):
            raise self.outcome("gone")
        return self.outcome, (ModelDescription(INFO.model_copy(update={"max_pixels": 255}), 1, False),)

    def cancel(self):
        self.cancelled.set()


class Handle:
    """Answers with the outcomes in turn; an exception's class is raised, ``None`` never arrives."""

    def __init__(self, *outcomes):
        self.outcomes, self.responses = list(outcomes), []

    @property
    def run(self):
        return self

    def remote(self, _):
        self.responses.append(Response(self.outcomes.pop(0)))
        return self.responses[-1]


class Connection:
    """Asked whether the cluster is alive, it is for so many times."""

    def __init__(self, times):
        self.times = times

    async def alive(self):
        self.times -= 1
        return self.times >= 0


def engine_before(cluster, handle, times=1000):
    _, engine = cluster
    return engine.ClusterEngine(
        Connection(times), handle, (ModelDescription(INFO, 1, False),), 1, False, 0.01
    )


def test_a_cluster_is_asked_for_one_replica_or_more_and_a_gpu_or_a_share_of_one_for_each(
    cluster, monkeypatch
):
    _, engine = cluster
    for name in ("start", "run_many", "RunTarget"):
        monkeypatch.setattr(engine.serve, name, lambda *_, **__: None)
    asked = []
    monkeypatch.setattr(engine, "application", lambda wanted, scale: asked.append(scale))
    monkeypatch.setattr(engine.ray, "cluster_resources", lambda: {"GPU": 2.0})
    for options in ({}, {"replicas": 2}, {"replicas": 1, "max_replicas": 3}):
        engine.deploy(SimpleNamespace(own=False), Settings(engine=EngineKind.RAY, **options))
    told = [(each.least, each.most, each.processors, each.gpus) for each in asked]
    assert told == [(1, 1, 1, 1.0), (2, 2, 1, 1.0), (1, 3, 1, 0.666)]


def test_a_batch_runs_again_where_its_replica_died(cluster):
    from ray.exceptions import ActorUnavailableError, ObjectLostError

    for lost in (ActorUnavailableError, ObjectLostError):
        handle = Handle(type("Lost", (lost,), {"__init__": lambda self, _: None}), "pictures")
        assert asyncio.run(engine_before(cluster, handle).run(TASKS)) == "pictures"


def test_a_batch_runs_again_where_its_replicas_device_failed(cluster):
    handle = Handle(EngineLostError("the device failed"), "pictures")
    assert asyncio.run(engine_before(cluster, handle).run(TASKS)) == "pictures"


def test_what_one_replica_learned_of_its_memory_is_told(cluster):
    found = engine_before(cluster, Handle("pictures"))
    asyncio.run(found.run(TASKS))
    assert found.descriptions[0].info.max_pixels == 255


def test_a_batch_that_takes_replica_after_replica_with_it_is_given_up(cluster):
    from ray.exceptions import RayActorError

    lost = type("Lost", (RayActorError,), {"__init__": lambda self, _: None})
    handle = Handle(lost, lost, lost, "too late")
    with pytest.raises(GenerationError, match="died at every attempt") as failure:
        asyncio.run(engine_before(cluster, handle).run(TASKS))
    assert failure.value.code == "replica_died"


def test_what_no_cluster_will_answer_any_more_is_a_503_and_says_that_the_engine_is_lost(cluster):
    with pytest.raises(EngineLostError, match="cluster is gone") as failure:
        asyncio.run(engine_before(cluster, Handle(None), times=2).run(TASKS))
    assert failure.value.code == "failed"


def test_cancelling_a_run_cancels_it_on_the_replica(cluster):
    async def scenario():
        handle = Handle(None)
        run = asyncio.create_task(engine_before(cluster, handle).run(TASKS))
        await asyncio.sleep(0.01)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        return handle.responses[0].cancelled.is_set()

    assert asyncio.run(scenario())


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        ({"devise": "cuda"}, "unknown devise"),
        ({"threads": "many"}, "threads"),
        ({"threads": -1}, "greater than or equal to 0"),
        ({"others": "b"}, "tuple"),
        ({"model_memory_mib": -1}, "greater"),
    ],
)
def test_a_config_that_asks_for_what_there_is_not_is_refused(cluster, args, complaint):
    deployment, _ = cluster
    with pytest.raises(ValueError, match=complaint):
        deployment.read_wanted(args)


@pytest.mark.parametrize(
    ("least", "most", "counted"),
    [
        (2, 2, {"num_replicas": 2}),
        (1, 3, {"min_replicas": 1, "max_replicas": 3, "target_ongoing_requests": 1}),
    ],
)
def test_replicas_are_a_number_or_as_many_as_batches_wait(cluster, least, most, counted):
    deployment, _ = cluster
    options = deployment.options(deployment.Scale(least, most))
    assert counted.items() <= (options.get("autoscaling_config") or options).items()
