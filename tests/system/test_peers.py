"""The published package's side of the comparison with peers, against a package of the same names and a small server."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from PIL import Image

from benchmarks.peers import __main__ as peers
from support.examples import at_night
from support.fake_dpsda import fake_dpsda

pytest.importorskip("pandas")
pytestmark = pytest.mark.system
ROOT = Path(__file__).parents[2]


class Painter(BaseHTTPRequestHandler):
    """Answers as our server does: created images are dark, varied ones bright."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        tone = 200 if "image" in body else 20
        made = [{"image": painted(tone)} for _ in range(body.get("n", 1))]
        data = json.dumps({"images": made} if "n" in body else made[0]).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def painted(tone: int) -> str:
    buffer = io.BytesIO()
    Image.new("RGB", (16, 16), (tone, 0, 0)).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Painter)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@at_night
@pytest.mark.parametrize("installed", [False, True], ids=["checkout", "installed"])
def test_the_package_makes_its_images_on_our_server_and_what_it_took_is_counted(
    tmp_path: Path, url: str, installed: bool
):
    package = fake_dpsda(tmp_path / "package")
    for label in ("cut", "good"):
        (tmp_path / "private" / label).mkdir(parents=True)
        Image.new("RGB", (16, 16)).save(tmp_path / "private" / label / "0.png")
    job = {
        "checkout": None if installed else str(package),
        "url": url,
        "private": str(tmp_path / "private"),
        "out": str(tmp_path / "made"),
        "labels": ["cut", "good"],
        "prompts": ["a cut", "a good one"],
        "encoder": "bundled",
        "strengths": [0.8, 0.6],
        "steps": 4,
        "guidance": 2.0,
        "candidates": 3,
        "lookahead": 0,
        "threshold": 1.0,
        "delta": 1e-5,
        "epsilon": 1.0,
        "seed": 0,
    }
    (tmp_path / "job.json").write_text(json.dumps(job))
    path = os.pathsep.join(
        [str(ROOT), *([str(package)] if installed else []), os.environ.get("PYTHONPATH", "")]
    )
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.peers.published", str(tmp_path / "job.json")],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    took = json.loads((tmp_path / "made" / "took.json").read_text())
    assert (took["requests"], took["images"], took["sigma"]) == (2 + 2 * 6, 6 + 2 * 6, 1.5)
    made = sorted((tmp_path / "made").rglob("*.png"))
    assert len(made) == 6
    assert {Image.open(each).getpixel((0, 0)) for each in made} == {(200, 0, 0)}, "all were varied"


def test_without_a_checkout_their_package_has_to_be_installed(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        peers.main(["--work", str(tmp_path / "work")])
    assert "package pe is not installed here" in capsys.readouterr().err
    assert not (tmp_path / "work").exists()
