"""Prepare bodies of requests and answers for people: list their fields, and fold long ones.

Nothing is omitted silently: a fold states its length, and the page lists every attempt.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pcevolve.public.transcript.bodies import PLACEHOLDER
from pcevolve.public.transcript.traffic import Attempt, RecordedReceipt

WHOLE = "(whole body)"
MOST_FIELDS = 200
MOST_CHARACTERS = 2000
_FORM = re.compile(r"--([^\r\n]{1,70})\r\n")
WIDE = 24  # most characters of a value that fits beside another field


@dataclass(frozen=True)
class Part:
    """A piece of text, or an image. ``left_out`` counts characters that are not shown."""

    text: str
    image: str | None = None
    left_out: int = 0


@dataclass(frozen=True)
class Field:
    """A value and its path in the body, such as ``init_images[0]``."""

    name: str
    parts: tuple[Part, ...]

    @property
    def wide(self) -> bool:
        """True if the field needs a separate line."""
        return any(each.image or len(each.text) > WIDE for each in self.parts)


class _Pairs(tuple[tuple[str, Any], ...]):
    """A JSON object with every name as written, duplicates included."""


def list_fields(text: str) -> tuple[list[Field], int]:
    """Return the first fields of a body, and how many others it has. Any body except JSON and forms is one field."""
    pairs = list_leaves(text)
    shown = [Field(name, tuple(split_parts(value))) for name, value in pairs[:MOST_FIELDS]]
    return shown, len(pairs) - len(shown)


def list_leaves(text: str) -> list[tuple[str, str]]:
    """Return name and complete value of each field of a body; images in the values are placeholders."""
    try:
        loaded = json.loads(
            text, object_pairs_hook=_Pairs, parse_int=str, parse_float=str, parse_constant=str
        )
        found = list(_leaves("", loaded))
    except (ValueError, RecursionError):
        found = _form(text)
    return [(name or WHOLE, value) for name, value in found]


def cut(text: str, most: int = MOST_CHARACTERS) -> Part:
    """Return the beginning of a text that is shown, and the number of characters that are not."""
    return Part(text[:most], left_out=max(0, len(text) - most))


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - any JSON
    if isinstance(value, _Pairs) and value:
        for key, inner in value:
            yield from _leaves(f"{name}.{key}" if name else key, inner)
    elif isinstance(value, list) and value:
        for place, inner in enumerate(value):
            yield from _leaves(f"{name}[{place}]", inner)
    else:
        yield name, value if isinstance(value, str) else json.dumps({} if value == () else value)


def _form(text: str) -> list[tuple[str, str]]:
    """Return the parts of a multipart form, each with its complete head. Any other body is one part."""
    form = _FORM.match(text)
    if form is None:
        return [(WHOLE, text)]
    first, *parts, last = f"\r\n{text}".split(f"\r\n--{form[1]}")
    if first or last.strip("\r\n") != "--" or not all("\r\n\r\n" in part for part in parts):
        return [(WHOLE, text)]
    split = (part.partition("\r\n\r\n") for part in parts)
    return [("; ".join(head.strip().splitlines()), content) for head, _, content in split]


def split_parts(text: str) -> Iterator[Part]:
    """Yield texts and images in order. Splitting leaves text at even indices and digests at odd ones."""
    for place, piece in enumerate(PLACEHOLDER.split(text)):
        if place % 2:
            yield Part("", piece)
        elif piece:
            yield cut(piece)


MOST_VALUES = 60  # most values of one field, in the order in which they were sent

Pair = tuple[str, str]


@dataclass(frozen=True)
class FoldedRequest:
    """A request and all attempts with the same bytes. ``shown`` is the last usable attempt, which represents all."""

    shown: Attempt
    again: tuple[Attempt, ...] = ()

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        return (self.shown, *self.again)


@dataclass(frozen=True)
class FieldValue:
    """A field's content, and the number of the first request that has it."""

    parts: tuple[Part, ...]
    first: int


@dataclass(frozen=True)
class FieldColumn:
    """A field of several requests.

    Attributes:
        values: Its distinct values, up to ``MOST_VALUES``.
        span: Least and greatest value, if all values are whole numbers.
    """

    name: str
    values: tuple[FieldValue, ...]
    different: int
    span: tuple[int, int] | None = None

    @property
    def images(self) -> tuple[FieldValue, ...]:
        """The values that consist of one image each."""
        return tuple(each for each in self.values if len(each.parts) == 1 and each.parts[0].image)

    @property
    def short(self) -> bool:
        """True if its values fit beside each other."""
        return all(not part.image and len(part.text) <= WIDE for each in self.values for part in each.parts)

    @property
    def wide(self) -> bool:
        """True if the field needs a separate line."""
        return self.different > 1 or not self.short


