"""Mutants: slips from a table, and changes drawn from a module's syntax; each is tried in a fork of this process.

A module's text is changed in memory and its tests run there; processes that they start find the change in a package of
links. Nothing of the tree is written, so nothing has to be put back.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing
import os
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, ModuleType
from typing import IO

import pytest
from tests.support.mirror import PARTS, ROOT, TESTS, find_module, list_modules, narrow_file, narrow_files

SLIPS = Path(__file__).with_name("slips.txt")
SECONDS = 600
_HEAVY = " (heavy)"
_NOT_IMPORTED, _NOTHING_RAN = 4, 5
"""Exit codes of pytest, where a ``conftest.py`` could not be imported, and where every test was left out."""
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", re.MULTILINE)


@dataclass(frozen=True)
class Change:
    """A module with one thing changed, and what has to notice it.

    Attributes:
        module: Its whole name.
        slip: What was changed, in words or code.
        text: Of the module, with the change.
        tests: Files or folders below ``tests``.
        heavy: Whether those count that ``--fast`` leaves out.
    """

    module: str
    slip: str
    text: str
    tests: str
    heavy: bool = False


def read_slips() -> Iterator[Change]:
    """Read the table; ``LookupError`` for a slip whose text does not stand in its module exactly once."""
    for line in SLIPS.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            module, tests = line[1:].split("] ")
            module = module if module.startswith("pcevolve_") else f"pcevolve.{module}"
            source = find_module(module).read_text(encoding="utf-8")
        elif not line.startswith("#"):
            old, new = line.split(" => ")
            if source.count(old) != 1:
                raise LookupError(f"{module} has {source.count(old)} times: {old}")
            text = source.replace(old, new)
            yield Change(module, line, text, tests.removesuffix(_HEAVY), tests.endswith(_HEAVY))


OTHERS: dict[type[ast.AST], type[ast.AST]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult},
}  # fmt: skip


def draw_mutants(module: str, count: int, seed: int) -> list[Change]:
    """Draw changes of a module's syntax: an operator, a number, a condition or a statement that does nothing more."""
    source = find_module(module).read_text(encoding="utf-8")
    sites = len(list(_sites(ast.parse(source))))
    drawn = random.Random(f"{module}/{seed}").sample(range(sites), min(count, sites))
    return [_mutate(module, source, site) for site in sorted(drawn)]


def _sites(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what can be changed; annotations and docstrings decide nothing."""
    skipped = {id(inner) for node in ast.walk(tree) for part in _idle_parts(node) for inner in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        match node:
            case ast.If() | ast.IfExp() | ast.Compare() | ast.BoolOp() | ast.Expr(value=ast.Call()):
                yield node
            case ast.Constant(value=int() | float()):
                yield node
            case ast.BinOp() if type(node.op) in OTHERS:
                yield node


def _idle_parts(node: ast.AST) -> Iterator[ast.AST]:
    annotations = (getattr(node, name, None) for name in ("annotation", "returns"))
    yield from (each for each in annotations if each is not None)
    if isinstance(node, ast.AnnAssign | ast.Assign) and isinstance(node.value, ast.Subscript):
        yield node.value  # an alias of types
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        yield from node.decorator_list


def _mutate(module: str, source: str, site: int) -> Change:
    tree = ast.parse(source)
    node = list(_sites(tree))[site]
    before = ast.unparse(node).splitlines()[0]
    match node:
        case ast.Compare() if type(node.ops[0]) in OTHERS:
            node.ops[0] = OTHERS[type(node.ops[0])]()  # type: ignore[call-overload]
        case ast.BoolOp() | ast.BinOp():
            node.op = OTHERS[type(node.op)]()  # type: ignore[assignment]
        case ast.If() | ast.IfExp():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.Constant(value=bool() as value):
            node.value = not value
        case ast.Constant(value=int() | float() as value):
            node.value = value + 1
        case ast.Expr():
            node.value = ast.Constant(None)
    after = ast.unparse(ast.fix_missing_locations(tree))
    slip = f"line {getattr(node, 'lineno', 0)}: {before} => {ast.unparse(node).splitlines()[0]}"
    tests = " ".join(str(each.relative_to(TESTS)) for each in narrow_files(find_module(module)))
    return Change(module, slip, after, tests, heavy=True)


def draw_from_zone(zone: str, count: int, seed: int) -> list[Change]:
    """Draw mutants of a zone, as ``egress``, in those of its modules that have a test file of their own."""
    whole = zone if zone.startswith("pcevolve_") else f"pcevolve.{zone}"
    modules = [each for each in list_modules() if f"{each}.".startswith(f"{whole}.")]
    narrow = [each for each in modules if narrow_file(find_module(each)).is_file()]
    pool = [change for each in narrow for change in draw_mutants(each, count, seed)]
    return random.Random(f"{zone}/{seed}").sample(pool, min(count, len(pool)))


def find_killer(change: Change) -> str | None:
    """Return which of a mutant's tests failed, heavy ones last; None where all passed."""
    return _find_killer(replace(change, heavy=False)) or (_find_killer(change) if change.heavy else None)


def _find_killer(change: Change) -> str | None:
    """Run a mutant's tests in a fork of this process, and return which failed."""
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryDirectory() as examples:
        trial = multiprocessing.get_context("fork").Process(target=_try, args=(change, said, examples))
        trial.start()
        trial.join(SECONDS)
        late = trial.is_alive()
        trial.kill()
        trial.join()
        said.seek(0)
        told = said.read()
    assert late or trial.exitcode in {0, 1, 2, _NOT_IMPORTED, _NOTHING_RAN}, told
    found = _FAILED.search(told)
    if found:
        return found[1]
    return "the clock" if late else None if trial.exitcode in {0, _NOTHING_RAN} else "an import"


def _try(change: Change, said: IO[str], examples: str) -> None:
    """Change a module, run the tests, and exit as pytest does."""
    os.dup2(said.fileno(), 1)
    os.dup2(said.fileno(), 2)
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = f"{examples}/examples"
    lay_over(change, changed := Path(examples, "changed"))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(changed), os.environ.get("PYTHONPATH")]))
    sys.path.insert(0, str(changed))  # which fork servers of tests take over
    sys.meta_path.insert(0, _Finder(change.module, change.text))
    files = [str(TESTS / each) for each in change.tests.split()]
    which = [] if change.heavy else ["--fast"]
    options = ["-x", "-q", "--timeout=120", "--hypothesis-seed=0", "-p", "no:cacheprovider", "-p", "no:xdist"]
    sys.exit(pytest.main([*options, f"--rootdir={ROOT}", *which, *files]))


def lay_over(change: Change, folder: Path) -> None:
    """Make a folder with the package of a changed module: that module, and links to all else."""
    path = find_module(change.module)
    source = ROOT / PARTS[change.module.partition(".")[0]] / "src"
    folder.mkdir()
    for name in path.relative_to(source).parts:
        if source.name != "src":
            # Nothing compiled: it would be written where the link leads.
            for each in source.iterdir():
                if each.name not in {name, "__pycache__"}:
                    (folder / each.name).symlink_to(each)
        source, folder = source / name, folder / name
        if source.is_dir():
            folder.mkdir()
    folder.write_text(change.text, encoding="utf-8")


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
