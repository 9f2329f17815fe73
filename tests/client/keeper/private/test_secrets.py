"""Secrets: read without repeating one, found in the normal form or by column, bounded by a public number."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pcevolve.errors import DataError
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private.secrets import (
    Secret,
    Sources,
    cap_weights,
    compute_caps,
    find_holders,
    read_secrets,
)
from pcevolve.public.dp.attacks import secret_budget
from pcevolve.public.parts import Secrecy
from pcevolve.public.privacy import Event

ETA = secret_budget(1e-4, 1e-3)
TEXTS = ("Jane Doe has a fever", "jane doe again", "nobody", "M\u00fcller came")


def dataset(*texts: str, marks: tuple[tuple[str, ...], ...] = ()) -> PrivateDataset:
    digests = tuple(hashlib.sha256(text.encode()).digest() for text in texts)
    names = tuple(f"row {number + 1}" for number in range(len(texts)))
    return PrivateDataset(("a",), texts, np.zeros(len(texts), int), digests, names=names, marks=marks)


def list_secrets(*letters: str) -> Sources:
    return Sources(tuple(Secret(each, ETA) for each in letters), (), ETA)


def by_budget(budget: float) -> float:
    """A share that shows which budget it is of."""
    return budget / 2


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "secrets.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_secrets_are_read_in_one_form_and_the_strictest_bound_of_each_counts(tmp_path):
    content = "JANE  Doe\n\nMu\u0308ller\njane doe\t1e-3\t2e-3\nfever\t1e-4\t2e-4\nema\t1e-4\t1e-3\n"
    secrets = read_secrets(write(tmp_path, content), ETA)
    fever, jane = secret_budget(1e-4, 2e-4), secret_budget(1e-3, 2e-3)
    assert {each.letters: each.budget for each in secrets} == {
        "jane doe": jane, "m\u00fcller": ETA, "fever": fever, "ema": ETA
    }  # fmt: skip
    found = cap_weights(Sources(secrets, (), ETA), dataset(*TEXTS), 2, by_budget)
    assert found.tolist() == [fever / 2, jane / 2, 1.0, ETA / 2]


MARKS = (("jane doe", "berlin"), ("jane doe", ""), ("", ""), ("john", ""))


@pytest.mark.parametrize(
    ("sources", "data", "holds", "said"),
    [
        (list_secrets("john", "jane"), dataset(*TEXTS), (1, 1, 0, 0), "secret 2 of data.secrets"),
        (
            Sources((), ("patient", "town"), ETA),
            dataset(*TEXTS, marks=MARKS),
            (1, 1, 0, 1),
            "the value of column 'patient' in row 1",
        ),
    ],
    ids=["listed", "columns"],
)
def test_a_text_with_a_secret_counts_less_and_a_secret_in_more_than_was_said_is_refused_by_its_place(
    sources, data, holds, said
):
    assert cap_weights(sources, data, 2, by_budget).tolist() == [ETA / 2 if each else 1.0 for each in holds]
    with pytest.raises(DataError, match=f"{said} occurs in 2 texts, but method.secret_size is 1") as error:
        cap_weights(sources, data, 1, by_budget)
    assert "jane" not in str(error.value)


@pytest.mark.parametrize(("relation", "sensitivity"), [("add-remove", 1.0), ("replace-one", math.sqrt(2))])
def test_a_secret_in_as_many_texts_as_were_said_moves_the_counts_by_its_budget(relation, sensitivity):
    """All that hold it may go from one cell to another; their noise has a multiplier of 3."""
    promise = Secrecy(prior=1e-4, bound=1e-3, most=2)
    left = compute_caps(list_secrets("jane"), dataset(*TEXTS), promise, Event("gaussian", "3"), relation)
    assert left[2:].tolist() == [1.0, 1.0]
    assert left[:2].sum() * math.sqrt(2) / (3 * sensitivity) == pytest.approx(ETA)


@given(
    st.lists(st.text("abß", min_size=3, max_size=5), min_size=1, max_size=20, unique=True),
    st.lists(st.text("abß ", max_size=12), max_size=20),
)
@example(["bab"], ["bab a"])
def test_texts_that_hold_secrets_are_those_that_contain_them(secrets, texts):
    expected = [[place for place, text in enumerate(texts) if secret in text] for secret in secrets]
    assert find_holders(secrets, texts) == expected


def test_a_declaration_is_recognised_by_what_it_says_alone():
    one, data = list_secrets("jane", "john"), dataset(*TEXTS, marks=MARKS)
    same = replace(one, budget=1.0, listed=(Secret("john", 0.1), Secret("jane", 0.2)))
    assert same.compute_digest(data) == one.compute_digest(data) == one.compute_digest(dataset("others"))
    others = [list_secrets("jane"), replace(one, columns=("patient", "town"))]
    assert len({each.compute_digest(data) for each in (one, *others)}) == len(others) + 1


def test_a_stricter_promise_is_another_one_whatever_the_order_of_the_list():
    jane, john = Secret("jane", ETA), Secret("john", ETA / 2)
    said = [Sources(listed, (), ETA).compute_budgets_digest() for listed in ((jane, john), (john, jane))]
    assert said[0] == said[1]
    stricter = [replace(jane, budget=ETA / 2), john]
    assert Sources(tuple(stricter), (), ETA).compute_budgets_digest() != said[0]
    assert Sources((jane, john), (), ETA / 2).compute_budgets_digest() != said[0]


def test_columns_are_declared_with_what_they_say_of_each_text_in_whatever_order():
    columns = Sources((), ("patient", "town"), ETA)
    declared = columns.compute_digest(dataset(*TEXTS, marks=MARKS))
    turned = replace(columns, columns=("town", "patient"))
    shuffled = dataset(*TEXTS[::-1], marks=tuple(each[::-1] for each in MARKS[::-1]))
    assert turned.compute_digest(shuffled) == declared
    for marks in ([("", "")] * 4, [*MARKS[:3], ("", "john")], [*MARKS[1:], MARKS[0]]):
        assert columns.compute_digest(dataset(*TEXTS, marks=tuple(marks))) != declared


def test_a_secret_that_is_declared_in_several_ways_is_one_and_stands_in_all_texts_that_hold_it_by_any():
    texts = ("call Smith", "smith again", "x", "y", "z", "z again")
    marks = (("", ""), ("", ""), ("smith", ""), ("", "smith"), ("jones", ""), ("", "jones"))
    strict = ETA / 3
    sources = Sources((Secret("smith", strict),), ("doctor", "nurse"), ETA)
    data = dataset(*texts, marks=marks)
    assert sorted((each.budget, list(each.places)) for each in sources.find_held(data)) == [
        (strict, [0, 1, 2, 3]),
        (ETA, [4, 5]),
    ]
    assert cap_weights(sources, data, 4, by_budget).tolist() == [strict / 2] * 4 + [ETA / 2] * 2
    with pytest.raises(DataError, match=r"secret 1 of .* occurs in 4 texts"):
        cap_weights(sources, data, 3, by_budget)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "contains no secrets"),
        (b"ab\n", "line 1 has fewer than 3"),
        (b"\xff", "cannot be read"),
        (b"jane\t1e-4\n", "line 1 does not have the required form"),
        (b"jane\tdoe\t3\n", "line 1 does not have the required form"),
        (b"nobody\njane\t0.5\t0.1\n", "line 2 does not have the required form"),
        (b"nobody\njane doe\t1e-4\t2e-3\n", "line 2 gives weaker limits than method.secret_prior and"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused(tmp_path, content, complaint):
    with pytest.raises(DataError, match=complaint) as error:
        read_secrets(write(tmp_path, content), ETA)
    assert "jane" not in str(error.value)
    with pytest.raises(DataError, match="cannot be read"):
        read_secrets(tmp_path / "nowhere", ETA)


def test_a_list_has_at_most_a_hundred_thousand_secrets(tmp_path):
    path = write(tmp_path, "\n".join(f"secret {number}" for number in range(100_000)))
    assert len(read_secrets(path, 0.5)) == 100_000
    with path.open("a") as file:
        file.write("\nsecret 7\none more")
    with pytest.raises(DataError, match="contains more than 100,000 secrets"):
        read_secrets(path, 0.5)
