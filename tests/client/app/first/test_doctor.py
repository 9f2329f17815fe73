"""What ``doctor`` says of this machine."""

from __future__ import annotations

import pytest

from pcevolve.app.first import doctor
from pcevolve.app.first.doctor import examine
from pcevolve.public.config.config import RunConfig
from pcevolve.public.processes.confinement import confine_keeper
from support.confined import KERNEL, confines, in_a_process
from support.probing import run_without_torch


def describe_confinement() -> str:
    settings = RunConfig.of({"private": "digits", "domain": "anything", "out": "."})
    return next(each.found for each in examine(settings) if each.what == "confinement")


@pytest.fixture(autouse=True)
def networked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "is_cut_off", lambda: False)  # whatever the machine of the tests has


def test_it_says_that_a_container_without_network_is_a_keepers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "is_cut_off", lambda: True)
    assert describe_confinement().endswith(
        "; enforced by containers for pcevolve keeper: only the loopback interface is up here"
    )


@confines
def test_it_says_what_the_kernel_enforces() -> None:
    said = describe_confinement()
    assert said == f"enforced by the kernel (Landlock {KERNEL.landlock}, seccomp)"


@confines
def test_it_says_what_a_system_does_not_enforce_and_what_would() -> None:
    def work() -> str:
        confine_keeper(["/"], [])  # the filter hides from this process that the kernel has either
        return describe_confinement()

    assert in_a_process(work) == (
        "not enforced on this system (no Landlock and no seccomp): Linux has both from version 5.13, if they are "
        "enabled and the container allows them"
    )


pytestmark = pytest.mark.system


def test_the_doctor_finds_an_encoder_that_needs_torch_where_it_is_not():
    said = " ".join(run_without_torch("doctor", "--encoder", "resnet18").stdout.split())
    assert "TO FIX: encoder resnet18 needs torch" in said
