"""This process's connection to Ray: a cluster of its own on loopback, or one that is there."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pcevolve_server.errors import SettingsError
from pcevolve_server.settings import API_KEY_VARIABLE, Settings

_STORE_BYTES = 200 * 2**20
"""Shared memory for batches on their way; what does not fit waits in a file of the cluster's folder."""
_ALONE = {
    # Ray's way to have the machine's own address be 127.0.0.1, on which its processes then listen.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
}


@contextlib.contextmanager
def kept_signals() -> Iterator[None]:
    """Leave it to the server what a signal does: Ray takes over SIGTERM for the whole process, from any thread."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    if threading.current_thread() is threading.main_thread():
        for number, handler in kept.items():
            signal.signal(number, handler)


class Connection:
    """Starts and ends once; both take seconds and may be called from any thread, the end also during the start."""

    def __init__(self, settings: Settings) -> None:
        """Keep what :meth:`start` needs.

        Args:
            settings: Where the cluster is; for a new one, how many replicas it needs room for.
        """
        self._address = settings.ray_address
        self._processors = max(settings.replicas, settings.max_replicas) * settings.model.threads
        self._folder: Path | None = None
        self._turn = threading.Lock()

    @property
    def own(self) -> bool:
        """Whether the cluster ends with the connection."""
        return not self._address

    def start(self) -> None:
        """Join the cluster, or start one.

        Raises:
            SettingsError: There is no cluster at the address.
        """
        with self._turn:
            os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # Ray would tell its makers about the cluster
            if self.own:
                self._begin()
            else:
                self._join()

    def end(self) -> None:
        """Leave the cluster; one of our own ends, with all its processes, files and logs."""
        with self._turn:
            _imported().shutdown()
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)

    def _begin(self) -> None:
        """Start a cluster that only this machine can reach, and only with a token that only this user can read."""
        os.environ.update(_ALONE, RAY_AUTH_TOKEN=secrets.token_hex(32))
        os.environ.pop(API_KEY_VARIABLE, None)  # Ray's processes inherit the environment, and need no key
        # Ray opens its own folder to everybody; this one around it is private.
        self._folder = Path(tempfile.mkdtemp(prefix="pcevolve-"))
        _imported().init(
            address="local",
            num_cpus=self._processors,
            object_store_memory=_STORE_BYTES,
            include_dashboard=False,
            configure_logging=False,
            log_to_driver=False,
            _temp_dir=str(self._folder / "ray"),
        )

    def _join(self) -> None:
        ray = _imported()
        try:
            ray.init(address=self._address, configure_logging=False, log_to_driver=False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise SettingsError(f"cannot join a Ray cluster at {self._address}: {reason}") from error


def _imported() -> Any:  # noqa: ANN401 - a module that need not be installed
    """Ray, whose settings are read from the environment as it is imported, and whose log goes through ours."""
    import ray
    from ray import serve  # noqa: F401 - sets up the log of its own

    for name in ("ray", "ray.serve"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.ERROR)
    return ray
