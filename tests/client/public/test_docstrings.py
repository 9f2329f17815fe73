"""Modules whose functions are used by themselves begin with an example, and the examples are true."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import pcevolve

ROOT = Path(pcevolve.__file__).parent
FILES = [
    path
    for folder in ("dp", "geometry")
    for path in (ROOT / "public" / folder).glob("*.py")
    if path.name != "__init__.py"
]
SHOWN = sorted([*FILES, ROOT / "public" / "privacy.py", ROOT / "public" / "usefulness.py"])


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.stem)
def test_the_example_that_a_module_begins_with_is_true(path: Path):
    module = import_module(".".join(("pcevolve", *path.relative_to(ROOT).with_suffix("").parts)))
    example = doctest.DocTestParser().get_doctest(module.__doc__, vars(module), module.__name__, str(path), 0)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0
