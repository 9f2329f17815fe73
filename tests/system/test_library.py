"""A folder of public images as the provider: a whole run between real processes, and kill -9 while it is indexed."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pcevolve_shared import images
from support.collections import COLOURS, library, pixels
from support.forkserver import ForkServer
from support.processes import Client, ServerProcess

IMAGES, KEPT_AT_ONCE = 800, 250


def server_on(folder: Path, work: Path, forks: ForkServer) -> ServerProcess:
    arguments = ("--model-id", "library:tiles", "--library-cache", work / "cache", "--threads", "2")
    first = ("support.collections:keep_at_once", KEPT_AT_ONCE)
    return ServerProcess(
        work / "server.log", forks, arguments=arguments, models=(f"library:{folder}",), first=first
    )


@pytest.fixture(scope="module")
def tiles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library(tmp_path_factory.mktemp("public") / "tiles", images=12)


@pytest.fixture
def provider(tmp_path: Path, tiles: Path, forks: ForkServer) -> Iterator[ServerProcess]:
    with server_on(tiles, tmp_path, forks) as process:
        yield process


def private(root: Path) -> Path:
    for name, colour in COLOURS.items():
        (root / name).mkdir(parents=True)
        for number in range(3):
            Image.fromarray(pixels(colour, 20 + number)).save(root / name / f"secret-{number}.png")
    return root


def test_a_run_selects_real_images_says_so_and_passes_the_audit(
    tmp_path: Path, tiles: Path, provider: ServerProcess, forks: ForkServer
):
    client = Client(tmp_path, provider.address, forks)
    run = tmp_path / "run"
    options = client.run_options(
        private(tmp_path / "private"), run, model="library:tiles", domain="painted tile"
    )
    done = client.succeed(*options, "--verbose")
    assert "the provider says that they are real public images from a library of 36" in " ".join(
        done.stderr.split()
    )
    assert "ignores the steps" in " ".join(done.stderr.split())
    audited = client("audit", run, "--json")
    assert (audited.returncode, json.loads(audited.stdout)["holds"]) == (0, True), audited.stderr
    card = (run / "release" / "README.md").read_text()
    assert "**They are not synthetic**" in card
    assert 'license: "other"\n' in card
    assert "    Painted tiles\n    by nobody, CC0-1.0\n" in card
    assert "They are not synthetic" in (run / "report.html").read_text()
    public = {np.asarray(Image.open(path)).tobytes() for path in tiles.rglob("*.png")}
    released = list((run / "release").rglob("*.png"))
    assert released
    assert all(images.decode(path.read_bytes()).tobytes() in public for path in released)


def test_a_server_killed_while_it_indexes_starts_again_with_what_was_finished(
    tmp_path: Path, forks: ForkServer
):
    root = tmp_path / "many"
    for number in range(IMAGES):
        folder = root / f"{number % 50:02d}"
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels((number % 250, 90, 90), number % 40, side=8)).save(folder / f"{number}.png")
    cache = tmp_path / "cache"
    for _ in range(2):
        process = server_on(root, tmp_path, forks)
        process.start(ready=False)
        before = count_finished(cache)
        deadline = time.monotonic() + 60
        while count_finished(cache) <= before and time.monotonic() < deadline:
            time.sleep(0.005)
        process.kill()
    with closing(sqlite3.connect(find_index(cache))) as index, index:
        # Unlike anything that is computed: whatever is indexed again is found out.
        kept = index.execute("UPDATE facts SET code = zeroblob(length(code))").rowcount
    assert 0 < kept < IMAGES
    process = server_on(root, tmp_path, forks)
    process.start()
    process.kill()
    with closing(sqlite3.connect(find_index(cache))) as index:
        taken_up = index.execute("SELECT count(*) FROM facts WHERE code = zeroblob(length(code))").fetchone()
    assert taken_up == (kept,)
    ready = [line for line in process.log.read_text().splitlines() if '"model": "library:tiles"' in line]
    assert any(f'"images": {IMAGES}' in line for line in ready)


def find_index(cache: Path) -> Path:
    [index] = cache.rglob("*.sqlite")
    return index


def count_finished(cache: Path) -> int:
    """Return how many images are on the disk for good; 0 before there is an index."""
    try:
        with closing(sqlite3.connect(f"file:{find_index(cache)}?mode=ro", uri=True)) as index:
            return int(index.execute("SELECT count(*) FROM facts").fetchone()[0])
    except (ValueError, sqlite3.OperationalError):
        return 0
