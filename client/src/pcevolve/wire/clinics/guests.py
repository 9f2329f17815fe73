"""Connections at a coordinator's door: anybody may connect, and nobody can keep the owners out.

A stranger is a client that has not yet shown an owner's signature. The number of connected strangers is
limited, both in all and per address, and each has a few seconds for its first message. If there are too
many, the oldest is disconnected. An owner is a stranger for one message only, so an owner is admitted even
among many strangers.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

MOST_UNAUTHENTICATED: Final = 192
"""Largest number of connected strangers."""
MOST_OF_ADDRESS: Final = 64
"""Largest number of strangers from one IPv4 address, or from one IPv6 network (/64), usually of one machine."""
MOST_OF_OWNER: Final = 4
"""Largest number of one owner's connections."""
UNAUTHENTICATED_SECONDS: Final = 10.0
"""Seconds in which a new client must have sent its first message with an owner's signature."""

TLS_FAULTS: Final = {
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "by that machine's clock, the certificate has expired: correct "
    "the clock, or renew the certificate",
    "SSLV3_ALERT_BAD_CERTIFICATE": "the certificate is for a different host name, or by that machine's "
    "clock it is not valid yet",
    "TLSV1_ALERT_UNKNOWN_CA": "that machine does not trust the certificate: join with --ca-file",
    "HTTP_REQUEST": "the coordinator uses --certificate, so the address must begin with https://",
}
"""Explanations of a client's TLS error, by OpenSSL's name of the error."""


@dataclass
class _Guest:
    address: str
    since: float
    owner: int | None = None


def end_connection(connection: socket.socket) -> None:
    """End a connection on which another thread waits; that thread then reads the end of the stream."""
    with suppress(OSError):
        # The base class's method, because an SSLSocket's own one would end the TLS session while that thread
        # uses it.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


def name_address(host: str) -> str:
    """Return the IPv4 address of a machine, or its IPv6 network."""
    found = ip_address(host.partition("%")[0])
    if found.version == 4:
        return str(found)
    return str(found.ipv4_mapped or found.exploded[:19])


class Guests:
    """The connected clients, in the order of their arrival; safe for several threads."""

    def __init__(
        self,
        end: Callable[[socket.socket], None] = end_connection,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start without clients; ``end`` closes a connection, and the connection's thread then releases it."""
        self._end, self._clock = end, clock
        self._lock = threading.Lock()
        self._here: dict[socket.socket, _Guest] = {}

    def __len__(self) -> int:
        return len(self._here)

    def arrive(self, connection: socket.socket, host: str) -> None:
        """Accept a client that is still a stranger; if there are too many strangers, disconnect the oldest."""
        address = name_address(host)
        with self._lock:
            counts = Counter(guest.address for guest in self._here.values() if guest.owner is None)
            crowded = {address} if counts[address] >= MOST_OF_ADDRESS else set[str]()
            if not crowded and counts.total() >= MOST_UNAUTHENTICATED:
                most = max(counts.values())
                crowded = {each for each, count in counts.items() if count == most}
            self._drop(self._list(lambda guest: guest.owner is None and guest.address in crowded)[:1])
            self._here[connection] = _Guest(address, self._clock())

    def recognise(self, connection: socket.socket, owner: int) -> None:
        """Register a client as an owner, whose connection has no time limit."""
        with self._lock:
            if connection in self._here:
                self._here[connection].owner = owner
                self._drop(self._list(lambda guest: guest.owner == owner)[:-MOST_OF_OWNER])

    def dismiss_late(self) -> None:
        """Close the connections of strangers whose time is over."""
        with self._lock:
            first = self._clock() - UNAUTHENTICATED_SECONDS
            self._drop(self._list(lambda guest: guest.owner is None and guest.since < first))

    def leave(self, connection: socket.socket) -> None:
        with self._lock:
            self._here.pop(connection, None)

    def _list(self, is_meant: Callable[[_Guest], bool]) -> list[socket.socket]:
        return [connection for connection, guest in self._here.items() if is_meant(guest)]

    def _drop(self, connections: Sequence[socket.socket]) -> None:
        for each in connections:
            del self._here[each]
            self._end(each)
