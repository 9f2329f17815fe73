"""Try mutants one by one: a module's text is changed in memory, in a fork of this process, and its tests run there.

Nothing is written, so nothing has to be put back.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import IO

import pytest
from tests.mutations.constants import CONSTANTS
from tests.mutations.logic import Change, slips

ROOT = Path(__file__).parents[2]
SECONDS = 600
_SOURCES = {"pcevolve_server": "api_server", "pcevolve_shared": "shared", "pcevolve_benchmarks": "benchmarks"}
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """Fate of a mutant.

    Attributes:
        module: That was changed.
        slip: In words.
        killed: By which test; None where all passed.
        seconds: Of processor time and of others' on this machine.
    """

    module: str
    slip: str
    killed: str | None
    seconds: float

    @property
    def row(self) -> str:
        """Of a table in Markdown."""
        killed = "**SURVIVED**" if self.killed is None else f"`{self.killed}`"
        slip = self.slip.replace("|", r"\|")
        return f"| `{self.module}` | {slip} | {killed} | {self.seconds:.0f} |"


def all_changes() -> Iterator[Change]:
    """Every mutant of both lists."""
    yield from slips()
    for each in CONSTANTS:
        yield from each.changes(path_of(each.module).read_text(encoding="utf-8"))


def name_of(module: str) -> str:
    """A module's whole name."""
    return module if module.startswith("pcevolve_") else f"pcevolve.{module}"


def path_of(module: str) -> Path:
    """Where a module lies."""
    name = name_of(module)
    path = ROOT / _SOURCES.get(name.partition(".")[0], "client") / "src" / name.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def mutate(change: Change) -> str:
    """The module's text with the change in it.

    Raises:
        LookupError: What is to be changed is not there, or more than once.
    """
    text = path_of(change.module).read_text(encoding="utf-8")
    if text.count(change.text) != 1:
        raise LookupError(f"{change.module} has {text.count(change.text)} times: {change.text}")
    return text.replace(change.text, change.instead)


def try_change(change: Change) -> Outcome:
    """Run a mutant's tests in a fork of this process."""
    text, started = mutate(change), time.monotonic()
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryDirectory() as examples:
        trial = multiprocessing.get_context("fork").Process(target=_try, args=(change, text, said, examples))
        trial.start()
        trial.join(SECONDS)
        late = trial.is_alive()
        trial.kill()
        trial.join()
        said.seek(0)
        told = said.read()
    assert late or trial.exitcode in {0, 1, 2}, told
    found = _FAILED.search(told)
    killed = found[1] if found else "the clock" if late else None if trial.exitcode == 0 else "an import"
    return Outcome(change.module, change.slip, killed, time.monotonic() - started)


def _try(change: Change, text: str, said: IO[str], examples: str) -> None:
    """Change a module, run the tests, and exit as pytest does."""
    os.dup2(said.fileno(), 1)
    os.dup2(said.fileno(), 2)
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = examples
    sys.meta_path.insert(0, _Finder(name_of(change.module), text))
    files = [str(ROOT / "tests" / each) for each in change.tests.split()]
    which = [] if change.heavy else ["--fast"]
    options = ["-x", "-q", "--timeout=120", "--hypothesis-seed=0", "-p", "no:cacheprovider", "-p", "no:xdist"]
    sys.exit(pytest.main([*options, f"--rootdir={ROOT}", *which, *files]))


class _Finder(importlib.abc.MetaPathFinder):
    """Has one module loaded from another text."""

    def __init__(self, module: str, text: str) -> None:
        self._module, self._text = module, text

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find that module, and no other."""
        if fullname != self._module:
            return None
        found = importlib.machinery.PathFinder.find_spec(fullname, path)
        assert found is not None
        assert found.origin is not None
        loader = _Changed(fullname, found.origin)
        loader.text = self._text
        return importlib.util.spec_from_file_location(
            fullname, found.origin, loader=loader, submodule_search_locations=found.submodule_search_locations
        )


class _Changed(importlib.machinery.SourceFileLoader):
    """Loads a module from a text; what is compiled already has it as it was."""

    text = ""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the text."""
        return compile(self.text, self.path, "exec")
