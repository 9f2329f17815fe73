"""Options of requests that a plan repeats: their bounds, and the fields of chat APIs."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from pcevolve.public import requests
from pcevolve.public.config.providers import PublicProvider
from support.runs import small_plan


@pytest.mark.parametrize(
    ("name", "least", "most", "step"),
    [
        ("guidance", 0, 50, 0.1),
        ("steps", 1, 150, 1),
        ("adapter_scale", 0, 1, 0.1),
        ("tokens", 1, 4096, 1),
        ("temperature", 0, 2, 0.1),
        ("size", 8, 4096, 1),
        ("at_once", 1, 64, 1),
    ],
)
def test_a_number_lies_within_what_apis_take(name: str, least: int, most: int, step: float):
    for each in (least, most):
        assert getattr(PublicProvider(**{name: each}), name) == each
    for bad in (least - step, most + step):
        with pytest.raises(ValidationError, match="should be"):
            PublicProvider(**{name: bad})


@pytest.mark.parametrize(
    "changes",
    [{"guidance": 51}, {"steps": 0}, {"adapter": "a", "adapter_scale": 2}, {"sampler": ""}, {"width": 4}],
)
def test_a_plan_has_the_bounds_of_the_options_that_it_embeds(changes: dict[str, object]):
    with pytest.raises(ValidationError, match="should"):
        small_plan(**changes)


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
        ("model=", "'model=' is not a rule"),
        ("n", "'n' is not a rule"),
        ("seed=Other", "is not a rule"),
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
