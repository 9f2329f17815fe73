"""The page about the routes."""

from __future__ import annotations

import re

from pcevolve_server.settings import Key

KEY = "correct-horse-battery-staple"


def test_the_page_about_the_routes_loads_nothing_from_elsewhere(serve, fake):
    with serve(fake, keys=(Key(KEY),)) as client:
        page = client.get("/docs")
        loaded = re.findall(r"""(?:src|href|url)[=:] ?["']([^"']+)["']""", page.text)
        found = [client.get(f"/{name}") for name in loaded]
    assert len(loaded) == 4
    assert [each.status_code for each in found] == [200] * 4
    assert not re.search(r"(?:https?:)?//\w", page.text)
    # Whatever a script of it would fetch, a browser refuses.
    policy = dict(rule.split(" ", 1) for rule in page.headers["Content-Security-Policy"].split("; "))
    assert {word for words in policy.values() for word in words.split()} <= {
        "'none'", "'self'", "'unsafe-inline'", "data:",
    }  # fmt: skip
    assert policy["default-src"] == "'none'"
