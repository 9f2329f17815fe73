"""The command line's entry: a command that needs no network gives it up before anything else is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from pcevolve.processes.confinement import ConfinementError, confine_offline, require_confinement

OFFLINE = frozenset(
    "audit audit-dp budget check classify compare evaluate export init pack plan report status".split(" ")  # noqa: SIM905
)
"""Commands that open no socket and start no program: the kernel sees to it, where it can."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command ``pcevolve``, in UTF-8 whatever the locale: classes are folders, whose names go on record.

    Args:
        arguments: Instead of those that the process was given. Then the process is another program's, and stays as
            free as it is.
    """
    if arguments is None:
        _require_confinement()
        if sys.getfilesystemencoding() != "utf-8":
            again = [sys.executable, "-X", "utf8", *sys.orig_argv[1:]]  # for itself, also with -I
            os.execve(sys.executable, again, {**os.environ, "PYTHONUTF8": "1"})  # noqa: S606 - and what it starts
        if sys.argv[1:2] and sys.argv[1] in OFFLINE:
            try:
                confine_offline()
            except ConfinementError as error:
                sys.exit(f"error: {error}")
    from pcevolve.cli.commands import app, carry_out

    carry_out(app, arguments)


def _require_confinement() -> None:
    try:
        require_confinement(sys.argv)
    except ConfinementError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
