"""A browser for all tests of the folder, and the pages that they look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import browser as chromium


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Browser]:
    if chromium.BINARY is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    started = chromium.Browser(tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")
