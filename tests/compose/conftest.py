"""The suite's count of attempts, and a neighbour that must not be reached."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from support.tally import Tally

TALLY = Tally("compose", ("tried", "refused", "allowed", "escaped"))


@pytest.fixture
def tally() -> Tally:
    return TALLY


@pytest.fixture(scope="session")
def listener() -> Iterator[int]:
    """A service of the host's that is open to all its neighbours."""
    with socket.create_server(("0.0.0.0", 0)) as server:

        def accept() -> None:
            try:
                while True:
                    server.accept()[0].close()
            except OSError:
                return

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
