"""A pipeline's two directions are loaded with what they need, or refused."""

from __future__ import annotations

import pytest
import torch

from pcevolve_server.diffusion import generator_loading
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import ModelSettings, SafetyPolicy, WeightFormat
from support.tiny_model import load

pytestmark = pytest.mark.models


def test_a_required_safety_checker_must_be_there(tiny_model):
    with pytest.raises(ModelLoadError, match="has no safety checker"):
        load(model=str(tiny_model), safety=SafetyPolicy.REQUIRED)


def test_eight_bits_are_refused_where_their_library_is_not_installed_and_nowhere_else(monkeypatch):
    asked = ModelSettings(model="maker/model", weights=WeightFormat.INT8)
    monkeypatch.setattr(generator_loading, "find_spec", lambda name: None)
    with pytest.raises(ModelLoadError, match="needs bitsandbytes: pip install"):
        generator_loading._require_options(asked, torch.device("cuda"))
    monkeypatch.setattr(generator_loading, "find_spec", lambda name: name)
    generator_loading._require_options(asked, torch.device("cuda"))
