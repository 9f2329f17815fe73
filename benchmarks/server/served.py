"""The API server as a process, and clients that ask it for one image at a time."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
from PIL import Image

from pcevolve_shared import wire

PROMPT, STEPS, GUIDANCE, SIDE, STRENGTH = "A printed glyph image with digit 3", 4, 1.0, 64, 0.6
START_SECONDS = 300  # a first compilation takes a minute or two
VERBS = {"t2i": wire.TEXT_TO_IMAGE, "i2i": wire.IMAGE_TO_IMAGE}


@dataclass(frozen=True)
class Cell:
    """The cost of one load.

    Attributes:
        processor: Seconds of the server per image.
        wall: Seconds per image.
        p50: Seconds to an answer, median.
        p99: The same, for all but the slowest hundredth.
        mib: Memory of the server after it.
    """

    processor: float
    wall: float
    p50: float
    p99: float
    mib: float


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes:
        url: Where it answers.
        process: Itself; replicas are its children.
    """

    url: str
    process: psutil.Process

    def put_under_load(self, verb: str, clients: int, images: int) -> Cell:
        """Let ``clients`` ask one after the other until ``images`` were made."""
        before, started = self._processor(), time.perf_counter()
        waits = sorted(asyncio.run(self._ask(verb, clients, images)))
        wall, processor = time.perf_counter() - started, self._processor() - before
        mib = self.mib()
        p99 = waits[min(len(waits) - 1, int(0.99 * len(waits)))]
        return Cell(processor / images, wall / images, waits[len(waits) // 2], p99, mib)

    def mib(self) -> float:
        """Memory of the server and its replicas now."""
        return sum(each.memory_info().rss for each in self._processes()) / 2**20

    def _processor(self) -> float:
        times = [each.cpu_times() for each in self._processes()]
        return float(sum(each.user + each.system for each in times))

    def _processes(self) -> list[psutil.Process]:
        return [self.process, *self.process.children(recursive=True)]

    async def _ask(self, verb: str, clients: int, images: int) -> list[float]:
        left, waits = iter(range(images)), []
        limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
        async with httpx.AsyncClient(base_url=self.url, timeout=600, limits=limits) as client:

            async def ask() -> None:
                for seed in left:
                    started = time.perf_counter()
                    answer = await client.post(VERBS[verb], json=request_body(verb, seed))
                    answer.raise_for_status()
                    waits.append(time.perf_counter() - started)

            await asyncio.gather(*(ask() for _ in range(clients)))
        return waits


def request_body(verb: str, seed: int) -> dict[str, object]:
    """The body of a request for one image."""
    body: dict[str, object] = {
        "model": "bundled",
        "prompt": PROMPT,
        "steps": STEPS,
        "guidance": GUIDANCE,
        "seed": seed,
    }
    if verb == "t2i":
        return body | {"width": SIDE, "height": SIDE}
    return body | {"strength": STRENGTH, "image": prototype(seed // 4)}


def prototype(number: int) -> str:
    """An image to vary, base64 of a PNG."""
    buffer = io.BytesIO()
    Image.linear_gradient("L").resize((SIDE, SIDE)).rotate(30 * number).convert("RGB").save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


@contextmanager
def serving(options: Sequence[str]) -> Iterator[Server]:
    """A server of the bundled model."""
    command: list[str | Path] = [
        Path(sys.executable).with_name("pcevolve-server"),
        "serve",
        "--offline",
        "--port",
        "0",
    ]
    command += ["--device", "cpu", *options]
    with (
        tempfile.NamedTemporaryFile("r") as log,  # nobody would empty a pipe, and a full one stops the server
        Path(log.name).open("w") as sink,
        subprocess.Popen(command, stderr=sink) as process,
    ):
        try:
            yield Server(_ready_at(Path(log.name)), psutil.Process(process.pid))
        finally:
            process.terminate()


def _ready_at(log: Path) -> str:
    """Where the server answers, from its log."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        for line in log.read_text().splitlines():
            if line.startswith("{") and line.endswith("}") and "url" in (said := json.loads(line)):
                return str(said["url"])
        time.sleep(0.1)
    raise TimeoutError(f"the server was not ready in {START_SECONDS} seconds")
