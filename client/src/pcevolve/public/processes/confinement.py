"""Confine this process permanently: its system calls (seccomp) and the files that it may access (Landlock).

These functions are called when only the standard library is imported. Landlock binds the calling thread and the threads
that it starts, and ``import numpy`` starts one.

>>> from pcevolve.public.processes.confinement import confine_keeper, list_system_paths
>>> confine_keeper(reads=[*list_system_paths(), "/data"], writes=["/ledger", "/ledger/tmp"])
Enforcement(landlock=7, seccomp=True)
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import stat
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pcevolve.public.processes.landlock import Files, find_version, restrict
from pcevolve.public.processes.seccomp import compile_filter, find_machine, has_seccomp, install
from pcevolve.public.processes.system_calls import (
    ACCEPTING,
    KEEPER,
    OFFLINE,
    ONLINE,
    RUNNER,
    Profile,
    may_signal,
)

LATEST = 7
"""The latest version of Landlock whose rights are known here. A newer kernel is used like this version."""
REQUIRE = "--require-confinement"
REQUIRE_VARIABLE = "PCEVOLVE_REQUIRE_CONFINEMENT"
_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38


class ConfinementError(Exception):
    """The process cannot be confined as required and must not continue."""


@dataclass(frozen=True)
class Enforcement:
    """The rules that the kernel enforces, or could enforce. ``landlock`` is its version of Landlock, or 0 for none."""

    landlock: int
    seccomp: bool

    @property
    def is_whole(self) -> bool:
        """True if both files and system calls are confined."""
        return self.landlock > 0 and self.seccomp

    def __str__(self) -> str:
        """Describe the enforcement for the console, the card and ``doctor``."""
        if self.is_whole:
            return f"enforced by the kernel (Landlock {self.landlock}, seccomp)"
        missing = [
            name for name, there in (("Landlock", self.landlock > 0), ("seccomp", self.seccomp)) if not there
        ]
        return f"not enforced on this system (no {' and no '.join(missing)})"


@dataclass(frozen=True)
class _Command:
    """A command that has confined itself and may still give up access to files."""

    enforced: Enforcement
    connects: bool
    signals: bool


_commands: list[_Command] = []
"""This process, if it is a command that has confined itself."""


def find_enforcement() -> Enforcement:
    """Find out by system calls what the kernel can enforce. The kernel's version number does not reveal this.

    A confined command is not allowed to make these system calls. It returns its earlier answer.
    """
    if _commands:
        return _commands[0].enforced
    if sys.platform != "linux":
        return Enforcement(0, seccomp=False)
    return Enforcement(min(find_version(), LATEST), has_seccomp())


def take_demand(words: list[str]) -> bool:
    """Remove the flag that demands confinement from a command line, and return True if it was there.

    An environment variable can demand confinement for every command.
    """
    demanded = REQUIRE in words or os.environ.get(REQUIRE_VARIABLE, "").lower() in ("1", "true", "yes")
    words[:] = [each for each in words if each != REQUIRE]
    return demanded


def require_confinement() -> None:
    """Refuse to continue if the kernel cannot enforce all rules (``ConfinementError`` names the missing ones)."""
    if not (found := find_enforcement()).is_whole:
        raise ConfinementError(f"confinement is required, and {found}: nothing was read or sent")


def list_system_paths() -> list[str]:
    """List the existing paths that Python and its libraries read on this machine."""
    wanted = {
        *(sys.prefix, sys.base_prefix, sys.exec_prefix, *filter(None, sys.path)),
        *("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types"),
        # threadpoolctl reads the first of these paths, and torch and NumPy read the others.
        *(
            "/proc/self",
            "/proc/cpuinfo",
            "/proc/meminfo",
            "/proc/filesystems",
            "/sys/devices/system",
            "/sys/fs/cgroup",
        ),
        *("/dev/urandom", "/dev/random", "/dev/zero"),
    }
    return sorted(path for path in wanted if os.path.exists(path))  # noqa: PTH110 - pathlib takes 10 ms to import


def list_network_paths() -> list[str]:
    """List the existing files that are needed to resolve host names and check certificates."""
    names = "resolv.conf hosts host.conf gai.conf nsswitch.conf services protocols"
    trust = "ssl pki ca-certificates crypto-policies"
    wanted = [f"/etc/{name}" for name in (*names.split(), *trust.split())]
    wanted += [
        "/run/systemd/resolve",
        "/run/NetworkManager",
        "/run/resolvconf",
    ]  # what resolv.conf is a link to
    wanted += [os.environ[name] for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if name in os.environ]
    return [path for path in wanted if os.path.exists(path)]  # noqa: PTH110


def confine_keeper(
    reads: Iterable[str], writes: Iterable[str], enforced: Enforcement | None = None, door: Sequence[int] = ()
) -> Enforcement:
    """Restrict this process to these files.

    It can start no other program, and can use no socket except ``door``, which it reads and writes like a file.
    """
    return _confine(KEEPER, reads, writes, enforced, door=door)


def confine_runner(
    reads: Iterable[str],
    writes: Iterable[str],
    enforced: Enforcement | None = None,
    door: Sequence[int] = (),
    *,
    accepts: bool = False,
) -> Enforcement:
    """Restrict this process to these files and to internet connections that it opens. It can start no other program.

    Args:
        door: Descriptors of sockets that stay open.
        accepts: Whether the process also accepts connections, at a port that was opened before and is in ``door``.
    """
    return _confine(ACCEPTING if accepts else RUNNER, reads, writes, enforced, door=door)


def confine_offline(
    children: Sequence[int] = (), enforced: Enforcement | None = None, door: Sequence[int] = ()
) -> Enforcement:
    """Forbid this process all sockets except ``door``, other programs, and signals except to its children.

    ``leave_files`` may follow.
    """
    can = _confine(OFFLINE, None, (), enforced, children, door)
    _commands.append(_Command(can, connects=False, signals=bool(children)))
    return can


def confine_online() -> Enforcement:
    """Allow this process outgoing internet connections only, and forbid it to start programs.

    ``leave_files`` must follow before any of the user's data are read.
    """
    can = _confine(ONLINE, None, (), None)
    _commands.append(_Command(can, connects=True, signals=False))
    return can


def confine_worker(
    reads: Iterable[str], writes: Iterable[str], enforced: Enforcement | None = None
) -> Enforcement:
    """Restrict this process to these files, without sockets and other programs, like an offline command."""
    return _confine(OFFLINE, reads, writes, enforced)


def may_leave_files() -> bool:
    """Return True for a command that has confined itself, if the kernel has rules for files."""
    return bool(_commands) and _commands[0].enforced.landlock > 0


def leave_files(files: Files) -> None:
    """Restrict a command to these files, its libraries' files, and a separate temporary folder.

    A process that has not confined itself as a command stays unrestricted.

    Raises:
        ConfinementError: As in ``confine_keeper``.
    """
    if not may_leave_files():
        return
    own = _commands[0]
    _require_one_thread()
    # Separate folders, so that a command with the network finds no files that the libraries of another command left.
    temporary = os.environ["TMPDIR"] = _make_temporary_folder("online-" if own.connects else "")
    if "tempfile" in sys.modules:  # it remembers the first folder that it found
        sys.modules["tempfile"].tempdir = None  # type: ignore[attr-defined]
    reads = [*list_system_paths(), *list_caches(), *(list_network_paths() if own.connects else ())]
    whole = replace(files, reads=[*reads, *files.reads], writes=[*files.writes, temporary, os.devnull])
    try:
        restrict(whole, own.enforced.landlock, connects=own.connects, signals=own.signals)
    except OSError as error:
        raise ConfinementError(f"this process cannot be confined: {error}") from None


def _make_temporary_folder(kind: str) -> str:
    """Return a permanent folder that only this user can access. PyTorch cannot be imported without such a folder."""
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"pcevolve-{kind}{os.getuid()}")  # noqa: PTH118, S108
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)  # noqa: PTH102
        found = os.lstat(path)  # somebody else may have made it first, or a link
    except OSError as error:
        raise ConfinementError(f"no temporary folder can be made: {error}") from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise ConfinementError(f"{path} is not yours alone: remove it, or set TMPDIR to a folder of your own")
    return path


def list_caches() -> list[str]:
    """List the existing folders of fetched encoders' weights."""
    return [path for path in _name_caches() if os.path.exists(path)]  # noqa: PTH110


