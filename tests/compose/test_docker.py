"""Client and server in containers: what the images hold, what each side can reach, and the main job from nothing."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.contained import (
    INTERNET,
    NAME,
    SEARCH,
    SMALL,
    WRITABLE,
    Stack,
    facts,
    of_the_host,
    project,
    reach,
    require_allowed,
    show_spent,
)
from support.tally import Tally

pytestmark = pytest.mark.timeout(5400)

OTHERS = {"api": "pcevolve", "client": "pcevolve_server"}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    yield from project(tmp_path_factory.mktemp("docker"), "test")


@pytest.fixture(scope="module")
def finished(stack: Stack) -> Path:
    done = stack.main_job()
    assert done.returncode == 0, done.stdout + done.stderr
    return stack.run


def test_main_job_runs_from_nothing_and_leaves_a_run(finished: Path) -> None:
    summary = json.loads((finished / "summary.json").read_text())
    assert summary["images_released"] == 3 * int(SMALL["PCEVOLVE_CANDIDATES"])
    assert 0 < summary["epsilon_spent"] <= summary["epsilon_budget"]
    assert (finished / "report.html").stat().st_size > 0
    assert {path.name for path in (finished / "release").iterdir() if path.is_dir()} >= {
        "type A",
        "type B",
        "type C",
    }
    assert (finished / "transcript").is_dir()


def test_run_belongs_to_the_client_and_holds_nothing_private(finished: Path) -> None:
    assert finished.stat().st_uid == int(os.environ.get("PCEVOLVE_UID", "1000"))
    assert not {path.name for path in finished.iterdir()} & {"private", "config.toml"}


def test_audit_in_a_container_holds(stack: Stack, tally: Tally, finished: Path) -> None:
    done = stack("run", "--rm", "--no-deps", "-T", "client", "audit", f"/runs/{NAME}", "--json")
    assert json.loads(require_allowed(tally, done))["holds"] is True


def test_second_up_spends_nothing_more(stack: Stack, tally: Tally, finished: Path) -> None:
    before = show_spent(stack)
    require_allowed(tally, stack.main_job())
    assert show_spent(stack) == before


@pytest.mark.parametrize("service", OTHERS)
def test_container_is_an_ordinary_user_who_can_write_only_where_it_must(stack: Stack, service: str) -> None:
    seen = facts(stack, service)
    assert seen["user"] >= 1000
    assert seen["capabilities"] == 0
    assert seen["no_new_privileges"] == "1"
    assert seen["writable"] == WRITABLE[service]


def test_only_the_client_sees_private_images(stack: Stack) -> None:
    assert facts(stack, "api")["private"] is None
    assert set(facts(stack, "client")["private"]) >= {"type A", "type B", "type C"}


@pytest.mark.parametrize("service", OTHERS)
def test_image_holds_nothing_of_the_other_side(stack: Stack, service: str) -> None:
    assert stack.inside(service, SEARCH, OTHERS[service]) == "0"
    assert stack.inside(service, SEARCH, OTHERS[service].replace("_", "-")) == "0"
    assert stack.inside(service, SEARCH, "pcevolve_shared") != "0"


@pytest.mark.parametrize("service", OTHERS)
def test_image_holds_no_build_tools_of_ours(stack: Stack, service: str) -> None:
    assert "uv" not in facts(stack, service)["tools"]
    assert stack.inside(service, SEARCH, "requirements.lock") == "0"


def test_client_reaches_the_server_and_nothing_else(stack: Stack, tally: Tally, listener: int) -> None:
    require_allowed(tally, stack("up", "-d", "api"))
    reach(stack, tally, "client", "http://api:8000/readyz", INTERNET + of_the_host(listener))


def test_no_auditor_starts_unless_it_is_asked_for(stack: Stack, finished: Path) -> None:
    mine = f"label=com.docker.compose.project={stack.command[-1]}"
    listed = subprocess.run(
        ["docker", "ps", "-a", "--filter", mine, "--format", '{{.Label "com.docker.compose.service"}}'],
        capture_output=True,
        text=True,
    )
    assert set(listed.stdout.split()) == {"api", "client", "folders"}
