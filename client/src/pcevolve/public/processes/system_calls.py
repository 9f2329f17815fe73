"""The system calls that each kind of process may make. All others are refused. Numbers are for x86_64 and aarch64.

A listed system call that is not allowed fails with EPERM. An unlisted one fails with ENOSYS, as on a kernel that lacks
it. Newer variants such as ``openat2``, ``clone3`` and io_uring are unlisted, because they take their arguments from
memory, which a filter cannot read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_NUMBERS = """
read 0 63, write 1 64, open 2 -, close 3 57, stat 4 -, fstat 5 80, lstat 6 -, poll 7 -, lseek 8 62,
mmap 9 222, mprotect 10 226, munmap 11 215, brk 12 214, rt_sigaction 13 134, rt_sigprocmask 14 135,
rt_sigreturn 15 139, ioctl 16 29, pread64 17 67, pwrite64 18 68, readv 19 65, writev 20 66,
access 21 -, pipe 22 -, select 23 -, sched_yield 24 124, mremap 25 216, madvise 28 233, dup 32 23,
dup2 33 -, pause 34 -, nanosleep 35 101, getpid 39 172, sendfile 40 71, socket 41 198,
connect 42 203, accept 43 202, sendto 44 206, recvfrom 45 207, sendmsg 46 211, recvmsg 47 212,
shutdown 48 210, bind 49 200, listen 50 201, getsockname 51 204, getpeername 52 205,
socketpair 53 199, setsockopt 54 208, getsockopt 55 209, clone 56 220, fork 57 -, vfork 58 -,
execve 59 221, exit 60 93, wait4 61 260, kill 62 129, uname 63 160, fcntl 72 25, flock 73 32,
fsync 74 82, fdatasync 75 83, truncate 76 45, ftruncate 77 46, getcwd 79 17, chdir 80 49, fchdir 81 50,
rename 82 -, mkdir 83 -, rmdir 84 -, creat 85 -, link 86 -, unlink 87 -, symlink 88 -, readlink 89 -, chmod 90 -,
fchmod 91 52, chown 92 -, fchown 93 55, lchown 94 -, umask 95 166, gettimeofday 96 169, getrlimit 97 163,
getrusage 98 165, sysinfo 99 179, times 100 153, ptrace 101 117, getuid 102 174, getgid 104 176,
geteuid 107 175, getegid 108 177, getppid 110 173, getpgrp 111 -, getgroups 115 158, getresuid 118 148,
getresgid 120 150, getpgid 121 155, getsid 124 156, rt_sigpending 127 136, rt_sigtimedwait 128 137,
rt_sigsuspend 130 133, sigaltstack 131 132, utime 132 -, mknod 133 -, statfs 137 43, fstatfs 138 44,
getpriority 140 141, setpriority 141 140, prctl 157 167, arch_prctl 158 -, setrlimit 160 164, gettid 186 178,
setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7, time 201 -, futex 202 98, sched_setaffinity 203 122,
sched_getaffinity 204 123, getdents64 217 61, set_tid_address 218 96, restart_syscall 219 128,
fadvise64 221 223, clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115,
exit_group 231 94, epoll_wait 232 -, epoll_ctl 233 21, tgkill 234 131, utimes 235 -, waitid 247 95,
openat 257 56, mkdirat 258 34, mknodat 259 33, fchownat 260 54, newfstatat 262 79, unlinkat 263 35,
renameat 264 38, linkat 265 37, symlinkat 266 36, readlinkat 267 78, fchmodat 268 53, faccessat 269 48,
pselect6 270 72, ppoll 271 73, set_robust_list 273 99, utimensat 280 88, epoll_pwait 281 22,
fallocate 285 47, accept4 288 242, eventfd2 290 19, epoll_create1 291 20, dup3 292 24, pipe2 293 59,
preadv 295 69, pwritev 296 70, prlimit64 302 261, sendmmsg 307 269, getcpu 309 168, renameat2 316 276,
getrandom 318 278, execveat 322 281, membarrier 324 283, copy_file_range 326 285, preadv2 327 286,
pwritev2 328 287, statx 332 291, rseq 334 293, close_range 436 436, faccessat2 439 439,
epoll_pwait2 441 441, landlock_create_ruleset 444 444, landlock_add_rule 445 445,
landlock_restrict_self 446 446, futex_waitv 449 449
"""
_ROWS = [row.split() for row in _NUMBERS.split(",")]
NUMBERS: Mapping[str, Mapping[str, int]] = {
    machine: {row[0]: int(row[column]) for row in _ROWS if row[column] != "-"}
    for column, machine in ((1, "x86_64"), (2, "aarch64"))
}
"""The number of each system call that a machine has, by machine."""


@dataclass(frozen=True)
class Argument:
    """A demand on one half of a system call's argument: after masking, the half equals one of some values.

    The kernel reads numbers and flags only from the low half. Pointers use both halves.
    """

    index: int
    values: tuple[int, ...]
    mask: int = 0xFFFF_FFFF
    high: bool = False


Demands = tuple[Argument, ...]


@dataclass(frozen=True)
class Profile:
    """The system calls that a process may make.

    Attributes:
        free: System calls that are allowed with any arguments.
        demanding: System calls that are allowed if all demands of one alternative are met.
        connects: Whether it may open connections to the internet.
        signals: Whether it may send signals to other processes, namely the ones listed in ``demanding``.
    """

    free: frozenset[str]
    demanding: Mapping[str, tuple[Demands, ...]] = field(default_factory=dict)
    connects: bool = False
    signals: bool = False


def _null(index: int) -> Demands:
    return (Argument(index, (0,)), Argument(index, (0,), high=True))


_FREE = frozenset(
    """
    brk mmap mprotect munmap mremap futex futex_waitv set_robust_list rseq membarrier set_tid_address exit exit_group
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend pause sigaltstack
    restart_syscall wait4 waitid sched_yield sched_getaffinity getcpu
    clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times getrusage
    getpid gettid getppid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp getpgid getsid
    uname sysinfo getrlimit umask getcwd chdir fchdir getrandom
    read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close close_range dup dup2 dup3
    stat lstat fstat newfstatat statx access faccessat faccessat2 readlink readlinkat getdents64 statfs fstatfs
    ftruncate fallocate fsync fdatasync fadvise64 sendfile copy_file_range
    rename renameat renameat2 link linkat unlink unlinkat mkdir mkdirat rmdir
    pipe pipe2 poll ppoll select pselect6 epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd2
    """.split()  # noqa: SIM905 - a list would take 120 lines
)
_CLONE_THREAD, _NEW_NAMESPACES, _CLONE_PTRACE = 0x10000, 0x7E02_0000, 0x2000
_O_ACCMODE, _O_TRUNC, _O_PATH = 0o3, 0o1000, 0o10000000
# Opening for reading with O_TRUNC empties a file, which Landlock before version 3 does not prevent. Landlock treats
# access mode 3 as neither reading nor writing. It does not check a descriptor that O_PATH opens.
_OPEN_FLAGS = (0o0, 0o1, 0o2, 0o1001, 0o1002), _O_ACCMODE | _O_TRUNC | _O_PATH
_FCNTL = (0, 1, 2, 3, 1030, 1032)  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC, F_GETPIPE_SZ
_FCNTL_FLAGS = (4,)  # F_SETFL, which another process with the same open file would notice
_FCNTL_LOCKS = (5, 6, 7, 36, 37, 38)  # F_GETLK, F_SETLK, F_SETLKW, and those of open file descriptions
_IOCTL = (
    0x5401,
    0x5413,
    0x540F,
    0x541B,
    0x5450,
    0x5451,
)  # TCGETS, TIOCGWINSZ, TIOCGPGRP, FIONREAD, FIONCLEX, FIOCLEX
_IOCTL_TERMINAL = (0x5402, 0x5403, 0x5404)  # TCSETS, TCSETSW, TCSETSF
_IOCTL_FLAGS = (0x5421,)  # FIONBIO
_PRCTL = (3, 15, 16, 21, 23, 39, 0x53564D41)  # what is asked, PR_SET_NAME and PR_SET_VMA: dumpable stays 0
# MADV_MERGEABLE, COLD and PAGEOUT, among others, are left out, because another process could observe their effects.
_MADVISE = (0, 1, 2, 3, 4, 8, 10, 11, 14, 15, 16, 17, 18, 19, 22, 23)
_XCOMP = (0x1021, 0x1022, 0x1023)  # to ask for AMX; FS and GS are set by clone

_DEMANDING: Mapping[str, tuple[Demands, ...]] = {
    "clone": ((Argument(0, (_CLONE_THREAD,), _CLONE_THREAD | _NEW_NAMESPACES | _CLONE_PTRACE),),),
    "open": ((Argument(1, *_OPEN_FLAGS),),),
    "openat": ((Argument(2, *_OPEN_FLAGS),),),
    "fcntl": ((Argument(1, _FCNTL),),),
    "ioctl": ((Argument(1, _IOCTL),),),
    "prctl": ((Argument(0, _PRCTL),),),
    "arch_prctl": ((Argument(0, _XCOMP),),),
    "madvise": ((Argument(2, _MADVISE),),),
    "prlimit64": ((Argument(0, (0,)), *_null(2)),),  # its own limits, to read
    "getpriority": ((Argument(0, (0,)), Argument(1, (0,))),),
}

_AF_INET, _AF_INET6 = 2, 10
_SOCK_FLAGS = 0x80000 | 0x800  # SOCK_CLOEXEC, SOCK_NONBLOCK
_SEND_FLAGS = 0x4000 | 0x8000 | 0x40  # MSG_NOSIGNAL, MSG_MORE, MSG_DONTWAIT; not MSG_FASTOPEN, which connects
_NETWORK: Mapping[str, tuple[Demands, ...]] = {
    "socket": (
        (
            Argument(0, (_AF_INET, _AF_INET6)),
            Argument(1, (1, 2), 0xFFFF_FFFF ^ _SOCK_FLAGS),  # SOCK_STREAM, SOCK_DGRAM
            Argument(2, (0, 6, 17)),  # TCP and UDP: MPTCP is another
        ),
    ),
    "sendto": ((Argument(3, (0,), 0xFFFF_FFFF ^ _SEND_FLAGS),),),
    "sendmsg": ((Argument(2, (0,), 0xFFFF_FFFF ^ _SEND_FLAGS),),),
    "sendmmsg": ((Argument(3, (0,), 0xFFFF_FFFF ^ _SEND_FLAGS),),),
    "setsockopt": (
        # SO_REUSEADDR, SNDBUF, RCVBUF, KEEPALIVE, LINGER, RCVTIMEO, SNDTIMEO
        (Argument(1, (1,)), Argument(2, (2, 7, 8, 9, 13, 20, 21))),
        (
            Argument(1, (6,)),
            Argument(2, (1, 4, 5, 6, 18)),
        ),  # TCP_NODELAY, KEEPIDLE, -INTVL, -CNT, USER_TIMEOUT
        (Argument(1, (0,)), Argument(2, (10, 11))),  # IP_MTU_DISCOVER, IP_RECVERR, for names
        (Argument(1, (41,)), Argument(2, (23, 25, 26))),  # IPV6_MTU_DISCOVER, IPV6_RECVERR, IPV6_V6ONLY
    ),
    "fcntl": ((Argument(1, _FCNTL + _FCNTL_FLAGS),),),
    "ioctl": ((Argument(1, _IOCTL + _IOCTL_FLAGS),),),
    # A process may set the times of a file that it has opened, but not of a file given by name.
    "utimensat": (_null(1),),
}
_CONNECTIONS = frozenset(
    ["connect", "getsockname", "getpeername", "getsockopt", "recvfrom", "recvmsg", "shutdown"]
)

KEEPER = Profile(_FREE | {"flock"}, {**_DEMANDING, "fcntl": ((Argument(1, _FCNTL + _FCNTL_LOCKS),),)})
"""The profile of a process with private files and no network.

