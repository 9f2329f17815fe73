"""This process's connection to Ray: to a new cluster on loopback, or to an existing cluster."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pcevolve_server.errors import SettingsError
from pcevolve_server.settings import API_KEY_VARIABLE, Settings

_Result = TypeVar("_Result")

_KNOCK_SECONDS, _ANSWER_SECONDS = 5.0, 30.0
STORE_BYTES = 200 * 2**20
"""Bytes of shared memory of the server's own cluster. Larger data goes to files in the cluster's folder."""
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray would tell its makers about the cluster
    "GRPC_VERBOSITY": "ERROR",  # it writes to stderr, which is our log
}
ALONE = {
    # With this variable, Ray takes 127.0.0.1 as the machine's address, and its processes listen there.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
}
_ENDING_SECONDS, _POLL_SECONDS = 10.0, 0.1


class Connection:
    """A connection that starts and ends once.

    All blocking calls of Ray run on one thread, in order. The call that ends the connection is therefore the last.
    """

    def __init__(self, settings: Settings) -> None:
        """Store the settings for :meth:`start`.

        Args:
            settings: The address of the cluster and, for a new cluster, the number of replicas that it must hold.
        """
        self._address = settings.ray_address
        self._processors = max(settings.replicas, settings.max_replicas) * settings.model.threads
        self._folder: Path | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ray")

    @property
    def own(self) -> bool:
        """True if the cluster ends with the connection."""
        return not self._address

    async def start(self) -> None:
        """Join the cluster, or start a new one. This takes seconds.

        Raises:
            SettingsError: There is no cluster at the address.
        """
        with keep_signals():
            await self.do(self._begin if self.own else self._join)

    # Shielded: a call of Ray that has started cannot be undone half way, and the connection must end after the call.
    async def do(self, work: Callable[..., _Result], *arguments: object) -> _Result:
        """Return the result of ``work``. If this call is cancelled, the work is still done, but not waited for."""
        return await asyncio.shield(asyncio.wrap_future(self._thread.submit(work, *arguments)))

    async def alive(self) -> bool:
        """True if the cluster still knows the node of this process."""
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await self.do(_node_is_alive)
        except TimeoutError:
            return False

    async def end(self) -> None:
        """Leave the cluster. The server's own cluster ends, with all its processes, files and logs."""
        try:
            # This runs on the same thread, and therefore after all earlier work.
            await self.do(self._end)
        finally:
            self._thread.shutdown(wait=False)

    def _end(self) -> None:
        _import_ray().shutdown()
        if self._folder is not None:
            remove_folder(self._folder)

    def _begin(self) -> None:
        """Start a cluster that only this machine can reach, with a token that only this user can read."""
        os.environ.update(QUIET | ALONE, RAY_AUTH_TOKEN=secrets.token_hex(32))
        os.environ.pop(API_KEY_VARIABLE, None)  # Ray's processes inherit the environment, and need no key
        # Ray lets everybody read its own folder. The folder around it is private.
        self._folder = Path(tempfile.mkdtemp(prefix="pcevolve-"))
        _import_ray().init(
            address="local",
            num_cpus=self._processors,
            object_store_memory=STORE_BYTES,
            include_dashboard=False,
            configure_logging=False,
            log_to_driver=False,
            _temp_dir=str(self._folder / "ray"),
        )

    def _join(self) -> None:
        os.environ.update(QUIET)
        try:
            self._knock()
            _import_ray().init(address=self._address, configure_logging=False, log_to_driver=False)
        except (OSError, ValueError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise SettingsError(f"cannot join a Ray cluster at {self._address}: {reason}") from error

    def _knock(self) -> None:
        """Check that something listens at the address. Ray itself would retry for many minutes."""
        host, separator, port = self._address.rpartition(":")
        if separator and port.isdecimal():
            socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_SECONDS).close()


@contextmanager
def keep_signals() -> Iterator[None]:
    """Keep this process's signal handlers. Ray replaces the process's handler of SIGTERM, from any thread."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in kept.items():
                signal.signal(number, handler)


def remove_folder(folder: Path) -> None:
    """Remove a folder to which ending processes may still write."""
    deadline = time.monotonic() + _ENDING_SECONDS
    while folder.exists() and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(_POLL_SECONDS)


def _node_is_alive() -> bool:
    ray = _import_ray()
    try:
        here = ray.get_runtime_context().get_node_id()
        return any(node["Alive"] for node in ray.nodes() if node["NodeID"] == here)
    except ray.exceptions.RayError:
        return False


def _import_ray() -> Any:  # noqa: ANN401 - a module that need not be installed
    """Import Ray, which then reads its settings from the environment, and send Ray's log to the server's log."""
    import ray
    from ray import serve  # noqa: F401 - sets up the log of its own

    for name in ("ray", "ray.serve"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.ERROR)
    return ray
