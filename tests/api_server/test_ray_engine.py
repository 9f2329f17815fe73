"""What the engine on Ray does without a cluster: a fake stands for the handle; and the files for clusters."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from pcevolve_server.engines import Losable, choice
from pcevolve_server.engines.cluster import connection
from pcevolve_server.errors import (
    ContentRejectedError,
    EngineLostError,
    GenerationError,
    NotReadyError,
    SettingsError,
)
from pcevolve_server.models import Offer, Shelf
from pcevolve_server.settings import EngineKind, ModelSettings, Settings
from pcevolve_server.work import Recipe, Task

ROOT = Path(__file__).parents[2]
TASKS = [Task(Recipe(width=8, height=8), "p", "", 1)]


@pytest.fixture
def cluster():
    """The two modules that import Ray."""
    pytest.importorskip("ray", reason="needs pcevolve-server[ray]")
    from pcevolve_server.engines.cluster import deployment, engine

    return deployment, engine


class Response:
    """What a handle returns: it is awaited, or cancelled."""

    def __init__(self, outcome):
        self.outcome, self.cancelled = outcome, asyncio.Event()

    def __await__(self):
        return self._arrived().__await__()

    async def _arrived(self):
        if self.outcome is None:
            await self.cancelled.wait()
        if isinstance(self.outcome, type):
            raise self.outcome("gone")
        return self.outcome

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


class Hesitant:
    """A cluster that now and then is too slow to say that it is alive, and ends after so many looks."""

    def __init__(self, looks):
        self.looks = looks

    async def alive(self):
        self.looks -= 1
        return self.looks >= 0 and self.looks % 2 == 0


class Connection:
    """Asked whether the cluster is alive, it is for so many times."""

    def __init__(self, times):
        self.times = times

    async def alive(self):
        self.times -= 1
        return self.times >= 0


def engine_before(cluster, handle, times=1000):
    _, engine = cluster
    return engine.ClusterEngine(Connection(times), handle, (Offer(None, 1, False),), 1, False, 0.01)


def test_a_batch_runs_again_where_its_replica_died(cluster):
    from ray.exceptions import ActorUnavailableError, ObjectLostError

    for lost in (ActorUnavailableError, ObjectLostError):
        handle = Handle(type("Lost", (lost,), {"__init__": lambda self, _: None}), "pictures")
        assert asyncio.run(engine_before(cluster, handle).run(TASKS)) == "pictures"


def test_a_batch_that_takes_replica_after_replica_with_it_is_given_up(cluster):
    from ray.exceptions import RayActorError

    lost = type("Lost", (RayActorError,), {"__init__": lambda self, _: None})
    handle = Handle(lost, lost, lost, "too late")
    with pytest.raises(GenerationError, match="died at every try") as failure:
        asyncio.run(engine_before(cluster, handle).run(TASKS))
    assert failure.value.code == "replica_died"


def test_no_replica_and_none_to_come_is_a_503(cluster):
    from ray.serve.exceptions import DeploymentUnavailableError

    gone = type("Gone", (DeploymentUnavailableError,), {"__init__": lambda self, _: None})
    with pytest.raises(NotReadyError, match="no replica"):
        asyncio.run(engine_before(cluster, Handle(gone)).run(TASKS))


def test_what_no_cluster_will_answer_any_more_is_a_503_and_says_that_the_engine_is_lost(cluster):
    with pytest.raises(EngineLostError, match="cluster is gone") as failure:
        asyncio.run(engine_before(cluster, Handle(None), times=2).run(TASKS))
    assert failure.value.code == "failed"


def test_a_cluster_that_ends_while_nothing_runs_is_noticed_all_the_same(cluster):
    connection = Connection(2)
    _, engine = cluster
    idle = engine.ClusterEngine(connection, Handle(), (Offer(None, 1, False),), 1, False, 0.01)
    assert isinstance(idle, Losable)
    assert isinstance(asyncio.run(idle.lost()), EngineLostError)
    assert connection.times < 0


def test_a_cluster_that_is_slow_to_answer_once_is_not_given_up(cluster):
    connection = Hesitant(20)
    _, engine = cluster
    idle = engine.ClusterEngine(connection, Handle(), (Offer(None, 1, False),), 1, False, 0.001)
    asyncio.run(idle.lost())
    assert connection.looks < 0


def test_what_a_replica_refuses_is_refused(cluster):
    with pytest.raises(ContentRejectedError, match="why"):
        asyncio.run(engine_before(cluster, Handle(ContentRejectedError("why"))).run(TASKS))


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


def test_a_replica_raises_nothing_to_ray_and_logs_no_message(cluster, fake, caplog):
    deployment, _ = cluster
    replica = deployment.Replica(deployment.Wanted((ModelSettings(),)), lambda _: Shelf([lambda: fake]))
    with caplog.at_level(logging.ERROR):
        failure = asyncio.run(replica.run([Task(Recipe(8, 8), "explode", "", 1)]))
    assert isinstance(failure, GenerationError)
    assert "SECRET" not in str(failure) + caplog.messages[0]


def test_a_cancelled_replica_gives_up_between_steps(cluster, fake):
    deployment, _ = cluster
    fake.gate.clear()

    async def scenario():
        replica = deployment.Replica(deployment.Wanted((ModelSettings(),)), lambda _: Shelf([lambda: fake]))
        run = asyncio.create_task(replica.run(TASKS))
        while not fake.batches:
            await asyncio.sleep(0.001)
        run.cancel()
        await asyncio.wait_for(asyncio.gather(run, return_exceptions=True), 5)  # the gate stays shut

    asyncio.run(scenario())


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


def test_without_ray_the_engine_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SettingsError, match=r"pip install 'pcevolve-server\[ray\]'"):
        choice.opening(Settings(engine=EngineKind.RAY), lambda: False)


def test_ray_hands_out_gpus_itself(cluster):
    with pytest.raises(SettingsError, match="--device cuda, without a number"):
        choice.opening(Settings(engine=EngineKind.RAY, model=ModelSettings(device="cuda:1")), lambda: False)


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("go with --engine ray", {"max_replicas": 2}),
        ("go with --engine ray", {"ray_address": "auto", "engine": EngineKind.PROCESSES}),
        ("not larger", {"engine": EngineKind.RAY, "replicas": 3, "max_replicas": 2}),
        ("not larger", {"engine": EngineKind.RAY, "max_replicas": 2}),
    ],
)
def test_options_that_would_go_unheard_are_refused(message, options):
    with pytest.raises(SettingsError, match=message):
        Settings(**options)


def shipped(name):
    return list(yaml.safe_load_all((ROOT / "docker/ray" / name).read_text(encoding="utf-8")))


def test_the_serve_config_is_one_and_its_arguments_are_options(cluster):
    from ray.serve.schema import ServeDeploySchema

    deployment, _ = cluster
    (config,) = shipped("serve.yaml")
    schema = ServeDeploySchema.model_validate(config)
    (application,) = schema.applications
    assert (application.name, application.route_prefix) == (deployment.APPLICATION, None)
    assert [each.name for each in application.deployments] == [deployment.DEPLOYMENT]
    assert application.import_path == f"{deployment.__name__}:{deployment.build.__name__}"
    (model,) = deployment.wanted_of(application.args).models
    assert model.device == "cuda"


def test_a_config_may_ask_for_several_models_that_share_what_is_said_of_all(cluster):
    deployment, _ = cluster
    asked = {"model": "a", "model_id": "mine", "threads": 2, "others": ["b", "c"], "model_memory_mib": 500}
    wanted = deployment.wanted_of(asked)
    assert [(each.model, each.model_id, each.threads) for each in wanted.models] == [
        ("a", "mine", 2),
        ("b", "", 2),
        ("c", "", 2),
    ]
    assert wanted.memory_mib == 500


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
        deployment.wanted_of(args)


def test_the_example_for_kubernetes_agrees_with_the_serve_config_and_the_lock():
    documents = {document["kind"]: document for document in shipped("kuberay.yaml")}
    assert set(documents) == {"RayCluster", "Job", "Deployment", "Service", "NetworkPolicy"}
    (config,) = shipped("serve.yaml")
    scaling = config["applications"][0]["deployments"][0]["autoscaling_config"]
    pods = list(containers(documents))
    assert all({"RAY_AUTH_MODE", "RAY_AUTH_TOKEN"} <= {each["name"] for each in pod["env"]} for pod in pods)
    (arguments,) = (" ".join(pod["args"]) for pod in pods if "args" in pod)
    assert f"--engine ray --ray-address auto --replicas {scaling['max_replicas']}" in arguments
    workers = documents["RayCluster"]["spec"]["workerGroupSpecs"][0]
    assert workers["minReplicas"] >= scaling["min_replicas"]
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert re.search(r"^ray==(\S+)", lock, re.MULTILINE)[1] == documents["RayCluster"]["spec"]["rayVersion"]


def containers(documents):
    """Of all pods in Kubernetes documents."""
    cluster = documents["RayCluster"]["spec"]
    owners = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    owners += [documents[kind]["spec"] for kind in ("Job", "Deployment")]
    for owner in owners:
        yield from owner["template"]["spec"]["containers"]


def test_a_process_whose_own_node_ray_cannot_name_is_not_alive(monkeypatch):
    class RayError(Exception):
        pass

    def unnamed():
        raise RayError

    ray = SimpleNamespace(
        get_runtime_context=lambda: SimpleNamespace(get_node_id=unnamed),
        exceptions=SimpleNamespace(RayError=RayError),
    )
    monkeypatch.setattr(connection, "_imported", lambda: ray)

    async def alive():
        return await connection.Connection(Settings()).alive()

    assert asyncio.run(alive()) is False
