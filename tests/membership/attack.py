"""A provider who knows both datasets and the client's code, and bets on one of them after each run.

He plays the private side himself as often as he likes, with the candidates that he is going to send, and so knows how
likely each choice is under either dataset. His bet is the likelihood ratio of all that came back, which no other bet
beats (Neyman & Pearson 1933).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
from scipy import stats

from membership.world import Seen, Setting, play
from pcevolve.auditing.dp_audit.bound import at_least, at_most
from pcevolve.public.dp.mechanisms import FloatArray, Noise, SeededNoise
from pcevolve.public.privacy import Event, Events
from pcevolve.public.selectors import Measurement, PrivateEmbeddings, SelectionInput, Selector
from support.draws import Misscaled

MEMORY = Path("/dev/shm")
REHEARSALS = 2000
CONFIDENCE = 0.95
Choice = tuple[int, ...]
NoiseOf = Callable[[int], Noise]


def too_quiet(number: int) -> Noise:
    """Noise that is 30 % too small."""
    return Misscaled(SeededNoise(number), Fraction(7, 10))


class Bare:
    """No noise at all: the leaky client."""

    source: Literal["INSECURE-seeded"] = "INSECURE-seeded"

    def exponential(self, key: str, scores: FloatArray, rate: Fraction) -> int:
        return int(np.argmax(scores))

    def gaussian(self, key: str, values: FloatArray, sigma: float) -> FloatArray:
        return np.asarray(values, dtype=np.float64)

    def uniform(self, key: str, count: int) -> int:
        return 0


@dataclass
class Overheard:
    """A selector that notes what it is asked, for rehearsals."""

    honest: Selector
    asked: list[tuple[PrivateEmbeddings, SelectionInput, Events]] = field(default_factory=list)

    def measure(
        self, private: PrivateEmbeddings, scene: SelectionInput, events: Events, noise: Noise
    ) -> Measurement:
        self.asked.append((private, scene, events))
        return self.honest.measure(private, scene, events, noise)

    def pick(self, measured: Measurement, scene: SelectionInput) -> tuple[np.ndarray, ...]:
        return self.honest.pick(measured, scene)

    def could_measure(self, measured: Measurement, scene: SelectionInput, events: Events) -> bool:
        return self.honest.could_measure(measured, scene, events)

    def is_picked(self, measured: Measurement, scene: SelectionInput, picked: Sequence[np.ndarray]) -> bool:
        return self.honest.is_picked(measured, scene, picked)


@dataclass(frozen=True)
class Bet:
    """How likely each choice of each round is under both datasets, and what to bet on.

    Attributes:
        rounds: For each round and each dataset, the probability of each choice.
    """

    rounds: tuple[tuple[dict[Choice, float], dict[Choice, float]], ...]

    def on_second(self, seen: Seen) -> bool:
        """True if what came back speaks for the second dataset."""
        return self._evidence(seen) > 0

    def expected(self, other: Bet | None = None) -> tuple[float, float]:
        """Probability of a bet on the second dataset when it is the second, and when it is the first.

        Args:
            other: How the client really draws; as this bet believes, if not given.
        """
        paths: dict[tuple[Choice, ...], tuple[float, float]] = {(): (1.0, 1.0)}
        for first, second in (other or self).rounds:
            choices = {*first, *second}
            paths = {
                (*path, choice): (p * first.get(choice, 0.0), q * second.get(choice, 0.0))
                for path, (p, q) in paths.items()
                for choice in choices
            }
        bets = [masses for path, masses in paths.items() if self.on_second(path)]
        return sum(q for _, q in bets), sum(p for p, _ in bets)

    def _evidence(self, seen: Seen) -> float:
        half = 0.5 / REHEARSALS  # a choice never seen in rehearsal is strong evidence, not infinite
        return sum(
            math.log((second.get(choice, 0.0) + half) / (first.get(choice, 0.0) + half))
            for choice, (first, second) in zip(seen, self.rounds, strict=True)
        )


@dataclass(frozen=True)
class Result:
    """Outcome of many bets.

    Attributes:
        bound: Largest advantage that (ε, δ)-DP allows any attacker.
        ceiling: Largest advantage that the events that were paid for allow.
        expected: This attacker's, by his rehearsals.
        advantage: Share of bets on the second dataset when it was the second, less the same when it was the first.
        low, high: Clopper-Pearson limits of the advantage.
        power: Probability that as many runs of a client whose noise is 30 % too small are found to leak more than
            expected; None where nobody has rehearsed that.
    """

    method: str
    epsilon: float
    delta: float
    rounds: int
    noise: str
    runs: int
    true_positives: int
    false_positives: int
    advantage: float
    low: float
    high: float
    expected: float
    ceiling: float
    bound: float
    power: float | None

    @property
    def holds(self) -> bool:
        """True if (ε, δ)-DP is not refuted."""
        return self.low <= self.bound

    @property
    def as_expected(self) -> bool:
        """True if the client leaks no more than the selectors' code with honest noise would."""
        return self.low <= self.expected

    @property
    def as_paid(self) -> bool:
        """True if the client leaks no more than its events, which know nothing of the code, allow."""
        return self.low <= self.ceiling

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "holds": self.holds, "as_paid": self.as_paid, "as_expected": self.as_expected}


def bound(epsilon: float, delta: float) -> float:
    """Most that the advantage of any attacker can be: ``(e^ε - 1 + 2δ) / (e^ε + 1)`` (Humphries et al. 2023)."""
    return (math.expm1(epsilon) + 2 * delta) / (math.exp(epsilon) + 1)


