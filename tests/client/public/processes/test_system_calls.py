"""The tables of system calls, against the kernel's own headers."""

from __future__ import annotations

import pytest

from pcevolve.public.processes.system_calls import KEEPER, NUMBERS, OFFLINE, ONLINE, RUNNER, Profile
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
