"""The filter, run by an interpreter of the kernel's BPF: also for a machine that is not there."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from pcevolve.public.processes.confinement import confine_keeper
from pcevolve.public.processes.seccomp import ARCHITECTURES, Instruction, compile_filter
from pcevolve.public.processes.system_calls import KEEPER, NUMBERS, OFFLINE, ONLINE, RUNNER, Profile
from support import intruder
from support.confined import confines, in_a_process

PROFILES = {"keeper": KEEPER, "runner": RUNNER, "offline": OFFLINE, "online": ONLINE}
ALLOWED, KILLED = 0x7FFF_0000, 0x8000_0000
REFUSED, UNKNOWN = 0x5_0000 | errno.EPERM, 0x5_0000 | errno.ENOSYS
MACHINES = [*ARCHITECTURES]


def answer(program: Sequence[Instruction], number: int, arguments: Sequence[int], architecture: int) -> int:
    """What a program says of one system call, as ``linux/filter.h`` defines its instructions."""
    padded = [each % 2**64 for each in (*arguments, *[0] * 6)][:6]
    data = struct.pack("<IIQ6Q", number, architecture, 0, *padded)
    held = place = 0
    while True:
        code, value, if_true, if_false = program[place]
        place += 1
        match code:
            case 0x20:
                (held,) = struct.unpack_from("<I", data, value)
            case 0x54:
                held &= value
            case 0x05:
                place += value
            case 0x15:
                place += if_true if held == value else if_false
            case 0x25:
                place += if_true if held > value else if_false
            case 0x35:
                place += if_true if held >= value else if_false
            case 0x06:
                return value
            case _:
                raise AssertionError(f"code {code}")


def ask(kind: str, machine: str, call: str) -> int:
    name, *words = call.split()
    numbers = intruder.read_headers(machine) or pytest.skip("the kernel's headers are not installed")
    if name not in numbers:
        pytest.skip(f"{machine} has no {name}")
    values = [intruder.NO_PID if each == "PID" else int(each, 0) for each in words]
    return answer(compile_filter(PROFILES[kind], machine), numbers[name], values, ARCHITECTURES[machine])


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kind", PROFILES)
def test_every_attempt_of_an_attacker_is_refused(kind: str, machine: str) -> None:
    program, there = compile_filter(PROFILES[kind], machine), intruder.read_headers(machine)
    if there is None:
        pytest.skip("the kernel's headers are not installed")
    for attempt in intruder.ATTEMPTS[kind]:
        name, *words = attempt.split()
        values = [intruder.NO_PID if each == "PID" else int(each, 0) for each in words]
        if name in there:
            said = answer(program, there[name], values, ARCHITECTURES[machine])
            assert said == (REFUSED if name in NUMBERS[machine] else UNKNOWN), attempt


USUAL = {
    "keeper": ["flock 3 2", "fcntl 3 6 9"],
    "offline": [
        "flock 3 2",
        "ioctl 0 0x5403 9",
        "fcntl 3 38 9",
        "fcntl 3 4 0x800",
        "fchmodat -100 9 0o600",
        "utimensat -100 9 9 0",
    ],
    "online": [
        "socket 2 0x80001 6",
        "connect 3 9 16",
        "flock 3 2",
        "ioctl 0 0x5403 9",
        "fchmodat -100 9 0o600",
    ],
    "runner": [
        "socket 2 0x80001 6",
        "socket 10 1 0",
        "socket 2 0x80802 0",
        "connect 3 9 16",
        "sendto 3 9 9 0x4000 0 0",
        "setsockopt 3 6 1 9 4",
        "utimensat 3 0 9 0",
        "ioctl 3 0x5421 9",
    ],
}
EVERYWHERE = [
    "read 3 9 9",
    "openat -100 9 0x80000 0",
    "openat -100 9 0x80241 0o600",
    "openat -100 9 0x2c2 0o600",
    "fcntl 3 2 1",
    "ioctl 3 0x5401 9",
    "mmap 0 4096 3 0x22 -1 0",
    "clone 0x3d0f00 9 9 9 9",
    "prlimit64 0 7 0 9",
    "prctl 15 9 0 0 0",
    "madvise 9 4096 4",
    "renameat2 -100 9 -100 9 0",
]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kind", PROFILES)
def test_what_libraries_need_is_allowed(kind: str, machine: str) -> None:
    assert {call: ask(kind, machine, call) for call in (*EVERYWHERE, *USUAL[kind])} == dict.fromkeys(
        (*EVERYWHERE, *USUAL[kind]), ALLOWED
    )


@pytest.mark.parametrize("call", ["prlimit64 0 7 0x100000000 0", "utimensat 3 0x100000000 9 0"])
@pytest.mark.parametrize("machine", MACHINES)
def test_a_pointer_is_null_in_both_halves(machine: str, call: str) -> None:
    assert ask("runner", machine, call) == REFUSED


@pytest.mark.parametrize("profile", PROFILES.values())
def test_calls_by_another_architecture_s_numbers_end_the_process(profile: Profile) -> None:
    i386 = 0x4000_0003
    for machine, other in (("x86_64", i386), ("x86_64", ARCHITECTURES["aarch64"]), ("aarch64", 0x4000_0028)):
        assert answer(compile_filter(profile, machine), 1, (), other) == KILLED


@pytest.mark.parametrize("profile", PROFILES.values())
def test_calls_of_x32_are_unknown(profile: Profile) -> None:
    program = compile_filter(profile, "x86_64")
    for number in (0, 41, 39, 512, 547):
        assert answer(program, 0x4000_0000 | number, (), ARCHITECTURES["x86_64"]) == UNKNOWN


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("profile", PROFILES.values())
def test_every_number_that_no_table_lists_is_unknown(profile: Profile, machine: str) -> None:
    program = compile_filter(profile, machine)
    listed = set(NUMBERS[machine].values())
    for number in {*range(600), 2**30 - 1, 2**31, 2**32 - 1} - listed:
        assert answer(program, number, (), ARCHITECTURES[machine]) == UNKNOWN


@confines
def test_the_kernel_answers_as_the_interpreter_does(tmp_path: Path) -> None:
    machine = os.uname().machine
    numbers = intruder.read_headers(machine)
    if numbers is None:
        pytest.skip("the kernel's headers are not installed")

    def attack() -> dict[str, int]:
        confine_keeper([], [])
        return intruder.try_calls(intruder.ATTEMPTS["keeper"], numbers)

    asked = [call for call in intruder.ATTEMPTS["keeper"] if call.split()[0] in numbers]
    assert in_a_process(attack) == {call: ask("keeper", machine, call) & 0xFFFF for call in asked}
