"""A real client process over real HTTP, with canaries in everything private, while somebody tries to get at them.

File names may stand on the owner's own screen. They may be in nothing that leaves, and in nothing that may be shared.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from leaks import loops, secrets
from leaks.given import Count
from leaks.owner import Clients, Done, Spy, canaries, listening, options, private_folder
from pcevolve.egress.transport import Incoming, Outgoing
from support.forkserver import ForkServer

FAMILY = "real processes"
Meddle = Callable[[Outgoing], Incoming | None]


@pytest.fixture
def clients(forks: ForkServer) -> Clients:
    return Clients(forks)


@pytest.fixture
def private(folder: Path) -> Path:
    return private_folder(folder / "owner" / "private")


def found(private: Path, *places: bytes) -> list[bytes]:
    """The canaries that are in any of some places."""
    return [each for each in canaries(private) for place in places if each in place]


@pytest.mark.parametrize("name", loops.BENDS)
def test_a_hostile_loop_is_stopped(name: str, clients: Clients, private: Path, folder: Path, count: Count):
    bending = loops.BENDS[name]
    with listening() as spy:
        done = clients.run(folder, *options(folder, spy.address), loop=name)
    stored = "pixels in a candidate" in name or "stored file" in name or "text prompt" in name
    leaked = found(private, bytes(spy.raw), b"" if stored else done.shared())
    refused = done.code == bending.code and bending.said in done.stderr and not leaked
    count(FAMILY, refused)
    assert refused, (done.code, leaked, done.stderr)


def test_a_loop_cannot_close_the_record_where_it_likes(
    clients: Clients, private: Path, folder: Path, count: Count
):
    with listening() as spy:
        done = clients.run(folder, *options(folder, spy.address), loop="stopping")
    refused = done.code == 5 and "not all of the plan" in done.stderr
    count(FAMILY, refused)
    assert refused, done.stderr


@dataclass(frozen=True)
class Trouble:
    """Something goes wrong.

    Attributes:
        code: With which the client ends.
        said: What it tells.
        meddle: What the provider does.
        changes: Options of the run.
    """

    code: int
    said: str
    meddle: Meddle = lambda request: None
    changes: tuple[tuple[str, object], ...] = ()


def _answers(answer: Incoming, after: int) -> Meddle:
    """An honest provider for some requests, and then always the same answer."""
    left = [after]

    def meddle(request: Outgoing) -> Incoming | None:
        left[0] -= 1
        return answer if left[0] < 0 else None

    return meddle


def _html(status: int, *headers: tuple[str, str]) -> Incoming:
    return Incoming(status, headers, b"<html>who are you?</html>")


TROUBLES: dict[str, Callable[[Spy], Trouble]] = {
    "the provider dies in the middle": lambda spy: Trouble(6, "no usable answer", _answers(_html(0), 5)),
    "the provider answers nonsense": lambda spy: Trouble(
        6, "where JSON was expected", _answers(_html(200), 5)
    ),
    "the provider sends elsewhere": lambda spy: Trouble(
        6, "HTTP 307: it redirects", _answers(_html(307, ("Location", spy.address + "/v1/models")), 5)
    ),
    "the provider wants to know who it is": lambda spy: Trouble(
        6, "HTTP 401", _answers(_html(401, ("WWW-Authenticate", "Basic"), ("Set-Cookie", "a=b")), 5)
    ),
    "no prompt can be made": lambda spy: Trouble(2, "prompt", changes=(("prompt_template", "no label"),)),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_trouble_brings_nothing_private_to_light(
    name: str, clients: Clients, private: Path, folder: Path, count: Count
):
    with listening() as elsewhere:
        trouble = TROUBLES[name](elsewhere)
        with listening(trouble.meddle) as spy:
            done = clients.run(folder, *options(folder, spy.address, **dict(trouble.changes)), "--json")
    leaked = found(private, bytes(spy.raw), done.shared(), done.stdout.encode(), done.stderr.encode())
    refused = done.code == trouble.code and trouble.said in done.stderr and not leaked and not elsewhere.raw
    count(FAMILY, refused)
    assert refused, (done.code, leaked, bytes(elsewhere.raw), done.stderr)


def test_a_refused_budget_tells_nobody_on_whose_data(
    clients: Clients, private: Path, folder: Path, count: Count
):
    with listening() as spy:
        _whole_run(clients, folder, spy)
        again = options(folder, spy.address, out=folder / "again", seed=12)
        heard = len(spy.raw)
        done = clients.run(folder, *again, "--json")
    leaked = found(private, bytes(spy.raw), done.stdout.encode(), done.stderr.encode())
    refused = done.code == 4 and "already spent" in done.stderr and not leaked and len(spy.raw) == heard
    count(FAMILY, refused)
    assert refused, (done.code, leaked, bytes(spy.raw[heard:]), done.stderr)


def test_a_crash_with_private_last_words_says_them_to_the_owner_alone(
    clients: Clients, private: Path, folder: Path, count: Count
):
    with listening() as spy:
        done = clients.run(folder, *options(folder, spy.address), "--json", loop="crashing")
    leaked = found(private, bytes(spy.raw), done.shared(), done.stdout.encode())
    refused = done.code == 1 and "cannot embed" in done.stderr and not leaked
    count(FAMILY, refused)
    assert refused, (done.code, leaked, done.stderr)


def test_a_client_that_goes_around_the_gate_is_found_out(clients: Clients, private: Path, folder: Path):
    """Not counted: the search must be able to say 'escaped'."""
    with listening() as spy:
        clients.run(folder, *options(folder, spy.address), loop="leaking")
    assert found(private, bytes(spy.raw))


def test_a_private_file_that_cannot_be_read_is_named_to_the_owner_alone(
    clients: Clients, private: Path, folder: Path, count: Count
):
    broken = private / "cut" / f"broken-{secrets.FILE_NAME}"
    broken.write_bytes(b"\x89PNG\r\n\x1a\n" + secrets.PERSON.encode())
    with listening() as spy:
        done = clients.run(folder, *options(folder, spy.address), "--json")
    refused = done.code == 3 and broken.name in done.stderr and secrets.PERSON not in done.stderr
    refused = refused and not spy.raw and not done.out.exists() and not done.stdout
    count(FAMILY, refused)
    assert refused, (done.code, bytes(spy.raw), done.stderr)


def _whole_run(clients: Clients, folder: Path, spy: Spy, **environment: str) -> Done:
    return clients.run(folder, *options(folder, spy.address, more=1), "--json", environment=environment)


def test_a_whole_run_shows_nothing_private_anywhere(
    clients: Clients, private: Path, folder: Path, count: Count
):
    with listening() as spy:
        done = _whole_run(clients, folder, spy)
    leaked = found(private, bytes(spy.raw), done.shared(), done.stdout.encode(), done.stderr.encode())
    refused = (
        done.code == 0 and json.loads(done.stdout)["requests"] == len(spy.provider.requests) and not leaked
    )
    count(FAMILY, refused)
    assert refused, (done.code, leaked, done.stderr)


def test_the_environment_changes_neither_the_way_nor_the_bytes(
    clients: Clients, private: Path, folder: Path, count: Count
):
    with listening() as spy, listening() as proxy:
        (folder / ".netrc").write_text(f"machine 127.0.0.1 login {secrets.UNIT} password {secrets.UNIT}")
        proxies = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"), proxy.address)
        done = _whole_run(clients, folder, spy, USER=secrets.PERSON, HOSTNAME=secrets.UNIT, **proxies)
    leaked = found(private, bytes(spy.raw), done.shared(), done.stdout.encode())
    refused = done.code == 0 and not leaked and not proxy.raw
    count(FAMILY, refused)
    assert refused, (done.code, leaked, bytes(proxy.raw), done.stderr)


def test_every_header_on_the_wire_is_one_of_the_fixed_ones(
    clients: Clients, private: Path, folder: Path, count: Count
):
    with listening() as spy:
        done = _whole_run(clients, folder, spy)
    allowed = {"Host", "User-Agent", "Accept", "Accept-Encoding", "Content-Type", "Content-Length"}
    names = {tuple(name for name, _ in each.headers) for each in spy.provider.requests}
    agents = {dict(each.headers)["User-Agent"] for each in spy.provider.requests}
    refused = done.code == 0 and set().union(*names) <= allowed and agents == {"pcevolve"} and len(names) == 2
    count(FAMILY, refused)
    assert refused, names


def test_the_canaries_are_found_where_they_are(private: Path):
    """The search is one that can find something."""
    for path in private.rglob("*.png"):
        assert found(private, path.read_bytes())
        assert found(private, str(path).encode())
    assert found(private, (private.parent / "units.csv").read_bytes())
