"""Baselines and what they are handed: a plan, public data, a provider without a gate, and noise.

Whoever chooses here pays nobody: the loop is the client's, its judge has no ledger and leaves no receipt that a gate
would take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, TypeAlias, cast

from pcevolve.keeper.components import Components
from pcevolve.public.calls import Call
from pcevolve.public.dp.mechanisms import Noise
from pcevolve.public.geometry.distances import IntArray
from pcevolve.public.loop.evolution import Ask, Evolved, evolve
from pcevolve.public.loop.lineage import Pool, Population
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Budget, Event
from pcevolve.public.release import Candidate, Choice, Query, Receipt
from pcevolve.public.selectors import Measurement, PrivateEmbeddings, Scope, SelectionInput, Selector
from pcevolve.public.selectors.choosing import Chooser, name_choice
from pcevolve.public.selectors.selection import join_renditions

Options: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class BaselineAccess:
    """An access of a round to the images, in the words of the client's events and of what has no event there.

    Attributes:
        mechanism: ``unprotected`` and ``secret-noise`` beside the client's own.
        parameter: Exact fraction; see the client's ``Event``.
        count: Times in a row.
    """

    mechanism: str
    parameter: str = "0"
    count: int = 1


Accesses: TypeAlias = tuple[BaselineAccess, ...]


def of_events(rounds: Iterable[Iterable[Event]]) -> tuple[Accesses, ...]:
    """The client's events of each round as accesses."""
    return tuple(tuple(BaselineAccess(**asdict(event)) for event in events) for events in rounds)


class Choosing(Protocol):
    """A way to choose candidates."""

    def measure(
        self,
        private: PrivateEmbeddings,
        scene: SelectionInput,
        events: Any,  # noqa: ANN401
        noise: Noise,
    ) -> Measurement:
        """Look at the images; ``events`` are the accesses of the round."""
        ...

    def pick(self, measured: Measurement, scene: SelectionInput) -> tuple[IntArray, ...]:
        """Choose by what was measured: of each class ``scene.wanted`` indices into its pool."""
        ...


class Sender(Protocol):
    """Asks the provider, without a gate."""

    @property
    def requests(self) -> int:
        """How many calls were answered."""
        ...

    def answers(self, asks: Sequence[Ask]) -> Iterator[tuple[Candidate, ...]]:
        """Answer calls in their order; see the client's ``Generator``."""
        ...

    def make(self, call: Call, image: bytes | None, parent: str | None) -> tuple[Candidate, ...]:
        """Make the images of a call that varies these bytes, or none."""
        ...

    def with_plan(self, plan: PublicPlan) -> Sender:
        """This provider, asked with the words of another plan."""
        ...

    def received(self, digest: str) -> bytes:
        """Return the bytes that the provider had sent, by digest."""
        ...


@dataclass(frozen=True)
class Round:
    """The choice of one round, for the file of the run."""

    iteration: int
    choices: tuple[Choice, ...]
    accesses: Accesses
    values: tuple[float, ...] = ()


@dataclass(frozen=True)
class BaselineImages:
    """The work of a baseline: the dataset, the populations on the way, and what each round chose."""

    dataset: Population
    populations: tuple[Population, ...]
    rounds: tuple[Round, ...]


