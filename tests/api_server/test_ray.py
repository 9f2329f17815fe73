"""Replicas on Ray: the same bytes as without it, no request lost, and nothing left behind or open to others."""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import importlib.util
import itertools
import threading
import time
from pathlib import Path

import httpx
import psutil
import pytest
import yaml
from PIL import Image

from support import ray_cluster
from support.ray_cluster import STARTING_SECONDS, RayServer, descendants, living
from support.served import served, wait_until
from support.tiny_model import load

pytestmark = [
    pytest.mark.system,
    pytest.mark.alone,  # a cluster takes half a minute to start on two quiet cores, and many minutes on busy ones
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs pcevolve-server[ray]"),
]

KEY = "correct-horse-battery-staple"
SLOW = {"steps": 60, "width": 64, "height": 64}
"""Seconds for an image of the tiny model, and for sixteen."""


@pytest.fixture(scope="module")
def server(tiny_model, tmp_path_factory):
    """Two replicas on a cluster of the server's own."""
    started = RayServer(
        tmp_path_factory.mktemp("ray"),
        *("--model", tiny_model, "--replicas", 2, "--threads", 1, "--shutdown-seconds", 4),
        key=KEY,
    )
    try:
        started.wait_ready()
        yield started
    finally:
        started.end()


@pytest.fixture(scope="module")
def alone(tiny_model):
    """The same model on a thread of this process."""
    with served(load(model=str(tiny_model), threads=1)) as client:
        yield lambda verb="text-to-image", **body: client.post(
            f"/v1/stable-diffusion/{verb}", json={"prompt": "a b c", "seed": 1, **body}
        )


def seconds_of(processes):
    """Processor time of each."""
    return [each.cpu_times().user for each in processes]


def computing(server, before):
    """Whether both replicas have computed since."""
    return all(now - then > 0.3 for now, then in zip(seconds_of(server.replicas()), before, strict=True))


def test_images_and_variations_have_the_bytes_that_they_have_without_ray(server, alone):
    made = server.ask(n=3, steps=4).json()
    assert made == alone(n=3, steps=4).json()
    source = {"image": made["images"][0]["image"], "strength": 0.5, "n": 3, "steps": 4}
    assert server.ask("image-to-image", **source).json() == alone("image-to-image", **source).json()


def test_what_cannot_be_made_is_refused_as_without_ray(server, alone):
    refused = [ask(scheduler="nothing").json()["error"] for ask in (server.ask, alone)]
    assert refused[0] | {"request_id": ""} == refused[1] | {"request_id": ""}


def test_two_batches_run_at_once_and_a_replica_killed_in_the_middle_loses_no_request(server, alone):
    replicas = server.replicas()
    before = seconds_of(replicas)
    bodies = [{**SLOW, "seed": seed, "guidance": 2.0 + seed} for seed in range(3)]  # that share no batch
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answers = [pool.submit(server.ask, **body) for body in bodies]
        wait_until(lambda: computing(server, before))
        replicas[0].kill()
        answered = [answer.result() for answer in answers]
    assert [answer.status_code for answer in answered] == [200, 200, 200]
    assert [answer.json() for answer in answered] == [alone(**body).json() for body in bodies]
    assert [event["attempt"] for event in server.events("a replica died with its batch")] == [1]


def test_what_nobody_waits_for_ends_on_the_replica(server):
    wait_until(lambda: len(server.replicas()) == 2, 60)
    for guidance in (3.0, 4.0):
        with pytest.raises(httpx.TimeoutException):
            server.ask(**SLOW, n=64, guidance=guidance, seconds=1)
    started = time.monotonic()
    assert server.ask(steps=1).is_success
    assert time.monotonic() - started < 10


def test_what_others_can_reach_wants_a_token_that_they_do_not_have(server):
    grpc = pytest.importorskip("grpc")
    sockets = [each for process in descendants(server.process) for each in process.net_connections()]
    listening = [each.laddr for each in sockets if each.status == psutil.CONN_LISTEN]
    open_ports = [address.port for address in listening if not address.ip.endswith("127.0.0.1")]
    assert 0 < len(open_ports) <= 2, "Serve's, one of each replica"
    for port in open_ports:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            call = channel.unary_unary("/ray.serve.ASGIService/HandleRequest")
            with pytest.raises(grpc.RpcError, match="UNAUTHENTICATED"):
                call(b"")


def test_the_cluster_has_neither_the_server_s_key_nor_prompts_nor_files_that_others_can_read(server):
    assert server.ask(prompt="a quetzal", steps=1).is_success
    (raylet,) = [each for each in descendants(server.process) if each.name() == "raylet"]
    assert raylet.environ()["RAY_USAGE_STATS_ENABLED"] == "0"
    assert KEY not in raylet.environ().values()
    folder = folder_of(raylet)
    assert folder.stat().st_mode & 0o777 == 0o700
    logs = [path for path in folder.glob("ray/session_latest/logs/**/*") if path.is_file()]
    assert len(logs) > 10
    assert [path for path in logs if b"quetzal" in path.read_bytes()] == []


