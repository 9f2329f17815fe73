"""Words for labels: what prompts say of a class in place of its name, which then stays with its owner."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pcevolve.auditing import audit
from pcevolve.errors import UsageError
from pcevolve.public.words import choose_labels
from support.runs import small_plan

SECRET = ("mole of patient Smith", "mole of patient Quill")
"""Names of folders that say whose images these are."""


@pytest.fixture
def private(private: Path) -> Path:
    for folder, name in zip(sorted(private.iterdir()), SECRET, strict=True):
        folder.rename(private / name)
    return private


def test_with_words_no_name_of_a_folder_leaves_or_lies_in_what_is_shared(native, evolved, tmp_path):
    words = tmp_path / "words.toml"
    words.write_text(f'"{SECRET[0]}" = "melanoma"\n"{SECRET[1]}" = ""\n')
    result = evolved(domain="skin", words=words)
    assert {json.loads(each.body)["prompt"] for each in native.asked if each.body} == {
        "A skin image with melanoma",
        "A skin image",
    }
    shared = [path for path in result.folder.rglob("*") if path.is_file()]
    assert len(shared) > 5
    for path in shared:
        told = str(path.relative_to(result.folder)).encode() + path.read_bytes()
        assert not any(word in told for word in (b"patient", b"Smith", b"Quill")), path
    assert result.labels == ("melanoma", "class 2")
    assert not [fault for finding in audit(result.folder) for fault in finding.faults]
    card = (result.folder / "release" / "README.md").read_text()
    assert (
        "words for the 2 classes in prompts: melanoma, nothing (the owner's own class names stay private)"
        in card
    )


def test_the_order_of_classes_is_that_of_the_words_and_every_image_keeps_its_class(evolved, tmp_path):
    plain = evolved(out=tmp_path / "plain", method="random")
    words = {name: f"kind {k}" for k, name in enumerate(reversed(SECRET))}
    result = evolved(words=words, method="random")
    assert plain.labels == tuple(sorted(SECRET))
    assert result.labels == ("kind 0", "kind 1")
    assert result.plan.data.words == ("kind 0", "kind 1")
    assert not result.verify().faults


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ({SECRET[0]: "a"}, "data.words must contain every class exactly once"),
        ({SECRET[0]: "a", SECRET[1]: "b", "third": "c"}, "data.words must contain every class exactly once"),
        ({SECRET[0]: "same", SECRET[1]: "same"}, "the same for all classes"),
        ({SECRET[0]: "a\nb", SECRET[1]: "b"}, "words of .* must be one line"),
        ("/nowhere/words.toml", "cannot be read"),
    ],
)
def test_words_that_are_not_for_these_classes_are_refused_before_anything_is_asked(
    native, evolved, words, fault
):
    with pytest.raises(UsageError, match=fault):
        evolved(domain="skin", words=words)
    assert not native.asked


@pytest.mark.parametrize(
    ("words", "labels"),
    [
        (("a", "b"), ("a", "b")),
        (("", "tumor"), ("class 1", "tumor")),
        (("same", "same"), ("class 1", "class 2")),
        (("class 2", ""), ("class 1", "class 2")),
        (("a/b", "CON"), ("class 1", "class 2")),
    ],
)
def test_labels_follow_from_the_words_alone(words, labels):
    assert choose_labels(words) == labels


def test_a_plan_with_words_has_no_other_names_for_classes():
    assert small_plan(labels=("slit", "class 2"), words=("slit", "")).prompt("slit") == (
        "A leather texture image with slit"
    )
    with pytest.raises(ValueError, match="no other name in the plan than its words give"):
        small_plan(labels=("cut", "good"), words=("slit", ""))


def test_a_template_of_ones_own_has_no_gap_where_words_are_empty():
    plan = small_plan(
        labels=("slit", "class 2"), words=("slit", ""), prompt_template="photo of {label} {domain}, x-ray"
    )
    assert plan.prompt("class 2") == "photo of leather texture, x-ray"
