"""The findings of ``usable`` in words: refusals before a payment, and notes for the owner."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pcevolve.errors import UnusableError
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.loop.usable import MOST_COMPARED, ClassUsability, UsableRule
from pcevolve.public.modality import MODALITIES, Kind

MANY_REPEATS = 0.1
"""Least share of repeats among a class's newest candidates at which the owner is notified."""
_NAMED = 3  # classes named in one message


class Usability(UsableRule):
    """The rule, with its findings in words."""

    def require(self, pool: Pool, say_spent: Callable[[], str], *, is_dataset: bool = False) -> None:
        """Refuse to continue if too few usable candidates came.

        ``say_spent`` is called only for a refusal, because the time that a ledger takes to answer depends on the
        private data of others.

        Raises:
            UnusableError: The message states the fault and what to do.
        """
        if fault := self.fault(pool, is_dataset=is_dataset):
            raise UnusableError(f"{fault}; {say_spent()}. {self._advice}")

    def fault(self, pool: Pool, *, is_dataset: bool = False) -> str:
        """Return the fault of the candidates, in one sentence without its full stop, or "" if there is none.

        Args:
            is_dataset: Whether the candidates are a dataset that is already paid for. One usable class is then enough.
                Before a payment, each class must leave something to choose.
        """
        found, kind = self.of(pool), self.plan.modality.kind
        lacking = [each for each in found if not each.enough]
        if not lacking or (is_dataset and len(lacking) < len(found)):
            return ""
        faults = "; ".join(
            f"{_describe(each, kind)}, {each.needed} different ones are needed" for each in lacking[:_NAMED]
        )
        more = f"; and of {len(lacking) - _NAMED} more classes" if len(lacking) > _NAMED else ""
        return f"the API sent too little that can be used and differs: {faults}{more}"

    def notes(self, pool: Pool) -> Iterator[str]:
        """Yield notes on candidates that are excluded, are not varied, or have another size than requested."""
        kind, many = self.plan.modality.kind, self.plan.modality.nouns.many
        found = self.of(pool)
        yield from _describe_repeats(found, kind)
        for each in found:
            if each.faults or each.unchanged or not each.enough:
                yield _describe(each, kind) + ("; what cannot be used is left out" if each.faults else "")
            for size, count in each.sizes.items():
                asked = self.plan.modality.asked_size
                yield f"of class {each.label!r} {count} of {each.sent} {many} are {size}, and {asked} was asked for"

    def describe_repeats(self, pool: Pool) -> str:
        """State how many of the newest candidates repeat another one, or return "" if they are few."""
        return "; ".join(_describe_repeats(self.of(pool), self.plan.modality.kind))

    @property
    def _advice(self) -> str:
        also = f", {more}" if (more := self.plan.modality.retry_hint) else ""
        return (
            f"Look at what came; other words, another model{also} or another provider may do better, and in a new run "
            "method.min_usable lowers what is needed"
        )


def _describe_repeats(found: Sequence[ClassUsability], kind: Kind) -> Iterator[str]:
    """Yield notes on repeated and similar candidates, if a class has many."""
    repeats = [(each, each.repeats + each.shared, each.sent) for each in found]
    if repeated := _list_many(repeats):
        yield (
            f"{repeated} repeat another {kind} exactly, as a cache or a placeholder for what is not made does: equal "
            f"{MODALITIES[kind].nouns.many} of a class are one, counted and chosen once, and none is released for two "
            "classes"
        )
    alike = [(each, each.alike, min(each.sent, MOST_COMPARED)) for each in found]
    if repeated := _list_many(alike):
        yield f"{repeated} look like another {kind} but for details, and each of them counts"


def _list_many(counts: Sequence[tuple[ClassUsability, int, int]]) -> str:
    """List the classes with many affected candidates, with their counts, or return "" if there is none."""
    many = [
        f"{count} of {sent} of class {each.label!r}"
        for each, count, sent in counts
        if count and count >= MANY_REPEATS * sent
    ]
    return ", ".join(many[:_NAMED]) + (
        f" and some of {len(many) - _NAMED} more classes" if many[_NAMED:] else ""
    )


def _describe(found: ClassUsability, kind: Kind) -> str:
    """Describe how many of a class's candidates can be used, and why the others cannot."""
    reasons = [f"{count} {'is' if count == 1 else 'are'} {fault}" for fault, count in found.faults.items()]
    if found.unchanged:
        reasons.append(f"{found.unchanged} came back unchanged")
    if found.repeats and not found.enough:
        one = "repeats an earlier one" if found.repeats == 1 else "repeat earlier ones"
        reasons.append(f"{found.repeats} {one}")
    others = found.usable - found.unchanged - found.repeats
    if found.different < min(others, found.needed, MOST_COMPARED):
        alike = "the same" if found.different == 1 else f"only {found.different} different ones"
        reasons.append(f"the {others} others are {alike}" if reasons else f"they are {alike}")
    why = f" ({', '.join(reasons)})" if reasons else ""
    many = MODALITIES[kind].nouns.many
    return f"of class {found.label!r} {found.usable} of {found.sent} {many} can be used{why}"
