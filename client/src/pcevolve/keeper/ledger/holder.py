"""Name the process that holds a ledger's lock, if the operating system tells; on Linux with its command."""

from __future__ import annotations

import os
from pathlib import Path

from pcevolve.errors import printable

LOCKS = Path("/proc/locks")
RESERVED = 0x40000001
"""The byte that SQLite locks in a database file before a write."""
LONGEST = 100
"""Characters of a command that are shown."""


def find_holder(path: Path) -> str:
    """Name the process that is writing to an SQLite file; ``another process`` if unknown."""
    try:
        inode = str(path.stat().st_ino)
        # A line looks like this: 2: POSIX  ADVISORY  WRITE 9599 fe:00:2146732 1073741825 1073741825
        fields = (line.split() for line in LOCKS.read_text().splitlines())
        of_file = [each for each in fields if each[-3].split(":")[-1] == inode and each[-1] != "EOF"]
        pids = [each[-4] for each in of_file if int(each[-2]) <= RESERVED <= int(each[-1])]
    except (OSError, LookupError, ValueError):
        return "another process"
    # The kernel reports pid 0 for a process of another container.
    return f"process {pids[0]}{_describe(pids[0])}" if pids and pids[0] != "0" else "another process"


def _describe(pid: str) -> str:
    """Return a process's command; empty if it cannot be read."""
    try:
        words = Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    said = printable(" ".join(os.fsdecode(word) for word in words if word))
    return f" ({said[:LONGEST]}{'…' if len(said) > LONGEST else ''})" if said else ""
