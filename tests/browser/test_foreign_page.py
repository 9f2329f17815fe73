"""A page on another port, in a real browser, tries to have a keyless server on this machine do its work."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from flood.servers import LightServer, running, wait
from pcevolve_shared import wire
from support.browser import Browser, Tab

FETCH = """(async () => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 64;
  canvas.getContext("2d").fillRect(0, 0, 64, 64);
  const form = new FormData();
  form.append("prompt", "a");
  form.append("size", "64x64");
  form.append("image", await new Promise((done) => canvas.toBlob(done)), "image.png");
  await fetch("ADDRESS", { method: "POST", mode: "no-cors", body: form });
})()"""
FORM = """(() => {
  const form = document.createElement("form");
  Object.assign(form, { action: "ADDRESS", method: "POST", enctype: "multipart/form-data" });
  document.body.append(form);
  form.submit();
})()"""
"""A form without fields: no page may even be told what it lacks."""


class Page(BaseHTTPRequestHandler):
    """Somebody's page; what it does is told to it by the test."""

    def do_GET(self) -> None:
        """An empty page."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>a page</title>")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def page() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def keyless(tmp_path: Path) -> Iterator[LightServer]:
    with running(tmp_path) as server:
        yield server


def wait_for_posts(server: LightServer, count: int) -> list[int]:
    """The statuses of the first requests that posted something, once there are so many."""

    def list_statuses() -> list[int]:
        lines = [json.loads(line) for line in server.log.read_text().splitlines()]
        statuses = [each["status"] for each in lines if each.get("method") == "POST"]
        return statuses if len(statuses) == count else []

    return wait(list_statuses, 20)


def test_a_page_on_another_port_has_nothing_made(browser: Browser, keyless: LightServer, page: str):
    tab = Tab(browser)
    open_page(tab, page)
    for number, script in enumerate((FETCH, FORM), 1):
        tab.run(script.replace("ADDRESS", f"http://127.0.0.1:{keyless.port}{wire.OPENAI_EDITS}"))
        assert wait_for_posts(keyless, number) == [403] * number


def test_the_server_s_own_page_has(browser: Browser, keyless: LightServer):
    tab = Tab(browser)
    open_page(tab, f"http://127.0.0.1:{keyless.port}/docs")
    tab.run(FETCH.replace("ADDRESS", wire.OPENAI_EDITS))
    assert wait_for_posts(keyless, 1) == [200]


def open_page(tab: Tab, address: str) -> None:
    tab("Page.navigate", url=address)
    wait(lambda: tab.run("location.href") == address and tab.run("document.body !== null"), 20)
