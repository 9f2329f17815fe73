"""Ray in place of one process: the same numbers, whoever is killed meanwhile, and nothing left behind or said."""

from __future__ import annotations

import os
import signal
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import psutil
import pytest

from pcevolve.config.files import KEY_VARIABLE, REWRITER_KEY_VARIABLE
from pcevolve.encoders import load_encoder, named_weights
from pcevolve.errors import DataError, EngineError, UsageError
from pcevolve.modality.images.appearance import Appearance
from pcevolve.private import cluster as ray_side
from pcevolve.private import no_progress
from pcevolve.private.cluster import RayEngine, make_token
from pcevolve.private.dataset import load
from pcevolve.private.engine import LocalEngine
from pcevolve.private.listing import list_folder
from pcevolve_benchmarks.tables.workers import Cluster
from support.folders import class_folders
from support.jobs import work
from support.processes import free_port
from support.served import wait_until

pytestmark = [
    pytest.mark.alone,
    pytest.mark.system,
    pytest.mark.models,
    pytest.mark.skipif(find_spec("ray") is None, reason="pcevolve[ray] is not installed"),
]
LOOK = Appearance(0.2, 0.7, 0.5, 0.4, 0.5, 0.5)


def ray_engine(address: str | None = None, digest: str | None = None) -> RayEngine:
    return RayEngine(None, digest or named_weights("bundled", None), "cpu", address)


def ours() -> set[int]:
    """Processes of this one's clusters, by the token that they inherit."""
    found = set()
    for process in Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue
        if process.name.isdigit() and int(process.name) != os.getpid() and make_token().encode() in words:
            found.add(int(process.name))
    return found


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return load(list_folder(class_folders(tmp_path_factory.mktemp("data"), 5, shots=30)), keep=0)


@pytest.fixture(scope="module")
def encoder():
    return load_encoder("bundled", device="cpu")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[tuple[RayEngine, Path]]:
    scratch = tmp_path_factory.mktemp("private") / "cluster"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ray_side, "STORE_BYTES", 100 * 2**20)
        for name in (KEY_VARIABLE, REWRITER_KEY_VARIABLE):
            patch.setenv(name, "the key of an API")
        with ray_engine().running(scratch):
            yield ray_engine(), scratch


@contextmanager
def killing_workers(every: float) -> Iterator[list[int]]:
    """Kill whoever works for the cluster, again and again."""
    killed: list[int] = []
    over = threading.Event()

    def kill() -> None:
        while not over.wait(every):
            for process in ours():
                try:
                    name = Path(f"/proc/{process}/cmdline").read_bytes()
                    if name.startswith((b"ray::MapBatches", b"ray::nearest")) and len(killed) < 4:
                        os.kill(process, signal.SIGKILL)
                        killed.append(process)
                except OSError:
                    continue

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def test_a_cluster_of_its_own_ends_with_all_its_processes_and_files_and_says_nothing(
    tmp_path, data, encoder, capfd
):
    (tmp_path / "private").mkdir()
    before, variables = ours(), dict(os.environ)
    with ray_engine().running(tmp_path / "private" / "cluster"):
        assert ours() - before
        ray_engine().embed(data.items, encoder, None, no_progress)
    deadline = time.monotonic() + 10
    while ours() - before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not ours() - before
    assert list((tmp_path / "private").iterdir()) == []
    assert dict(os.environ) == variables
    assert capfd.readouterr() == ("", "")


@contextmanager
def owners_cluster(address: str, environment: dict[str, str]) -> Iterator[psutil.Process]:
    """A cluster that was there before the run and goes on after it."""
    host, port = address.split(":")
    options = {"node-ip-address": host, "port": port, "num-cpus": 1, "object-store-memory": 80_000_000}
    with tempfile.TemporaryDirectory(prefix="ray") as folder:  # sockets' paths have to be short
        options |= {"temp-dir": folder, "include-dashboard": "false"}
        given = [f"--{name}={value}" for name, value in options.items()]
        command = [Path(sys.executable).parent / "ray", "start", "--head", "--block", *given]
        with (Path(folder) / "ray.out").open("w") as out:
            head = psutil.Popen([str(each) for each in command], env=environment, stdout=out, stderr=out)
        started = [head]
        try:
            wait_until(lambda: "Ray runtime started" in (Path(folder) / "ray.out").read_text(), 90)
            started += head.children(recursive=True)
            yield head
        finally:
            head.terminate()
            for process in psutil.wait_procs(started, timeout=5)[1]:
                process.kill()


def test_the_owners_own_cluster_is_joined_and_is_still_there_afterwards(tmp_path, data, encoder, monkeypatch):
    secured = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": make_token()}
    secured |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    for name, value in secured.items():
        monkeypatch.setenv(name, value)
    address = f"127.0.0.1:{free_port()}"
    with owners_cluster(address, dict(os.environ)) as head:
        with ray_engine(address).running(tmp_path / "cluster"):
            found = ray_engine(address).embed(data.items, encoder, None, no_progress)
        assert head.is_running()
        assert not (tmp_path / "cluster").exists()
    assert np.array_equal(found, LocalEngine().embed(data.items, encoder, None, no_progress))
    assert os.environ["RAY_AUTH_TOKEN"] == make_token()


