"""The differential privacy of the client could be a library of its own."""

from __future__ import annotations

import ast
from pathlib import Path

from pcevolve import dp

OURS = {"pcevolve.privacy", "pcevolve.errors"}
"""All that ``dp`` may import of the rest of the client: the vocabulary, and the tree of errors."""


def imported_by(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    modules = {each.module or "" for each in nodes if isinstance(each, ast.ImportFrom)}
    modules |= {name.name for each in nodes if isinstance(each, ast.Import) for name in each.names}
    return {name for name in modules if name.startswith("pcevolve") and not name.startswith("pcevolve.dp")}


def test_dp_imports_nothing_of_ours_but_the_vocabulary_and_the_errors():
    files = sorted(Path(dp.__path__[0]).rglob("*.py"))
    assert len(files) > 4
    assert {path.name: imported_by(path) - OURS for path in files} == {path.name: set() for path in files}
