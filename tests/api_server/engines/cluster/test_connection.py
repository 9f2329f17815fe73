"""What a cluster leaves behind."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
import time
from pathlib import Path

import pytest

from pcevolve_server.engines.cluster import connection
from pcevolve_server.engines.cluster.connection import keep_signals, remove_folder


def test_a_folder_that_is_still_written_into_is_gone_in_the_end(tmp_path: Path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    writing = threading.Thread(target=_keep_writing, args=(folder,))
    writing.start()
    remove_folder(folder)
    writing.join()
    assert not folder.exists()


def _keep_writing(folder: Path) -> None:
    """Write for a third of a second, as processes do that are ending."""
    for _ in range(30):
        with contextlib.suppress(OSError):
            folder.mkdir(exist_ok=True)
            (folder / "file").touch()
        time.sleep(0.01)


def test_what_ray_does_to_signals_is_undone():
    before = signal.getsignal(signal.SIGTERM)
    with keep_signals():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGTERM) is before


def test_rays_log_goes_through_the_servers():
    pytest.importorskip("ray", reason="needs pcevolve-server[ray]")
    connection._import_ray()
    told = [logging.getLogger(name) for name in ("ray", "ray.serve")]
    assert [(each.propagate, each.handlers) for each in told] == [(True, [])] * 2
