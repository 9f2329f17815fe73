"""What a keeper does otherwise with images and with texts has one form."""

from __future__ import annotations

import inspect

import pytest

from pcevolve.keeper.kind import PrivateKind, load_kind


@pytest.mark.parametrize(("kind", "module"), [("image", "images"), ("text", "texts")])
def test_each_kind_has_every_step_with_the_same_parameters(kind, module):
    found = load_kind(kind)
    assert found.__name__ == f"pcevolve.keeper.{module}"
    steps = {
        name: step for name, step in inspect.getmembers(PrivateKind, inspect.isfunction) if name[0] != "_"
    }
    assert len(steps) == 6
    for name, step in steps.items():
        wanted = [*inspect.signature(step).parameters][1:]
        assert [*inspect.signature(getattr(found, name)).parameters] == wanted