@dataclass(frozen=True)
class Group:
    """Requests of one kind to one address with the same fields. ``unlisted`` counts fields beyond the listed ones."""

    kind: str
    target: str
    requests: int
    attempts: int
    bytes_sent: int
    body: tuple[FieldColumn, ...]
    headers: tuple[FieldColumn, ...]
    unlisted: int

    @property
    def rank(self) -> int:
        """0 for requests with images, 1 for other requests with a body, 2 for requests without a body."""
        if not self.body:
            return 2
        return int(not any(part.image for each in self.body for value in each.values for part in value.parts))

    @property
    def same(self) -> list[FieldColumn]:
        """Fields of the body that have the same value in all requests."""
        return [each for each in self.body if each.different == 1]

    @property
    def differing(self) -> list[FieldColumn]:
        """Fields of the body in which the requests differ."""
        return [each for each in self.body if each.different > 1]


def fold(
    steps: Iterable[Attempt | RecordedReceipt], faulty: Container[int]
) -> list[FoldedRequest | RecordedReceipt]:
    """Fold a run's steps, in order: attempts with identical bytes are shown as one.

    Args:
        faulty: Lines of the record with a fault. An attempt on such a line is not folded, nor is an unproven one.
    """
    steps = list(steps)
    alike: dict[int, list[Attempt]] = defaultdict(list)
    for step in steps:
        if isinstance(step, Attempt):
            alone = step.line in faulty or not step.proven
            alike[step.number if alone or step.repeats is None else step.repeats.number].append(step)
    standing = {request.shown.number: request for request in map(_request, alike.values())}
    return [
        standing[step.number] if isinstance(step, Attempt) else step
        for step in steps
        if not isinstance(step, Attempt) or step.number in standing
    ]


def group_requests(requests: Iterable[FoldedRequest]) -> list[Group]:
    """Group requests by their fields; groups with images come first."""
    groups: dict[tuple[object, ...], list[tuple[FoldedRequest, list[Pair]]]] = defaultdict(list)
    for request in requests:
        sent, pairs = request.shown.sent, _body(request.shown)
        names = tuple(name for name, _ in pairs), tuple(name for name, _ in sent.headers)
        groups[request.shown.kind, sent.method, sent.url, names].append((request, pairs))
    return sorted(map(_group, groups.values()), key=lambda group: group.rank)


def _request(attempts: Sequence[Attempt]) -> FoldedRequest:
    shown = next((each for each in reversed(attempts) if each.usable), attempts[-1])
    return FoldedRequest(shown, tuple(each for each in attempts if each is not shown))


def _body(attempt: Attempt) -> list[Pair]:
    """Return the fields of a body with their complete values. A binary body is one field; an empty body has none."""
    body = attempt.sent.body
    if body.text:
        return list_leaves(body.text)
    return [(WHOLE, f"{body.size} bytes that are no text, sha256 {body.sha256}")] if body.size else []


def _group(members: Sequence[tuple[FoldedRequest, list[Pair]]]) -> Group:
    shown = members[0][0].shown
    attempts = [attempt for request, _ in members for attempt in request.attempts]
    numbers = [request.shown.number for request, _ in members]
    columns = list(_columns(numbers, [pairs[:MOST_FIELDS] for _, pairs in members]))
    return Group(
        kind=shown.kind,
        target=f"{shown.sent.method} {shown.sent.url}",
        requests=len(members),
        attempts=len(attempts),
        bytes_sent=sum(each.sent.wire_bytes for each in attempts),
        body=tuple(columns),
        headers=tuple(_columns(numbers, [request.shown.sent.headers for request, _ in members])),
        unlisted=len(members[0][1]) - len(columns),
    )


def _columns(numbers: Sequence[int], rows: Sequence[Sequence[Pair]]) -> Iterator[FieldColumn]:
    """Yield the columns of requests with the same fields. Values are compared in full length."""
    for cells in zip(*rows, strict=True):
        first: dict[str, int] = {}
        for number, (_, value) in zip(numbers, cells, strict=True):
            first.setdefault(value, number)
        values = tuple(
            FieldValue(tuple(split_parts(value)), number)
            for value, number in list(first.items())[:MOST_VALUES]
        )
        yield FieldColumn(cells[0][0], values, len(first), _span(first))


def _span(values: Iterable[str]) -> tuple[int, int] | None:
    """Return the least and greatest of short whole numbers; None if any value is something else."""
    texts = list(values)
    if not all(each.isascii() and each.isdigit() and len(each) <= 20 for each in texts):
        return None
    return min(map(int, texts)), max(map(int, texts))
