"""The bundled counts of words."""

from __future__ import annotations

import pytest

from pcevolve_server import models, sources
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.language.counts import WordCounts
from pcevolve_server.language.phrases import Phrases
from pcevolve_server.model_settings import ModelSettings

pytestmark = pytest.mark.models


@pytest.fixture(scope="module")
def phrases() -> Phrases:
    loaded = models.load(ModelSettings(model="text:bundled"))
    assert isinstance(loaded, Phrases)
    return loaded


def test_without_its_files_the_server_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(sources, "locate", lambda name: str(tmp_path))
    with pytest.raises(ModelLoadError, match="language model"):
        models.load(ModelSettings(model="text:bundled"))
    with pytest.raises(OSError, match="phrases"):
        WordCounts(tmp_path)
