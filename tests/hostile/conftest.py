"""A provider that misbehaves, and clients that meet it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hostile.attempt import RESUME_SECONDS, Attempt
from hostile.launcher import Launcher
from hostile.provider import Bystander, HostileProvider
from hostile.verdict import KEY
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
    random = np.random.default_rng(1)
    for label in ("type A", "type B"):
        (folder / "private" / label).mkdir(parents=True)
        for number in range(3):
            pixels = random.integers(0, 256, (40, 40, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / "private" / label / f"{number}.png")
    return folder / "private"


@pytest.fixture(scope="session")
def launcher(folder: Path, forks: ForkServer) -> Launcher:
    return Launcher(folder, forks)


@pytest.fixture(scope="session")
def attempt(folder: Path, private: Path, launcher: Launcher) -> Iterator[Attempt]:
    """Ready to try cases, after an honest run has shown what is normal."""
    key = folder / "key"
    key.write_text(KEY)
    key.chmod(0o600)
    provider, bystander = HostileProvider(), Bystander()
    tries = Attempt(folder, private, key, provider, bystander, launcher, 0)
    honest = launcher(tries.command(), RESUME_SECONDS)
    assert honest.code == 0, honest.stderr
    tries.baseline = honest.peak
    yield tries
    provider.close()
    bystander.close()