def test_an_address_where_nobody_is_is_told_at_once(tmp_path):
    started = time.monotonic()
    joining = ray_engine("127.0.0.1:9").running(tmp_path / "cluster")
    with (
        pytest.raises(UsageError, match=r"encoder.ray_address 127\.0\.0\.1:9: there is no cluster to join"),
        joining,
    ):
        pass
    assert time.monotonic() - started < 30


# Here and not below: a process has one cluster at a time, and those below share one.
def test_jobs_on_a_cluster_are_done_refused_or_told_to_have_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    inherited = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parents[2]}{os.pathsep}{inherited}")
    jobs = ["one", "die", "refuse", "two", "three"]
    begun: list[str] = []
    found = dict(Cluster(2, None, tmp_path / "cluster").each_done(work, jobs, begun.append))
    assert begun == jobs
    assert isinstance(found["die"], EngineError)
    assert isinstance(found["refuse"], DataError)
    assert str(found["refuse"]) == "no image"
    assert {name: found[name] for name in ("one", "two", "three")} == {"one": 3, "two": 3, "three": 5}
    assert list(tmp_path.iterdir()) == [], "the cluster's files are gone"


@pytest.mark.parametrize("rendition", [None, LOOK])
def test_embeddings_are_those_of_one_process_bit_for_bit_and_progress_is_told(
    cluster, data, encoder, rendition
):
    said = []
    found = cluster[0].embed(data.items, encoder, rendition, lambda *each: said.append(each))
    assert np.array_equal(found, LocalEngine().embed(data.items, encoder, rendition, no_progress))
    assert said[-1] == (60, 60)
    assert len(said) > 1


def test_votes_are_those_of_one_process_bit_for_bit(cluster, monkeypatch):
    monkeypatch.setattr(ray_side, "TASK_BYTES", 64 * 8 * 50)
    random = np.random.default_rng(1)
    points, candidates = random.normal(size=(700, 64)), random.normal(size=(300, 64))
    candidates[7] = candidates[3]  # a tie
    points[5] = candidates[3]
    places = np.flatnonzero(random.random(700) < 0.7)
    near = cluster[0].find_nearest(points, places, candidates, 2)
    assert np.array_equal(near, LocalEngine().find_nearest(points, places, candidates, 2))
    assert near[places.tolist().index(5)].tolist() == [3, 7]


def test_killing_workers_in_the_middle_changes_nothing(cluster, data, encoder, monkeypatch):
    monkeypatch.setattr(ray_side, "TASK_IMAGES", 15)
    with killing_workers(0.05) as killed:
        found = cluster[0].embed(data.items, encoder, LOOK, no_progress)
    assert killed
    assert np.array_equal(found, LocalEngine().embed(data.items, encoder, LOOK, no_progress))


def test_killing_workers_that_count_votes_changes_none(cluster, monkeypatch):
    monkeypatch.setattr(ray_side, "TASK_BYTES", 64 * 8 * 500)
    random = np.random.default_rng(2)
    points, candidates = random.normal(size=(40_000, 64)), random.normal(size=(2000, 64))
    places = np.arange(len(points))
    with killing_workers(0.05) as killed:
        near = cluster[0].find_nearest(points, places, candidates)
    assert killed
    assert np.array_equal(near, LocalEngine().find_nearest(points, places, candidates))


def test_a_file_that_changed_is_refused_by_name(cluster, encoder, tmp_path):
    data = load(list_folder(class_folders(tmp_path / "data", 6)), keep=0)
    data.items.files[2].unlink()
    with pytest.raises(DataError, match=r"type A/secret-6-2\.png changed or went away"):
        cluster[0].embed(data.items, encoder, None, no_progress)


def test_other_weights_on_a_machine_are_refused_and_ray_says_nothing_in_the_error(cluster, data, encoder):
    with pytest.raises(EngineError, match="the cluster failed while it embedded private images") as failed:
        ray_engine(digest="0" * 64).embed(data.items, encoder, None, no_progress)
    assert "secret" not in str(failed.value)
    assert failed.value.__cause__ is None
    assert failed.value.__suppress_context__


def test_only_this_user_gets_at_its_files_its_processes_have_no_key_and_listen_on_loopback(cluster):
    scratch = cluster[1]
    assert stat.S_IMODE(scratch.stat().st_mode) == 0o700
    assert list((scratch / "ray").glob("session_*"))
    for process in ours():
        inherited = Path(f"/proc/{process}/environ").read_bytes()
        assert b"the key of an API" not in inherited
        assert b"RAY_USAGE_STATS_ENABLED=0" in inherited
    listening = [
        socket.laddr.ip
        for process in (psutil.Process(each) for each in ours())
        for socket in process.net_connections("inet")
        if socket.status == psutil.CONN_LISTEN
    ]
    assert listening
    assert set(listening) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
