"""Records in which one request is another than the one that was sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support.forge import Event, forge, rewrite_body


@pytest.fixture
def finished_otherwise(finished: Callable[..., Path]) -> Callable[..., Path]:
    """A finished run whose last request has other fields, in an otherwise whole record."""

    def make(**fields: object) -> Path:
        root = finished()

        def edit(all_of: list[Event]) -> list[Event]:
            place = max(index for index, event in enumerate(all_of) if event["kind"] == "sent")
            all_of[place] = rewrite_body(
                root, all_of[place], lambda body: json.dumps(json.loads(body) | fields).encode()
            )
            return all_of

        forge(root, edit)
        return root

    return make
