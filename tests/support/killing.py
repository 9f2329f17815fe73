"""Kill a process at a chosen step of a piece of work, step by step; for tests only."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import sqlite3
import sys
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn

Work = Callable[[], object]

PTRACE_TRACEME, PTRACE_SYSCALL, PTRACE_SETOPTIONS = 0, 24, 0x4200
TRACESYSGOOD, EXITKILL = 1, 1 << 20
NOT_ALLOWED = 77


def survive(work: Work) -> int:
    """Do the work in a child process; its exit code, or minus the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        _work_and_leave(work)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def kill_at_call(work: Work, step: int) -> bool:
    """Do the work in a child that dies at a step, if it gets there.

    A step is the beginning or the end of a call into SQLite or the operating system.
    """
    code = survive(lambda: _counting(work, step))
    assert code in (0, -signal.SIGKILL), f"the work failed by itself at step {step}"
    return code != 0


def kill_at_system_call(work: Work, step: int) -> bool:
    """Do the work in a child that is killed in place of its ``step``-th system call, if it gets there.

    Raises:
        PermissionError: This machine does not let a process trace its child, or not in Linux's way.
    """
    if sys.platform != "linux":
        raise PermissionError("ptrace")
    pid = os.fork()
    if pid == 0:
        if _ptrace(PTRACE_TRACEME, 0):
            os._exit(NOT_ALLOWED)
        os.kill(os.getpid(), signal.SIGSTOP)
        _work_and_leave(work)
    code = _follow(pid, step)
    if code == NOT_ALLOWED:
        raise PermissionError("ptrace")
    assert code in (0, -signal.SIGKILL), f"the work failed by itself at step {step}"
    return code != 0


def until_it_survives(
    kill: Callable[[Work, int], bool], prepare: Callable[[int], Work], stride: int = 1
) -> Iterator[int]:
    """Prepare work afresh and kill it at one step after the other until it is done before the kill.

    Args:
        kill: Kills the work at a step, and says whether it got there.
        prepare: Makes the work for a step.
        stride: From one step to the next; which steps are left out differs from run to run.

    Yields:
        Each step, after the kill.
    """
    for step in range(random.randint(1, stride), 100_000, stride):
        killed = kill(prepare(step), step)
        yield step
        if not killed:
            return


def _work_and_leave(work: Work) -> NoReturn:
    code = 1
    try:
        work()
        code = 0
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    except BaseException:  # noqa: BLE001 - the parent sees the code; nothing of the test runner may run here
        traceback.print_exc()
    finally:
        os._exit(code)


def _counting(work: Work, last: int) -> None:
    left = last

    def count(frame: FrameType, event: str, function: Any) -> None:
        nonlocal left
        if event.startswith("c_") and _touches_files(function):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)
    work()
    sys.setprofile(None)


def _touches_files(function: Any) -> bool:
    owner = getattr(function, "__self__", None)
    if isinstance(owner, sqlite3.Connection | sqlite3.Cursor):
        return True
    module = getattr(function, "__module__", None) or getattr(type(owner), "__module__", None)
    return module in ("posix", "fcntl", "io", "_io", "sqlite3", "_sqlite3")


def _follow(pid: int, last: int) -> int:
    _, status = os.waitpid(pid, 0)
    if os.WIFSTOPPED(status):
        _ptrace(PTRACE_SETOPTIONS, pid, TRACESYSGOOD | EXITKILL)
    stops, passed_on = 0, 0
    while os.WIFSTOPPED(status):
        _ptrace(PTRACE_SYSCALL, pid, passed_on)
        _, status = os.waitpid(pid, 0)
        if os.WIFSTOPPED(status):
            at_call = os.WSTOPSIG(status) == signal.SIGTRAP | 0x80
            passed_on = 0 if at_call else os.WSTOPSIG(status)
            stops += at_call
            if stops == 2 * last - 1:  # each call stops at its beginning and at its end
                os.kill(pid, signal.SIGKILL)
                _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def _ptrace(request: int, pid: int, data: int = 0) -> int:
    trace = ctypes.CDLL(None).ptrace
    trace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    trace.restype = ctypes.c_long
    return int(trace(request, pid, None, data))
