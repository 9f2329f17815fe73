"""What each release of a record chose from, and what its dataset has to be, read off its lines; for tests only.

For forgers who make everything that follows from a forged record anew, however little sense the record makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pcevolve.evolution import Pool, Population, cut_to_proportion, join_populations
from pcevolve.public.calls import Call
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, Chosen, Receipt


@dataclass(frozen=True)
class Populations:
    """The candidates of a run, as its record names them.

    Attributes:
        plan: Says which call belongs to which population.
        outputs: Digests of what each call brought, by slot, in order.
    """

    plan: PublicPlan
    outputs: Mapping[str, tuple[str, ...]]

    def pool(self, iteration: int) -> Pool:
        """What the release of an iteration chose from."""
        last = max(iteration - 1, 0)
        shown = range(last + 1) if self.plan.pool == "all" else range(last, last + 1)
        views: dict[str, tuple[Candidate, ...]] = {}
        for call in (call for t in shown for call in self.plan.lookaheads(t)):
            views[call.source or ""] = views.get(call.source or "", ()) + self._brought(call)
        return Pool(join_populations(self.plan.labels, [self._of(self.plan.round(t)) for t in shown]), views)

    def sources(self, iteration: int, receipts: Mapping[int, Receipt]) -> dict[str, str]:
        """Digest of what each candidate varies that was newest when an iteration's release chose, by its id.

        Args:
            iteration: Of the release.
            receipts: By iteration; one that names too few says nothing of the rest.
        """
        found: dict[str, str] = {}
        for call in self.plan.round(max(iteration - 1, 0)):
            receipt = receipts.get(call.iteration)
            chosen = receipt.of(call.label) if receipt is not None else ()
            if call.parent is not None and call.parent < len(chosen):
                found |= {each.id: chosen[call.parent].digest for each in self._brought(call)}
        return found

    def last(self) -> Pool:
        """The last population, whether or not anything is chosen from it."""
        return Pool(self._of(self.plan.round(self.plan.iterations)))

    def dataset(self, receipts: Iterable[Receipt]) -> dict[str, tuple[Chosen, ...]]:
        """What has to be in the dataset, by class: what the run kept, and behind it what was added later, in order."""
        known = list(receipts)
        kept, added = self._kept(known), self._named(self.plan.enlargements())
        return cut_to_proportion(
            self.plan, known, {label: kept[label] + added[label] for label in self.plan.labels}
        )

    def kept(self, receipts: Iterable[Receipt]) -> dict[str, tuple[Chosen, ...]]:
        """What the run itself kept, by class: what the last receipt selects, or the last population, in proportion."""
        known = list(receipts)
        return cut_to_proportion(self.plan, known, self._kept(known))

    def _kept(self, receipts: Iterable[Receipt]) -> dict[str, tuple[Chosen, ...]]:
        plan = self.plan
        if plan.selects:
            last = [each for each in receipts if each.iteration == plan.releases[-1]][-1:]
            return {label: tuple(one for each in last for one in each.of(label)) for label in plan.labels}
        return self._named([*plan.round(plan.iterations), *plan.extensions()])

    def _named(self, calls: Iterable[Call]) -> dict[str, tuple[Chosen, ...]]:
        """What some calls brought, by class."""
        made = self._of(calls)
        return {
            label: tuple(Chosen(each.id, each.digest) for each in made[label]) for label in self.plan.labels
        }

    def _of(self, calls: Iterable[Call]) -> Population:
        found: dict[str, tuple[Candidate, ...]] = dict.fromkeys(self.plan.labels, ())
        for call in calls:
            found[call.label] += self._brought(call)
        return found

    def _brought(self, call: Call) -> tuple[Candidate, ...]:
        return tuple(
            Candidate(call.output(index), call.label, call.iteration, None, digest, "")
            for index, digest in enumerate(self.outputs.get(call.slot, ()))
        )
