"""The YAML at the top of a card: what Hugging Face reads, and never a line that a label or a domain could add."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.errors import spelled_out
from pcevolve.public.fields import IN_PROCESS
from pcevolve.public.library import Library, Licence
from pcevolve.public.plan import PublicPlan
from pcevolve.publish.card import front_matter, stated_facts
from pcevolve.publish.promises import guarantee
from pcevolve.selectors import method
from pcevolve.transcript.layout import Form
from support.runs import small_plan


def read(text: str) -> dict:
    assert text.startswith("---\n")
    assert text.endswith("\n---\n\n")
    (known,) = [each for each in yaml.safe_load_all(text) if each is not None]
    return known


def top(plan: PublicPlan, images: int, form: Form | None) -> str:
    return front_matter(plan, guarantee(plan, method(plan.method), ()), images, form)


PROMISE = {"method": "random", "epsilon": 0.0, "delta": 0.0, "relation": "replace-one", "unit": "image"}


def test_it_has_licence_size_tags_and_title():
    assert read(top(small_plan(licence="cc-by-4.0"), 12, None)) == {
        "license": "cc-by-4.0",
        "pretty_name": "Synthetic dataset: leather texture",
        "size_categories": ["n<1K"],
        "task_categories": ["image-classification"],
        "tags": ["pcevolve", "synthetic", "differential-privacy"],
        "pcevolve": PROMISE,
    }


def test_the_facts_of_a_card_are_read_as_they_were_written():
    assert stated_facts(f"{top(small_plan(), 12, None)}# A title") == PROMISE


@pytest.mark.parametrize(
    "card",
    [
        "",
        "pcevolve: {}",
        "---\npcevolve: {}\n",
        "---\nlicense: x\n---\npcevolve: {}\n",
        "---\npcevolve: []\n---\n",
        "---\npcevolve: {x}\n---\n",
        "---\npcevolve: {}\npcevolve: {}\n---\n",
        '---\n"pcevolve" : {}\npcevolve: {}\n---\n',
        '---\npcevolve: {"epsilon": 1, "epsilon": 2}\n---\n',
        f"---\npcevolve: {'[' * 100_000}\n---\n",
    ],
    ids=range(10),
)
def test_what_can_be_read_in_two_ways_or_not_at_all_is_no_fact(card):
    assert stated_facts(card) is None


@pytest.mark.parametrize(
    ("images", "category"),
    [(0, "n<1K"), (999, "n<1K"), (1000, "1K<n<10K"), (10_000, "10K<n<100K"), (10_000_000, "10M<n<100M")],
)
def test_the_size_is_the_category_that_holds_it(images, category):
    assert read(top(small_plan(licence="mit"), images, None))["size_categories"] == [category]


@pytest.mark.parametrize(
    ("changes", "tag", "without"),
    [
        ({"noise": "INSECURE-seeded"}, "insecure-no-privacy", "differential-privacy"),
        ({"api": IN_PROCESS}, "no-boundary", ""),
        (
            {"library": Library(images=5, licences=(Licence(name="x", images=5),))},
            "public-images",
            "synthetic",
        ),
    ],
    ids=["insecure", "in process", "library"],
)
def test_what_must_not_be_overlooked_is_a_tag(changes, tag, without):
    tags = read(top(small_plan(licence="mit", **changes), 1, None))["tags"]
    assert tag in tags
    assert without not in tags


def test_a_form_in_files_says_where_they_are():
    known = read(top(small_plan(licence="mit"), 1, "parquet"))
    assert known["configs"] == [{"config_name": "default", "data_files": "data/*.parquet"}]


@given(domain=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=50))
def test_whatever_the_domain_is_called_it_stays_a_title(domain):
    known = read(top(small_plan(licence="mit", domain=domain), 1, None))
    assert known["pretty_name"] == f"Synthetic dataset: {spelled_out(domain)}"
    assert len(known) == 6
    assert known["pcevolve"]["method"] == "random"