def folder_of(raylet):
    """The folder of a server's own cluster."""
    option = next(each for each in raylet.cmdline() if each.startswith("--raylet_socket_name="))
    return Path(option.partition("=")[2]).parents[3]


def test_sigterm_refuses_what_cannot_be_done_in_time_and_leaves_nothing_behind(server):
    processes = descendants(server.process)
    folder = folder_of(next(each for each in processes if each.name() == "raylet"))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answers = [
            pool.submit(server.ask, **SLOW, n=64, guidance=guidance) for guidance in (5.0, 6.0, 7.0, 8.0)
        ]
        time.sleep(1)
        server.process.terminate()
        answered = [answer.result() for answer in answers]
    assert [(each.status_code, each.json()["error"]["code"]) for each in answered] == 4 * [(503, "stopping")]
    assert server.process.wait(30) == 0
    wait_until(lambda: living(processes) == [])
    assert not folder.exists()
    assert "Traceback" not in server.log.read_text()


def test_several_models_are_served_each_by_its_name(tiny_model, zoo, tmp_path):
    models = {each.name: each for each in (Path(tiny_model), Path(zoo("lcm")))}
    options = [word for path in models.values() for word in ("--model", path)]
    server = RayServer(tmp_path, *options, "--replicas", 1, "--threads", 1)
    try:
        server.wait_ready()
        for name in (*models, *models):
            with served(load(model=str(models[name]), threads=1)) as alone:
                body = {"model": name, "prompt": "a b c", "seed": 1, "steps": 2}
                expected = alone.post("/v1/stable-diffusion/text-to-image", json=body).json()
            assert server.ask(**body).json() == expected
        assert server.ask(model="nothing").status_code == 404
    finally:
        server.end()


def test_a_replica_is_added_while_images_wait_and_no_request_fails(tiny_model, tmp_path):
    options = ("--model", tiny_model, "--replicas", 1, "--max-replicas", 2, "--threads", 1)
    server = RayServer(tmp_path, *options)
    guidance = itertools.count(2)  # what asks for another one shares no batch
    try:
        server.wait_ready()
        assert len(server.replicas()) == 1
        ask = functools.partial(server.ask, width=64, height=64, steps=20)
        with asking(lambda: ask(guidance=next(guidance) % 40), callers=4) as answers:
            wait_until(lambda: len(server.replicas()) == 2, STARTING_SECONDS)
            done = len(answers)
            wait_until(lambda: len(answers) > done + 4, 120)
        assert {answer.status_code for answer in answers} == {200}
    finally:
        server.end()


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    """Writes the Serve config of a library whose images have one colour, which loads in a second."""
    folder = tmp_path_factory.mktemp("config")

    def written(colour):
        library = folder / colour
        library.mkdir()
        Image.new("RGB", (64, 64), colour).save(library / "only.png")
        arguments = {
            "model": f"library:{library}",
            "model_id": "colours",
            "library_cache": str(folder / "cache"),
        }
        shipped = yaml.safe_load((Path(__file__).parents[2] / "docker/ray/serve.yaml").read_text())
        (application,) = shipped["applications"]
        application["args"] = arguments
        (application["deployments"][0]["ray_actor_options"]) = {"num_cpus": 1}
        (folder / f"{colour}.yaml").write_text(yaml.safe_dump(shipped))
        return folder / f"{colour}.yaml"

    return written


def test_a_cluster_s_update_is_rolling_and_fails_no_request(config, tmp_path):
    with ray_cluster.cluster() as known:
        ray_cluster.serve(config("red"), known)
        server = RayServer(tmp_path, "--ray-address", known["RAY_ADDRESS"], **known)
        try:
            server.wait_ready()
            first = server.ask().json()
            with asking(server.ask, callers=4) as answers:
                ray_cluster.serve(config("blue"), known)
                wait_until(lambda: updated(answers, first), STARTING_SECONDS)
            assert {answer.status_code for answer in answers} == {200}
            before = {each.pid for each in descendants(server.process)}
            server.process.terminate()
            assert server.process.wait(30) == 0
            assert before == set()  # the cluster is not the server's, and stays
        finally:
            server.end()


def updated(answers, first):
    """Whether the last ten answers came from replicas of the new config."""
    return all(answer.json() != first for answer in answers[-10:]) and len(answers) > 10


@contextlib.contextmanager
def asking(ask, callers):
    """Have callers ask over and over, all at once; yields the list of their answers, which grows."""
    answers, enough = [], threading.Event()

    def go_on():
        while not enough.is_set():
            answers.append(ask())

    with concurrent.futures.ThreadPoolExecutor(callers) as pool:
        each = [pool.submit(go_on) for _ in range(callers)]
        try:
            yield answers
        finally:
            enough.set()
    for caller in each:
        caller.result()
