"""The public rule that a provider's outputs must leave something to choose. ``usability`` puts it into words.

The modality decides whether a single candidate can be used. Candidates are public, so a reader of the record can
repeat the check. This code handles nothing private.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from pcevolve.public.loop.lineage import Pool
from pcevolve.public.media import CandidateCheck, find_medium
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate

MOST_COMPARED = 100
"""Largest number of candidates of a class that are compared. Comparing all of them would take quadratic time."""


@dataclass(frozen=True)
class ClassUsability:
    """The usable candidates among one class's newest candidates.

    Attributes:
        different: Number of usable and distinct candidates, counted up to the smaller of ``needed`` and
            ``MOST_COMPARED``.
        needed: Number that must be usable.
        repeats: Number excluded from the pool because they repeat an earlier candidate of the class.
        shared: Number in the pool with the same visible content as a candidate of another class in the pool.
        alike: Number of the first ``MOST_COMPARED`` unvaried candidates that look like an earlier one of these. They
            stay in the pool.
        faults: Number of unusable candidates, by fault.
        unchanged: Number of usable candidates that equal their source.
        sizes: Number of candidates of another size than requested, by size.
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
        return self.sent - sum(self.faults.values())

    @property
    def enough(self) -> bool:
        """True if the class leaves something to choose."""
        return self.usable >= self.needed and self.different >= min(self.needed, MOST_COMPARED)


@dataclass(frozen=True)
class UsableRule:
    """Applies a plan's rule to the provider's outputs."""

    plan: PublicPlan
    received: Callable[[str], bytes]
    _checks: dict[str, CandidateCheck] = field(default_factory=dict)

    def of(self, pool: Pool) -> tuple[ClassUsability, ...]:
        """Assess the newest candidates of each class. Earlier candidates were assessed in their round."""
        shown = chain(*pool.candidates.values(), *pool.repeats.values())
        newest = max((each.iteration for each in shown), default=0)
        showing = Counter(
            shows
            for of_class in pool.candidates.values()
            for shows in {self.identify(each.digest) for each in of_class} - {""}
        )
        return tuple(self._of_class(label, newest, pool, showing) for label in pool.candidates)

    def is_enough(self, pool: Pool) -> bool:
        """Return True if the newest candidates of every class leave something to choose."""
        return all(each.enough for each in self.of(pool))

    def identify(self, digest: str) -> str:
        """Return the digest of an output's visible content, by the output's digest (see ``lineage.Identify``)."""
        return self._check(digest).shows

    def _of_class(self, label: str, newest: int, pool: Pool, showing: Counter[str]) -> ClassUsability:
        """Assess a class. ``showing`` counts the classes in which each content occurs."""
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
        # A variation resembles its source on purpose, so only candidates without a source can count as alike.
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
        """Return the checks of a candidate and of its source, if there is a source.

        With lookahead, these are the checks of the candidate's first usable variation and of the candidate itself.
        """
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
        """Count candidates that differ from all earlier ones, up to ``most``."""
        alike = find_medium(self.plan.modality.kind).mark_alike
        kept = np.empty((most, len(usable[0].signature) if usable else 0), dtype=np.int16)
        count = 0
        for each in usable:
            if count < most and not alike(kept[:count], each.signature).any():
                kept[count] = each.signature
                count += 1
        return count


def _is_changed(candidate: CandidateCheck, source: CandidateCheck | None) -> bool:
    """Return True if a candidate can be used and differs from its source."""
    same = source is not None and np.array_equal(candidate.signature, source.signature)
    return not candidate.fault and not same
