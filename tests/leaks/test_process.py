"""A real client's processes over real HTTP, with canaries in everything private, while somebody tries to get at them.

File names may stand on the owner's own screen. They may be in nothing that leaves, and in nothing that may be shared.
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from leaks import secrets
from leaks.owner import Count, Meddle, Owner, found, honest, listening, private_folder
from pcevolve.wire.egress.transport import Incoming, Outgoing
from support.forkserver import ForkServer

FAMILY = "real processes"


@pytest.fixture
def owner(forks: ForkServer, folder: Path) -> Owner:
    private_folder(folder / "owner" / "private")
    return Owner(forks, folder)


def after_five(status: int, *headers: tuple[str, str]) -> Meddle:
    """An honest provider for some requests, and then always the same answer; it dies where the status is 0."""
    left = [5]

    def meddle(request: Outgoing) -> Incoming | None:
        left[0] -= 1
        return Incoming(status, headers, b"<html>who are you?</html>") if left[0] < 0 else None

    return meddle


TROUBLES: dict[str, tuple[int, str, int | None, tuple[tuple[str, str], ...]]] = {
    "the provider dies in the middle": (6, "no usable answer", 0, ()),
    "the provider answers nonsense": (6, "where JSON was expected", 200, ()),
    "the provider sends elsewhere": (6, "HTTP 307: it redirects", 307, (("Location", "{}/v1/models"),)),
    "the provider wants to know who it is": (
        6,
        "HTTP 401",
        401,
        (("WWW-Authenticate", "Basic"), ("Set-Cookie", "a=b")),
    ),
    "no prompt can be made": (2, "prompt", None, ()),
}
"""With which code the client ends, what it tells, and what the provider answers: status and headers."""


@pytest.mark.parametrize("name", TROUBLES)
def test_trouble_brings_nothing_private_to_light(name: str, owner: Owner, count: Count):
    code, said, status, headers = TROUBLES[name]
    changes = {"prompt_template": "no label"} if status is None else {}
    with listening() as elsewhere:
        answered = [(each, value.format(elsewhere.address)) for each, value in headers]
        meddle = honest if status is None else after_five(status, *answered)
        done = owner.run("--json", meddle=meddle, **changes)
    leaked = done.find_leaked(done.stdout, done.stderr)
    refused = done.code == code and said in done.stderr and not leaked and not elsewhere.raw
    count(FAMILY, refused, done.code, leaked, bytes(elsewhere.raw), done.stderr)


def test_a_refused_budget_tells_nobody_on_whose_data(owner: Owner, count: Count):
    owner.run()
    done = owner.run("--json", out=owner.folder / "again", seed=12)
    leaked = done.find_leaked(done.stdout, done.stderr, shared=False)
    refused = done.code == 4 and "already spent" in done.stderr and not leaked and not done.wire
    count(FAMILY, refused, done.code, leaked, done.wire, done.stderr)


def test_a_private_file_that_cannot_be_read_is_named_to_the_owner_alone(owner: Owner, count: Count):
    broken = owner.private / "cut" / f"broken-{secrets.FILE_NAME}"
    broken.write_bytes(b"\x89PNG\r\n\x1a\n" + secrets.PERSON.encode())
    done = owner.run("--json")
    refused = done.code == 3 and broken.name in done.stderr and secrets.PERSON not in done.stderr
    refused = refused and not done.wire and not done.out.exists() and not done.stdout
    count(FAMILY, refused, done.code, done.wire, done.stderr)


def test_a_whole_run_shows_nothing_private_anywhere_whatever_the_environment_says(owner: Owner, count: Count):
    """Nor does the environment change the way or the bytes, and every header is one of the fixed ones."""
    with listening() as proxy:
        login = f"machine 127.0.0.1 login {secrets.UNIT} password {secrets.UNIT}"
        (owner.folder / ".netrc").write_text(login)
        proxies = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"), proxy.address)
        around = {"USER": secrets.PERSON, "HOSTNAME": secrets.UNIT, **proxies}
        done = owner.run("--json", environment=around, more=1)
    leaked = done.find_leaked(done.stdout, done.stderr)
    whole = done.code == 0 and json.loads(done.stdout)["requests"] == len(done.requests)
    count(FAMILY, whole and not leaked, done.code, leaked, done.stderr)
    count(FAMILY, not proxy.raw, bytes(proxy.raw))
    allowed = {"Host", "User-Agent", "Accept", "Accept-Encoding", "Content-Type", "Content-Length"}
    names = {tuple(name for name, _ in each.headers) for each in done.requests}
    agents = {dict(each.headers)["User-Agent"] for each in done.requests}
    count(FAMILY, set().union(*names) <= allowed and agents == {"pcevolve"} and len(names) == 2, names)


def test_the_canaries_are_found_where_they_are(owner: Owner):
    """The search is one that can find something."""
    for path in owner.private.rglob("*.png"):
        assert found(owner.private, path.read_bytes())
        assert found(owner.private, str(path).encode())
        with listening() as spy:
            urlopen(Request(spy.address + "/v1/models", data=path.read_bytes()))
        assert found(owner.private, bytes(spy.raw))
    assert found(owner.private, (owner.folder / "owner" / "units.csv").read_bytes())
