"""What an attacker inside a confined process tries, harmlessly: each system call has arguments that cannot succeed.

Past the filter the kernel finds the fault in the arguments (a descriptor -1, no pointer, a process that is not there)
or does something without effect; refused by the filter it answers EPERM, or ENOSYS for a call without a name.
Standard library alone, so that it runs inside any process.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pcevolve.public.processes.system_calls import NUMBERS

NO_PID = 2**22 + 5  # above the largest there can be
_HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}

_EVERYWHERE = """
socket 1 15 0 | socket 15 15 0 | socket 16 15 0 | socket 17 15 0 | socket 21 15 0 | socket 29 15 0 | socket 31 15 0
socket 38 15 0 | socket 40 15 0 | socket 43 15 0 | socket 44 15 0 | socketpair 1 1 0 0
bind -1 0 0 | listen -1 0 | accept -1 0 0 | accept4 -1 0 0 0 | recvmmsg -1 0 0 0 0
execve 0 0 0 | execveat -1 0 0 0 0 | clone 0x20200 0 0 0 0 | clone 0x800 0 0 0 0 | clone 0x40010000 0 0 0 0 | clone3 0 0
ptrace 1 PID 0 0 | process_vm_readv PID 0 0 0 0 0 | process_vm_writev PID 0 0 0 0 0 | kcmp PID PID 0 0 0
pidfd_open -1 0 | pidfd_getfd -1 -1 0 | pidfd_send_signal -1 0 0 0 | process_madvise -1 0 0 0 0 | process_mrelease -1 9
kill PID 0 | tgkill PID PID 0 | tkill PID 0 | rt_sigqueueinfo PID 0 0 | rt_tgsigqueueinfo PID PID 0 0
prlimit64 PID 7 0 0 | prlimit64 0 7 1 0 | setrlimit 7 1 | setpriority 0 PID 0 | getpriority 0 PID | getpriority 1 0
ioprio_set 9 0 0 | ioprio_get 9 0 | sched_setaffinity 0 0 0 | sched_setscheduler -1 0 0 | sched_setparam -1 0
sched_setattr 0 0 0
keyctl 9999 0 0 0 0 | add_key 0 0 0 0 0 | request_key 0 0 0 0
io_uring_setup 0 0 | io_uring_enter -1 0 0 0 0 0 | io_uring_register -1 0 0 0 | perf_event_open 0 0 0 0 0
userfaultfd 0xffff | bpf 999 0 0 | seccomp 99 0 0
mount 0 0 0 0 0 | umount2 0 0 | pivot_root 0 0 | chroot 0 | unshare 0 | setns -1 0 | open_tree -1 0 0
move_mount -1 0 -1 0 0 | fsopen 0 0 | fsmount -1 0 0 | mount_setattr -1 0 0 0 0
openat2 -1 0 0 0 | name_to_handle_at -1 0 0 0 0 | open_by_handle_at -1 0 0
openat -1 0 0x200 0 | openat -1 0 0x203 0 | openat -1 0 3 0 | open 0 0x200 0 | open 0 3 0
truncate 0 0 | creat 0 0
setxattr 0 0 0 0 0 | lsetxattr 0 0 0 0 0 | fsetxattr -1 0 0 0 0 | removexattr 0 0 | getxattr 0 0 0 0 | listxattr 0 0 0
chown 0 -1 -1 | lchown 0 -1 -1 | fchown -1 -1 -1 | fchownat -1 0 -1 -1 0 | mknod 0 0 0 | mknodat -1 0 0 0
utime 0 0 | utimes 0 0 | futimesat -1 0 1
shmget 0 0 0 | semget 0 -1 0 | msgget 987654321 0 | mq_open 0 0 0 0 | inotify_init1 -1 | inotify_add_watch -1 0 0
fanotify_init -1 0 | memfd_create 0 0 | memfd_secret -1 | splice -1 0 -1 0 0 99 | tee -1 -1 0 99 | vmsplice -1 0 0 0
mincore 1 0 0 | madvise 0 0 12 | madvise 0 0 20 | madvise 0 0 21 | personality 0xffffffff | pkey_alloc 99 99
prctl 4 7 0 0 0 | prctl 1 99 0 0 0 | prctl 8 7 0 0 0 | prctl 22 99 0 0 0 | arch_prctl 0x1003 0
ioctl -1 0x5412 0 | ioctl -1 0x541c 0 | ioctl -1 0x5452 0 | ioctl -1 0x40049409 0 | ioctl -1 0x40086602 0
fcntl -1 8 0 | fcntl -1 10 0 | fcntl -1 1024 0 | fcntl -1 1026 0 | fcntl -1 1031 0 | fcntl -1 1033 0 | fcntl -1 1036 0
sethostname 0 -1 | settimeofday 0 1 | clock_settime 99 0 | adjtimex 0 | syslog 99 0 0
capset 0 0 | capget 0 0 | setpgid -1 -1 | setreuid -1 -1 | setregid -1 -1 | setfsuid -1
timer_create 99 0 0 | timerfd_create 99 99 | signalfd4 -1 0 0 99 | setitimer 99 0 0
"""
_WITHOUT_NETWORK = """
socket 2 15 0 | socket 10 15 0 | socket 2 1 9999 | connect -1 0 0 | sendto -1 0 0 0 0 0 | sendmsg -1 0 0
sendmmsg -1 0 0 0 | recvfrom -1 0 0 0 0 0 | recvmsg -1 0 0 | shutdown -1 0 | getsockname -1 0 0 | getpeername -1 0 0
setsockopt -1 1 2 0 0 | getsockopt -1 1 2 0 0
"""
_METADATA = "chmod 0 0 | fchmod -1 0 | fchmodat -1 0 0 | utimensat -1 1 0 0"
_TERMINAL = "ioctl -1 0x5402 0 | ioctl -1 0x5403 0 | ioctl -1 0x5404 0"
_OF_A_LAUNCHER = """
symlink 0 0 | symlinkat 0 -1 0 | landlock_create_ruleset 0 0 99 | landlock_add_rule -1 0 0 99
openat -1 0 0x200000 0 | open 0 0x200000 0
"""
_SHARED = "utimensat -1 0 0 0 | fcntl -1 4 0 | ioctl -1 0x5421 0"
_LOCKS = (
    "flock -1 2 | fcntl -1 5 0 | fcntl -1 6 0 | fcntl -1 7 0 | fcntl -1 36 0 | fcntl -1 37 0 | fcntl -1 38 0"
)
_ODD_CONNECTIONS = """
socket 2 15 0 | socket 2 1 262 | socket 10 1 262 | socket 2 1 132 | socket 2 2 136 | socket 2 3 9999 | socket 2 5 0
sendto -1 0 0 0x20000000 0 0 | sendmsg -1 0 0x20000000 | sendmmsg -1 0 0 0x20000000 | sendto -1 0 0 1 0 0
setsockopt -1 6 30 0 0 | setsockopt -1 6 23 0 0 | setsockopt -1 6 19 0 0 | setsockopt -1 6 31 0 0
setsockopt -1 1 25 0 0 | setsockopt -1 1 26 0 0 | setsockopt -1 1 36 0 0 | setsockopt -1 1 50 0 0
setsockopt -1 0 19 0 0 | setsockopt -1 99 2 0 0 | setsockopt -1 1 5 0 0 | setsockopt -1 1 10 0 0
setsockopt -1 41 99 0 0 | socket 1 1 0 | socket 16 2 0
"""
ATTEMPTS: Mapping[str, Sequence[str]] = {
    name: [each.strip() for text in texts for each in re.split(r"[|\n]", text) if each.strip()]
    for name, texts in {
        "keeper": (_EVERYWHERE, _WITHOUT_NETWORK, _METADATA, _SHARED, _TERMINAL, _OF_A_LAUNCHER),
        "runner": (_EVERYWHERE, _ODD_CONNECTIONS, _METADATA, _LOCKS, _TERMINAL, _OF_A_LAUNCHER),
        "offline": (_EVERYWHERE, _WITHOUT_NETWORK),
        "online": (_EVERYWHERE, _ODD_CONNECTIONS),
    }.items()
}
"""By kind of process, system calls with their arguments that it must not get past its filter with."""


def read_headers(machine: str) -> dict[str, int] | None:
    """Return the numbers of a machine's system calls by the kernel's own headers; None if they are not installed."""
    there = next((Path(each) for each in _HEADERS[machine] if Path(each).exists()), None)
    if there is None:
        return None
    text = there.read_text()
    found = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", text)}
    # Of a name with two numbers the first is that of machines of 64 bits.
    for name, other in reversed(re.findall(r"#define __NR_(\w+) __NR3264_(\w+)", text)):
        if other in found:
            found[name] = found[other]
    return found


def refusal(attempt: str) -> int:
    """Return what the filter answers: EPERM to a call that it knows, ENOSYS to any other."""
    return errno.EPERM if attempt.split()[0] in NUMBERS["x86_64"] else errno.ENOSYS


def try_calls(attempts: Sequence[str], numbers: Mapping[str, int]) -> dict[str, int]:
    """Return the kernel's answer to each attempt: 0, or the number of an error."""
    return {each: _call(each, numbers) for each in attempts if each.split()[0] in numbers}


