"""The tables of system calls, against the kernel's own headers."""

from __future__ import annotations

import hashlib

import pytest

from pcevolve.public.processes.seccomp import compile_filter
from pcevolve.public.processes.system_calls import (
    ACCEPTING,
    KEEPER,
    NUMBERS,
    OFFLINE,
    ONLINE,
    RUNNER,
    Profile,
)
from support import intruder


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_numbers_are_those_of_the_kernel_s_headers(machine: str) -> None:
    headers = intruder.read_headers(machine)
    if headers is None:
        pytest.skip("the kernel's headers are not installed")
    listed = {name for numbers in NUMBERS.values() for name in numbers}
    assert NUMBERS[machine] == {name: headers[name] for name in listed if name in headers}


@pytest.mark.parametrize("profile", [KEEPER, RUNNER, OFFLINE, ONLINE])
def test_every_system_call_of_a_profile_has_a_number(profile: Profile) -> None:
    assert profile.free | profile.demanding.keys() <= NUMBERS["x86_64"].keys()
    assert not profile.free & profile.demanding.keys()


@pytest.mark.parametrize(
    ("kind", "profile"),
    [("keeper", KEEPER), ("runner", RUNNER), ("offline", OFFLINE), ("online", ONLINE)],
)
def test_of_every_demand_an_attacker_tries_the_other_side(kind: str, profile: Profile) -> None:
    tried = {each.split()[0] for each in intruder.ATTEMPTS[kind]}
    assert profile.demanding.keys() - tried == set()


@pytest.mark.parametrize(
    ("machine", "digest"), [("x86_64", "1ab452529668a582"), ("aarch64", "2b5aa2d50d7948fc")]
)
def test_numbers_are_those_that_were_compared_with_headers(machine: str, digest: str) -> None:
    """Where no headers are installed; the digest was taken where both were (linux-libc-dev 6.1)."""
    table = "\n".join(f"{name} {number}" for name, number in sorted(NUMBERS[machine].items()))
    assert hashlib.sha256(table.encode()).hexdigest()[:16] == digest


@pytest.mark.parametrize(
    ("kind", "machine", "digest"),
    [
        ("keeper", "x86_64", "589aa067282f1eb8"),
        ("keeper", "aarch64", "d82637788d77b127"),
        ("runner", "x86_64", "57d50f4ebefeb77e"),
        ("runner", "aarch64", "51a905b572718836"),
        ("accepting", "x86_64", "f30083b633b53f9e"),
        ("accepting", "aarch64", "9a25cdbce2dee4a7"),
        ("offline", "x86_64", "52be3d40da0b8ebe"),
        ("offline", "aarch64", "93485e4e2d61d103"),
        ("online", "x86_64", "81c2b6210a53b35c"),
        ("online", "aarch64", "b3c3b703f0b1828e"),
    ],
)
def test_filters_are_those_that_were_reviewed(kind: str, machine: str, digest: str) -> None:
    """Whoever changes what a process may ask of the kernel changes this, and the attempts in ``support/intruder``."""
    profiles = {
        "keeper": KEEPER, "runner": RUNNER, "accepting": ACCEPTING, "offline": OFFLINE, "online": ONLINE
    }  # fmt: skip
    profile = profiles[kind]
    program = "\n".join(" ".join(map(str, each)) for each in compile_filter(profile, machine))
    assert hashlib.sha256(program.encode()).hexdigest()[:16] == digest