def ceiling(events: Iterable[Event]) -> float:
    """Largest advantage that the paid events allow to any attacker who asks the same in every round.

    Gaussian: total variation of μ-GDP (Dong, Roth & Su 2022). Exponential: the worst of all pairs whose log-ratios
    span η, which are generalised randomised responses (Dong, Durfee & Rogers 2020, section 4).
    """
    paid = [event for event in events if not event.free]
    if not paid:
        return 0.0
    if paid[0].mechanism == "gaussian":
        mu = math.sqrt(sum(event.count / float(event.value) ** 2 for event in paid))
        return float(2 * stats.norm.cdf(mu / 2) - 1)
    span, draws = float(paid[0].value), sum(event.count for event in paid)
    return max(_total_variation(span, most, draws) for most in np.linspace(0, span, 401)[1:-1])


def _total_variation(span: float, most: float, draws: int) -> float:
    """Of independent draws of two outcomes whose log-ratios are ``most`` and ``most - span``."""
    first = math.expm1(span - most) / (math.exp(-most) * math.expm1(span))
    hits = np.arange(draws + 1)
    under_first = stats.binom.pmf(hits, draws, first)
    under_second = stats.binom.pmf(hits, draws, first * math.exp(-most))
    return float(np.maximum(under_first - under_second, 0).sum())


@cache
def limits(runs: int) -> tuple[FloatArray, FloatArray]:
    """Confidence limits of the advantage for every count of right and of wrong bets, float64 ``(runs + 1, runs + 1)``.

    Those of either proportion are Clopper's and Pearson's; all four hold together with 95 %.
    """
    alpha, counts = (1 - CONFIDENCE) / 4, np.arange(runs + 1)
    low, high = at_least(counts, runs, alpha), at_most(counts, runs, alpha)
    return low[:, None] - high[None, :], high[:, None] - low[None, :]


def power(honest: tuple[float, float], off: tuple[float, float], runs: int) -> float:
    """Probability that a client that draws as ``off`` is found to leak more than ``honest`` says."""
    found = limits(runs)[0] > honest[0] - honest[1]
    true, false = (stats.binom.pmf(np.arange(runs + 1), runs, each) for each in off)
    return float(true @ found @ false)


@cache
def rehearse(setting: Setting, noise_of: NoiseOf = SeededNoise) -> Bet:
    """Learn what each choice means, from the private side alone; a blind client is taken for PCEvolve."""
    if setting.parts.selector is None:
        return rehearse(Setting("pcevolve", setting.epsilon, setting.rounds), noise_of)
    asked = [_questions(setting, side) for side in (0, 1)]
    first, second = ([_frequencies(setting, *each, noise_of) for each in rounds] for rounds in asked)
    return Bet(tuple(zip(first, second, strict=True)))


def attack(
    setting: Setting,
    runs: int,
    bet: Bet,
    off: Bet | None = None,
    noise_of: NoiseOf = SeededNoise,
    name: str = "as calibrated",
) -> Result:
    """Whole runs on both datasets, and a bet after each.

    Args:
        setting: The game.
        runs: On each dataset.
        bet: The attacker's.
        off: What he would know about a client whose noise is 30 % too small; for the power.
        noise_of: The client's noise, by the run's number.
        name: What to call it.
    """
    with _memory() as folder:
        bets = [
            sum(bet.on_second(_one(setting, side, noise_of(2 * run + side), folder)) for run in range(runs))
            for side in (0, 1)
        ]
    low, high = (float(each[bets[1], bets[0]]) for each in limits(runs))
    looks = setting.parts.selector is not None
    true, false = bet.expected() if looks else (0.0, 0.0)
    return Result(
        method=setting.method,
        epsilon=float(setting.epsilon),
        delta=setting.delta,
        rounds=setting.rounds,
        noise=name,
        runs=runs,
        true_positives=bets[1],
        false_positives=bets[0],
        advantage=(bets[1] - bets[0]) / runs,
        low=low,
        high=high,
        expected=true - false,
        ceiling=ceiling(event for events in setting.events.values() for event in events),
        bound=bound(float(setting.epsilon), setting.delta),
        power=power((true, false), bet.expected(off), runs) if looks and off else None,
    )


def _one(setting: Setting, side: int, noise: Noise, folder: Path) -> Seen:
    with TemporaryDirectory(dir=folder) as own:
        return play(setting, side, noise, Path(own))


@contextmanager
def _memory() -> Iterator[Path]:
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)


def _questions(setting: Setting, side: int) -> list[tuple[PrivateEmbeddings, SelectionInput, Events]]:
    """Questions to the selector, by round; the same in every run, for the provider repeats himself."""
    ear = Overheard(setting.parts.make_selector())
    with _memory() as folder:
        play(setting, side, SeededNoise(0), folder, ear)
    return ear.asked


def _frequencies(
    setting: Setting, private: PrivateEmbeddings, scene: SelectionInput, events: Events, noise_of: NoiseOf
) -> dict[Choice, float]:
    selector = setting.parts.make_selector()
    counts: Counter[Choice] = Counter()
    for number in range(REHEARSALS):
        measured = selector.measure(private, scene, events, noise_of(10**9 + number))
        counts[tuple(int(each) for row in selector.pick(measured, scene) for each in row)] += 1
    return {choice: count / REHEARSALS for choice, count in counts.items()}
