"""A provider that misbehaves, and clients that meet it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostile.attempt import RESUME_SECONDS, Attempt
from hostile.launcher import Launcher
from hostile.provider import Bystander, HostileProvider
from hostile.verdict import KEY
from support.folders import class_folders
from support.forkserver import ForkServer


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """In memory where that is possible: this suite is about the provider, not about the disk."""
    memory = Path("/dev/shm")
    root = Path(tempfile.mkdtemp(prefix="hostile-", dir=memory if memory.is_dir() else None))
    yield root
    shutil.rmtree(root)


@pytest.fixture(scope="session")
def private(folder: Path) -> Path:
    """Private images of two classes."""
    return class_folders(folder / "private", seed=1)


@pytest.fixture(scope="session")
def private_texts(folder: Path) -> Path:
    """Private texts of two classes."""
    rows = [
        f"private note {number} about a {label},{label}" for label in ("cold", "cake") for number in range(3)
    ]
    (folder / "notes.csv").write_text("\n".join(["text,label", *rows, ""]))
    return folder / "notes.csv"


@pytest.fixture(scope="session")
def key(folder: Path) -> Path:
    """File with the owner's key."""
    path = folder / "key"
    path.write_text(KEY)
    path.chmod(0o600)
    return path


@pytest.fixture(scope="session")
def launcher(folder: Path, forks: ForkServer) -> Launcher:
    return Launcher(folder, forks)


@pytest.fixture(scope="session")
def attempt(folder: Path, private: Path, key: Path, launcher: Launcher) -> Iterator[Attempt]:
    """Ready to try cases, after an honest run has shown what is normal."""
    yield from ready(folder, private, key, launcher, writes=False)


@pytest.fixture(scope="session")
def attempt_with_texts(folder: Path, private_texts: Path, key: Path, launcher: Launcher) -> Iterator[Attempt]:
    """Ready to try cases on a provider of texts, after an honest run has shown what is normal."""
    root = folder / "texts"
    root.mkdir()
    yield from ready(root, private_texts, key, launcher, writes=True)


def ready(root: Path, private: Path, key: Path, launcher: Launcher, writes: bool) -> Iterator[Attempt]:
    """Start a provider, and see what an honest run takes."""
    provider, bystander = HostileProvider(writes), Bystander()
    texts = {"dialect": "chat", "domain": "note", "method": "aug-pe", "variations": 1}
    own = texts if writes else {}
    tries = Attempt(root, private, key, provider, bystander, launcher, 0, own)
    honest = launcher(tries.command(), RESUME_SECONDS)
    assert honest.code == 0, honest.stderr
    tries.baseline = honest.peak
    yield tries
    provider.close()
    bystander.close()
