"""The public rule that a provider's answers must leave something to choose, checked before every payment.

Whether a single candidate can be used is its modality's question. Candidates are public, so whoever has the record can
look again. Nothing private is seen here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from pcevolve.errors import UnusableError
from pcevolve.public.evolution import Pool
from pcevolve.public.media import CandidateCheck, find_medium
from pcevolve.public.modality import Kind, reword_for
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate

MOST_COMPARED = 100
"""Candidates of a class that have to differ, however many are needed: comparing all would be quadratic."""
MANY_REPEATS = 0.1
"""Share of a class's newest candidates from which on the owner is told that they repeat others."""
_NAMED = 3  # classes named in one message


@dataclass(frozen=True)
class ClassUsability:
    """The usable candidates among one class's newest.

    Attributes:
        different: How many of them can be used and differ; counted up to ``needed``, and ``MOST_COMPARED``.
        needed: How many there must be that can be used.
        repeats: How many are left out of the pool, for they show what a candidate of the class shows that came before.
        shared: How many of those in the pool show what a candidate of another class in it shows.
        alike: How many of the first ``MOST_COMPARED`` that vary nothing look like another one, and are not left out.
    """

    label: str
    sent: int
    different: int
    needed: int
    repeats: int
    shared: int
    alike: int
    faults: Mapping[str, int]
    unchanged: int
    sizes: Mapping[str, int]

    @property
    def usable(self) -> int:
        """The number of candidates that can be used."""
        return self.sent - sum(self.faults.values())

    @property
    def enough(self) -> bool:
        """True if there is something to choose."""
        return self.usable >= self.needed and self.different >= min(self.needed, MOST_COMPARED)

    def describe(self, kind: Kind) -> str:
        """Say how many candidates of how many can be used, and why others cannot."""
        reasons = [f"{count} {'is' if count == 1 else 'are'} {fault}" for fault, count in self.faults.items()]
        if self.unchanged:
            reasons.append(f"{self.unchanged} came back unchanged")
        if self.repeats and not self.enough:
            one = "repeats an earlier one" if self.repeats == 1 else "repeat earlier ones"
            reasons.append(f"{self.repeats} {one}")
        others = self.usable - self.unchanged - self.repeats
        if self.different < min(others, self.needed, MOST_COMPARED):
            alike = "the same" if self.different == 1 else f"only {self.different} different ones"
            reasons.append(f"the {others} others are {alike}" if reasons else f"they are {alike}")
        why = f" ({', '.join(reasons)})" if reasons else ""
        return reword_for(
            f"of class {self.label!r} {self.usable} of {self.sent} images can be used{why}", kind
        )


