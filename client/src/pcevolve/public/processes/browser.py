"""Open a page in the browser by a process of its own, for one that is confined starts no program.

It is started before, knows nothing but the page's address, and ends with whoever started it.
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
    """Open a page, and wait for nothing."""
    if not _waiting:
        prepare_browser()
    process = _waiting.pop()
    if process.stdin is not None:
        process.stdin.write(f"{address}\n".encode())
        process.stdin.close()
