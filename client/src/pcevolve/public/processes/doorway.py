"""A socket file between a keeper and a client that are two commands. Two containers share nothing else.

Only the standard library is used. The keeper admits one client and removes the file before it confines itself. The
connection is then used like a pipe.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import stat
import struct
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Final

from pcevolve.public.processes.confinement import ConfinementError
from pcevolve.public.processes.pipe import Pipe

PATIENCE_SECONDS = 60.0
"""Seconds that a client waits for its keeper, because containers start in any order."""
_PAUSE_SECONDS = 0.2
_INTERFACE_IS_UP = 1
_FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""The machine's first namespace (the kernel's ``PROC_PID_INIT_INO``)."""
_OF_SYSTEM = ("/proc", "/sys", "/dev", "/tmp", "/run", "/etc/resolv.conf", "/etc/hostname", "/etc/hosts")  # noqa: S108


BESIDE_KEEPER: Final = frozenset({"--keeper", "--verbose", "-v", "--json"})
"""Options of ``pcevolve run --keeper``. The options of the run itself are given to the keeper."""
KEEPER_HAS_REST: Final = (
    "pcevolve run --keeper SOCKET takes --verbose and --json only; give all other options to pcevolve keeper"
)


class DoorError(ConfinementError):
    """The socket cannot be opened, or no process listens on it."""


def listen(host: str, port: int, seconds: float = 10.0) -> int:
    """Open a port on this machine before confinement, because a confined process cannot open one.

    Args:
        seconds: Seconds during which a port in use is tried again, because a killed command may still be ending.

    Raises:
        DoorError: The port cannot be opened.
    """
    end = time.monotonic() + seconds
    while True:
        listener = None
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            listener = socket.socket(family, kind, protocol)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(512)  # strangers, too: who waits here is let in within moments
        except OSError as error:
            if listener is not None:
                listener.close()
            if error.errno != errno.EADDRINUSE or time.monotonic() >= end:
                raise DoorError(
                    f"--listen {host}:{port}: {error.strerror or error}: give another address"
                ) from None
            time.sleep(_PAUSE_SECONDS)
        else:
            return listener.detach()


def admit(path: str) -> tuple[int, bool]:
    """Wait for one client, and remove the socket file.

    Returns:
        The connection, and whether containers separate this process from the network. This is so if the process has no
        network interface except loopback, and the kernel does not show the client's process here.

    Raises:
        DoorError: Another keeper waits there, or the file cannot be made.
    """
    try:
        with _hold(path), socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            try:
                listener.listen(1)
                connection, _ = listener.accept()
            finally:
                os.unlink(path)  # noqa: PTH108 - pathlib takes 10 ms to import
    except OSError as error:
        raise DoorError(
            f"{path}: {error.strerror or error}: give --socket a new file in an existing folder"
        ) from None
    is_apart = is_cut_off() and _is_elsewhere(connection)
    return connection.detach(), is_apart


def _is_elsewhere(connection: socket.socket) -> bool:
    if sys.platform != "linux":
        return False
    form = "3i"
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(form))
    return int(struct.unpack(form, peer)[0]) == 0


@contextlib.contextmanager
def _hold(path: str) -> Iterator[None]:
    """Lock a path for one waiting keeper, and remove the socket file of a killed keeper."""
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DoorError(
                f"another keeper is using {path}: wait until it ends, or give another file with --socket"
            ) from None
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISSOCK(os.lstat(path).st_mode):
                raise DoorError(f"{path} is not a socket: give --socket a new file in an existing folder")
            os.unlink(path)  # noqa: PTH108
        yield
    finally:
        os.close(lock)


def knock(path: str, seconds: float = PATIENCE_SECONDS) -> int:
    """Connect to the keeper (``DoorError`` if no keeper answers in time)."""
    end, is_reported = time.monotonic() + seconds, False
    while True:
        # A new socket for each attempt, because the state of a socket is unspecified after a failed connect.
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
        except OSError:
            connection.close()
            if time.monotonic() >= end:
                raise DoorError(
                    f"no keeper answered at {path} within {seconds:g} seconds, or it already has another client: "
                    f"start one with pcevolve keeper --socket {path}; nothing was sent"
                ) from None
            if not is_reported:
                print(f"waiting for a keeper at {path}: pcevolve keeper --socket {path} ...", file=sys.stderr)
                is_reported = True
            time.sleep(_PAUSE_SECONDS)
        else:
            return connection.detach()


def open_pipe(connection: int) -> Pipe:
    """Wrap a connection in a pipe, which then owns it."""
    return Pipe(connection, os.dup(connection))


def is_cut_off(folder: str = "/sys/class/net") -> bool:
    """Return True if only the loopback interface is up in this process. Idle tunnels are common, and do not count."""
    try:
        return all(each == "lo" or not _is_up(f"{folder}/{each}/flags") for each in os.listdir(folder))  # noqa: PTH208
    except OSError:
        return False


def _is_up(path: str) -> bool:
    with open(path) as flags:  # noqa: PTH123
        return bool(int(flags.read(), 16) & _INTERFACE_IS_UP)


def is_contained(shared: Iterable[str], process: str = "/proc/self") -> bool:
    """Return True if this process is in a container that mounts no folder of its machine except the named ones."""
    known = (*_OF_SYSTEM, *shared)
    try:
        with open(f"{process}/mountinfo") as mounts:  # noqa: PTH123
            points = [line.split(" ")[4].replace("\\040", " ") for line in mounts]
        if os.readlink(f"{process}/ns/pid") == _FIRST_PID_NAMESPACE:  # noqa: PTH115
            return False
    except OSError:
        return False
    return all(point == "/" or _lies_in(point, known) for point in points)


def _lies_in(point: str, folders: Iterable[str]) -> bool:
    return any(point == each or point.startswith(f"{each}/") for each in folders)