def _call(attempt: str, numbers: Mapping[str, int]) -> int:
    name, *words = attempt.split()
    values = [NO_PID if each == "PID" else int(each, 0) for each in words]
    libc = ctypes.CDLL(None, use_errno=True)
    answer = libc.syscall(ctypes.c_long(numbers[name]), *map(ctypes.c_long, values))
    return ctypes.get_errno() if answer < 0 else 0


def try_others(pids: Sequence[int]) -> list[str]:
    """Return what can be learnt from other processes that are there, or done to them, and is for nobody else to do."""
    machine = os.uname().machine
    numbers = {**NUMBERS[machine], "process_vm_readv": {"x86_64": 310, "aarch64": 270}[machine]}
    limits = ctypes.create_string_buffer(16)
    calls: Mapping[str, Callable[[int], int]] = {
        "signal": lambda pid: _call(f"kill {pid} 0", numbers),
        "limits": lambda pid: _call(f"prlimit64 {pid} 7 0 {ctypes.addressof(limits)}", numbers),
        "priority": lambda pid: _call(f"getpriority 0 {pid}", numbers),
        "processors": lambda pid: os.sched_setaffinity(pid, os.sched_getaffinity(pid)) or 0,
        "memory": lambda pid: _call(f"process_vm_readv {pid} 0 0 0 0 0", numbers),
        **{
            f"/proc/{name}": lambda pid, name=name: os.close(os.open(f"/proc/{pid}/{name}", os.O_RDONLY)) or 0
            for name in _OF_OTHERS
        },
        **{
            f"/proc/{name}, where it leads": lambda pid, name=name: (
                str(Path(f"/proc/{pid}/{name}").readlink()) == ""
            )
            for name in ("cwd", "root", "exe", "fd/0", "fd/1", "fd/2", "ns/pid")
        },
    }
    return [f"{name} {pid}" for name, act in calls.items() for pid in pids if _is_done(act, pid)]


