"""An attacker's code in a library: when a process of a run imports a certain module, it tries everything.

Python imports this by itself where its folder is on PYTHONPATH. ``PLANTED`` says, as JSON, in which module it lies for
which role, what it tries, and where it may leave what it found.
"""

from __future__ import annotations

import importlib.abc
import json
import os
import sys
from pathlib import Path
from typing import Any


class Planted(importlib.abc.MetaPathFinder):
    """Looks like a way to find modules."""

    def __init__(self, planted: dict[str, Any], role: str) -> None:
        self.planted, self.role = planted, role

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Find no module, but act at a certain one."""
        if name == self.planted["modules"][self.role]:
            sys.meta_path.remove(self)
            Path(self.planted["found"][self.role]).write_text(json.dumps(self.attack()))

    def attack(self) -> dict[str, Any]:
        """Return what got past: system calls; and by path, what can be read and what can be written."""
        from support import intruder

        attempts = intruder.ATTEMPTS[self.role]
        answers = intruder.try_calls(attempts, self.planted["numbers"])
        return {
            "tried": len(answers),
            "past": [each for each, answer in answers.items() if answer != intruder.refusal(each)],
            "read": [
                each
                for each in self.planted["paths"]
                if can(os.listdir if Path(each).is_dir() else read, each)
            ],
            "written": [each for each in self.planted["paths"] if can(write, each)],
        }


def read(path: str) -> None:
    with Path(path).open("rb") as file:
        file.read(1)


def write(path: str) -> None:
    """Make and remove a file in a folder, or open one to write and leave it as it is."""
    if Path(path).is_dir():
        probe = Path(path, f"probe-{os.getpid()}")
        probe.touch()
        probe.unlink()
    else:
        os.close(os.open(path, os.O_WRONLY))


def can(act: Any, path: str) -> bool:
    """True if it succeeds."""
    try:
        act(path)
    except OSError:
        return False
    return True


CHILD = "pcevolve.public.processes.child"
if "PLANTED" in os.environ and CHILD in sys.orig_argv:
    _planted, _role = json.loads(os.environ["PLANTED"]), sys.orig_argv[sys.orig_argv.index(CHILD) + 1]
    if _role in _planted["modules"]:
        sys.meta_path.insert(0, Planted(_planted, _role))
