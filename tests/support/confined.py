"""Processes that confine themselves, or do not, and tell what they could do; never with root's rights."""

from __future__ import annotations

import importlib
import io
import json
import marshal
import os
import pickle
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, NoReturn

import pytest

from pcevolve.public.processes.confinement import (
    Enforcement,
    confine_keeper,
    confine_offline,
    confine_online,
    confine_runner,
    find_enforcement,
)

KERNEL = find_enforcement()
confines = pytest.mark.skipif(not KERNEL.is_whole, reason=f"confinement is {KERNEL}")
NOBODY = 65534
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def in_a_process(work: Callable[[], Any], root: bool = False) -> Any:
    """Return what a function answers in a process of nobody with one thread; fails as it fails.

    The process is not forked from this one, where libraries may have begun threads, but from one that has imported the
    function's module and little else.
    """
    reading, writing = os.pipe()
    order = io.BytesIO()
    _Pickler(order).dump((work, root))
    told = (os.environ | ONE_THREAD, str(Path.cwd()), work.__module__, order.getvalue())
    answer = _tell(told, [1, 2, writing])
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        said = file.read()
    code = answer.recv(8)
    assert said, f"the process ended with {int(code)}"
    found = json.loads(said)
    assert "failed" not in found, found["failed"]
    return found["answer"]


def _tell(order: object, descriptors: list[int]) -> socket.socket:
    """Order a process; the exit code comes on the socket that is returned."""
    own, given = socket.socketpair()
    socket.send_fds(_find_server(), [b"x"], [*descriptors, given.fileno()])
    given.close()
    with own.makefile("wb") as file:
        pickle.dump(order, file)
    return own


@cache
def _find_server() -> socket.socket:
    """Who forks the processes: it ends with this process, which has the other end of its socket."""
    own, given = socket.socketpair()
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; from support.confined import serve; serve({given.fileno()})"
    )
    subprocess.Popen([sys.executable, "-c", code], pass_fds=[given.fileno()], env=os.environ | ONE_THREAD)
    given.close()
    return own


def serve(descriptor: int) -> None:
    """Fork a process for each order, and tell when it has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders = socket.socket(fileno=descriptor)
    while True:
        begun, descriptors, _, _ = socket.recv_fds(orders, 1, 4)
        if not begun:  # nobody is left to order any
            return
        out, err, writing, telling = descriptors
        with socket.socket(fileno=telling) as told:
            with told.makefile("rb") as file:
                environment, folder, module, work = pickle.load(file)
            importlib.import_module(module)
            pid = os.fork()
            if pid == 0:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                for given, own in ((out, 1), (err, 2)):
                    os.dup2(given, own)
                    os.close(given)
                orders.close()
                told.close()
                os.chdir(folder)
                os.environ.clear()
                os.environ.update(environment)
                _obey(work, writing)
            for each in (out, err, writing):
                os.close(each)
            told.sendall(b"%d" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


class _Pickler(pickle.Pickler):
    """Takes functions within functions, too, with what they enclose."""

    def reducer_override(self, each: Any) -> Any:
        if not isinstance(each, FunctionType) or "<" not in each.__qualname__:
            return NotImplemented
        enclosed = [cell.cell_contents for cell in each.__closure__ or ()]
        return _make_function, (marshal.dumps(each.__code__), each.__module__, each.__defaults__, enclosed)


def _make_function(code: bytes, module: str, defaults: Any, enclosed: list[Any]) -> FunctionType:
    known = vars(importlib.import_module(module))
    return FunctionType(marshal.loads(code), known, None, defaults, tuple(map(CellType, enclosed)))


def _obey(order: bytes, writing: int) -> NoReturn:
    """Be the process: do what was ordered, and answer on its pipe."""
    os.set_inheritable(writing, False)
    try:
        work, root = pickle.loads(order)
        if os.getuid() == 0 and not root:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        answer = {"answer": work()}
    except BaseException:  # noqa: BLE001 - told to the test
        answer = {"failed": traceback.format_exc()}
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(writing, json.dumps(answer).encode())
    os._exit(0)


def lay_out(folder: Path) -> Path:
    """Make the folders that ``intruder.try_files`` looks for, for nobody to use."""
    for name in (
        "private/image",
        "private/movable",
        "shared/body",
        "shared/removable",
        "own/file",
        "own/movable",
    ):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"content")
    (folder / "shared" / "empty").mkdir()
    (folder / "shared" / "link").symlink_to(folder / "private" / "image")
    for path in (folder, *folder.parents):
        if (
            path != Path("/tmp")
            and path.stat().st_uid == os.getuid()
            and os.getuid() == 0
            and path != Path("/")
        ):
            path.chmod(path.stat().st_mode | 0o055)
    for path in (folder, *folder.rglob("*")):
        if os.getuid() == 0:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    return folder


def confine(kind: str, folder: Path, enforced: Enforcement | None = None) -> Enforcement:
    """Confine this process as one of a kind, to the folders that ``lay_out`` made."""
    reads, writes = [str(folder / "shared")], [str(folder / "own")]
    if kind == "offline":
        return confine_offline(enforced=enforced)
    if kind == "online":
        return confine_online()
    return {"keeper": confine_keeper, "runner": confine_runner}[kind](reads, writes, enforced)


def older(version: int) -> Enforcement:
    """Return what a kernel with an older Landlock enforces."""
    return Enforcement(min(version, KERNEL.landlock), seccomp=True)