_OF_OTHERS = (
    *("auxv", "cgroup", "cmdline", "comm", "environ", "fd", "fdinfo", "io", "limits", "maps", "mem"),
    *(
        "mountinfo",
        "mounts",
        "net/tcp",
        "oom_score_adj",
        "pagemap",
        "root/",
        "sched",
        "smaps",
        "stat",
        "statm",
    ),
    *("status", "syscall", "task", "timers", "wchan", "cwd/"),
)
"""Of a process, by ``/proc/PID``."""


def _is_done(act: Callable[[int], int], pid: int) -> bool:
    try:
        return act(pid) == 0
    except OSError:
        return False


def try_files(folder: Path) -> dict[str, bool]:
    """Return what succeeds of what an attacker does with ``folder/private``, ``folder/shared`` and ``folder/own``.

    The first may not be reached, the second only be read, and the third be written.
    """
    return {name: _succeeds(act, folder) for name, act in _FILES.items()}


def _succeeds(act: Callable[[Path], object], folder: Path) -> bool:
    try:
        act(folder)
    except OSError:
        return False
    return True


def _open(place: str, flags: int) -> Callable[[Path], object]:
    return lambda folder: os.close(os.open(folder / place, flags, 0o600))


def _read_as(prefix: str) -> Callable[[Path], object]:
    return lambda folder: Path(prefix + str(folder / "private" / "image")).read_bytes()


