"""Another place to go, another header."""

from __future__ import annotations

import dataclasses

from leaks import secrets
from leaks.attempts import Act, Attempt, at_each
from leaks.world import World, asked
from pcevolve.egress.gate import Gate
from pcevolve.egress.retry import Patience
from pcevolve.egress.transport import Address
from pcevolve.errors import UsageError
from support.runs import ADDRESS

TAG = "jane-canary-doe"
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


def _to(address: Address) -> Act:
    """The same run through a gate that leads elsewhere, as a resumed run could."""

    def act(world: World) -> object:
        world.spoilt = True
        run, patience = world.run, Patience(seconds=1, first=1)
        gate = Gate(run.transcript, world.dialect, address, world.provider, patience)
        gate.hello(run.plan.run_id)
        gate.begin(run.plan, run.account.committed, run.account.measured)
        return asked(gate, world.call, world.source)

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
