"""Settings of images and of texts, which do not mix; and nobody else asks which of them a run has."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from pcevolve.public.loop.lineage import Pool
from pcevolve.public.loop.usability import Usability
from pcevolve.public.modality import MODALITIES, Texts
from pcevolve.public.modality.base import join
from pcevolve.public.plan import PublicPlan
from support.pools import population_of
from support.runs import small_plan

TEXTS = {"modality": {"kind": "text", "tokens": 40, "temperature": 1.0}}


def of_texts(**changes: object) -> PublicPlan:
    return PublicPlan.model_validate({**json.loads(small_plan().model_dump_json()), **TEXTS, **changes})


def test_a_plan_for_texts_has_their_settings_and_none_of_images():
    plan = of_texts()
    assert plan.texts == Texts(kind="text", tokens=40, temperature=1.0)
    assert not plan.texts.has_adapter
    assert json.loads(plan.model_dump_json())["modality"] == {**TEXTS["modality"], "fields": []}
    with pytest.raises(TypeError, match="no settings of images"):
        _ = plan.images
    with pytest.raises(TypeError, match="no settings of texts"):
        _ = small_plan().texts


@pytest.mark.parametrize(
    "changes",
    [
        {"width": 16},
        {"steps": 4},
        {"appearance": "matched"},
        {"modality": {"kind": "sound"}},
        {"modality": {"kind": "text", "tokens": 0, "temperature": 1.0}},
        {"modality": {"kind": "text", "tokens": 5, "temperature": 1.0, "width": 16}},
    ],
)
def test_settings_of_both_do_not_mix(changes):
    with pytest.raises(ValidationError):
        of_texts(**changes)


SOURCES = Path(__file__).parents[4] / "client" / "src" / "pcevolve"
KINDS = {"image", "images", "text", "texts"}
CLASSES = {"Images", "Texts", "ImageMedium", "TextMedium"}
OF_ANOTHER_MEANING = {
    "public/media/answering.py": ["part.get('type', 'text') not in _TEXT_TYPES"],  # a part of a chat's answer
    "app/cli/reference.py": ["kind == 'text'"],  # a kind of option
    "public/config/workflow.py": ["role == 'image'"],  # what a node takes
    "wire/providers/getimg.py": ["'image' in answer"],  # a field of an answer
}
"""What compares with such a word and is about another thing."""


def find_questions(tree: ast.AST) -> Iterator[str]:
    """Yield the code that asks for a kind: by a word, by a table of words, or by a class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare | ast.MatchValue) and KINDS & {
            each.value for each in ast.walk(node) if isinstance(each, ast.Constant)
        }:
            yield ast.unparse(node)
        if isinstance(node, ast.Dict):
            keys = {each.value for each in node.keys if isinstance(each, ast.Constant)}
            if {"image", "text"} <= keys or {"images", "texts"} <= keys:
                yield ast.unparse(node)
        is_test = isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass")
        if (is_test or isinstance(node, ast.MatchClass)) and CLASSES & {
            each.id for each in ast.walk(node) if isinstance(each, ast.Name)
        }:
            yield ast.unparse(node)


def test_nothing_outside_of_their_package_asks_for_the_kind():
    found = {
        name: asked
        for file in sorted(SOURCES.rglob("*.py"))
        if not (name := file.relative_to(SOURCES).as_posix()).startswith("public/modality/")
        if (asked := [*find_questions(ast.parse(file.read_text(encoding="utf-8")))])
    }
    assert found == OF_ANOTHER_MEANING


@pytest.mark.parametrize(
    "code",
    [
        'plan.modality.kind == "text"',
        'kind in ("image", "text")',
        'x = {"image": draw, "text": write}[kind]',
        "isinstance(made, Images)",
        'match kind:\n    case "text":\n        pass',
        "match made:\n    case Texts():\n        pass",
        'words = "an image" if "image" != plan.unit else "it"',
    ],
)
def test_a_question_for_the_kind_is_found(code: str):
    assert [*find_questions(ast.parse(code))] != []


def test_a_table_that_every_kind_is_looked_up_in_is_no_question():
    assert [*find_questions(ast.parse('MODALITIES[kind].nouns.many + f"{unit}s"'))] == []


def test_each_kind_is_known_by_its_noun_and_no_other_word_stands_for_it():
    assert {name: each.nouns.one for name, each in MODALITIES.items()} == {"image": "image", "text": "text"}
    for name, each in MODALITIES.items():
        assert each.model_fields["kind"].annotation.__args__ == (name,)


def test_a_class_that_is_called_as_a_kind_keeps_its_name():
    candidates, stored = population_of(b"", b"", b"", label="image")
    found = Usability(of_texts(labels=("image",)), stored.__getitem__).fault(Pool({"image": candidates}))
    assert "of class 'image' 0 of 3 texts can be used" in found


def test_things_are_joined_and_counted_as_a_sentence_does():
    assert [join(["a", "b", "c"][:many]) for many in range(4)] == ["", "a", "a and b", "a, b and c"]
    nouns = MODALITIES["image"].nouns
    assert [nouns.count(many) for many in (0, 1, 2, 2000)] == [
        "0 images",
        "1 image",
        "2 images",
        "2,000 images",
    ]
