"""An owner with private images full of canaries, his client, and a provider that writes down every byte."""

from __future__ import annotations

import base64
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from PIL import Image

from leaks import secrets
from pcevolve.egress.transport import Incoming, Outgoing
from support.forkserver import ForkServer, environment_of_tests
from support.provider import FakeProvider
from support.runs import rng
from support.typed import typed

LABELS = ("cut", "good")
SECONDS = 300
PUBLIC = ("release", "transcript", "report.html")


@dataclass
class Spy:
    """A provider over real HTTP; ``raw`` is everything that anybody ever sent it."""

    provider: FakeProvider
    port: int = 0
    raw: bytearray = field(default_factory=bytearray)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def listening(meddle: Callable[[Outgoing], Incoming | None] = lambda request: None) -> Iterator[Spy]:
    """A provider that is listening."""
    spy = Spy(FakeProvider(meddle))

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while _answered(self, spy):
                pass

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        spy.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield spy
        server.shutdown()


def _answered(handler: socketserver.StreamRequestHandler, spy: Spy) -> bool:
    """Read one request to its last byte and answer it; False when the connection is over."""
    lines = []
    while (line := handler.rfile.readline()) not in {b"\r\n", b""}:
        spy.raw += line
        lines.append(line)
    if not lines:
        return False
    method, path, _ = lines[0].decode("latin-1").split(" ", 2)
    headers = dict(each.decode("latin-1").strip().split(": ", 1) for each in lines[1:])
    body = handler.rfile.read(int(headers.get("Content-Length", 0)))
    spy.raw += body
    answer = spy.provider.send(Outgoing(method, spy.address + path, tuple(headers.items()), body))
    if answer.status == 0:  # the provider dies
        return False
    head = [f"HTTP/1.1 {answer.status} x", f"Content-Length: {len(answer.body)}"]
    head += [f"{name}: {value}" for name, value in answer.headers]
    handler.wfile.write("\r\n".join([*head, "", ""]).encode("latin-1") + answer.body)
    return True


def private_folder(root: Path) -> Path:
    """Class folders with canaries in names, pixels, EXIF and text chunks, and in the units of a CSV file."""
    lines = ["file,patient"]
    for label in LABELS:
        (root / label).mkdir(parents=True)
        for number in range(3):
            name = f"{label}/{number}-{secrets.FILE_NAME}"
            pixels = rng(417 + len(lines)).integers(0, 256, (20, 20, 3), dtype="uint8")
            exif = Image.Exif()
            exif[0x010E] = secrets.EXIF
            Image.fromarray(pixels).save(root / name, exif=exif)
            lines.append(f"{name},{secrets.UNIT}-{len(lines)}")
    (root.parent / "units.csv").write_text("\n".join(lines))
    return root


def canaries(private: Path) -> list[bytes]:
    """What must be found nowhere: private words in every usual spelling, and private pixels."""
    found = [form for words in secrets.ALL for form in _spellings(words)]
    for path in sorted(private.rglob("*.png")):
        with Image.open(path) as image:
            rows = image.tobytes()
        data = path.read_bytes()
        found += [rows[:24], rows[600:624], base64.b64encode(rows[:24]), data, base64.b64encode(data)[40:160]]
    return found


def _spellings(words: str) -> list[bytes]:
    """A text as it is, in UTF-16, hex, base64 at every offset, percent-encoded and backwards."""
    plain = words.encode()
    padded = [base64.b64encode(b"x" * shift + plain)[4:-4] for shift in range(3)]
    return [
        plain,
        words.encode("utf-16-le"),
        plain.hex().encode(),
        quote(words).encode(),
        plain[::-1],
        *padded,
    ]


@dataclass
class Done:
    """A client process that has ended."""

    code: int
    folder: Path

    @property
    def out(self) -> Path:
        return self.folder / "run"

    @property
    def stdout(self) -> str:
        return (self.folder / "stdout").read_text()

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_text()

    def shared(self) -> bytes:
        """All that may be shown to others."""
        paths = [path for name in PUBLIC for path in [self.out / name, *sorted((self.out / name).rglob("*"))]]
        names = " ".join(str(path.relative_to(self.out)) for path in paths if path.exists())
        return names.encode() + b"".join(path.read_bytes() for path in paths if path.is_file())


@dataclass(frozen=True)
class Clients:
    """Client processes, one for each command."""

    forks: ForkServer

    def run(
        self, folder: Path, *arguments: object, loop: str = "", environment: dict[str, str] | None = None
    ) -> Done:
        """Run a command in a process of its own and wait for its end.

        Args:
            folder: Home of whoever runs it, and where its outputs go.
            arguments: Of ``pcevolve``.
            loop: Which of ``leaks.loops`` takes the place of the honest one.
            environment: What is added to the tests' own.
        """
        home = {"HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
        done = self.forks.run(
            arguments,
            {**environment_of_tests(), **home, **(environment or {})},
            SECONDS,
            outputs=(folder / "stdout", folder / "stderr"),
            first=("leaks.loops:replace", loop) if loop else (),
        )
        return Done(done.returncode, folder)


def options(folder: Path, api: str, **changes: object) -> list[object]:
    """A small run with everything in it: two rounds, lookahead, more samples, units."""
    given = {
        "private": folder / "owner" / "private",
        "unit_map": folder / "owner" / "units.csv",
        "domain": "leather texture",
        "out": folder / "run",
        "method": "pcevolve",
        "api": api,
        "shots": 3,
        "candidates": 2,
        "iterations": 2,
        "lookahead": 1,
        "batch": 2,
        "seed": 11,
        "patience": 0.3,
        "first_contact": 0.3,
        "pad_selection": 0,
        "ledger": folder / "ledger",
        **changes,
    }
    return ["run", "--yes", *typed(**given)]
