"""What ``pcevolve fetch-encoder`` refuses; downloads are test_loading.py's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from pcevolve.app.fetching import fetch_encoder
from pcevolve.errors import UsageError
from support.confined import confines


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("words", "is included in the client"),
        ("transformer:a/b", "is fetched with its own library: hf download a/b"),
        ("foo", "encoder 'foo' cannot be fetched: choose one of clip, resnet18, .* or clip:MODEL:TAG$"),
    ],
)
def test_what_cannot_be_fetched_is_refused_with_what_can(name, told):
    with pytest.raises(UsageError, match=told):
        fetch_encoder(name)


class Hub(BaseHTTPRequestHandler):
    """Has one file in every repository."""

    def do_HEAD(self) -> None:
        self.send_response(200)
        for name, value in {"ETag": '"a"', "X-Repo-Commit": "0" * 40, "Content-Length": "7"}.items():
            self.send_header(name, value)
        self.end_headers()

    def do_GET(self) -> None:
        self.do_HEAD()
        self.wfile.write(b"weights")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


CONFINED = """
import json, sys
from pathlib import Path
from pcevolve.app import fetching
from pcevolve.app.cli import first
from pcevolve.public.processes.confinement import confine_online, make_caches

def fetch(name):
    from huggingface_hub import hf_hub_download
    from torch.hub import download_url_to_file

    one, other = Path(hf_hub_download("a/b", "w.bin")), Path(make_caches()[1], "w.pt")
    download_url_to_file(sys.argv[1] + "/w.pt", str(other))
    print(json.dumps([one.is_symlink(), one.read_text(), other.read_text()]))

fetching.fetch_encoder = fetch
confine_online()
first.fetch_encoder("clip")
"""


@confines
@pytest.mark.system
def test_both_libraries_download_in_a_process_that_is_confined_as_the_command_is(tmp_path: Path):
    pytest.importorskip("huggingface_hub")
    with HTTPServer(("127.0.0.1", 0), Hub) as hub:
        threading.Thread(target=hub.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{hub.server_port}"
        environment = {**os.environ, "HOME": str(tmp_path), "HF_ENDPOINT": address, "TMPDIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-P", "-W", "error::UserWarning", "-c", CONFINED, address],
            env={
                name: value
                for name, value in environment.items()
                if name not in ("HF_HOME", "XDG_CACHE_HOME")
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
        hub.shutdown()
    assert done.stdout, done.stderr
    assert json.loads(done.stdout.splitlines()[0]) == [True, "weights", "weights"]
