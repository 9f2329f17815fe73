"""A docstring that names a function of ours which was renamed sends its reader nowhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from client.test_rooms import SOURCES

FOREIGN = {"gaussian_filter", "import_path", "sdxl_lightning_8step"}
"""Names from elsewhere, of SciPy, of Ray and of a file, that docstrings mention and no line of code does."""
LOOKS_OURS = re.compile(r"_?[a-z][a-z0-9_]*|(?:[A-Z][a-z0-9]+){2,}")


def words(tree: ast.AST) -> Iterator[str]:
    """Every word of the code: names, and strings that are no docstrings."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in (each for each in ast.walk(tree) if id(each) not in docstrings):
        for _, value in ast.iter_fields(node):
            texts = value if isinstance(value, list) else [value]
            yield from (word for text in texts if isinstance(text, str) for word in re.findall(r"\w+", text))


def quoted(tree: ast.AST) -> Iterator[str]:
    """Yield what docstrings have in double backticks."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield from re.findall(r"``([^`]+)``", str(node.value.value))


def test_what_a_docstring_names_is_somewhere_in_the_code() -> None:
    files = [path for root in SOURCES.values() for path in root.rglob("*.py")]
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}
    known = FOREIGN.union(*map(words, trees.values()), *(path.with_suffix("").parts for path in files))
    named = {(path.name, name) for path, tree in trees.items() for name in quoted(tree)}
    assert [each for each in sorted(named) if LOOKS_OURS.fullmatch(each[1]) and each[1] not in known] == []
