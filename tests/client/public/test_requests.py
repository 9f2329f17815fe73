"""Options of requests that a plan repeats: their bounds, and the fields of chat APIs."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from pcevolve.public import requests


@pytest.mark.parametrize(
    ("name", "least", "most", "step"),
    [
        ("Guidance", 0, 50, 0.1),
        ("Steps", 1, 150, 1),
        ("AdapterScale", 0, 1, 0.1),
        ("Tokens", 1, 4096, 1),
        ("Temperature", 0, 2, 0.1),
        ("Pixels", 8, 4096, 1),
        ("AtOnce", 1, 64, 1),
    ],
)
def test_a_number_lies_within_what_apis_take(name: str, least: int, most: int, step: float):
    option = TypeAdapter(getattr(requests, name))
    assert [option.validate_python(each) for each in (least, most)] == [least, most]
    for bad in (least - step, most + step):
        with pytest.raises(ValidationError, match="should be"):
            option.validate_python(bad)


@pytest.mark.parametrize(
    ("given", "rules"),
    [
        ("standard", ()),
        ("reasoning", ("n=", "max_tokens=max_completion_tokens", "temperature=", "seed=")),
        ("single", ("n=",)),
        ("plain", ("n=", "seed=")),
        ("single, seed=random_seed", ("n=", "seed=random_seed")),
        (("max_tokens=max_new_tokens",), ("max_tokens=max_new_tokens",)),
    ],
)
def test_a_family_is_its_rules_and_rules_stand_beside_it(given: object, rules: tuple[str, ...]):
    given = given if not isinstance(given, str) else ",".join(each.strip() for each in given.split(","))
    assert TypeAdapter(requests.ChatFields).validate_python(given) == rules


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("model=", "'model=' is no rule"),
        ("n", "'n' is no rule"),
        ("seed=Other", "is no rule"),
        ("n=,n=count", "each field has one rule"),
        ("n=seed", "each field has one rule"),
        ("n=a,seed=a", "each field has one rule"),
        (5, "valid tuple"),
    ],
)
def test_rules_that_make_no_request_are_refused(given: object, told: str):
    with pytest.raises(ValidationError, match=told):
        TypeAdapter(requests.ChatFields).validate_python(given)


@pytest.mark.parametrize("host", ["A.example", "host/path", "host:", "host:123456", "", "x" * 254])
def test_a_host_of_images_is_a_name_and_maybe_a_port(host: str):
    asked = requests.ProviderSettings(image_hosts=("cdn.example:8443",))
    assert asked.image_hosts == ("cdn.example:8443",)
    with pytest.raises(ValidationError, match="match pattern"):
        requests.ProviderSettings(image_hosts=(host,))


def test_a_request_asks_for_one_to_64_images():
    assert [requests.ProviderSettings(batch=each).batch for each in (1, 64)] == [1, 64]
    for bad in (0, 65):
        with pytest.raises(ValidationError, match="should be"):
            requests.ProviderSettings(batch=bad)
