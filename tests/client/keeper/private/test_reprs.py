"""Private values show nothing of themselves, wherever it is printed."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Iterator

from pcevolve.keeper import evaluation, private
from pcevolve.keeper.ledger.units import PrivateUnit
from pcevolve.public.selectors import PrivateEmbeddings

SHOWN = {
    *("FolderSource", "DigitsSource", "CellsSource", "TermsSource", "Columns", "Folders"),
    *("UniformJudge", "Evaluator", "Value", "Forecast", "JudgePace", "PapersHead"),
    "KeptFeatures",
}
"""Types that hold nothing private, or whose fields show nothing of it; a new one is confined until it stands here."""


def types() -> Iterator[type]:
    for package in (private, evaluation):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            own = (each for each in vars(module).values() if isinstance(each, type))
            yield from (each for each in own if each.__module__ == found.name)


def test_a_dataclass_of_the_private_side_has_no_repr_of_its_fields():
    of_data = [each for each in [*types(), PrivateUnit, PrivateEmbeddings] if dataclasses.is_dataclass(each)]
    assert {each.__name__ for each in of_data if each.__dataclass_params__.repr} <= SHOWN
    assert len(of_data) > 20
