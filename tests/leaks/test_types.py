"""Nothing that could hold bytes, a prompt or a request of somebody's own making can be handed to the gate.

This is what became of the attempts that used to put private pixels, words, numbers, spellings, paths, methods and
headers into a request and hand it in: there is no parameter any more that would take it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from pcevolve.public.calls import Call
from pcevolve.public.evolution import Generator, Lineage
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Prototype, PublicEcho, Receipt
from pcevolve.public.usefulness import Assessment
from pcevolve.wire.egress.gate import Gate
from pcevolve.wire.egress.transport import Incoming, Outgoing
from pcevolve.wire.providers import DIALECTS
from pcevolve.wire.providers.dialect import WireRequest

CARRIERS = (bytes, bytearray, memoryview, WireRequest, Outgoing, Incoming, object, Any)
"""Types whose values could be somebody's own bytes."""
ENTRANCES = {
    "answers": {"asks": Sequence[tuple[Call, Prototype | PublicEcho | None]]},
    "create": {"call": Call},
    "hello": {"run_id": str},
    "balance": {},
    "takes_several": {"model": str},
    "record_receipt": {"receipt": Receipt},
    "has_receipt": {"iteration": int},
    "finish": {"assessment": Assessment | None},
    "begin": {
        "plan": PublicPlan,
        "committed": Callable[[Receipt], bool],
        "measured": Callable[
            [int], bytes
        ],  # goes on record if a committed receipt names its digest, and never out
        "lineage": Lineage | None,  # is asked whether the run has ended, and never sent
    },
}
"""What the gate can be handed, by method."""


def entrances(kind: type) -> dict[str, dict[str, Any]]:
    """The public methods of a type, with the types of their parameters; unknown ones are ``Any``."""
    methods = inspect.getmembers(kind, lambda each: inspect.isfunction(each))
    return {name: _parameters(method) for name, method in methods if not name.startswith("_")}


def _parameters(method: Callable[..., object]) -> dict[str, Any]:
    hints = get_type_hints(inspect.unwrap(method))
    names = [name for name in inspect.signature(inspect.unwrap(method)).parameters if name != "self"]
    return {name: hints.get(name, Any) for name in names}


def within(kind: Any) -> Iterator[Any]:
    """A type and all that a value of it can be made of, down to the fields of its fields."""
    yield kind
    inner = get_args(kind) if get_origin(kind) is not None else ()
    if is_dataclass(kind):
        inner = tuple(get_type_hints(kind).values())
    for each in inner:
        if each is not Ellipsis:
            yield from within(each)


def carriers(kind: type, method: str) -> list[Any]:
    """The types in what a method takes that could hold somebody's own bytes."""
    return [each for taken in entrances(kind)[method].values() for each in within(taken) if each in CARRIERS]


def test_what_the_gate_can_be_handed_is_known():
    assert entrances(Gate) == ENTRANCES


@pytest.mark.parametrize("method", ["answers", "create", "hello", "balance", "record_receipt"])
def test_no_value_that_the_gate_is_handed_can_hold_bytes_or_a_request(method: str):
    assert carriers(Gate, method) == []


def test_the_gate_takes_what_a_generator_takes():
    assert entrances(Gate)["answers"] == entrances(Generator)["answers"]


@pytest.mark.parametrize("spoken", sorted(DIALECTS))
def test_a_dialect_takes_its_words_from_the_plan(spoken: str):
    taken = entrances(type(DIALECTS[spoken]))["encode"]
    assert taken == {"plan": PublicPlan, "call": Call, "image": bytes | None}


@dataclass(frozen=True)
class Prompt:
    """Words of somebody's own."""

    text: str


class TakesRequest(Gate):
    def create(self, call: Call, request: WireRequest) -> tuple[()]: ...


class TakesImage(Gate):
    def vary(self, call: Call, source: Prototype | PublicEcho, image: bytes | None = None) -> tuple[()]: ...


class TakesParcel(Gate):
    def create(self, call: tuple[Call, list[bytes]]) -> tuple[()]: ...


class TakesAnything(Gate):
    def vary(self, call, *more) -> tuple[()]: ...


class TakesPrompt(Gate):
    def create(self, call: Call, prompt: Prompt) -> tuple[()]: ...


class TakesParcels(Gate):
    def answers(self, asks: Sequence[tuple[Call, bytes]]) -> Iterator[tuple[()]]: ...


class TakesMore(Gate):
    def send(self, words: str) -> None: ...


@pytest.mark.parametrize(
    ("leaky", "method"),
    [
        (TakesRequest, "create"),
        (TakesImage, "vary"),
        (TakesParcel, "create"),
        (TakesAnything, "vary"),
        (TakesParcels, "answers"),
    ],
)
def test_a_gate_that_takes_bytes_is_found_out(leaky: type[Gate], method: str):
    """Not counted: these tests must be able to fail."""
    assert carriers(leaky, method)


@pytest.mark.parametrize(
    "leaky", [TakesRequest, TakesImage, TakesParcel, TakesAnything, TakesParcels, TakesPrompt, TakesMore]
)
def test_a_gate_with_another_entrance_is_found_out(leaky: type[Gate]):
    """Not counted: these tests must be able to fail."""
    assert entrances(leaky) != ENTRANCES