def make_caches() -> list[str]:
    """Make and list the folders of fetched encoders' weights."""
    for path in _name_caches():
        os.makedirs(path, exist_ok=True)  # noqa: PTH103
    return _name_caches()


def _name_caches() -> list[str]:
    home = os.path.expanduser("~/.cache")  # noqa: PTH111
    wanted = [os.path.join(os.environ.get("XDG_CACHE_HOME", home), name) for name in ("huggingface", "torch")]  # noqa: PTH118
    return wanted + [
        os.environ[name] for name in ("HF_HOME", "HF_HUB_CACHE", "TORCH_HOME") if name in os.environ
    ]


def _confine(
    profile: Profile,
    reads: Iterable[str] | None,
    writes: Iterable[str],
    enforced: Enforcement | None,
    children: Sequence[int] = (),
    door: Sequence[int] = (),
) -> Enforcement:
    """Confine this process, files first, because the system call filter forbids further file rules.

    Args:
        reads: All files that may be read, in addition to ``writes``. With None, any file may be read.
        enforced: The rules to enforce, such as an older kernel's. By default all rules that this kernel can enforce.
        children: Processes to which signals may be sent.
        door: Descriptors of the sockets that stay open, such as the one between a keeper and a client.

    Raises:
        ConfinementError: A path does not exist, another thread is running, or the kernel refuses.
    """
    can = enforced or find_enforcement()
    if sys.platform != "linux":
        return can
    _require_one_thread()
    _close_sockets(door)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for option, value in ((_PR_SET_DUMPABLE, 0), (_PR_SET_NO_NEW_PRIVS, 1)):
        if ctypes.CDLL(None).prctl(option, value, 0, 0, 0) != 0:
            raise ConfinementError("the kernel refuses to forbid core dumps or new privileges")
    os.environ["JOBLIB_MULTIPROCESSING"] = (
        "0"  # scikit-learn would try to start processes, and warn that it cannot
    )
    # MKL counts processors by moving itself to each, which is forbidden: torch would compute in one thread.
    os.environ.setdefault("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    os.environ.setdefault("MKL_DYNAMIC", "FALSE")
    own = may_signal(profile, (os.getpid(), *children))
    try:
        if can.landlock and reads is not None:
            files = Files(reads, [*writes, os.devnull])
            restrict(files, can.landlock, connects=own.connects, signals=own.signals)
        if can.seccomp and (machine := find_machine()):
            install(compile_filter(own, machine), machine)
    except OSError as error:
        raise ConfinementError(f"this process cannot be confined: {error}") from None
    return can


def _require_one_thread() -> None:
    if len(os.listdir("/proc/self/task")) != 1:  # noqa: PTH208
        raise ConfinementError("another thread runs already, which would keep all files: confine first")


def _close_sockets(door: Sequence[int]) -> None:
    """Close sockets that were open at the start. Pipes, files and ``door`` were passed on purpose."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        descriptor = int(name)
        try:
            if descriptor > 2 and descriptor not in door and stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                os.close(descriptor)
        except OSError:  # the one that listed them
            continue
