"""Forked processes that confine themselves, or do not, and tell what they could do; never with root's rights."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable
from pathlib import Path
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
    """Return what a function answers in a forked process of nobody; fails as it fails."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
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
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        said = file.read()
    _, status = os.waitpid(pid, 0)
    assert said, f"the process ended with {status}"
    answer = json.loads(said)
    assert "failed" not in answer, answer["failed"]
    return answer["answer"]


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
