"""A statement run in a process of its own that may take only so much memory and time: what a bomb would blow up."""

from __future__ import annotations

import subprocess
import sys

_LIMIT = """
import resource, sys

def limit(more):
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + int(more * 2**30),) * 2)

"""


def run_bounded(code: str, *arguments: object, seconds: float = 60) -> str:
    """Run Python code and return what it printed.

    Args:
        code: Statements that import what they need, call ``limit(GIB)`` and then take no more address space than that.
        arguments: Of the code, its ``sys.argv[1:]``.
        seconds: Time that all of it may take; more is an error.
    """
    done = subprocess.run(
        [sys.executable, "-c", _LIMIT + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    return done.stdout
