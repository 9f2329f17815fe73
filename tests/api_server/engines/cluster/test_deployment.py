"""Replicas on Ray: the same bytes as without it, no request lost, and nothing left behind or open to others."""

from __future__ import annotations

import concurrent.futures
import importlib.util
import time
from pathlib import Path

import httpx
import psutil
import pytest

from support.ray_cluster import RayServer, descendants, living
from support.served import serve_app, wait_until

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
    """A server whose model runs on a thread of this process."""
    from support.tiny_model import load  # takes seconds, and these tests run alone

    with serve_app(load(model=str(tiny_model), threads=1)) as client:
        yield lambda verb="text-to-image", **body: client.post(
            f"/v1/stable-diffusion/{verb}", json={"prompt": "a b c", "seed": 1, **body}
        )


def seconds_of(processes):
    """Processor time of each."""
    return [each.cpu_times().user for each in processes]


def computing(server, before):
    """True if both replicas have computed since."""
    return all(now - then > 0.3 for now, then in zip(seconds_of(server.replicas()), before, strict=True))


def test_images_and_variations_have_the_bytes_that_they_have_without_ray(server, alone):
    made = server.ask(n=3, steps=4).json()
    assert made == alone(n=3, steps=4).json()
    source = {"image": made["images"][0]["image"], "strength": 0.5, "n": 3, "steps": 4}
    assert server.ask("image-to-image", **source).json() == alone("image-to-image", **source).json()


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
    assert [event["attempt"] for event in server.events("a replica died while it ran a batch")] == [1]


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
