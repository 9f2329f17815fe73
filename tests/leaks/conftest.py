"""Where attempts are made, and the line that says what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import pytest

from leaks.world import World
from support.tally import Tally

MEMORY = Path("/dev/shm")
TALLY = Tally("leaks", ("tried", "refused", "escaped"))
FAMILIES: Counter[tuple[str, str]] = Counter()

Count = Callable[[str, bool], None]
WorldAt = Callable[[str, str], World]


@pytest.fixture
def count() -> Count:
    """Count one attempt of a family as refused or escaped."""

    def add(family: str, refused: bool) -> None:
        outcome = "refused" if refused else "escaped"
        FAMILIES[family, outcome] += 1
        TALLY.add(outcome)

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
def world_at(memory: Path) -> Iterator[WorldAt]:
    """A run at a moment; the same one again, as long as nothing but refused attempts was made in it."""
    worlds: dict[tuple[str, str], World] = {}

    def find(moment: str, spoken: str) -> World:
        known = worlds.get((moment, spoken))
        if known is not None and not known.spoilt:
            return known
        if known is not None:
            known.run.close()
        worlds[moment, spoken] = World.at(moment, Path(mkdtemp(dir=memory)), spoken)
        return worlds[moment, spoken]

    yield find
    for world in worlds.values():
        world.run.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for family in dict.fromkeys(family for family, _ in FAMILIES):
        refused, escaped = FAMILIES[family, "refused"], FAMILIES[family, "escaped"]
        terminalreporter.write_line(f"leaks: {family}: {refused} refused, {escaped} escaped")


def pytest_unconfigure() -> None:
    TALLY.report()
