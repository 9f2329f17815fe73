"""Who holds a ledger's lock, as far as the operating system tells: on Linux the process, and what was typed for it."""

from __future__ import annotations

import os
from pathlib import Path

from pcevolve.errors import printable

LOCKS = Path("/proc/locks")
RESERVED = 0x40000001
"""The byte that SQLite locks in a database's file while somebody is about to write to it."""
LONGEST = 100
"""Characters of a command that are told."""


def find_holder(path: Path) -> str:
    """Name the process that is writing to an SQLite file; ``another process`` where nobody tells."""
    try:
        inode = str(path.stat().st_ino)
        # Such as: 2: POSIX  ADVISORY  WRITE 9599 fe:00:2146732 1073741825 1073741825
        fields = (line.split() for line in LOCKS.read_text().splitlines())
        of_file = [each for each in fields if each[-3].split(":")[-1] == inode and each[-1] != "EOF"]
        pids = [each[-4] for each in of_file if int(each[-2]) <= RESERVED <= int(each[-1])]
    except (OSError, LookupError, ValueError):
        return "another process"
    # A process of another container, of which the kernel tells no number here, is 0.
    return f"process {pids[0]}{_describe(pids[0])}" if pids and pids[0] != "0" else "another process"


def _describe(pid: str) -> str:
    """What was typed for a process; nothing where that is not to be read."""
    try:
        words = Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    said = printable(" ".join(os.fsdecode(word) for word in words if word))
    return f" ({said[:LONGEST]}{'…' if len(said) > LONGEST else ''})" if said else ""
