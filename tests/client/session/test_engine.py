"""Ray as the engine: the same run as in one process, refused at once where it cannot be, and nothing left behind."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from rich.console import Console

from pcevolve.egress.http_transport import HttpTransport
from pcevolve.private import cluster
from pcevolve.private.engine import LocalEngine
from pcevolve.session import progress
from pcevolve.session.progress import show_work
from support import online
from support.folders import class_folders, list_released, receipts

pytestmark = pytest.mark.system
NEEDS_RAY = pytest.mark.skipif(find_spec("ray") is None, reason="pcevolve[ray] is not installed")


@pytest.fixture
def given(given, tmp_path) -> dict[str, object]:
    """A small run of Private Evolution without privacy, so that two can be compared."""
    shutil.rmtree(tmp_path / "private")
    class_folders(tmp_path / "private", 1)
    seeded = {"seed": 1, "insecure_noise_seed": 2, "device": "cpu"}
    return given | {"method": "pe", "shots": 3, "candidates": 4, "batch": None, **seeded}


@NEEDS_RAY
@pytest.mark.alone
@pytest.mark.models
def test_a_run_on_ray_releases_what_one_in_this_process_does_and_leaves_nothing_of_the_cluster(
    run: Callable[..., Path], server, monkeypatch, capfd
):
    seen, begin = [], cluster._begin

    def note_begin(ray, folder: Path) -> None:
        begin(ray, folder)
        seen.append((folder.resolve().parent, stat.S_IMODE(folder.resolve().parent.stat().st_mode)))

    monkeypatch.setattr(cluster, "_begin", note_begin)
    monkeypatch.setattr(cluster, "STORE_BYTES", 100 * 2**20)
    local = run(out="local", ledger="local.sqlite")
    greeted = len(server.heard)
    capfd.readouterr()
    ray = run(out="ray", ledger="ray.sqlite", engine="ray")
    assert seen == [(ray / "private" / "cluster", 0o700)]
    assert not (ray / "private" / "cluster").exists()
    assert receipts(ray) == receipts(local)
    assert list_released(ray) == list_released(local)
    heard = [(each.path, each.body) for each in server.heard]
    assert sorted(heard[greeted:]) == sorted(heard[:greeted])  # several at once arrive in any order
    said = capfd.readouterr().err.lower()
    assert "on ray, in processes of this machine alone" in " ".join(said.split())
    assert not any(word in said for word in ("worker", "dataset_", "raylet", "gcs"))
    assert os.environ["PCEVOLVE_API_KEY"] == online.LOGIN


def test_an_engine_begins_before_the_first_request_and_ends_when_the_connection_is_closed(run, monkeypatch):
    order: list[str] = []

    @contextmanager
    def running(engine: LocalEngine, scratch: Path) -> Iterator[None]:
        order.append("begins")
        yield
        order.append("ends")

    def note_call(owner: type, method: str, name: str) -> None:
        honest = getattr(owner, method)
        monkeypatch.setattr(owner, method, lambda *given: order.append(name) or honest(*given))

    monkeypatch.setattr(LocalEngine, "running", running)
    note_call(online.LocalServer, "answer", "request")
    note_call(HttpTransport, "close", "closed")
    run()
    assert order[0] == "begins"
    assert order[-2:] == ["closed", "ends"]
    assert "request" in order


def test_what_a_killed_cluster_left_in_the_private_folder_is_removed_when_the_run_goes_on(run, tmp_path):
    left = tmp_path / "run" / "private" / "cluster" / "ray"
    left.mkdir(parents=True)
    (left / "spilled").write_bytes(b"embeddings")
    (tmp_path / "run" / ".lock").touch()
    run()
    assert not left.parent.exists()


def test_a_log_is_told_a_share_and_no_count_and_no_time(monkeypatch, capsys):
    monkeypatch.setattr(progress, "LINE_SECONDS", -1.0)
    with show_work(Console(stderr=True, width=200), "embedding private images") as told:
        told(1234, 4321)
        told(4321, 4321)
    assert capsys.readouterr().err.splitlines() == [
        "embedding private images: 29%",
        "embedding private images: 100%",
    ]
