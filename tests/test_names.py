"""A public class has a name of its own in all distributions: whoever reads it knows which is meant."""

from __future__ import annotations

import ast
from collections import defaultdict

from support.mirror import find_module, list_modules

TWICE = {
    # The client and the API server are written apart, and each has its own word for its own side of the wire.
    "Answer", "Appearance", "Connection", "Counts", "Flag", "Generator", "Key", "Listing", "Neighbours", "Origin",
    "Picture", "Source", "StoppedError", "Writer",
    # Of the wire contract, and of whoever keeps to it.
    "Choice", "LicenceFile", "Message", "Reply",
    # Of several owners, whose room is new.
    "Answered", "Exchange", "PrivateViews", "Question",
}  # fmt: skip
"""Names that two classes have: none may be added."""


def list_classes() -> dict[str, list[str]]:
    """Where each public class is defined, by its name."""
    found = defaultdict(list)
    for module in list_modules():
        for node in ast.parse(find_module(module).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module)
    return found


def test_no_two_public_classes_have_one_name_but_those_that_are_named():
    classes = list_classes()
    assert len(classes) > 500
    assert {name for name, where in classes.items() if len(where) > 1} == TWICE
    assert all(len(where) == 2 for name, where in classes.items() if name in TWICE)
