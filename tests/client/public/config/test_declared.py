"""A declaration says all of an option."""

from __future__ import annotations

from typing import Annotated, Generic, Literal, Never

import pytest
from pydantic import BaseModel, Field, ValidationError

from pcevolve.errors import UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.declared import (
    UNDECIDED,
    PlanField,
    Undecided,
    list_options,
    settled,
    spell,
    validate,
)
from pcevolve.public.config.options import Setting

SHOWN = Setting()
Count = Annotated[int, Field(ge=0, le=9, description="How many."), SHOWN]


class Declared(BaseModel):
    """One option of every kind."""

    name: Annotated[str, Field(description="Name."), SHOWN]
    count: Count | None = None
    fewer: Annotated[Count, Field(gt=1, lt=5)] = 2
    share: Annotated[float, Field(ge=0.5, description="Share."), SHOWN] = 0.75
    kind: Annotated[Literal["a", "b"], Field(description="Kind."), SHOWN] = "a"
    quiet: Annotated[bool, Field(description="Say nothing."), SHOWN] = False
    hosts: Annotated[tuple[str, ...], Field(description="Host."), Setting(keyword="host")] = ()


def test_an_option_is_all_that_its_declaration_says():
    options = {option.name: option for option in list_options(Declared)}
    told = {name: (each.flag, each.kind, each.bounds, each.default) for name, each in options.items()}
    assert told == {
        "kind": ("--kind", "a|b", "", "a"),
        "name": ("--name", "text", "", ""),
        "count": ("--count", "int", "0<=x<=9", ""),
        "fewer": ("--fewer", "int", "1<x<5", "2"),
        "share": ("--share", "number", "x>=0.5", "0.75"),
        "quiet": ("--quiet", "", "", ""),
        "host": ("--host", "text", "", ""),
    }
    assert options["count"].help == options["fewer"].help == "How many."
    assert [name for name, each in options.items() if each.required] == ["name"]
    assert [name for name, each in options.items() if each.is_switch] == ["quiet"]
    assert [name for name, each in options.items() if each.is_repeated] == ["host"]


def test_what_is_wrong_is_told_by_the_name_that_the_command_line_uses():
    with pytest.raises(UsageError, match=r"^--count: Input should be a valid integer"):
        validate(Declared, {"name": "x", "count": "many"})
    assert spell("not_an_option", Declared) == "--not-an-option"
    assert spell("epsilon", RunConfig) == "--epsilon"
    assert spell("votes", RunConfig) == "method.votes"


class Open(BaseModel, Generic[Undecided]):
    """A section of which one option may be left open, and one is another thing in a plan."""

    count: Annotated[Count | Undecided, PlanField(3)] = UNDECIDED
    first: Annotated[Count | Undecided, PlanField()] = UNDECIDED
    budget: Annotated[str, PlanField(kind=Annotated[str, Field(pattern="^[0-9]+$")])] = "10"


def test_an_option_that_may_be_left_open_has_a_value_in_a_plan_within_the_same_bounds():
    plan = settled(Open[Never])
    assert Open[None]().model_dump() == {"count": None, "first": None, "budget": "10"}
    assert plan(first=1, budget="2").model_dump() == {"count": 3, "first": 1, "budget": "2"}
    given = {"first": 1, "budget": "2"}
    for wrong in ({"first": None}, {"first": 10}, {"count": None}, {"count": 10}, {"budget": "1.5"}):
        with pytest.raises(ValidationError, match=next(iter(wrong))):
            plan(**{**given, **wrong})
    for missing in given:
        with pytest.raises(ValidationError, match="Field required"):
            plan(**{name: value for name, value in given.items() if name != missing})
