"""Texts of the bundled language model, which counts words."""

from __future__ import annotations

import numpy as np
import pytest

from pcevolve_server import models
from pcevolve_server.language import phrases as phrases_module
from pcevolve_server.language.counts import END
from pcevolve_server.language.phrases import Phrases
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.work import Completion, TextRecipe, TextTask
from pcevolve_shared.blanks import BLANK, question

pytestmark = pytest.mark.models


TEXT = "a viral disease of the lungs that affects young children"


@pytest.fixture(scope="module")
def phrases() -> Phrases:
    loaded = models.load(ModelSettings(model="text:bundled"))
    assert isinstance(loaded, Phrases)
    return loaded


def write(phrases: Phrases, said: str, seeds: range, **recipe: object) -> list[Completion]:
    asked = TextRecipe(**{"tokens": 40, **recipe})
    return phrases.write([TextTask(asked, (("user", said),), seed) for seed in seeds])


def test_a_completion_depends_on_its_task_alone(phrases):
    together = write(phrases, "Write one definition about disease.", range(20))
    alone = [
        write(phrases, "Write one definition about disease.", range(seed, seed + 1))[0] for seed in range(20)
    ]
    assert together == alone
    assert len({each.text for each in together}) > 15


BLANKS = question("Write one definition about disease.", "a _ disease _ the lungs _ _ young _")
GOLDEN = [
    (
        "Write one definition about food.",
        0,
        {"temperature": 0.5},
        "a cut made with rye flour sugar glaze or served",
    ),
    ("zzz qqq", 1, {"top_p": 0.5}, "a crochet stitch"),
    (
        "Write one definition about disease.",
        1,
        {"temperature": 0},
        "a disease caused by inhaling dust resulting from exposure to sunlight",
    ),
    (BLANKS, 0, {}, "a fungous disease affecting the lungs and the young plants"),
    (BLANKS, 1, {}, "a viral disease of the lungs caused by young people"),
]


@pytest.mark.parametrize(("said", "seed", "recipe", "text"), GOLDEN)
def test_the_bundled_model_writes_what_it_always_wrote_of_a_topic_or_of_any(
    phrases, said, seed, recipe, text
):
    (written,) = write(phrases, said, range(seed, seed + 1), **recipe)
    assert (written.text, written.finish, written.prompt_tokens) == (text, "stop", len(said.split()))


@pytest.mark.parametrize(
    "blanked", [TEXT, "a _ disease _ the lungs _ _ young _", "_ _ _", "Qx9 _ (the) lungs, _."]
)
def test_what_is_not_blank_stays(phrases, blanked):
    for each in write(phrases, question("Write one definition about type A.", blanked), range(30)):
        words = each.text.split(" ")
        assert len(words) == len(blanked.split(" "))
        for old, new in zip(blanked.split(" "), words, strict=True):
            assert new.isascii()
            assert new not in ("", BLANK) if old == BLANK else new == old
        assert each.finish == "stop"


def test_a_text_has_no_more_tokens_than_asked_for_and_ends_at_a_stop(phrases):
    short = write(phrases, "disease", range(400), tokens=3)
    assert max(each.tokens for each in short) == 3
    assert {each.finish for each in short} == {"stop", "length"}
    stopped = write(phrases, "disease", range(50), stops=(" of ",))
    assert not any(" of " in each.text for each in stopped)


def test_a_text_has_two_words_even_where_it_would_end_at_once(phrases, monkeypatch):
    ends = np.full(len(phrases._counts.words), 1e-9)
    ends[END] = 1.0
    monkeypatch.setattr(phrases._counts, "after", lambda before: ends.copy())
    for each in write(phrases, "disease", range(3), temperature=0):
        assert (len(each.text.split()), each.finish) == (2, "stop")
        assert 0 <= each.seconds["write_text"] < 600


def test_a_text_with_blanks_that_is_longer_than_asked_for_is_said_to_be_cut(phrases):
    asked = question("a text about animals", f"the {BLANK} dog ran over a {BLANK} hill")
    assert {each.finish for each in write(phrases, asked, range(3), tokens=5)} == {"length"}


def test_the_coldest_draws_are_the_likeliest_words():
    likely = np.array([0.0, 3e-20, 1e-20])
    coldest = TextRecipe(temperature=0.01)
    assert {phrases_module._draw(likely, coldest, np.random.default_rng(seed)) for seed in range(30)} == {1}
