"""A public class has a name of its own in all distributions: a name tells a reader which class is meant."""

from __future__ import annotations

import ast
from collections import defaultdict

from support.mirror import find_module, list_modules


def list_classes() -> dict[str, list[str]]:
    """Where each public class is defined, by its name."""
    found = defaultdict(list)
    for module in list_modules():
        for node in ast.parse(find_module(module).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module)
    return found


def test_no_two_public_classes_have_one_name():
    classes = list_classes()
    assert len(classes) > 500
    assert {name: where for name, where in classes.items() if len(where) > 1} == {}
