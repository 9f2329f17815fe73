"""Commands in a process of their own, and which heavy libraries they load; for tests only."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HEAVY = ("torch", "open_clip", "torchvision", "scipy", "sklearn", "httpx", "opendp")
"""Libraries that only a run under way needs."""
PROBE = """
import contextlib, io, json, sys
from pcevolve.app.cli.main import main

heavy, commands, path = json.loads(sys.argv[1])
if path:
    sys.path.append(path)
    from support.together import bring_together

    bring_together()
found = []
for command in commands:
    code, said = 0, io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            main(command)
        except SystemExit as stop:
            code = stop.code or 0
    found.append((code, said.getvalue(), [name for name in heavy if name in sys.modules]))
print(json.dumps(found))
"""

Ended = tuple[int, str, list[str]]
"""Exit code, complaint, and which of the heavy libraries are loaded by then."""


def run_to_end(
    *commands: Sequence[object], heavy: Sequence[str] = HEAVY, together: bool = False
) -> list[Ended]:
    """Run commands one after the other in a new process; ``together``: with all processes of a run in it."""
    path = str(Path(__file__).parents[1]) if together else ""
    given = json.dumps((heavy, [list(map(str, command)) for command in commands], path))
    process = subprocess.run(
        [sys.executable, "-c", PROBE, given], capture_output=True, text=True, timeout=300
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


WITHOUT_TORCH = """
import sys
from importlib.machinery import PathFinder

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] == "torch" else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
from pcevolve.app.cli.main import main
sys.argv[0] = "pcevolve"
main()
"""


def run_without_torch(*command: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", WITHOUT_TORCH, *map(str, command)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120)
