"""This process's connection to Ray: a cluster of its own on loopback, or one that is there."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from pcevolve.errors import UsageError
from pcevolve_shared.clusters import ALONE, QUIET, STORE_BYTES, keep_signals, remove_folder

_KNOCK_SECONDS = 5.0
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
    own = ALONE | {"RAY_AUTH_TOKEN": make_token()}
    cluster = _join(address) if address else _start(scratch)
    with _environment(QUIET | ({} if address else own)), keep_signals(), cluster:
        yield


@contextmanager
def _join(address: str) -> Iterator[None]:
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
def _start(scratch: Path) -> Iterator[None]:
    """Start a cluster on loopback, behind a token that only its processes know, and end it with all its files."""
    scratch.mkdir(mode=0o700)
    # Ray opens its own folder to everybody, and the paths of its sockets have to be short.
    short = Path(tempfile.mkdtemp(prefix="pcevolve-"))
    # Ray's folder lies in the run's private one, and its short name is a link to it.
    (scratch / "ray").mkdir()
    (short / "r").symlink_to((scratch / "ray").absolute())
    ray = _import_ray()
    try:
        _begin(ray, short / "r")
        yield
    finally:
        ray.shutdown()
        remove_folder(scratch)
        shutil.rmtree(short, ignore_errors=True)


def _begin(ray: Any, folder: Path) -> None:  # noqa: ANN401 - a module that need not be installed
    """Start a cluster; ``UsageError`` where it does not come up."""
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
