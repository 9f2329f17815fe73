from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.confined import lay_out


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that nobody may go into, which pytest's own are not."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        yield lay_out(Path(made))
