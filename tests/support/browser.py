"""Debian's chromium, driven through its DevTools pipe: no driver, no further dependency; for tests only."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BINARY = shutil.which("chromium")
SECONDS = 60
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
# The pipe has to be at descriptors 3 and 4, which Python itself may be using until the last moment.
SHELL = 'read=$1; write=$2; shift 2; exec "$@" 3<&$read 4>&$write'


class Browser:
    """A browser process; messages are JSON that ends in a zero byte."""

    def __init__(self, profile: Path) -> None:
        to_browser, self._write = map(_high, os.pipe())
        self._read, from_browser = map(_high, os.pipe())
        command = ["bash", "-c", SHELL, "browser", str(to_browser), str(from_browser), str(BINARY), *FLAGS]
        self._process = subprocess.Popen(
            [*command, f"--user-data-dir={profile}"],
            pass_fds=(to_browser, from_browser),
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._numbers = itertools.count(1)
        self._rest = b""
        self.events: list[dict[str, Any]] = []

    def call(self, name: str, session: str | None = None, **parameters: object) -> dict[str, Any]:
        """Do something and wait for its result."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": name, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def wait(self, name: str, session: str) -> None:
        """Wait for an event of a tab; it may have happened already."""
        while not any(
            each.get("method") == name and each.get("sessionId") == session for each in self.events
        ):
            self.events.append(self._next())

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + SECONDS
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0, deadline - time.monotonic()))
            piece = os.read(self._read, 1 << 16) if ready else b""
            assert piece, "the browser does not answer"
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)


@dataclass
class Tab:
    """One page in a window of its own size.

    Attributes:
        width: Of the window, in CSS pixels.
        dark: Whether the person prefers dark colours.
        scripts: Whether the page's scripts run.
    """

    browser: Browser
    width: int = 1280
    dark: bool = False
    scripts: bool = True
    height: int = 1000
    session: str = field(init=False)

    def __post_init__(self) -> None:
        """Open the tab."""
        target = self.browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.browser.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")
        size = {"width": self.width, "height": self.height, "deviceScaleFactor": 1, "mobile": False}
        self("Emulation.setDeviceMetricsOverride", **size)
        self.prefer()
        self("Emulation.setScriptExecutionDisabled", value=not self.scripts)

    def __call__(self, name: str, **parameters: object) -> dict[str, Any]:
        """Call the browser about this tab."""
        return self.browser.call(name, self.session, **parameters)

    def prefer(self) -> None:
        """Show the page on a screen, in the colours that the person prefers."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if self.dark else "light"}
        self("Emulation.setEmulatedMedia", media="screen", features=[scheme])

    def open(self, page: Path) -> Tab:
        """Load a page and wait until it is there."""
        self("Page.navigate", url=page.as_uri())
        self.browser.wait("Page.loadEventFired", self.session)
        return self

    def run(self, expression: str) -> Any:
        """Evaluate an expression in the page."""
        result = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def list_cut_off(self) -> list[str]:
        """Show the start of each element that reaches beyond the window's right edge, scrolled ones left out."""
        wide = (
            "[...document.querySelectorAll('main *')].filter(each =>"
            " !each.closest('.scroll') && each.getBoundingClientRect().right > innerWidth)"
        )
        return self.run(f"{wide}.map(each => each.outerHTML.slice(0, 200))")

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press and release a key, as a person without a mouse does."""
        for kind in ("keyDown", "keyUp"):
            self(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, text=text
            )

    def told(self, name: str) -> list[dict[str, Any]]:
        """All the browser reported about this tab under a name."""
        mine = (each for each in self.browser.events if each.get("sessionId") == self.session)
        return [each["params"] for each in mine if each["method"] == name]

    @property
    def complaints(self) -> list[dict[str, Any]]:
        """Errors, broken policies and exceptions."""
        return self.told("Log.entryAdded") + self.told("Runtime.exceptionThrown")

    @property
    def fetched(self) -> list[str]:
        """Addresses that the page asked for, pictures within it left out."""
        asked = (each["request"]["url"] for each in self.told("Network.requestWillBeSent"))
        return [url for url in asked if not url.startswith("data:")]


def _high(descriptor: int) -> int:
    """Move a pipe to a number that nobody else wants."""
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 50)
    os.close(descriptor)
    return high
