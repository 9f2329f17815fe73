"""The bundled language model: texts about a topic, blanks filled in, each by its own seed alone."""

from __future__ import annotations

import pytest

from pcevolve_server import models, sources
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.phrases.counts import Counts
from pcevolve_server.phrases.model import Phrases
from pcevolve_server.work import Completion, TextRecipe, TextTask
from pcevolve_shared.blanks import BLANK, question

pytestmark = pytest.mark.models

TEXT = "a viral disease of the lungs that affects young children"


@pytest.fixture(scope="module")
def model() -> Phrases:
    loaded = models.load(ModelSettings(model="text:bundled"))
    assert isinstance(loaded, Phrases)
    return loaded


def written(model: Phrases, said: str, seeds: range, **recipe: object) -> list[Completion]:
    asked = TextRecipe(**{"tokens": 40, **recipe})
    return model.write([TextTask(asked, (("user", said),), seed) for seed in seeds])


def test_a_completion_depends_on_its_task_alone(model):
    together = written(model, "Write one definition about disease.", range(20))
    alone = [
        written(model, "Write one definition about disease.", range(seed, seed + 1))[0] for seed in range(20)
    ]
    assert together == alone
    assert len({each.text for each in together}) > 15


@pytest.mark.parametrize(
    "blanked", [TEXT, "a _ disease _ the lungs _ _ young _", "_ _ _", "Qx9 _ (the) lungs, _."]
)
def test_what_is_not_blank_stays(model, blanked):
    for each in written(model, question("Write one definition about type A.", blanked), range(30)):
        words = each.text.split(" ")
        assert len(words) == len(blanked.split(" "))
        for old, new in zip(blanked.split(" "), words, strict=True):
            assert new.isascii()
            assert new not in ("", BLANK) if old == BLANK else new == old
        assert each.finish == "stop"


def test_a_text_has_no_more_tokens_than_asked_for_and_ends_at_a_stop(model):
    short = written(model, "disease", range(400), tokens=3)
    assert max(each.tokens for each in short) == 3
    assert {each.finish for each in short} == {"stop", "length"}
    stopped = written(model, "disease", range(50), stops=(" of ",))
    assert not any(" of " in each.text for each in stopped)


def test_without_its_files_the_server_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(sources, "locate", lambda name: str(tmp_path))
    with pytest.raises(ModelLoadError, match="language model"):
        models.load(ModelSettings(model="text:bundled"))
    with pytest.raises(OSError, match="phrases"):
        Counts(tmp_path)
