"""Options that plan and run share: usual values, bounds, windows and strengths."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from pcevolve.public import figures, methods, settings
from pcevolve.public.settings import MethodSettings, window_ends


def test_usual_values_are_those_of_the_papers_and_of_the_documentation():
    assert (methods.TAU, methods.VOTES, figures.USUAL_DELTA) == (10.0, 1, 1e-5)
    assert (methods.USUAL_PRIOR, methods.USUAL_BOUND, methods.USUAL_SIZE) == (1e-4, 1e-3, 10)
    usual = MethodSettings()
    assert (usual.name, usual.candidates, usual.min_usable, usual.lookahead, usual.more) == (
        "auto",
        100,
        0.25,
        0,
        0,
    )


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("Shots", 1, 10**9),
        ("Candidates", 1, 1_000_000),
        ("Initial", 1, 10_000_000),
        ("Prototypes", 1, 1_000_000),
        ("Iterations", 1, 1000),
        ("Lookahead", 0, 100),
        ("PublicSeed", 0, 2**32 - 1),
    ],
)
def test_counts_are_bounded(name: str, least: int, most: int):
    option = TypeAdapter(getattr(settings, name))
    assert [option.validate_python(each) for each in (least, most)] == [least, most]
    for bad in (least - 1, most + 1):
        with pytest.raises(ValidationError, match="should be"):
            option.validate_python(bad)


@pytest.mark.parametrize(
    ("kind", "name", "least", "most"),
    [
        (methods.VariedEvolution, "variations", 1, 100),
        (methods.CountedVotes, "votes", 1, 1000),
        (methods.SecretEvolution, "cells", 1, 10_000),
        (MethodSettings, "more", 0, 1000),
    ],
)
def test_a_count_of_some_methods_is_bounded(kind: type[MethodSettings], name: str, least: int, most: int):
    assert [getattr(kind(**{name: each}), name) for each in (least, most)] == [least, most]
    for bad in (least - 1, most + 1):
        with pytest.raises(ValidationError, match="should be"):
            kind(**{name: bad})


@pytest.mark.parametrize(
    ("given", "told", "ends"),
    [
        ("-160,240", "-160,240", (-160.0, 240.0)),
        ((0.5, 1), "0.5,1", (0.5, 1.0)),
        ([0, 1e22], "0,1e+22", (0.0, 1e22)),
    ],
)
def test_a_window_has_one_spelling(given: object, told: str, ends: tuple[float, float]):
    window = settings.DataSettings(domain="d", window=given).window
    assert (window, window_ends(window), window_ends(None)) == (told, ends, None)


@pytest.mark.parametrize(
    ("given", "told"),
    [("1", "two numbers"), ("1,2,3", "two numbers"), ("a,b", "two numbers"), (5, "two numbers"),
     ("2,2", "LOW must be below HIGH"), ("nan,1", "LOW must be below"), ("-inf,1", "LOW must be below")],
)  # fmt: skip
def test_a_window_that_is_none_is_refused(given: object, told: str):
    with pytest.raises(ValidationError, match=told):
        settings.DataSettings(domain="d", window=given)


def test_a_unit_has_one_image_or_more():
    assert settings.DataSettings(domain="d", unit_size=1).unit_size == 1
    for bad in (0, 10**9 + 1):
        with pytest.raises(ValidationError, match="should be"):
            settings.DataSettings(domain="d", unit_size=bad)


def test_strengths_say_how_many_iterations_there_are_and_leave_no_first_and_last_to_say():
    assert MethodSettings(strengths=(0.5, 0.4)).iterations == 2
    assert MethodSettings(strengths=(0.5, 0.4), iterations=2).strengths == (0.5, 0.4)
    with pytest.raises(ValidationError, match="2 are given for 3 iterations"):
        MethodSettings(strengths=(0.5, 0.4), iterations=3)
    for end in ("strength_start", "strength_end"):
        with pytest.raises(ValidationError, match="there is no first and last one to give"):
            MethodSettings(strengths=(0.5, 0.4), **{end: 0.5})