The process must not change anything visible about a file that it shares with other processes or may only read.
"""
RUNNER = Profile(_FREE | _CONNECTIONS, {**_DEMANDING, **_NETWORK}, connects=True)
"""The profile of a process with the network and no private files.

The process must not lock files, because a lock on a file that the keeper can also lock would carry bits between them.
"""
ACCEPTING = Profile(RUNNER.free | {"accept", "accept4"}, RUNNER.demanding, connects=True)
"""The profile of a runner to which several owners connect. Its port was opened before, and it can open no other."""
_OF_ONE_PROCESS = frozenset(
    """
    landlock_create_ruleset landlock_add_rule landlock_restrict_self
    flock symlink symlinkat chmod fchmod fchmodat utimensat
    """.split()  # noqa: SIM905
)
_WITH_TERMINAL: Mapping[str, tuple[Demands, ...]] = {
    # O_PATH is allowed here, because Landlock rules are made with it.
    "open": ((Argument(1, _OPEN_FLAGS[0], _O_ACCMODE | _O_TRUNC),),),
    "openat": ((Argument(2, _OPEN_FLAGS[0], _O_ACCMODE | _O_TRUNC),),),
    "fcntl": ((Argument(1, _FCNTL + _FCNTL_FLAGS + _FCNTL_LOCKS),),),
    "ioctl": ((Argument(1, _IOCTL + _IOCTL_FLAGS + _IOCTL_TERMINAL),),),
}
OFFLINE = Profile(_FREE | _OF_ONE_PROCESS, {**_DEMANDING, **_WITH_TERMINAL})
"""The profile of an offline command of one process with a terminal. The command may give up files later."""
_ONLINE = {name: demands for name, demands in _NETWORK.items() if name != "utimensat"}
ONLINE = Profile(
    _FREE | _CONNECTIONS | _OF_ONE_PROCESS, {**_DEMANDING, **_ONLINE, **_WITH_TERMINAL}, connects=True
)
"""The profile of a command of one process that needs the network and has nothing private.

The command gives up files later. It may use locks, because there is no keeper to which a lock could carry bits.
"""


def may_signal(profile: Profile, pids: tuple[int, ...]) -> Profile:
    """Return a profile that also allows signals to the process itself and to some other processes."""
    own, *others = pids
    signals = {"kill": ((Argument(0, pids),),), "tgkill": ((Argument(0, (own,)),),)}
    return Profile(profile.free, {**profile.demanding, **signals}, profile.connects, bool(others))
