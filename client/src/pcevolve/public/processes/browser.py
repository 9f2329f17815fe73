"""Open a page in the browser from a separate process, because a confined process starts no program.

The separate process is started earlier, knows only the page's address, and ends with its parent.
"""

from __future__ import annotations

import subprocess
import sys

_CODE = "import sys, webbrowser; address = sys.stdin.readline().strip(); address and webbrowser.open(address)"
_waiting: list[subprocess.Popen[bytes]] = []


def prepare_browser() -> None:
    """Start the process that opens one page later."""
    _waiting.append(
        subprocess.Popen(  # noqa: S603 - this program
            [sys.executable, "-P", "-c", _CODE],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,  # browsers talk much
            stderr=subprocess.DEVNULL,
            process_group=0,  # Ctrl-C is not for the browser
        )
    )


def open_in_browser(address: str) -> None:
    """Open a page without waiting for it."""
    if not _waiting:
        prepare_browser()
    process = _waiting.pop()
    if process.stdin is not None:
        process.stdin.write(f"{address}\n".encode())
        process.stdin.close()
