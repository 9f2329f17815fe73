"""Landlock: restrict the files that a thread, and all threads that it starts later, may access.

Threads that were started earlier keep access to all files.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from dataclasses import dataclass

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # on every machine
_GET_VERSION, _PATH_BENEATH = 1, 1
_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_MAKE_SYM, _REFER, _TRUNCATE, _IOCTL_DEV = 1 << 12, 1 << 13, 1 << 14, 1 << 15
_READ = _READ_FILE | _READ_DIR
_FILL = _WRITE_FILE | _REMOVE_FILE | _MAKE_REG | _TRUNCATE
# Devices, pipes, sockets and links are not included.
_WRITE = _READ | _FILL | _REMOVE_DIR | _MAKE_DIR | _REFER
_OF_FILES = _WRITE_FILE | _READ_FILE | _TRUNCATE
_BIND_TCP, _CONNECT_TCP = 1, 2
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2


@dataclass(frozen=True)
class Files:
    """Files and folders, with everything below them, that may be accessed.

    Attributes:
        reads: May be read.
        writes: May be read, written, created and removed.
        lists: Their entries may be listed, but no file may be read.
        fills: Files in them may be written, created and removed, but not read.
        links: Symbolic links may be created in them.
        makes: Folders may be created in them, and empty ones removed.
    """

    reads: Iterable[str] = ()
    writes: Iterable[str] = ()
    lists: Iterable[str] = ()
    fills: Iterable[str] = ()
    links: Iterable[str] = ()
    makes: Iterable[str] = ()


def find_version() -> int:
    """Return the kernel's version of Landlock, or 0 if it has none or has switched it off."""
    version: int = ctypes.CDLL(None).syscall(_CREATE, None, 0, _GET_VERSION)
    return max(0, version)


def restrict(files: Files, version: int, *, connects: bool, signals: bool) -> None:
    """Restrict this thread, and the threads that it starts, to these files and folders.

    Args:
        version: The kernel's version, or an older one.
        connects: Whether TCP connections may be opened (enforced from version 4 on).
        signals: Whether signals may be sent to other processes (enforced from version 6 on).

    Raises:
        OSError: A path does not exist, or the kernel refuses.
    """
    handled = _list_rights(version)
    network = _BIND_TCP if connects else _BIND_TCP | _CONNECT_TCP
    scopes = _ABSTRACT_SOCKETS if signals else _ABSTRACT_SOCKETS | _SIGNALS
    attributes = struct.pack("QQQ", handled, network, scopes)
    size = 8 if version < 4 else 16 if version < 6 else 24  # what an older kernel does not know, it refuses
    rules = _call(_CREATE, attributes, size, 0)
    try:
        for paths, rights in (
            (files.reads, _READ),
            (files.writes, _WRITE),
            (files.lists, _READ_DIR),
            (files.fills, _FILL),
            (files.links, _MAKE_SYM),
            (files.makes, _MAKE_DIR | _REMOVE_DIR),
        ):
            for path in paths:
                _allow(rules, path, rights & handled)
        _call(_RESTRICT, rules, 0)
    finally:
        os.close(rules)


def _list_rights(version: int) -> int:
    """Return all rights that a version knows. A right that no rule grants is refused."""
    rights = (1 << 13) - 1
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        rights |= right if version >= since else 0
    return rights


def _allow(rules: int, path: str, rights: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _OF_FILES
        _call(_ADD, rules, _PATH_BENEATH, struct.pack("=Qi", rights, place), 0)
    finally:
        # A rule refers to a file that the kernel remembers. When memory is short, the kernel forgets files of /proc
        # that no process holds open. It later makes new ones, which no rule allows. These files therefore stay
        # open.
        if not path.startswith("/proc/"):
            os.close(place)


def _call(number: int, *arguments: int | bytes) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    answer: int = libc.syscall(number, *arguments)
    if answer < 0:
        failed = ctypes.get_errno()
        raise OSError(failed, f"Landlock: {os.strerror(failed)}")
    return answer
