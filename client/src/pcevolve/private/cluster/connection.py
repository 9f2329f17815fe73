"""This process's connection to Ray: a cluster of its own on loopback, or one that is there."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from pcevolve.errors import UsageError

STORE_BYTES = 200 * 2**20
"""Shared memory of a cluster of our own; what does not fit waits in files of the run's private folder."""
_KNOCK_SECONDS, _ENDING_SECONDS, _POLL_SECONDS = 5.0, 10.0, 0.1
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray would tell its makers about the cluster
    "GRPC_VERBOSITY": "ERROR",
}
_ALONE = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # Ray's way to listen on 127.0.0.1 alone
    "RAY_AUTH_MODE": "token",
}
_SECRETS = ("PCEVOLVE_API_KEY",)
"""What Ray's processes, which inherit the environment, have no use for."""


@contextmanager
def connect(address: str | None, scratch: Path) -> Iterator[None]:
    """Be connected to a cluster.

    Args:
        address: ``HOST:PORT`` of the owner's; None for one of our own, which ends with the connection.
        scratch: Folder for what a cluster of our own writes, mode 0700; it is gone afterwards.

    Raises:
        UsageError: There is no cluster at the address.
    """
    own = _ALONE | {"RAY_AUTH_TOKEN": make_token()}
    cluster = _joined(address) if address else _started(scratch)
    with _environment(_QUIET | ({} if address else own)), _kept_signals(), cluster:
        yield


@contextmanager
def _joined(address: str) -> Iterator[None]:
    """Join the owner's cluster; nothing of it is ended."""
    ray = _import_ray()
    try:
        _knock(address)
        ray.init(address=address, configure_logging=False, log_to_driver=False)
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(
            f"encoder.ray_address {address}: there is no cluster to join ({type(error).__name__})"
        ) from None
    try:
        yield
    finally:
        ray.shutdown()


@cache
def make_token() -> str:
    """Return the token that opens our own clusters; Ray reads it once in the life of a process."""
    return secrets.token_hex(32)


def _knock(address: str) -> None:
    """See whether anybody is there, for Ray would try for many minutes."""
    host, separator, port = address.rpartition(":")
    if separator and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_SECONDS).close()


@contextmanager
def _started(scratch: Path) -> Iterator[None]:
    """Start a cluster on loopback, behind a token that only its processes know, and end it with all its files."""
    scratch.mkdir(mode=0o700)
    # Ray opens its own folder to everybody, and the paths of its sockets have to be short.
    short = Path(tempfile.mkdtemp(prefix="pcevolve-"))
    (scratch / "ray").mkdir()
    (short / "r").symlink_to((scratch / "ray").absolute())
    ray = _import_ray()
    try:
        _begin(ray, short / "r")
        yield
    finally:
        ray.shutdown()
        _remove(scratch)
        shutil.rmtree(short, ignore_errors=True)


def _begin(ray: Any, folder: Path) -> None:  # noqa: ANN401 - a module that need not be installed
    """Start a cluster.

    Raises:
        UsageError: It does not come up.
    """
    try:
        ray.init(
            address="local",
            object_store_memory=STORE_BYTES,
            include_dashboard=False,
            configure_logging=False,
            log_to_driver=False,
            _temp_dir=str(folder),
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(
            f"encoder.engine=ray: no cluster could be started here ({type(error).__name__}); one process can have "
            "one, and "
            "must not have imported Ray before: try again with the command, or --set encoder.engine=local"
        ) from None


def _remove(folder: Path) -> None:
    """Remove a folder into which processes that are ending still write."""
    deadline = time.monotonic() + _ENDING_SECONDS
    while folder.exists() and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(_POLL_SECONDS)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables that Ray reads and its processes inherit, and hide what is none of their business."""
    before = dict(os.environ)
    os.environ.update(values)
    for name in _SECRETS:
        os.environ.pop(name, None)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():  # Ray sets some of its own
            del os.environ[name]
        os.environ.update({name: before[name] for name in (*values, *_SECRETS) if name in before})


@contextmanager
def _kept_signals() -> Iterator[None]:
    """Leave it to the command what a signal does: Ray takes SIGTERM over for the whole process."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in kept.items():
                signal.signal(number, handler)


def _import_ray() -> Any:  # noqa: ANN401 - a module that need not be installed
    """Ray, which reads its settings as it is imported; its log counts private images, so nothing of it is shown."""
    import ray
    import ray.data

    for name in ("ray", "ray.data"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
        logger.setLevel(logging.CRITICAL)
    return ray
