"""A client whose sources somebody added to: a copy in a folder of its own, and its command line."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from support.forkserver import environment_of_tests
from support.processes import BIN, RUN_SECONDS

SOURCES = Path(__file__).parents[2] / "client" / "src" / "pcevolve"


@dataclass(frozen=True)
class ExtendedClient:
    """The commands of a copy of the client in ``root``, with a state folder of their own."""

    root: Path

    def add(self, files: Mapping[str, Path], lines: Mapping[str, Iterable[tuple[str, str]]]) -> None:
        """Copy the sources, add files to them, and change text that stands there once: ``(before, after)``."""
        made = self.root / "src" / "pcevolve"
        shutil.copytree(SOURCES, made, ignore=shutil.ignore_patterns("__pycache__"))
        for place, file in files.items():
            shutil.copyfile(file, made / place)
        for place, changes in lines.items():
            text = (made / place).read_text(encoding="utf-8")
            for before, after in changes:
                assert text.count(before) == 1, f"{place} has no line {before!r}"
                text = text.replace(before, after)
            (made / place).write_text(text, encoding="utf-8")

    def __call__(self, *arguments: object) -> str:
        """Run a command that has to work, and return what it printed."""
        return self.start([BIN / "pcevolve", *arguments])

    def start(self, words: Iterable[object]) -> str:
        """Run a program of this Python that has to work, on these sources."""
        done = subprocess.run(
            [*map(str, words)],
            cwd=self.root,
            env={
                **environment_of_tests(),
                "PYTHONPATH": str(self.root / "src"),
                "XDG_STATE_HOME": str(self.root / "state"),
                "COLUMNS": "100",
            },
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
