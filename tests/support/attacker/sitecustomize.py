"""An attacker's code in a library: when a process of a command imports a certain module, it tries everything.

Python imports this by itself where its folder is on PYTHONPATH. ``PLANTED`` says, as JSON, for which role in which
module it lies, as what kind of process it tries to get past, by which paths, and where it may leave what it found. The
launcher's role is of the command that was typed; what a test wants smaller is made so beside the attack.
"""

from __future__ import annotations

import importlib
import importlib.abc
import json
import os
import sys
from pathlib import Path
from typing import Any


class Planted(importlib.abc.MetaPathFinder):
    """Looks like a way to find modules."""

    def __init__(self, orders: dict[str, Any], numbers: dict[str, int]) -> None:
        self.orders, self.numbers = orders, numbers

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Find no module, but act at a certain one."""
        if name == self.orders["module"]:
            sys.meta_path.remove(self)
            Path(self.orders["found"]).write_text(json.dumps(self.attack()))
            for place, value in self.orders.get("smaller", {}).items():
                module, _, attribute = place.partition(":")
                setattr(importlib.import_module(module), attribute, value)

    def attack(self) -> dict[str, Any]:
        """Return what got past: system calls; and by path, what can be read, listed and written."""
        from support import intruder

        answers = intruder.try_calls(intruder.ATTEMPTS[self.orders["kind"]], self.numbers)
        paths = self.orders["paths"]
        return {
            "tried": len(answers),
            "past": [each for each, answer in answers.items() if answer != intruder.refusal(each)],
            "others": intruder.try_others(list_others()),
            "read": [each for each in paths if not Path(each).is_dir() and can(read, each)],
            "listed": [each for each in paths if Path(each).is_dir() and can(os.listdir, each)],
            "written": [each for each in paths if can(write, each)],
        }


def list_others() -> list[int]:
    """The process that started this one, and the next ones, which it may have started."""
    return [
        os.getppid(),
        *(each for each in range(os.getppid() + 1, os.getppid() + 9) if each != os.getpid()),
    ]


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
if "PLANTED" in os.environ:
    _planted, _words = json.loads(os.environ["PLANTED"]), sys.orig_argv
    _role = _words[_words.index(CHILD) + 1] if CHILD in _words else ""
    if not _role and any(Path(each).name == "pcevolve" for each in _words):
        _role = "launcher"
    if _role in _planted["roles"]:
        sys.meta_path.insert(0, Planted(_planted["roles"][_role], _planted["numbers"]))
