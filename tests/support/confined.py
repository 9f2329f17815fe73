"""Processes that confine themselves, or do not, and tell what they could do; never with root's rights."""

from __future__ import annotations

import importlib
import io
import json
import marshal
import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import CellType, FunctionType
from typing import Any

import pytest

from pcevolve.processes.confinement import (
    Enforcement,
    confine_keeper,
    confine_offline,
    confine_runner,
    find_enforcement,
)

KERNEL = find_enforcement()
confines = pytest.mark.skipif(not KERNEL.is_whole, reason=f"confinement is {KERNEL}")
NOBODY = 65534


def in_a_process(work: Callable[[], Any], root: bool = False) -> Any:
    """Return what a function answers in a process of nobody with one thread; fails as it fails.

    The process is not forked from this one: libraries that are loaded here may begin threads again in a child.
    """
    reading, writing = os.pipe()
    order = io.BytesIO()
    _Pickler(order).dump((work, root, writing))
    code = f"import sys; sys.path[:] = {sys.path!r}; from support.confined import obey; obey()"
    environment = os.environ | dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, pass_fds=[writing], env=environment
    )
    os.close(writing)
    process.communicate(order.getvalue())
    with os.fdopen(reading, "rb") as file:
        said = file.read()
    assert said, f"the process ended with {process.returncode}"
    answer = json.loads(said)
    assert "failed" not in answer, answer["failed"]
    return answer["answer"]


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


def obey() -> None:
    """Be the process: do what standard input orders, and answer on its pipe."""
    work, root, writing = pickle.load(sys.stdin.buffer)
    os.set_inheritable(writing, False)
    try:
        if os.getuid() == 0 and not root:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        answer = {"answer": work()}
    except BaseException:  # noqa: BLE001 - told to the test
        answer = {"failed": traceback.format_exc()}
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
    return {"keeper": confine_keeper, "runner": confine_runner}[kind](reads, writes, enforced)


def older(version: int) -> Enforcement:
    """Return what a kernel with an older Landlock enforces."""
    return Enforcement(min(version, KERNEL.landlock), seccomp=True)
