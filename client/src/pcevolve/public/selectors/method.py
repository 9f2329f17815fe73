"""The description of a method: the public facts for the plan, the selector and the printed guarantee."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from pcevolve.errors import UsageError
from pcevolve.public import settings
from pcevolve.public.canonical import list_unused
from pcevolve.public.dp.accountants import epsilon, pure_epsilon
from pcevolve.public.dp.calibration import scale_to_folder
from pcevolve.public.figures import format_loss, in_full
from pcevolve.public.methods import METHOD_TABLE, SecretEvolution
from pcevolve.public.modality import Modality
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import FREE, Budget, Event, Relation
from pcevolve.public.selectors.rounds import (
    Calibration,
    Rounds,
    Scope,
    is_blurred,
    pay_for_appearance,
    pay_for_centre,
    pay_for_class_counts,
)
from pcevolve.public.selectors.selection import Selector, WorstCase

AppearanceMode = Literal["as-is", "matched", "auto"]

APPEARANCE = (
    "An earlier release, paid from the same epsilon, describes the overall appearance of the images. It is the sum of "
    "six numbers per image, with Gaussian noise. The six numbers of each image are clipped to a ball of radius 1, so "
    "the sum has L2 sensitivity 1 under add-remove and 2 under replace-one"
)
COUNTED = (
    "The first round also releases the number of privacy units in each class, for a part of the same epsilon. The "
    "release is a histogram of the same sensitivity with Gaussian noise"
)
SECRETS = (
    "In addition, suppose that somebody guesses a declared secret with a probability of {prior} before this release. "
    "After it, the probability is at most {bound}, whatever the attack, if at most {most} texts contain the secret. "
    "Other releases that depend on the secret add to this probability"
)
COMPOSED = (
    "The epsilon of this run holds with delta = {delta}, at which its draws compose to less than their sum. With delta "
    "= 0, epsilon is the sum, {pure}"
)
CREATES = frozenset({"create"})
VARIES = CREATES | {"vary"}


@dataclass(frozen=True)
class Schedule:
    """Degree of variation of each iteration, in [0, 1]: image-to-image strength, or the share of blanked words.

    Attributes:
        start: The degree in the first iteration.
        end: The degree in the last iteration, or the lower limit if there is a ``step``.
        step: Decrease per iteration (PCEvolve). With None, the degree changes linearly from ``start`` to ``end`` (PE).
    """

    start: float
    end: float
    step: float | None = None

    def over(self, iterations: int) -> tuple[float, ...]:
        """Return the degrees of ``iterations`` rounds."""
        # With one round there is no decrease: this round has the first degree.
        step = self.step if self.step is not None else (self.start - self.end) / max(iterations - 1, 1)
        strengths = (self.start - step * t for t in range(iterations))
        # A schedule may also rise, and steps of a fixed size would otherwise run past the end.
        low, high = sorted((self.start, self.end))
        # Rounded to six digits, because the number is sent, hashed and shown, and 0.8 - 0.02 · 3 would have seventeen.
        return tuple(round(min(max(each, low), high), 6) for each in strengths)


Rule: TypeAlias = Callable[[Budget, Scope], int]


def always(iterations: int) -> Rule:
    """Return a rule that gives this number of iterations for any budget and sizes."""
    return lambda budget, scope: iterations


@dataclass(frozen=True)
class Sensitivity:
    """How much one privacy unit can change the result of a selector's query, before noise.

    Attributes:
        of: The sensitivity under a neighbour relation. For Gaussian noise, it is the L2 norm of the change. For
            draws, it is the largest difference between the changes of two candidates' scores: at a rate of r nats per
            score, the bounded range is r times this difference.
        unit: The unit of the query, such as votes.
    """

    of: Callable[[Relation], float]
    unit: str


@dataclass(frozen=True)
class Method:
    """A method of choosing prototypes with all its public facts: one object, in the file of its family.

    A method that reads private data has a ``selector``, a ``sensitivity`` and a ``worst_case``. The contract tests
    check the three against each other for every registered method.

    Attributes:
        guarantee: The selection's privacy guarantee in words, under both neighbour relations (see ``statement``).
        selector: Makes the selector. None if the method reads no private data.
        tight: Events of each round for a budget, calibrated as tightly as the accountants allow.
        lift: Probability that a chosen prototype is of the best tenth, under an ideal utility. Chance is 0.1.
        sensitivity: Sensitivity of the selector's last access. None without a selector.
        worst_case: Neighbouring datasets, by relation, that ``pcevolve audit-dp`` tries to tell apart.
        published: The calibration of the paper. None if ``tight`` is the only calibration.
        rounds: The default number of iterations for a budget and sizes.
        prototypes: Default limit of prototypes per class and round. None for as many as candidates.
        schedule: Default degrees of variation of images.
        blanks: Default shares of a text's words that are blanked when it is varied.
        initial: Text-to-image candidates, in multiples of the dataset's size (see ``initial_for``).
        pool: Which earlier candidates may be chosen, beside the latest generation.
        variations: Default number of variations for each image of the dataset in a round.
        keep: Whether the dataset is the last population or is selected from all candidates.
        appearance: Whether the dataset is given the private images' appearance, which a first access releases unless
            noise would blur it. With ``auto`` the released classes decide.
        centre_first: The guarantee of a run that releases a centre of all classes before their deviations from it. A
            method with this text releases a centre by default. The text is empty for a method that releases no means.
        final_selection_queries_data: Whether the selection of the dataset reads the private data once more, after
            all rounds.
        varies: False for text-to-image alone, which cannot vary prototypes.
    """

    name: str
    summary: str
    guarantee: str
    selector: Callable[[], Selector] | None
    tight: Calibration
    lift: Callable[[tuple[Event, ...], Scope], float]
    sensitivity: Sensitivity | None = None
    worst_case: Callable[[Relation], WorstCase] | None = None
    published: Calibration | None = None
    rounds: Rule = always(20)  # noqa: RUF009 - a function, and functions do not change
    prototypes: int | None = 1
    schedule: Schedule = Schedule(0.8, 0.6, step=0.02)
    blanks: Schedule = Schedule(0.6, 0.3, step=0.1)
    initial: int = 1
    pool: settings.Pool = "latest"
    variations: int = 1
    keep: Literal["last", "selected"] = "last"
    appearance: AppearanceMode = "as-is"
    centre_first: str = ""
    final_selection_queries_data: bool = False
    varies: bool = True

    @property
    def parameters(self) -> type[settings.MethodSettings[None]]:
        return (
            METHOD_TABLE[self.name].parameters if self.name in METHOD_TABLE else settings.MethodSettings[None]
        )

    @property
    def own_options(self) -> frozenset[str]:
        """Names of the options that apply to this method but not to every method."""
        return frozenset(self.parameters.model_fields) - frozenset(settings.MethodSettings.model_fields)

    @property
    def queries_data(self) -> bool:
        """True if private images are embedded and compared with the provider's images."""
        return self.selector is not None

    def make_selector(self) -> Selector:
        """Return the method's selector (``UsageError`` if the method does not use private data)."""
        if self.selector is None:
            raise UsageError(f"method '{self.name}' does not use private data: it has no selector")
        return self.selector()

    def iterations(self, wanted: int | None, budget: Budget, scope: Scope) -> int:
        """Return T: the user's number if the method varies prototypes, and otherwise the method's own number."""
        # A method that cannot vary ignores the user's number, because its loop has no rounds.
        return self.rounds(budget, scope) if wanted is None or not self.varies else wanted

    def needs_for(self, iterations: int, vary_by: str = "image") -> frozenset[str]:
        """Return the capabilities that the dialect needs. Images are sent only if rounds vary images."""
        # Checked before a run: a dialect that cannot vary would fail in the first round, after the first images
        # were paid for.
        return CREATES if not iterations or vary_by == "prompt" else VARIES

    def events(self, budget: Budget, scope: Scope, calibration: str = "tight") -> Rounds:
        """Return each round's events on the private data.

        Raises:
            UsageError: The method has no such calibration, or needs a δ.
        """
        # Published calibrations add more noise than tight ones for the same guarantee. They serve to repeat the
        # papers' tables.
        if calibration == "tight":
            return self.tight(budget, scope)
        if self.published is None:
            raise UsageError(f"method '{self.name}' has only one calibration: leave method.calibration out")
        return self.published(budget, scope)

    def accesses(
        self,
        budget: Budget,
        scope: Scope,
        calibration: str = "tight",
        appearance: str | None = None,
        *,
        centre_first: bool | None = None,
        class_counts: bool = False,
    ) -> dict[int, tuple[Event, ...]]:
        """Return the events of each access by iteration: 1..T, and 0 for the private images' appearance.

        Args:
            calibration: ``tight``, or ``published`` for the paper's calibration.
            appearance: The appearance mode. With ``as-is`` there is no iteration 0. With None, the method's own mode
                applies.
            centre_first: Whether a centre is released before class means. With None, the method's default applies.
            class_counts: Whether the numbers of units by class are released before the first votes.

        Raises:
            UsageError: The method has no such calibration, needs a δ, or cannot pay for the appearance.
        """
        # The order matters: centre and counts share one round's access, and the appearance then takes its part of the
        # total budget.
        rounds = self.events(budget, self._paying_scope(scope), calibration)
        if bool(self.centre_first) if centre_first is None else centre_first:
            rounds = pay_for_centre(rounds)
        if class_counts:
            rounds = pay_for_class_counts(rounds)
        if (appearance or self.appearance_for(budget, scope, calibration)) == "as-is":
            # Iteration 0 is reserved for the appearance even if none is released, so iterations mean the same in
            # all runs.
            return dict(enumerate(rounds, 1))
        return dict(enumerate(pay_for_appearance(rounds)))

    def appearance_for(self, budget: Budget, scope: Scope, calibration: str = "tight") -> AppearanceMode:
        """Return the default appearance: the method's own mode, or ``as-is`` if noise would blur the appearance.

        Errors as in ``accesses``.
        """
        if self.appearance == "as-is":
            return "as-is"
        # Calculated as if the appearance were released, because whether it is worth its price depends on the noise that
        # remains at this price.
        first = pay_for_appearance(self.events(budget, self._paying_scope(scope), calibration))[0][0]
        return "as-is" if is_blurred(first, scope) else self.appearance

    def _paying_scope(self, scope: Scope) -> Scope:
        # Without rounds, the selection of the dataset pays.
        if self.final_selection_queries_data:
            # One more paid access: ``aug-pe`` reads the private data once after the last round.
            return replace(scope, iterations=scope.iterations + 1)
        return replace(scope, iterations=max(scope.iterations, int(self.keep == "selected")))

    def degrees(self, made: Modality | type[Modality]) -> Schedule:
        """Return default degrees of variation: shares of blanks if prototypes are sent as text, otherwise strengths."""
        return self.blanks if made.sends_inline else self.schedule

    def prototypes_for(self, candidates: int) -> int:
        """Return the default number of prototypes per class and round."""
        most = candidates if self.prototypes is None else min(self.prototypes, candidates)
        # A divisor, so that each prototype has the same number of variations and the population keeps its size.
        return next(count for count in range(most, 0, -1) if candidates % count == 0)

    def initial_for(self, candidates: int, variations: int) -> int:
        """Return the default number of first candidates per class: survivors and their variations, or a multiple."""
        return candidates * (1 + variations if self.pool == "survivors" else self.initial)

    def plan_events(self, plan: PublicPlan) -> dict[int, tuple[Event, ...]]:
        """Return the events of every release of a plan, by iteration. The selection of the dataset may be free.

        Raises:
            UsageError: The plan requests something that the method cannot do.
        """
        self._require(plan)
        paid = self.accesses(
            plan.budget,
            scope_of(plan),
            plan.method.calibration,
            plan.method.appearance,
            centre_first=plan.centre_first,
            class_counts=plan.class_counts,
        )
        # A selection that follows from an earlier release is free. A control method makes no release and draws
        # uniformly.
        free = FREE if self.selector is not None else Event("uniform")
        return {t: paid.get(t, (free,)) for t in plan.releases}

    def _require(self, plan: PublicPlan) -> None:
        """Refuse a plan that requests something that the method cannot do (``UsageError``)."""
        rules = (self._faults_of_releases, self._faults_of_choice)
        # Only the first fault is reported, because correcting it may remove the others.
        for fault in (each for rule in rules for each in rule(plan)):
            raise UsageError(f"method '{self.name}' {fault}")

    def _faults_of_releases(self, plan: PublicPlan) -> Iterator[str]:
        """Yield a message for each release that the plan requests and the method does not make."""
        if plan.selects and self.keep != "selected" and self.selector is not None:
            yield "cannot choose its dataset from all rounds: leave method.keep out"
        if plan.centre_first and not self.centre_first:
            yield "releases no means, so it has no centre to release first"

    def _faults_of_choice(self, plan: PublicPlan) -> Iterator[str]:
        """Yield a message for each option that is incompatible with how the method chooses."""
        if (
            plan.method.of(SecretEvolution).cells is not None
            and plan.method.pool != "all"
            and "method.pool" not in list_unused(plan)
        ):
            yield "counts around its first candidates, which have to stay in the pool: leave method.pool out"

    def statement(self, plan: PublicPlan) -> str:
        """State a run's guarantee in words: the guarantee of the method and the additions of the plan.

        Errors as in ``plan_events``.
        """
        planned = self.plan_events(plan)
        own = [event for each in planned.values() for event in each]
        events = scale_to_folder(own, plan.data.subsample is not None)
        parts = [self.centre_first if plan.centre_first else self.guarantee]
        if 0 in planned:
            parts.append(APPEARANCE)
        if plan.class_counts:
            parts.append(COUNTED)
        if plan.secrecy:
            parts.append(
                SECRETS.format(
                    prior=in_full(plan.secrecy.prior), bound=plan.secrecy.bound, most=plan.secrecy.most
                )
            )
        # Stated only if the ε at this δ is smaller than the sum of pure ε. Otherwise the printed ε equals the sum.
        pure = pure_epsilon(events)
        if pure and epsilon(events, plan.privacy.delta) < pure:
            parts.append(COMPOSED.format(delta=in_full(plan.privacy.delta), pure=format_loss(float(pure))))
        return ". ".join(parts)


def first_selection(planned: Mapping[int, tuple[Event, ...]]) -> tuple[Event, ...]:
    """Return the events of the first round that reads the private data, or nothing if no round does."""
    return next(
        (events for t, events in planned.items() if t and not all(event.free for event in events)), ()
    )


def scope_of(plan: PublicPlan) -> Scope:
    """Return the public sizes of a plan on which prices depend."""
    return Scope(
        relation=plan.privacy.relation,
        iterations=plan.method.iterations,
        classes=len(plan.labels),
        shots=plan.data.shots,
        candidates=plan.method.candidates,
        noise_factor=plan.noise_factor,
    )
