"""How texts are asked for: which fields of a request an API takes, and what is settled where nobody says."""

from __future__ import annotations

import pytest

from pcevolve.errors import UsageError
from pcevolve.public.config.providers import PublicProvider
from pcevolve.public.modality import ModelSize, Texts

SIZE = ModelSize(64, 64)


@pytest.mark.parametrize(
    ("given", "rules"),
    [
        ("standard", ()),
        ("single", ("n=",)),
        ("plain", ("n=", "seed=")),
        ("seed=random_seed,n=", ("seed=random_seed", "n=")),
    ],
)
def test_a_family_is_a_name_for_rules_and_rules_can_be_given(given: str, rules: tuple[str, ...]):
    assert Texts(kind="text", tokens=4, temperature=1, fields=given).fields == rules


@pytest.mark.parametrize("rule", ["model=x", "seed=messages", "seed=model", "n", "n=N;", "prompt="])
def test_no_rule_touches_what_is_said_or_which_model_says_it(rule: str):
    with pytest.raises(ValueError, match=r"(?s)fields.*(NAME= leaves a field out|each field has one rule)"):
        Texts(kind="text", tokens=4, temperature=1, fields=(rule,))


@pytest.mark.parametrize("fields", [(), ("temperature=",)])
def test_a_plan_says_of_the_temperature_whether_it_is_sent(fields: tuple[str, ...]):
    with pytest.raises(ValueError, match="temperature: it is said of a request"):
        Texts(kind="text", tokens=4, temperature=1.0 if fields else None, fields=fields)


def test_what_nobody_says_is_usual_and_what_the_api_does_not_take_is_left_out():
    assert Texts.settle(PublicProvider(), SIZE, None, frozenset()) == {
        "kind": "text", "tokens": 128, "temperature": 1.0, "fields": (),
    }  # fmt: skip
    plain = PublicProvider(tokens=40, fields="temperature=")
    assert Texts.settle(plain, SIZE, None, frozenset())["temperature"] is None
    with pytest.raises(UsageError, match=r"provider\.temperature: this API takes none"):
        Texts.settle(PublicProvider(temperature=0.5, fields="temperature="), SIZE, None, frozenset())


def test_one_a_request_is_asked_for_once():
    alone = Texts(kind="text", tokens=4, temperature=1, fields="seed=").ask_for_one()
    assert alone.fields == ("seed=", "n=")
    assert alone.ask_for_one() is alone


def test_a_request_has_each_field_by_the_name_that_the_api_has_for_it():
    texts = Texts(kind="text", tokens=4, temperature=1, fields=("seed=random_seed", "n="))
    assert texts.spelled({"seed": 1, "n": 2, "model": "m"}) == {"random_seed": 1, "model": "m"}


def test_settings_are_told_as_far_as_the_api_is_asked_for_them():
    asked = Texts(kind="text", tokens=40, temperature=0.5)
    assert asked.describe() == [("Tokens of a text, at most", 40), ("Temperature", 0.5)]
    assert asked.describe_asking("50 % to 20 %", "") == (
        "at most 40 tokens, temperature 0.5, blanks 50 % to 20 %"
    )
    unasked = Texts(kind="text", tokens=40, temperature=None, fields=("temperature=", "n="))
    assert unasked.describe() == [
        ("Tokens of a text, at most", 40),
        ("Temperature", "the API's default (the requests set none)"),
        ("Fields of a request", "temperature=, n="),
    ]
    assert unasked.describe_asking("", "") == "at most 40 tokens, the API's own temperature"