@dataclass(frozen=True)
class Usability:
    """Applies a plan's rule to what the provider sent."""

    plan: PublicPlan
    received: Callable[[str], bytes]
    _checks: dict[str, CandidateCheck] = field(default_factory=dict)

    def of(self, pool: Pool) -> tuple[ClassUsability, ...]:
        """Assess the newest candidates of each class; those of earlier rounds were looked at then."""
        shown = chain(*pool.candidates.values(), *pool.repeats.values())
        newest = max((each.iteration for each in shown), default=0)
        showing = Counter(
            shows
            for of_class in pool.candidates.values()
            for shows in {self.identify(each.digest) for each in of_class} - {""}
        )
        return tuple(self._of_class(label, newest, pool, showing) for label in pool.candidates)

    def is_enough(self, pool: Pool) -> bool:
        """True if the newest candidates of every class leave something to choose."""
        return all(each.enough for each in self.of(pool))

    def identify(self, digest: str) -> str:
        """What an output shows, by its digest: see ``evolution.Identify``."""
        return self._check(digest).shows

    def require(self, pool: Pool, say_spent: Callable[[], str], *, is_dataset: bool = False) -> None:
        """Refuse to go on where too little came (``UnusableError``: why, and what to do).

        ``say_spent`` is asked on a refusal alone: how long a ledger takes to answer depends on others' private data.
        """
        if fault := self.fault(pool, is_dataset=is_dataset):
            raise UnusableError(f"{fault}; {say_spent()}. {self._advice}")

    def fault(self, pool: Pool, *, is_dataset: bool = False) -> str:
        """Say what is wrong with what came, in one sentence without its full stop; empty where nothing is.

        Args:
            is_dataset: Whether it is paid for already. Then one class that has something is worth keeping; before a
                payment each class must have something to choose from.
        """
        found, kind = self.of(pool), self.plan.modality.kind
        lacking = [each for each in found if not each.enough]
        if not lacking or (is_dataset and len(lacking) < len(found)):
            return ""
        told = "; ".join(
            f"{each.describe(kind)}, {each.needed} different ones are needed" for each in lacking[:_NAMED]
        )
        more = f"; and of {len(lacking) - _NAMED} more classes" if len(lacking) > _NAMED else ""
        return f"the API sent too little that can be used and differs: {told}{more}"

    def notes(self, pool: Pool) -> Iterator[str]:
        """Say what the owner should know of candidates: left out, not varied, or of another size than was asked for."""
        kind = self.plan.modality.kind
        found = self.of(pool)
        yield from _describe_repeats(found, kind)
        for each in found:
            if each.faults or each.unchanged or not each.enough:
                yield each.describe(kind) + ("; what cannot be used is left out" if each.faults else "")
            for size, count in each.sizes.items():
                asked = self.plan.modality.asked_size
                yield f"of class {each.label!r} {count} of {each.sent} images are {size}, and {asked} was asked for"

    def describe_repeats(self, pool: Pool) -> str:
        """Say how many of the newest candidates repeat another one, where they are many; empty where they are not."""
        return "; ".join(_describe_repeats(self.of(pool), self.plan.modality.kind))

    @property
    def _advice(self) -> str:
        also = f", {more}" if (more := self.plan.modality.retry_hint) else ""
        return (
            f"Look at what came; other words, another model{also} or another provider may do better, and in a new run "
            "method.min_usable lowers what is needed"
        )

    def _of_class(self, label: str, newest: int, pool: Pool, showing: Counter[str]) -> ClassUsability:
        """Assess a class; ``showing``: in how many classes a candidate shows something."""
        kept = [each for each in pool.candidates[label] if each.iteration == newest]
        left_out = [each for each in pool.repeats.get(label, ()) if each.iteration == newest]
        looks = [self._look(each, pool) for each in (*kept, *left_out)]
        checks = [each for each, _ in looks]
        asked = self.plan.modality.asked_size
        sizes = Counter(each.size for each in checks if asked and each.size and each.size != asked)
        needed = self.plan.count_needed(len(checks))
        faults = Counter(each.fault for each in checks if each.fault)
        changed = [each for each in looks[: len(kept)] if _is_changed(*each)]
        repeats = sum(_is_changed(*each) for each in looks[len(kept) :])
        new = [each for each, source in changed if source is None][:MOST_COMPARED]
        return ClassUsability(
            label,
            len(checks),
            self._different([each for each, _ in changed], min(needed, MOST_COMPARED)),
            needed,
            repeats,
            sum(showing[self.identify(each.digest)] > 1 for each in kept),
            len(new) - self._different(new, len(new)),
            faults,
            len(checks) - faults.total() - len(changed) - repeats,
            sizes,
        )

    def _look(self, candidate: Candidate, pool: Pool) -> tuple[CandidateCheck, CandidateCheck | None]:
        """A candidate and what it varies, if anything; with lookahead its first usable variation, and itself."""
        own, source = self._check(candidate.digest), pool.sources.get(candidate.id)
        views = [self._check(each.digest) for each in pool.views.get(candidate.id, ())]
        if own.fault or not views:
            return own, None if source is None else self._check(source)
        return next((each for each in views if not each.fault), views[0]), own

    def _check(self, digest: str) -> CandidateCheck:
        if digest not in self._checks:
            self._checks[digest] = find_medium(self.plan.modality.kind).check(self.received(digest))
        return self._checks[digest]

    def _different(self, usable: Sequence[CandidateCheck], most: int) -> int:
        """Count those that differ from all that come before them, up to ``most``."""
        alike = find_medium(self.plan.modality.kind).mark_alike
        kept = np.empty((most, len(usable[0].signature) if usable else 0), dtype=np.int16)
        count = 0
        for each in usable:
            if count < most and not alike(kept[:count], each.signature).any():
                kept[count] = each.signature
                count += 1
        return count


def _describe_repeats(found: Sequence[ClassUsability], kind: Kind) -> Iterator[str]:
    """Yield what to think of repeats, and of what only looks alike, where a class has many."""
    repeats = [(each, each.repeats + each.shared, each.sent) for each in found]
    if told := _list_many(repeats):
        yield (
            f"{told} repeat another {kind} exactly, as a cache or a placeholder for what is not made does: equal "
            f"{kind}s of a class are one, counted and chosen once, and none is released for two classes"
        )
    alike = [(each, each.alike, min(each.sent, MOST_COMPARED)) for each in found]
    if told := _list_many(alike):
        yield f"{told} look like another {kind} but for details, and each of them counts"


def _list_many(counts: Sequence[tuple[ClassUsability, int, int]]) -> str:
    """How many of how many, of the classes of which it is many; empty if it is of none."""
    many = [
        f"{count} of {sent} of class {each.label!r}"
        for each, count, sent in counts
        if count and count >= MANY_REPEATS * sent
    ]
    return ", ".join(many[:_NAMED]) + (
        f" and some of {len(many) - _NAMED} more classes" if many[_NAMED:] else ""
    )


def _is_changed(candidate: CandidateCheck, source: CandidateCheck | None) -> bool:
    """True if a candidate can be used and is not what it varies."""
    same = source is not None and np.array_equal(candidate.signature, source.signature)
    return not candidate.fault and not same
