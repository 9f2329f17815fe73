"""Modules whose functions are used by themselves begin with an example, and the examples are true."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

import pcevolve
from pcevolve.app import interface

ROOT = Path(pcevolve.__file__).parent
FILES = [
    path
    for folder in ("dp", "geometry")
    for path in (ROOT / "public" / folder).glob("*.py")
    if path.name != "__init__.py"
]
LIBRARY = [
    ROOT / "__init__.py",
    ROOT / "errors.py",
    *{Path(inspect.getsourcefile(getattr(interface, name)) or "") for name in interface.__all__},
]
"""Where the functions and values of ``import pcevolve`` are."""
SHOWN = sorted([*FILES, ROOT / "public" / "privacy.py", ROOT / "public" / "publish" / "usefulness.py"])


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.stem)
def test_the_example_that_a_module_begins_with_is_true(path: Path):
    module = import_module(".".join(("pcevolve", *path.relative_to(ROOT).with_suffix("").parts)))
    example = doctest.DocTestParser().get_doctest(module.__doc__, vars(module), module.__name__, str(path), 0)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


@pytest.mark.parametrize("path", sorted(LIBRARY), ids=lambda path: path.stem)
def test_a_module_of_the_library_begins_with_an_example_that_is_true(
    path: Path, finished: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    name = ".".join(("pcevolve", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    module = import_module(name)
    given = {**vars(module), "RUN": finished()}
    example = doctest.DocTestParser().get_doctest(module.__doc__, given, name, str(path), 0)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0
