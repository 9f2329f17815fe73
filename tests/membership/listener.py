"""A provider with a clock, in a process of its own: answers like any other, and says when it heard what.

Each line on stdout is what happened and when, in seconds of the machine's monotonic clock, which all processes share.
A line on stdin, which says that a run is over, is repeated there.
"""

from __future__ import annotations

import json
import socketserver
import sys
import threading
import time

from pcevolve.wire.egress.transport import Outgoing
from support.provider import FakeProvider

PROVIDER = FakeProvider()
SPEAKING = threading.Lock()


def say(event: str, number: float) -> None:
    """Tell the attacker."""
    with SPEAKING:
        print(json.dumps([event, number]), flush=True)


class Connection(socketserver.StreamRequestHandler):
    """One connection, from its first byte until the client closes it."""

    wbufsize, disable_nagle_algorithm = -1, True

    def handle(self) -> None:
        say("opened", time.monotonic())
        try:
            while self._answer():
                pass
        finally:
            say("closed", time.monotonic())

    def _answer(self) -> bool:
        """Answer one request; False when there is none left."""
        line = self.rfile.readline()
        if not line:
            return False
        say("asked", time.monotonic())
        method, path, _ = line.decode("latin-1").split(" ", 2)
        headers = {}
        while line := self.rfile.readline().strip():
            name, _, value = line.decode("latin-1").partition(": ")
            headers[name] = value
        body = self.rfile.read(int(headers.get("Content-Length", 0)))
        answer = PROVIDER.answer(Outgoing(method, path, tuple(headers.items()), body))
        self.wfile.write(
            f"HTTP/1.1 200 x\r\nContent-Length: {len(answer.body)}\r\n\r\n".encode() + answer.body
        )
        self.wfile.flush()
        say("answered", time.monotonic())
        return True


if __name__ == "__main__":
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Connection) as server:
        server.daemon_threads = True
        say("port", server.server_address[1])
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for _ in sys.stdin:
            say("over", time.monotonic())
