"""A pipeline's two directions are loaded with what they need, or refused."""

from __future__ import annotations

import pytest

from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import SafetyPolicy
from support.tiny_model import load

pytestmark = pytest.mark.models


def test_a_required_safety_checker_must_be_there(tiny_model):
    with pytest.raises(ModelLoadError, match="has no safety checker"):
        load(model=str(tiny_model), safety=SafetyPolicy.REQUIRED)
