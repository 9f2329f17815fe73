"""The bundled language model: texts about a topic, blanks filled in, each by its own seed alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from pcevolve_server import models, sources
from pcevolve_server.errors import AbandonedError, ModelLoadError
from pcevolve_server.phrases.counts import Counts
from pcevolve_server.phrases.model import Phrases
from pcevolve_server.settings import ModelSettings
from pcevolve_server.work import Completion, TextRecipe, TextTask
from pcevolve_shared.blanks import BLANK, question

pytestmark = pytest.mark.models

TEXT = "a viral disease of the lungs that affects young children"
ILL = {
    "disease",
    "diseases",
    "infection",
    "inflammation",
    "blood",
    "skin",
    "pain",
    "symptoms",
    "fever",
    "tissue",
}


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


def test_it_writes_about_what_it_is_asked_about(model):
    def share(said: str) -> float:
        found = Counter(word for each in written(model, said, range(150)) for word in each.text.split())
        return sum(found[word] for word in ILL) / found.total()

    assert share("Write one definition about disease.") > 5 * share(
        "Write one definition about a musical instrument."
    )
    assert share("Write one definition about diseases.") > 5 * share("Write one definition about type A.")


def test_without_a_topic_it_writes_about_anything(model):
    found = [
        set(each.text.split()) & ILL
        for each in written(model, "Write one definition about type A.", range(200))
    ]
    assert 2 < sum(bool(each) for each in found) < 60


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


def test_what_stays_is_a_hint_at_what_is_filled_in(model):
    def share(blanked: str) -> float:
        places = [place for place, word in enumerate(blanked.split()) if word == BLANK]
        made = [each.text.split() for each in written(model, question("A type A.", blanked), range(200))]
        return float(np.mean([words[place] in ILL for words in made for place in places]))

    assert share("an acute _ of the lungs and _ with _ and chills") > 4 * share(
        "a _ of carved wood _ with _ by a bow"
    )


def test_a_text_has_no_more_tokens_than_asked_for_and_ends_at_a_stop(model):
    short = written(model, "disease", range(400), tokens=3)
    assert max(each.tokens for each in short) == 3
    assert {each.finish for each in short} == {"stop", "length"}
    stopped = written(model, "disease", range(50), stops=(" of ",))
    assert not any(" of " in each.text for each in stopped)


def test_cold_is_the_likeliest_and_a_nucleus_has_fewer_words(model):
    assert len({each.text for each in written(model, "disease", range(10), temperature=0.0)}) < 10

    def kinds(**recipe: float) -> int:
        return len(
            {word for each in written(model, "disease", range(60), **recipe) for word in each.text.split()}
        )

    assert kinds(temperature=0.5) < kinds(temperature=1.0) < kinds(temperature=2.0)
    assert kinds(top_p=0.3) < kinds(top_p=0.9) < kinds()


def test_words_are_drawn_as_often_as_they_should_be(model):
    counts = model._counts
    the = counts.places["the"]
    likely = counts.after([counts.places["of"], the])
    assert likely.sum() == pytest.approx(1.0)
    best = int(likely.argmax())
    blanked = f"_ of the _ {counts.words[best]}"
    again = Counter(each.text for each in written(model, question("", blanked), range(50)))
    assert len(again) > 8
    first = Counter(each.text.split()[0] for each in written(model, "x", range(3000)))
    topics = np.exp(counts.lean.astype(float))
    start = counts.after([1, 1])
    each_topic = topics * start
    each_topic[:, :2] = 0
    expected = (each_topic / each_topic.sum(axis=1, keepdims=True)).mean(axis=0)
    for word in ("a", "the", "any", "genus"):
        share = expected[counts.places[word]]
        spread = 5 * (share * (1 - share) / 3000) ** 0.5
        assert abs(first[word] / 3000 - share) < spread, word
    most = expected[counts.places["a"]]
    assert 0.3 * most > 10 * (most * (1 - most) / 3000) ** 0.5, "a test that sees no difference of 30 %"


def test_it_gives_up_when_nobody_waits(model):
    with pytest.raises(AbandonedError):
        model.write([TextTask(TextRecipe(), (("user", "x"),), 0)], unwanted=lambda step=0, steps=0: True)


def test_it_is_found_by_name_and_small(model):
    assert model.info.id == "bundled-text"
    assert model.info.pipelines == ("chat",)
    folder = sources.locate(sources.BUNDLED_TEXT)
    files = list(Path(folder).iterdir())
    assert sum(each.stat().st_size for each in files) < 8 * 10**6
    assert any("WordNet" in each.read_text() for each in files if each.suffix == ".txt")


def test_without_its_files_the_server_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(sources, "locate", lambda name: str(tmp_path))
    with pytest.raises(ModelLoadError, match="language model"):
        models.load(ModelSettings(model="text:bundled"))
    with pytest.raises(OSError, match="phrases"):
        Counts(tmp_path)
