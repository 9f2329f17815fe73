"""Ten minutes of mixed traffic against a real API server with the bundled model: valid requests and hostile ones.

    make soak
    .venv/bin/python -m benchmarks.soak --minutes 3

Prompts, seeds and images vary, so that whatever is kept for each of them would show as memory that grows. The last line
is JSON, and --out keeps it, with the machine named. Exit code 1 if a request ended in 500, if the server's memory grew
by more than the bound after it was warm, if a valid request was not answered with images, or if SIGTERM did not end the
server in order while requests waited. Those who break rules have a key of their own, and may not get in the way of the
others.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

import httpx

from benchmarks.rows import parser_of
from benchmarks.server.rounds import machine
from benchmarks.server.served import Server, serving
from benchmarks.soak.traffic import CLOSED, HOSTILE, KEY, KEY_OF_BREAKERS, VALID, Caller, Site, creation

OPTIONS = (
    "--threads",
    "1",
    "--queue-megapixel-steps-per-key",
    "12",
    "--header-seconds",
    "5",
    "--body-seconds",
    "5",
)
CALLERS, BREAKERS = 12, 12  # at a time, bounded: the machine is to serve, not to be flooded
WARM = 0.25  # share of the time after which memory should not grow
MOST_MIB = 64


@dataclass
class Tally:
    """Counts of what happened."""

    answers: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    waits: list[float] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)

    def note(self, caller: Caller, status: int, seconds: float) -> None:
        """Count an answer, and how long a valid one took."""
        self.answers[str(status) if status != CLOSED else "closed"] += 1
        if caller in VALID:
            self.waits.append(seconds)
            if status != HTTPStatus.OK:
                self.refused[f"{caller.__name__} {status}"] += 1

    def growth_mib(self, seconds: float) -> float:
        """Median memory of the last tenth of the time less that of the tenth after the server was warm."""
        early = [mib for at, mib in self.memory if WARM * seconds <= at < (WARM + 0.1) * seconds]
        late = [mib for at, mib in self.memory if at >= 0.9 * seconds]
        return statistics.median(late) - statistics.median(early)


async def traffic(server: Server, seconds: float) -> Tally:
    """Let all callers go on until the time is up."""
    tally, started = Tally(), time.monotonic()
    limits = httpx.Limits(max_connections=100)
    async with httpx.AsyncClient(base_url=server.url, timeout=300, limits=limits) as client:
        site = Site(server.url, client)

        async def call(kinds: Sequence[Caller], pause: float) -> None:
            while time.monotonic() - started < seconds:
                caller, begun = random.choice(kinds), time.monotonic()
                tally.note(caller, await caller(site), time.monotonic() - begun)
                await asyncio.sleep(random.random() * pause)

        async def watch() -> None:
            while (at := time.monotonic() - started) < seconds:
                tally.memory.append((at, server.mib()))
                left = seconds - at
                print(
                    f"{sum(tally.answers.values())} requests, {tally.memory[-1][1]:.0f} MiB, {left:.0f} s left",
                    file=sys.stderr,
                )
                await asyncio.sleep(min(5.0, seconds / 40))

        callers = [call(VALID, 0.1) for _ in range(CALLERS)] + [call(HOSTILE, 1.0) for _ in range(BREAKERS)]
        await asyncio.gather(watch(), *callers)
    return tally


async def end_under_load(server: Server) -> Counter[str]:
    """SIGTERM while requests wait: whether each gets its images or is told."""
    async with httpx.AsyncClient(base_url=server.url, timeout=120) as client:
        site = Site(server.url, client)
        asked = [asyncio.ensure_future(creation(site)) for _ in range(24)]
        await asyncio.sleep(0.5)
        server.process.terminate()
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
    return Counter(str(each) if isinstance(each, int) else type(each).__name__ for each in outcomes)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve, call, judge."""
    parser = parser_of(__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of who calls when")
    parser.add_argument("--out", type=Path, help="file for the JSON")
    given = parser.parse_args(arguments)
    random.seed(given.seed)
    with _keys() as keys, serving((*OPTIONS, "--api-key-file", keys)) as server:
        tally = asyncio.run(traffic(server, 60 * given.minutes))
        last = asyncio.run(end_under_load(server))
        code = server.process.wait(60)
    found = result(tally, last, code, 60 * given.minutes)
    if given.out:
        given.out.write_text(json.dumps({"machine": machine(), **found}, indent=1) + "\n")
    print(json.dumps(found))
    return 0 if found["passed"] else 1


@contextmanager
def _keys() -> Iterator[str]:
    """A file of both keys."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(f"users {KEY}\nbreakers {KEY_OF_BREAKERS}\n")
        file.flush()
        yield file.name


def result(tally: Tally, last: Counter[str], code: int | None, seconds: float) -> dict[str, object]:
    """Return the figures that are printed."""
    waits = sorted(tally.waits)
    errors = tally.answers["500"] + last["500"]
    growth = tally.growth_mib(seconds)
    orderly = code == 0 and set(last) <= {"200", "503"}
    return {
        "passed": not errors and growth <= MOST_MIB and not tally.refused and orderly,
        "seconds": seconds,
        "requests": sum(tally.answers.values()),
        "errors_500": errors,
        "rss_growth_mib": round(growth, 1),
        "valid_requests": len(waits),
        "valid_refused": dict(tally.refused),
        "p50_seconds": round(waits[len(waits) // 2], 3),
        "p99_seconds": round(waits[int(0.99 * len(waits))], 3),
        "answers": dict(sorted(tally.answers.items())),
        "answers_at_the_end": dict(last),
        "exit_code": code,
    }


if __name__ == "__main__":
    sys.exit(main())
