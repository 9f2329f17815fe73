"""What the wire carried, counted; from the steps that the page shows and from nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from pcevolve.pages.wire.story import Attempt


@dataclass(frozen=True)
class Totals:
    """Counts of some attempts.

    Attributes:
        requests: Different slots.
        attempts: How often something was sent, retries included.
        unusable: Attempts that brought no answer, or one with an error status.
        bytes_out: HTTP request lines, headers and bodies.
        bytes_in: HTTP status lines, headers and bodies.
        images: Images that left, each as often as it did.
        distinct: Different images that left.
        unexplained: Images that left without a reason on record.
    """

    requests: int
    attempts: int
    unusable: int
    bytes_out: int
    bytes_in: int
    images: int
    distinct: int
    unexplained: int

    @classmethod
    def of(cls, attempts: Iterable[Attempt]) -> Totals:
        """Count."""
        all_of = list(attempts)
        left = [carried for each in all_of for carried in each.carried]
        return cls(
            requests=len({each.sent.slot for each in all_of}),
            attempts=len(all_of),
            unusable=sum(not each.usable for each in all_of),
            bytes_out=sum(each.sent.wire_bytes for each in all_of),
            bytes_in=sum(each.answer.wire_bytes for each in all_of if each.answer is not None),
            images=len(left),
            distinct=len({each.digest for each in left}),
            unexplained=sum(not each.explained for each in left),
        )


def by_kind(attempts: Iterable[Attempt]) -> dict[str, Totals]:
    """Counts for each kind of request, in order of appearance."""
    kinds: dict[str, list[Attempt]] = {}
    for each in attempts:
        kinds.setdefault(each.kind, []).append(each)
    return {name: Totals.of(group) for name, group in kinds.items()}


def hosts(attempts: Iterable[Attempt]) -> list[str]:
    """Every host that a request was sent to or names, in order of appearance."""
    found: dict[str, None] = {}
    for each in attempts:
        found.setdefault(_host(each.sent.url))
        for name, value in each.sent.headers:
            if name.lower() == "host":
                found.setdefault(value)
    return list(found)


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return url