_FILES: Mapping[str, Callable[[Path], object]] = {
    "read a private file": _open("private/image", os.O_RDONLY),
    "read it by /proc/self/root": _read_as("/proc/self/root"),
    "read it by /proc/self/cwd": lambda f: Path(f"/proc/self/cwd{'/..' * 20}{f}/private/image").read_bytes(),
    "read it by a way through what is shared": _open("shared/../private/image", os.O_RDONLY),
    "read it by a link that lies in what is shared": _open("shared/link", os.O_RDONLY),
    "list the private folder": lambda f: [*(f / "private").iterdir()],
    "open the private folder": _open("private", os.O_RDONLY | os.O_DIRECTORY),
    "go into the private folder and read": lambda f: (os.chdir(f / "private"), Path("image").read_bytes()),
    "write into a private file": _open("private/image", os.O_WRONLY),
    "add to a private file": _open("private/image", os.O_WRONLY | os.O_APPEND),
    "make a file beside a private one": _open("private/new", os.O_CREAT | os.O_WRONLY),
    "make a folder beside a private file": lambda f: (f / "private" / "folder").mkdir(),
    "make a file without a name there": _open("private", os.O_TMPFILE | os.O_RDWR),
    "give a private file a name of one's own": lambda f: os.link(
        f / "private" / "image", f / "own" / "taken"
    ),
    "move a private file here": lambda f: (f / "private" / "movable").rename(f / "own" / "moved"),
    "write into a shared file": _open("shared/body", os.O_WRONLY),
    "empty a shared file by reading": _open("shared/body", os.O_RDONLY | os.O_TRUNC),
    "open a shared file in mode 3": _open("shared/body", 3),
    "empty a shared file by name": lambda f: os.truncate(f / "shared" / "body", 0),
    "make a shared file": _open("shared/new", os.O_CREAT | os.O_WRONLY),
    "make a shared folder": lambda f: (f / "shared" / "folder").mkdir(),
    "put a file into what is shared": lambda f: (f / "own" / "movable").rename(f / "shared" / "moved"),
    "name a file in what is shared": lambda f: os.link(f / "own" / "file", f / "shared" / "named"),
    "make a shared file by reading": _open("shared/made", os.O_CREAT | os.O_RDONLY),
    "name a shared file once more": lambda f: os.link(f / "shared" / "body", f / "shared" / "again"),
    "remove a shared folder": lambda f: (f / "shared" / "empty").rmdir(),
    "remove a shared file": lambda f: (f / "shared" / "removable").unlink(),
    "give a shared file another attribute": lambda f: os.setxattr(f / "shared" / "body", "user.a", b"1"),
    "make a pipe with a name": lambda f: os.mkfifo(f / "own" / "pipe"),
    "make a link": lambda f: (f / "own" / "link").symlink_to("/"),
    "read who there is": lambda f: Path("/etc/passwd").read_bytes(),
    "read how another process began": lambda f: Path(f"/proc/{os.getppid()}/cmdline").read_bytes(),
    "list processes": lambda f: [*Path("/proc").iterdir()],
    "list the temporary files of others": lambda f: [*Path("/tmp").iterdir()],
    "make shared memory": lambda f: (
        os.close(os.open("/dev/shm/pcevolve-probe", os.O_CREAT | os.O_RDWR, 0o600)),
        Path("/dev/shm/pcevolve-probe").unlink(),
    ),
}
