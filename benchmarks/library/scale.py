"""A library of a million images: what it takes on disk and in memory, and how long it takes to answer.

::

    python -m benchmarks.library.scale --images 1000000 --out docs/results/library-scale

Descriptors, paths and a table of captions are synthetic, and no image file is read: that takes as long in a small
library. One process writes the index. A second one loads it and searches, which says what the index takes by itself.
A third one is a server: it loads as ``serve`` does and answers over HTTP, which says what a server takes.
"""

from __future__ import annotations

import argparse
import json
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar
from unittest import mock

import faiss
import numpy as np
from PIL import Image

from benchmarks.rows import parser_of
from pcevolve_server import models, server
from pcevolve_server.engines import thread
from pcevolve_server.library import loading
from pcevolve_server.library.collection import Collection
from pcevolve_server.library.embedding import AppearanceEmbedder, NeighbourIndex
from pcevolve_server.library.facts import DIGEST_BYTES, Facts, FactStore
from pcevolve_server.library.folder import ImageFile, LibraryListing
from pcevolve_server.library.words import WordIndex, draw
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.settings import Settings
from pcevolve_shared import images, wire

T = TypeVar("T")
WORDS = 5000  # different labels
PROMPTS, IMAGES = 10, 20  # asked of the server: prompts, and images for each


def main() -> None:
    """Write the index, then measure in a process of its own."""
    parser = parser_of(__doc__)
    parser.add_argument("--images", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, required=True, help="result, without suffix")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.port:
        serve(options.folder, options.images, options.port)
        return
    if options.folder:
        print(json.dumps(measure(options.folder, options.images)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written = time_call(lambda: write(folder, options.images))[1]
        size = sum(path.stat().st_size for path in index(folder).iterdir())
        figures = {"images": options.images, "write_seconds": written, "disk_mib": size / 2**20}
        command = [sys.executable, "-m", "benchmarks.library.scale", "--images", str(options.images)]
        command += ["--out", "x", "--folder", name]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        figures |= json.loads(done.stdout)
        figures["serving"] = ask_server(command)
    options.out.with_suffix(".json").write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


def time_call(work: Callable[[], T]) -> tuple[T, float]:
    """Return what a call returns, and its seconds."""
    started = time.perf_counter()
    result = work()
    return result, time.perf_counter() - started


def files(count: int) -> list[ImageFile]:
    """Paths as long as real ones are."""
    return [
        ImageFile(f"part {n // 10_000:03d}/label {n % WORDS:05d}/image_{n:09d}.jpg", 20_000 + n % 999, n)
        for n in range(count)
    ]


def settings(folder: Path) -> ModelSettings:
    """How the library in ``folder`` is served."""
    (folder / "tiles").mkdir(exist_ok=True)
    return ModelSettings(model=f"library:{folder / 'tiles'}", library_cache=str(folder), threads=1)


def index(folder: Path) -> Path:
    """Where a server keeps the library's index."""
    return loading.cache_folder(settings(folder), folder / "tiles") / AppearanceEmbedder.name


def shelf(folder: Path) -> FactStore:
    return FactStore(index(folder), AppearanceEmbedder.size)


def write(folder: Path, count: int) -> None:
    """Keep random descriptors around a few thousand centres, and a table with two columns of words."""
    with (settings(folder).model.removeprefix("library:") / Path("manifest.csv")).open("w") as table:
        table.write("file,domain,label\n")
        table.writelines(
            f"{file.path},part {n % 100},label{n % WORDS}\n" for n, file in enumerate(files(count))
        )
    random = np.random.default_rng(0)
    centres = random.integers(60, 196, (2000, AppearanceEmbedder.size), dtype=np.uint8)
    listed = files(count)
    for piece in (listed[start : start + 8192] for start in range(0, count, 8192)):
        own = centres[random.integers(0, len(centres), len(piece))]
        codes = own + random.integers(0, 40, own.shape, dtype=np.uint8)
        digests = random.integers(0, 256, (len(piece), DIGEST_BYTES), dtype=np.uint8)
        shelf(folder).keep(piece, Facts(np.full((len(piece), 2), 128, np.int32), digests, codes))


def measure(folder: Path, count: int) -> dict[str, object]:
    """Load as a server does, and answer."""
    faiss.omp_set_num_threads(1)
    listing = files(count)
    (facts, _), load = time_call(lambda: shelf(folder).load(listing))
    index, build = time_call(lambda: NeighbourIndex(facts.codes))
    texts = (frozenset({"part", str(n // 10_000), "label", f"label{n % WORDS}"}) for n in range(count))
    words, indexed = time_call(lambda: WordIndex(texts))
    weights, weighed = time_call(lambda: words.weights("part 7 with label123"))
    among = weights > 0
    answers = {}
    for name, chosen in (("all", None), (f"the prompt's {among.sum()}", among)):
        for ranks in (1, 100, 10_000, 100_000):
            seconds = time_call(partial(index.nearest, facts.codes[5], ranks, chosen))[1]
            answers[f"{name}, {ranks} ranks"] = round(1000 * seconds, 1)
    return {
        "load_seconds": load,
        "index_seconds": build,
        "words_seconds": indexed,
        "prompt_ms": 1000 * weighed,
        "draw_ms": 1000 * time_call(lambda: draw(weights, 1))[1],
        "nearest_ms": answers,
        "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "threads": 1,
    }


def serve(folder: Path, count: int, port: int) -> None:
    """Serve the library as ``pcevolve-server serve`` does; only its files are not there."""
    found = LibraryListing(folder / "tiles", tuple(files(count)), ("manifest.csv",))
    plain = Image.new("RGB", (128, 128), (90, 120, 150))
    with (
        mock.patch.object(loading, "list_images", return_value=found),
        mock.patch.object(Collection, "read", return_value=plain),
    ):
        load = partial(loading.load, settings(folder), lambda: False)
        server.run(
            Settings(model=settings(folder), port=port),
            thread.opening(partial(models.ModelCache, [load]), 0.0),
        )


def ask_server(command: list[str]) -> dict[str, object]:
    """Start a server, ask it for images, and tell its seconds and its peak memory."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([*command, "--port", str(port)], stderr=subprocess.DEVNULL)
    try:
        ready = time_call(partial(_until_ready, port))[1]
        prompts = [f"a part {n} image with label{n * 31}" for n in range(PROMPTS)]
        created = [time_call(partial(_post, port, wire.TEXT_TO_IMAGE, each, n=IMAGES))[1] for each in prompts]
        image = images.to_base64(images.encode(Image.new("RGB", (128, 128), (90, 120, 150))))
        varied = [
            time_call(partial(_post, port, wire.IMAGE_TO_IMAGE, each, n=IMAGES, image=image, strength=0.6))[1]
            for each in prompts
        ]
        peak = next(
            int(line.split()[1])
            for line in Path(f"/proc/{process.pid}/status").read_text().splitlines()
            if line.startswith("VmHWM")
        )
    finally:
        process.terminate()
        process.wait()
    return {
        "ready_seconds": ready,
        f"text_to_image_ms, {IMAGES} images": 1000 * statistics.median(created),
        f"image_to_image_ms, {IMAGES} images": 1000 * statistics.median(varied),
        "prompts": PROMPTS,
        "peak_rss_mib": peak / 1024,
    }


def _until_ready(port: int) -> None:
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5)
        except OSError:
            time.sleep(0.1)
        else:
            return


def _post(port: int, path: str, prompt: str, **more: object) -> None:
    body = json.dumps({"prompt": prompt, "seed": 1, **more}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        answer.read()


if __name__ == "__main__":
    main()
