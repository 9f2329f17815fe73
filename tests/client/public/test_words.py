"""Public words: what a label may be, and prompts of a small grammar."""

from __future__ import annotations

import hashlib
import string
import tempfile
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pcevolve.keeper.private.dataset import load_folder
from pcevolve.public.publish.dataset import publish
from pcevolve.public.publish.release import DatasetRelease
from pcevolve.public.release import Candidate
from pcevolve.public.selectors import find_method
from pcevolve.public.words import (
    MOST,
    RELEASE_FILES,
    SYSTEM_FILES,
    TEMPLATE,
    fill,
    find_label_fault,
    find_label_faults,
    make_prompts,
)
from support.provider import png
from support.runs import small_plan

RESERVED = ["CON", "prn", "Aux", "NUL", "COM0", "com9", "LPT1", "COM¹", "lpt³", "CONIN$", "ＣON"]
ALIKE = [("Cut", "cut"), ("Stra\xdfe", "STRASSE"), ("caf\xe9", "cafe\u0301"), ("x\xb2", "x2")]
ALIKE += [("a", "b", "A"), ("a", "a")]
NAMES = st.one_of(
    st.text(max_size=12),
    st.text(alphabet=string.ascii_letters + string.punctuation + " ", max_size=12),
    st.sampled_from([*RESERVED, *RELEASE_FILES, *SYSTEM_FILES, "a:b", "x.", "cut ", "OTHER"]),
)


def admit(names: list[str]) -> list[str]:
    """Return two ordinary labels and those of ``names`` that are usable beside the labels before them."""
    kept = ["first class", "second class"]
    for name in names:
        if not find_label_faults([*kept, name]):
            kept.append(name)
    return kept


LABELS = st.lists(NAMES, max_size=8).map(admit)


@pytest.mark.parametrize("name", RESERVED)
@pytest.mark.parametrize("suffix", ["", ".png", ".tar.gz", " .txt"])
def test_names_of_windows_devices_are_refused_with_any_suffix(name, suffix):
    assert find_label_fault(name + suffix) == "Windows keeps that name for a device"


FAULTS = {
    "the release has a file of that name": [
        "manifest.json",
        "README.md",
        "Readme.MD",
        "classifier.safetensors",
    ],
    "on every machine": [f"a{character}b" for character in '/\\<>:"|?*'],
    "it has characters that cannot be seen": [
        *("a\n", "a\x00", "a\x7fb", "a\u200bb", "a\u202eb", "a\xa0b", "a\udcffb")
    ],
    "it begins or ends with a blank or a dot": [" a", "a ", ".a", "a.", "...", "..", "."],
    "it must have 1 to 100 characters and at most 200 bytes": ["", "a" * 101, "\u20ac" * 67],
}


@pytest.mark.parametrize(("fault", "label"), [(fault, each) for fault, of in FAULTS.items() for each in of])
def test_what_some_machine_or_the_release_cannot_take_is_refused_with_the_reason(fault, label):
    assert (find_label_fault(label) or "").endswith(fault)
    assert find_label_fault("a" * 100) is find_label_fault("\u20ac" * 66) is None


@pytest.mark.parametrize("labels", ALIKE)
def test_labels_that_some_file_system_takes_for_one_are_refused_together(labels):
    (fault,) = find_label_faults(labels)
    assert fault == f"class names {labels[0]!r} and {labels[-1]!r} are the same name on some machines"


@given(LABELS)
@example(admit(["\ufb01", "fi"]))
def test_what_is_admitted_keeps_a_name_of_its_own_under_every_folding(labels):
    for fold in (str.casefold, str.upper, str.lower):
        for form in ("NFC", "NFD", "NFKC", "NFKD"):
            names = {unicodedata.normalize(form, fold(unicodedata.normalize(form, each))) for each in labels}
            assert len(names) == len(labels)


@given(LABELS)
@example(admit(["Thumbs.db"]))
def test_what_the_plan_admits_can_be_published_and_loaded(labels):
    sent = {label: png(number) for number, label in enumerate(labels)}
    digests = {label: hashlib.sha256(data).hexdigest() for label, data in sent.items()}
    received = {digests[label]: data for label, data in sent.items()}
    population = {label: (Candidate("i000", label, 0, None, digests[label]),) for label in labels}
    release = DatasetRelease(
        small_plan(labels=tuple(labels)), find_method("random"), population, (), "f" * 64, 9
    )
    with tempfile.TemporaryDirectory() as folder:
        publish(Path(folder) / "release", release, received.__getitem__)
        assert load_folder(Path(folder) / "release").labels == tuple(sorted(labels))


def test_all_prompts_of_the_grammar_differ_and_name_what_is_shown():
    made = make_prompts("leather texture", "cut", MOST)
    assert len(set(made)) == MOST
    assert all("leather texture" in each and "cut" in each for each in made)
    assert not any("{" in each for each in made)


def test_the_first_is_the_one_that_a_run_without_prompts_asks_with():
    assert make_prompts("leather texture", "cut", 1) == (fill(TEMPLATE, "leather texture", "cut"),)
    assert make_prompts("leather texture", "cut", 7) == make_prompts("leather texture", "cut", MOST)[:7]


def test_words_that_look_like_places_stay_words():
    assert "{label} x" in make_prompts("{label} x", "cut")[0]
    assert fill("{domain}/{label}", "{label}", "{domain}") == "{label}/{domain}"


@pytest.mark.parametrize(
    ("domain", "said"),
    [
        ("immunohistochemistry", "An immunohistochemistry image"),
        ("MRI", "An MRI image"),
        ("X-ray", "An X-ray image"),
        ("ultrasound", "An ultrasound image"),
        ("uninfected cell", "An uninfected cell image"),
        ("uterus", "A uterus image"),
        ("CT", "A CT image"),
        ("chest X-ray", "A chest X-ray image"),
        ("", "A  image"),
    ],
)
def test_the_article_is_that_of_the_word_behind_it(domain, said):
    assert fill("A {domain} image", domain, "cut") == said
