"""An online endpoint from the confined client: the gate is the only way, to one host whose certificate is verified.

The endpoint is a stand-in in a container on another network. It speaks the getimg dialect over TLS, by a certificate of
an authority of its own.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Iterator

import pytest

from pcevolve.auditing.capture import reconcile
from pcevolve.public.transcript.reader import RunReader
from support import online
from support.certificates import self_signed
from support.contained import INTERNET, NAMES, ROOT, Stack, of_the_host, project, reach, require_allowed
from support.tally import Tally

pytestmark = pytest.mark.timeout(5400)

HOST, PORT = "endpoint.example", 8443
ENDPOINT = """
services:
  endpoint:
    image: pcevolve-client
    profiles: [online]
    networks:
      outside: {aliases: [%(host)s]}
    environment: {PYTHONPATH: /tests}
    volumes: ["%(tests)s:/tests:ro", "%(keys)s:/keys:ro"]
    entrypoint: [python, -m, support.endpoint, "%(port)d", /keys]
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    root = tmp_path_factory.mktemp("online")
    (root / "keys").mkdir()
    self_signed(root / "keys", HOST)
    for each in (root / "keys").iterdir():
        each.chmod(0o644)  # the container's user is another
    places = {"host": HOST, "port": PORT, "tests": ROOT / "tests", "keys": root / "keys"}
    (root / "endpoint.yml").write_text(ENDPOINT % places)
    files = ("-f", "docker-compose.yml", "-f", str(root / "endpoint.yml"), "--profile", "online")
    for made in project(root, "online", *files):
        yield dataclasses.replace(
            made,
            environment={
                **made.environment,
                "PCEVOLVE_ENDPOINT": f"https://{HOST}:{PORT}",
                "PCEVOLVE_API_KEY": online.KEY,
                "PCEVOLVE_MAX_COST": "5",
            },
        )


def trusting(stack: Stack, trusted: bool) -> Stack:
    """The stack whose gate trusts the endpoint's own authority, or the usual ones."""
    own = {"PCEVOLVE_ENDPOINT_CA": "/captures/ca.pem"} if trusted else {}
    return dataclasses.replace(stack, environment={**stack.environment, **own})


def main_job(stack: Stack):
    return stack("up", "--abort-on-container-exit", "--exit-code-from", "online", "endpoint", "online")


def test_an_endpoint_whose_certificate_nobody_vouches_for_gets_nothing(stack: Stack) -> None:
    done = main_job(trusting(stack, trusted=False))
    assert done.returncode == 6, done.stdout + done.stderr
    seen = [json.loads(line) for line in stack.capture.read_text().splitlines()]
    assert any("certificate verify failed" in str(each.get("reason")).lower() for each in seen)
    assert list_heard(stack, "endpoint") == []


def list_heard(stack: Stack, endpoint: str) -> list[dict[str, str]]:
    said = stack("logs", "--no-color", endpoint).stdout.splitlines()
    decoder = json.JSONDecoder()  # a line may end in a colour
    return [decoder.raw_decode(line[line.index("{") :])[0] for line in said if "{" in line]


@pytest.fixture(scope="module")
def finished(stack: Stack) -> Stack:
    """A run that the limit on its cost stopped, and that went on with a higher one."""
    shutil.copy(stack.root / "keys" / "cert.pem", stack.root / "captures" / "ca.pem")
    (stack.root / "captures" / "ca.pem").chmod(0o644)
    (stack.capture).unlink(missing_ok=True)
    shutil.rmtree(stack.run, ignore_errors=True)
    poor = trusting(stack, trusted=True)
    done = main_job(poor)
    assert done.returncode == 6, done.stdout + done.stderr
    assert "would exceed --max-cost 5" in done.stdout
    made = dataclasses.replace(poor, environment={**poor.environment, "PCEVOLVE_MAX_COST": "500"})
    done = main_job(made)
    assert done.returncode == 0, done.stdout + done.stderr
    return made


def test_a_run_through_the_gate_reconciles_with_what_the_gate_saw(finished: Stack, tally: Tally) -> None:
    evidence = RunReader.strict(finished.run)
    found = reconcile(evidence, finished.capture)
    tally.add("allowed" if all(each.holds for each in found) else "refused")
    assert [each.faults for each in found] == [()] * 4
    assert evidence.requests > 2


def test_the_endpoint_was_asked_by_its_own_name(finished: Stack) -> None:
    assert {each["host"] for each in list_heard(finished, "endpoint")} == {f"{HOST}:{PORT}"}


def test_the_client_reaches_the_gate_and_nothing_else(finished: Stack, tally: Tally, listener: int) -> None:
    require_allowed(tally, finished("up", "-d", "gate", "endpoint"))
    targets = [[HOST, PORT], *INTERNET, *of_the_host(listener)]
    reach(finished, tally, "online", "http://gate:8000/readyz", targets, [*NAMES, HOST])