@dataclass(frozen=True, repr=False)
class BaselineSession:
    """All that a baseline is handed.

    Attributes:
        components: The client's parts of a run: data, encoder, noise, budget. Nothing here pays from a ledger.
        plan: Every call.
        sender: Asks the provider.
        accesses: Of each round, by iteration.
        options: Of the baseline alone, such as a captioner.
    """

    components: Components
    plan: PublicPlan
    sender: Sender
    accesses: Mapping[int, Accesses]
    options: Options = field(default_factory=dict)

    def evolve_by(self, selector: Choosing, private: PrivateEmbeddings | None = None) -> BaselineImages:
        """Run the client's loop with a selector, and nobody who pays.

        Args:
            selector: Chooses in each round.
            private: What it looks at; the images as they are, if not given.
        """
        chooser = Chooser(
            self.plan,
            self.components.encoder,
            self.sender.received,
            cast("Selector", selector),  # the chooser shows it scenes, and asks nothing else of it
        )
        seen = private or self.components.views.embeddings(None)
        judge = OpenJudge(self.plan, chooser, selector, seen, self.components.noise, self.accesses)
        return self._evolve(judge)

    def evolve_unseen(self) -> BaselineImages:
        """Run the client's loop where nothing is ever chosen."""
        return self._evolve(_NobodyAsked())

    def _evolve(self, judge: OpenJudge | _NobodyAsked) -> BaselineImages:
        found: Evolved = evolve(self.plan, self.sender, judge, _Quiet(), identify=str)
        rounds = tuple(
            Round(each.iteration, each.choices, self.accesses.get(each.iteration, ()), each.values)
            for each in found.receipts
        )
        return BaselineImages(found.dataset, found.populations, rounds)


@dataclass(frozen=True)
class OpenJudge:
    """Chooses by a selector, on public data, and pays nobody.

    A round without accesses of its own follows from what an earlier one had measured.
    """

    plan: PublicPlan
    chooser: Chooser
    selector: Choosing
    private: PrivateEmbeddings
    noise: Noise
    accesses: Mapping[int, Accesses]
    _measured: list[Measurement] = field(default_factory=list)

    def show(self, query: Query, pool: Pool) -> None:
        """Do nothing: nobody times what follows."""

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Choose candidates of every class; the receipt is for the loop alone, and no gate would take it."""
        scene = join_renditions(self.chooser.find_inputs(query.iteration, pool, (None,)))
        due = self.accesses.get(query.iteration, ())
        if any(each.mechanism != "post-processing" for each in due):
            self._measured.append(self.selector.measure(self.private, scene, due, self.noise))
        picked = self.selector.pick(self._measured[-1], scene)
        choices = tuple(
            name_choice(label, pool.candidates, indices)
            for label, indices in zip(self.plan.labels, picked, strict=True)
        )
        return Receipt(query.run_id, query.iteration, choices, (), self.plan.privacy.relation)


class _NobodyAsked:
    """The judge of a plan that releases nothing."""

    def show(self, query: Query, pool: Pool) -> None:
        """Do nothing."""

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Refuse: the plan has no release.

        Raises:
            RuntimeError: Always.
        """
        raise RuntimeError("this baseline's plan releases nothing")


class _Quiet:
    """A watcher that tells nobody."""

    def generated(self, call: Call) -> None:
        """A call was answered."""

    def released(self, receipt: Receipt) -> None:
        """A round has chosen."""


@dataclass(frozen=True)
class Baseline:
    """One baseline.

    Attributes:
        name: What ``pcevolve-bench baseline`` calls it.
        summary: What it is.
        protects: What it protects, in words, where it runs as its paper says; often nothing.
        base: The client's method whose plan and usual options it has.
        accesses: What each round does to the images, for a budget and public sizes.
        carry_out: Makes the dataset.
        looks: Whether private images have a say.
        paid: Whether they have it under noise, for an ε.
        compares: Whether it compares them with the provider's by an encoder.
        evolves: Whether it makes as many rounds as it is told.
        delta: Usual δ.
        usual: Options of the client's run that it needs, by the options that were given.
        own: Options that mean something to it alone.
        planned: Its plan, made of the client's.
    """

    name: str
    summary: str
    protects: str
    base: str
    accesses: Callable[[Budget, Scope], tuple[Accesses, ...]]
    carry_out: Callable[[BaselineSession], BaselineImages]
    looks: bool = True
    paid: bool = True
    compares: bool = True
    evolves: bool = False
    delta: float = 0.0
    usual: Callable[[Options], Options] = lambda given: {}
    own: frozenset[str] = frozenset()
    planned: Callable[[PublicPlan], PublicPlan] = lambda plan: plan


def replan(plan: PublicPlan, **changes: object) -> PublicPlan:
    """A plan with other fields, checked like any."""
    fields = {name: getattr(plan, name) for name in type(plan).model_fields}
    return type(plan)(**{**fields, **changes})
