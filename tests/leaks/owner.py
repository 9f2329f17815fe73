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
from pcevolve.wire.egress.transport import Incoming, Outgoing
from support.forkserver import ForkServer, environment_of_tests
from support.provider import FakeProvider
from support.runs import rng
from support.typed import spell_words

Meddle = Callable[[Outgoing], Incoming | None]
Count = Callable[..., None]
"""Counts an attempt of a family as refused or escaped, and asserts it: the family, whether, and what was seen."""
LABELS = ("cut", "good")
SECONDS = 300


@dataclass
class Spy:
    """A provider over real HTTP; ``raw`` is everything that anybody ever sent it."""

    provider: FakeProvider
    port: int = 0
    raw: bytearray = field(default_factory=bytearray)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def honest(request: Outgoing) -> None:
    """Leave the answer to the honest provider."""


@contextmanager
def listening(meddle: Meddle = honest) -> Iterator[Spy]:
    """A provider that is listening."""
    spy = Spy(FakeProvider(meddle))

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while _answer(self, spy):
                pass

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        spy.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield spy
        server.shutdown()


def _answer(handler: socketserver.StreamRequestHandler, spy: Spy) -> bool:
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
    """Private words in every usual spelling, and private pixels: none may be found anywhere."""
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
    """A client process that has ended, and what its provider heard.

    Attributes:
        code: Its exit code.
        folder: The owner's, in which the process ran.
        wire: Everything that was ever sent to the provider.
        requests: The same as the provider understood it.
    """

    code: int
    folder: Path
    wire: bytes
    requests: list[Outgoing]

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
        paths = sorted(self.out.rglob("*"))
        names = " ".join(str(path.relative_to(self.out)) for path in paths)
        return names.encode() + b"".join(path.read_bytes() for path in paths if path.is_file())

    def find_leaked(self, *more: str, shared: bool = True) -> list[bytes]:
        """The canaries on the wire, in what may be shared, and in more texts."""
        places = [self.wire, self.shared() if shared else b"", *(each.encode() for each in more)]
        return found(self.folder / "owner" / "private", *places)


def found(private: Path, *places: bytes) -> list[bytes]:
    """The canaries that are in any of some places."""
    return [each for each in canaries(private) for place in places if each in place]


@dataclass(frozen=True)
class Owner:
    """Somebody with private images in a folder of his own, who runs the client in processes.

    Attributes:
        forks: What starts them.
        folder: His home, and where outputs go.
    """

    forks: ForkServer
    folder: Path

    @property
    def private(self) -> Path:
        return self.folder / "owner" / "private"

    def run(
        self,
        *flags: str,
        meddle: Meddle = honest,
        environment: dict[str, str] | None = None,
        **changes: object,
    ) -> Done:
        """A small run with everything in it, in a process: two rounds, lookahead, units.

        Args:
            flags: Added to the command.
            meddle: What the provider does instead of being honest.
            environment: What is added to the tests' own.
            changes: Options of the run.
        """
        given = {
            "private": self.private,
            "unit_map": self.folder / "owner" / "units.csv",
            "domain": "leather texture",
            "out": self.folder / "run",
            "method": "pcevolve",
            "shots": 3,
            "candidates": 2,
            "iterations": 2,
            "lookahead": 1,
            "batch": 2,
            "seed": 11,
            "patience": 0.3,
            "first_contact": 0.3,
            "pad_selection": 0,
            "ledger": self.folder / "ledger" / "ledger.sqlite",
        }
        home = {"HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder / "state")}
        with listening(meddle) as spy:
            done = self.forks.run(
                ["run", "--yes", *spell_words(**given | {"api": spy.address} | changes), *flags],
                {**environment_of_tests(), **home, **(environment or {})},
                SECONDS,
                outputs=(self.folder / "stdout", self.folder / "stderr"),
            )
        return Done(done.returncode, self.folder, bytes(spy.raw), spy.provider.requests)
