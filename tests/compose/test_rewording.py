"""Two online endpoints from the confined client: images from one, other words for prompts from the second.

Both are stand-ins on another network, each with a key, a name and an authority of its own.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from compose.test_online import list_heard
from pcevolve.auditing.capture import reconcile
from pcevolve.transcript import RunReader
from support import online
from support.certificates import self_signed
from support.contained import INTERNET, NAME, NAMES, ROOT, Stack, of_the_host, project, reach, require_allowed
from support.runs import WRITER_KEY
from support.tally import Tally

pytestmark = pytest.mark.timeout(5400)

PORT = 8443
HOSTS = {"images": "images.example", "words": "words.example"}
ENDPOINT = """
  %(what)s:
    image: pcevolve-client
    profiles: [rewording]
    networks:
      outside: {aliases: [%(host)s]}
    environment: {PYTHONPATH: /tests}
    volumes: ["%(tests)s:/tests:ro", "%(keys)s:/keys:ro"]
    entrypoint: [python, -m, support.endpoint, "%(port)d", /keys, %(what)s]
"""
BOTH = {
    "PCEVOLVE_ENDPOINT": f"https://{HOSTS['images']}:{PORT}",
    "PCEVOLVE_ENDPOINT_CA": "/captures/images.pem",
    "PCEVOLVE_API_KEY": online.KEY,
    "PCEVOLVE_REWRITER_ENDPOINT": f"https://{HOSTS['words']}:{PORT}",
    "PCEVOLVE_REWRITER_ENDPOINT_CA": "/captures/words.pem",
    "PCEVOLVE_REWRITER_KEY": WRITER_KEY,
    "PCEVOLVE_REWRITER_MODEL": "writer",
    "PCEVOLVE_REWRITER_PRICE": "1",
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    root = tmp_path_factory.mktemp("rewording")
    services = [endpoint(root, what, host) for what, host in HOSTS.items()]
    (root / "endpoints.yml").write_text("".join(["services:", *services]))
    files = ("-f", "docker-compose.yml", "-f", str(root / "endpoints.yml"), "--profile", "rewording")
    for made in project(root, "rewording", *files):
        (root / "captures").mkdir(exist_ok=True)
        for what in HOSTS:
            shutil.copy(root / what / "cert.pem", root / "captures" / f"{what}.pem")
            (root / "captures" / f"{what}.pem").chmod(0o644)
        yield dataclasses.replace(made, environment={**made.environment, **BOTH})


def endpoint(root: Path, what: str, host: str) -> str:
    """A service that stands for an endpoint, with a certificate of its own."""
    (root / what).mkdir()
    self_signed(root / what, host)
    for each in (root / what).iterdir():
        each.chmod(0o644)  # the container's user is another
    places = {"what": what, "host": host, "port": PORT, "tests": ROOT / "tests", "keys": root / what}
    return ENDPOINT % places


def main_job(stack: Stack, **limits: str):
    limited = dataclasses.replace(stack, environment={**stack.environment, **limits})
    return limited("up", "--abort-on-container-exit", "--exit-code-from", "rewording", *HOSTS, "rewording")


@pytest.fixture(scope="module")
def finished(stack: Stack) -> Stack:
    """A run that the limit on the rewriter's cost kept from asking it anything, and that went on with a higher one."""
    done = main_job(stack, PCEVOLVE_REWRITER_MAX_COST="2")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "more than rewriter.max_cost 2" in done.stdout
    assert list_heard(stack, "words") == []
    stack("stop")  # an engine may leave the gates running, with their files open
    for path in stack.capture.parent.glob("*.jsonl"):
        path.unlink()  # of another run, that never began
    done = main_job(stack, PCEVOLVE_REWRITER_MAX_COST="500")
    assert done.returncode == 0, done.stdout + done.stderr
    return stack


def test_each_gate_saw_what_is_on_record_of_its_endpoint(finished: Stack, tally: Tally) -> None:
    evidence = RunReader.strict(finished.run)
    words = finished.capture.with_name(f"{NAME}.rewriter.jsonl")
    found = [*reconcile(evidence, finished.capture), *reconcile(evidence, words, of_rewriter=True)]
    tally.add("allowed" if all(each.holds for each in found) else "refused")
    assert [each.faults for each in found] == [()] * 8
    assert found[1].checked + found[5].checked == evidence.requests
    assert found[5].checked > 2


def test_the_documented_command_reconciles_both(finished: Stack, tally: Tally) -> None:
    mount = f"{finished.capture.parent}:/captures:ro"
    words = ["run", "--rm", "--no-deps", "-T", "-v", mount, "rewording", "audit", f"/runs/{NAME}", "--json"]
    captures = [
        "--capture",
        f"/captures/{NAME}.jsonl",
        "--rewriter-capture",
        f"/captures/{NAME}.rewriter.jsonl",
    ]
    assert json.loads(require_allowed(tally, finished(*words, *captures)))["holds"] is True


def test_each_endpoint_was_asked_by_its_own_name_for_its_own_work(finished: Stack) -> None:
    images, words = (list_heard(finished, what) for what in HOSTS)
    assert {each["host"] for each in images} == {f"{HOSTS['images']}:{PORT}"}
    assert {each["host"] for each in words} == {f"{HOSTS['words']}:{PORT}"}
    assert {each["path"] for each in words} == {"/v1/chat/completions"}
    assert not any(each["path"].startswith("/v1/chat") for each in images)


def test_no_capture_holds_a_key_and_none_was_sent_to_the_other_endpoint(finished: Stack) -> None:
    for path in finished.capture.parent.glob("*.jsonl"):
        text = path.read_text()
        assert r'["Authorization","Bearer\n(hidden)"]' in text  # and no key but its own endpoint's
        assert online.KEY not in text
        assert WRITER_KEY not in text


@pytest.mark.parametrize("gate", ["gate", "rewriter"])
def test_the_client_reaches_its_two_gates_and_nothing_else(
    finished: Stack, tally: Tally, listener: int, gate: str
) -> None:
    require_allowed(tally, finished("up", "-d", "gate", "rewriter", *HOSTS))
    targets = [*([host, PORT] for host in HOSTS.values()), *INTERNET, *of_the_host(listener)]
    reach(finished, tally, "rewording", f"http://{gate}:8000/readyz", targets, [*NAMES, *HOSTS.values()])
