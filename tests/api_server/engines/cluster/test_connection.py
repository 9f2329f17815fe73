"""What a cluster leaves behind."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

from pcevolve_server.engines.cluster.connection import remove_folder


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
