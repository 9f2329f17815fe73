"""A filter of system calls, built from a profile and installed for all threads of this process."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

from pcevolve.public.processes.system_calls import NUMBERS, Argument, Profile

ARCHITECTURES = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
"""The kernel's numbers of architectures in the data that a filter receives."""
_SYSCALL_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_MODE_FILTER, _GET_ACTION_AVAILABLE, _TSYNC = 1, 2, 1
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF_0000, 0x0005_0000, 0x8000_0000
_REFUSED, _UNKNOWN = _ERRNO | errno.EPERM, _ERRNO | errno.ENOSYS
_X32 = 0x4000_0000
# From linux/bpf_common.h: load a word, jump, and return.
_LOAD, _AND, _JUMP, _EQUAL, _ABOVE, _AT_LEAST, _RETURN = 0x20, 0x54, 0x05, 0x15, 0x25, 0x35, 0x06


class Instruction(NamedTuple):
    """An instruction of the kernel's classic BPF. A jump states the number of instructions that it skips."""

    code: int
    value: int
    if_true: int = 0
    if_false: int = 0


def find_machine() -> str | None:
    """Return the machine's name if its system calls are listed and this process is 64-bit, and otherwise None."""
    machine = os.uname().machine
    return machine if machine in ARCHITECTURES and sys.maxsize > 2**32 else None


def has_seccomp() -> bool:
    """Ask the kernel whether it accepts filters."""
    machine = find_machine()
    if machine is None:
        return False
    action = ctypes.c_uint32(_KILL_PROCESS)
    number = _SYSCALL_SECCOMP[machine]
    answer: int = ctypes.CDLL(None).syscall(number, _GET_ACTION_AVAILABLE, 0, ctypes.byref(action))
    return answer == 0


def compile_filter(profile: Profile, machine: str) -> list[Instruction]:
    """Compile a profile to a filter program.

    A profile may name calls that the machine lacks. They are not in its table and are skipped.
    """
    numbers = NUMBERS[machine]
    free = sorted(numbers[name] for name in profile.free if name in numbers)
    rest = sorted(
        number
        for name, number in numbers.items()
        if name not in profile.free and name not in profile.demanding
    )
    demanding = (
        _lead(numbers[name], list(chain.from_iterable(map(_meet, alternatives))))
        for name, alternatives in profile.demanding.items()
        if name in numbers
    )
    return [
        Instruction(_LOAD, 4),  # the architecture: another's calls have other numbers
        Instruction(_EQUAL, ARCHITECTURES[machine], 1, 0),
        Instruction(_RETURN, _KILL_PROCESS),
        Instruction(_LOAD, 0),
        Instruction(_AT_LEAST, _X32, 0, 1),
        Instruction(_RETURN, _UNKNOWN),
        *chain.from_iterable(demanding),
        *chain.from_iterable(_answer(*ends, _ALLOW) for ends in _join(free)),
        *chain.from_iterable(_answer(*ends, _REFUSED) for ends in _join(rest)),
        Instruction(_RETURN, _UNKNOWN),
    ]


def _join(numbers: list[int]) -> Iterable[tuple[int, int]]:
    """Yield the first and last number of each run of consecutive numbers."""
    first = last = numbers[0]
    for number in numbers[1:]:
        if number > last + 1:
            yield first, last
            first = number
        last = number
    yield first, last


def _answer(first: int, last: int, answer: int) -> list[Instruction]:
    if first == last:
        return [Instruction(_EQUAL, first, 0, 1), Instruction(_RETURN, answer)]
    return [
        Instruction(_AT_LEAST, first, 0, 2),
        Instruction(_ABOVE, last, 1, 0),
        Instruction(_RETURN, answer),
    ]


def _lead(number: int, alternatives: list[Instruction]) -> list[Instruction]:
    """Return instructions that check the arguments of one system call. For any other call, they jump over the check."""
    return [
        Instruction(_EQUAL, number, 1, 0),
        Instruction(_JUMP, len(alternatives) + 1),
        *alternatives,
        Instruction(_RETURN, _REFUSED),
    ]


def _meet(demands: tuple[Argument, ...]) -> list[Instruction]:
    """Return instructions that allow a call if it meets all demands. Otherwise the next instruction is run."""
    allowed = [Instruction(_RETURN, _ALLOW)]
    for demand in reversed(demands):
        allowed = _check(demand, len(allowed)) + allowed
    return allowed


def _check(demand: Argument, behind: int) -> list[Instruction]:
    """Return instructions that continue if an argument meets a demand, and otherwise skip ``behind`` more of them."""
    count = len(demand.values)
    return [
        Instruction(_LOAD, 16 + 8 * demand.index + 4 * demand.high),
        Instruction(_AND, demand.mask),
        *(Instruction(_EQUAL, value, count - place, 0) for place, value in enumerate(demand.values)),
        Instruction(_JUMP, behind),
    ]


def install(program: list[Instruction], machine: str) -> None:
    """Install a filter for all threads of this process, permanently (``OSError`` if the kernel refuses)."""
    packed = b"".join(struct.pack("HBBI", each.code, *each[2:], each.value) for each in program)
    instructions = ctypes.create_string_buffer(packed, len(packed))
    described = struct.pack("HxxxxxxP", len(program), ctypes.addressof(instructions))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(_SYSCALL_SECCOMP[machine], _SET_MODE_FILTER, _TSYNC, described) != 0:
        failed = ctypes.get_errno()  # 0 where a thread could not be reached: then the call gives its id
        raise OSError(failed, f"seccomp: {os.strerror(failed)}")
