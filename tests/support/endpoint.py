"""A stand-in for an online endpoint, in a container: a dialect over TLS, and a line for each request."""

from __future__ import annotations

import json
import ssl
import sys
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from pathlib import Path

from support.online import Heard, Reply, answer_json, getimg, handler


@dataclass
class Endpoint:
    """Answers as a dialect does, and whoever asks for readiness without a key."""

    def answer(self, heard: Heard) -> Reply:
        """Print what was asked, and answer it."""
        print(json.dumps({"host": heard.headers["host"], "path": heard.path}), flush=True)
        return answer_json(200, {}) if heard.path == "/readyz" else getimg(heard)


def main(port: int, keys: Path) -> None:
    """Serve until the container ends."""
    server = ThreadingHTTPServer(("0.0.0.0", port), handler(Endpoint()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(keys / "cert.pem", keys / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
