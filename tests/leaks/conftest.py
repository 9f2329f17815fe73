"""Where attempts are made, and where they are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import pytest

from leaks.forgeries.honest import Honest
from support.tally import Tally

MEMORY = Path("/dev/shm")
TALLY = Tally("leaks", ("tried", "refused", "escaped"))


@pytest.fixture
def count() -> Callable[..., None]:
    """Count an attempt, and assert that it was refused."""

    def add(family: str, refused: bool, *seen: object) -> None:
        TALLY.add("refused" if refused else "escaped", family)
        assert refused, seen

    return add


@pytest.fixture(scope="session")
def memory() -> Iterator[Path]:
    """A folder in memory, where there is such a thing: every step of a run waits for the disk."""
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture
def folder(memory: Path) -> Path:
    """An empty one for a single run."""
    return Path(mkdtemp(dir=memory))


@pytest.fixture(scope="session")
def honest(memory: Path) -> Honest:
    """Finished runs, of which a forger hands out altered copies."""
    return Honest(memory / "honest")
