"""``import pcevolve``: what it offers, and that it costs nothing."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

import pcevolve

HEAVY = ("numpy", "pydantic", "rich", "torch", "scipy", "httpx", "importlib.metadata")


@pytest.mark.system
def test_the_import_alone_loads_nothing():
    code = f"import sys, pcevolve; print([each for each in {HEAVY!r} if each in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert told.stdout.strip() == "[]", told.stderr


def test_everything_that_is_offered_is_there():
    for name in pcevolve.__all__:
        assert getattr(pcevolve, name).__module__.startswith("pcevolve"), name
    assert set(pcevolve.__all__) <= set(dir(pcevolve))


def test_no_name_that_is_offered_is_that_of_a_module():
    modules = {each.name for each in pkgutil.iter_modules(pcevolve.__path__)}
    assert not modules & set(pcevolve.__all__)


def test_what_is_not_offered_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'pcevolve' has no attribute 'evolv'"):
        pcevolve.evolv  # noqa: B018


def test_errors_are_those_of_the_command_line():
    from pcevolve import errors

    assert pcevolve.BudgetError is errors.BudgetError
    assert issubclass(pcevolve.ProviderError, pcevolve.ClientError)
