"""Records in which one request is another than the one that was sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support.forge import Event, find_event, forge, rewrite_body


@pytest.fixture
def finished_otherwise(finished: Callable[..., Path]) -> Callable[..., Path]:
    """A finished run whose last request has other fields, in an otherwise whole record."""

    def make(**fields: object) -> Path:
        root = finished()

        def edit(all_of: list[Event]) -> None:
            last = find_event(all_of[::-1], "sent")
            last |= rewrite_body(root, last, lambda body: json.dumps(json.loads(body) | fields).encode())

        forge(root, edit)
        return root

    return make
