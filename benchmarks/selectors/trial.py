"""One run of one method on one draw of the private shots, measured in every way that the table shows."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
from PIL import Image
from safetensors.numpy import load
from scipy.spatial.distance import cdist, pdist

from benchmarks.judges import Verdict, judge, judges
from benchmarks.private_sets import draw
from benchmarks.selectors.grid import NEAREST_MEAN, NOISED, RANDOM_PHASE, Trial
from benchmarks.selectors.local import LocalGenerator, load_model, recommend
from benchmarks.selectors.yardsticks import classify_by_means, paint_random_phases, vary_noised
from benchmarks.split import SETS
from pcevolve.keeper.evaluation.closeness import measure_closeness
from pcevolve.keeper.ledger.ledger import Ledger, Limits
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private.judge import PrivateJudge, PrivateViews, UniformJudge
from pcevolve.public import selectors
from pcevolve.public.calls import Call
from pcevolve.public.canonical import drop_unused
from pcevolve.public.dp.mechanisms import FloatArray, Noise, SeededNoise, Source
from pcevolve.public.encoders import BUNDLED, Encoder, frame_digest, load_encoder
from pcevolve.public.fields import PLAN_FORMAT, PlanFields
from pcevolve.public.loop.evolution import Evolved, UntrustedGenerator, evolve
from pcevolve.public.media.images.appearance import develop, find_released_appearance
from pcevolve.public.media.images.decoding import decode_picture
from pcevolve.public.methods import choose_delta
from pcevolve.public.modality import Images
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Budget
from pcevolve.public.publish.usefulness import Assessment
from pcevolve.public.release import Receipt
from pcevolve.public.selectors.choosing import Chooser, choose_renditions
from pcevolve.public.selectors.method import Method
from pcevolve.public.selectors.rounds import Scope
from pcevolve.public.selectors.selection import Measurement, SelectionInput, join_renditions
from pcevolve.public.selectors.usefulness import assess
from pcevolve_server.diffusion.generator import DiffusionGenerator

NEIGHBOURS = 5
FEWEST = 5
"""Images that a distance between two sets takes at least."""
SIDE = 64


class NoNoise:
    """The oracle: noise that is none, so that a method protects nobody."""

    source: Source = "INSECURE-seeded"

    def __init__(self, seed: int) -> None:
        self._uniform = SeededNoise(seed)

    def exponential(self, key: str, scores: FloatArray, rate: Fraction) -> int:
        """The best."""
        return int(np.argmax(scores))

    def gaussian(self, key: str, values: FloatArray, sigma: float) -> FloatArray:
        """The values themselves."""
        return np.asarray(values, dtype=np.float64)

    def uniform(self, key: str, count: int) -> int:
        """Any, by seed."""
        return self._uniform.uniform(key, count)


class Watch:
    """A watcher that counts images, and is told what the run released last and says of its dataset's use."""

    def __init__(self) -> None:
        self.images = 0
        self.assessed: Assessment | None = None
        self.measured: Measurement = {}
        self.scene: SelectionInput | None = None

    def generated(self, call: Call) -> None:
        self.images += call.count

    def released(self, receipt: Receipt) -> None:
        """Receipts come with the result."""


class KeepingGenerator(UntrustedGenerator, Protocol):
    """A generator that has what it answered."""

    def received(self, digest: str) -> bytes:
        """An answer, by what its candidate calls its digest."""


@cache
def model() -> DiffusionGenerator:
    """The generator, loaded once per process."""
    return load_model("bundled")


@cache
def encoder(name: str) -> Encoder:
    """An encoder, loaded once per process."""
    return load_encoder(name)


def draw_held_out(world: str, shots: int, seed: int) -> PrivateDataset:
    """Held-out real data."""
    return draw(world, shots, seed)[1]


@cache
def embed_held_out_records(world: str, shots: int, seed: int, voter: str, judge: str) -> np.ndarray:
    """Held-out real data as a judge sees them."""
    return judges(voter)[judge](draw_held_out(world, shots, seed).items)


NO_CALLS: dict[str, object] = {"images": 0, "iterations": 0}


def measure(trial: Trial, shared: Path) -> dict[str, object]:
    """Run a trial; ``shared`` is a folder of text-to-image pictures that other trials may have made."""
    started = time.monotonic()
    private, _ = draw(trial.world, trial.shots, trial.seed)
    if trial.method == NEAREST_MEAN:
        return {**dataclasses.asdict(trial), **_without_images(trial, private), **NO_CALLS}
    extra: dict[str, object] = NO_CALLS
    pictures: list[Image.Image | None]
    if trial.method == "shots":
        pictures, targets = list(private.items), list(private.targets)
    elif trial.method == RANDOM_PHASE:
        painted, targets = paint_random_phases(trial, private, SeededNoise(trial.seed))
        pictures = list(painted)
    elif trial.method == NOISED:
        noise = SeededNoise(trial.seed)
        pictures, targets = vary_noised(trial, private, model(), recommend(model()), noise)
        extra = {"images": len(targets), "iterations": 1}
    else:
        pictures, targets, extra = _evolve(trial, private, shared)
    found = scores(trial, pictures, np.array(targets, dtype=np.int64))
    return {**dataclasses.asdict(trial), **found, **extra, "seconds": round(time.monotonic() - started, 1)}


def _without_images(trial: Trial, private: PrivateDataset) -> dict[str, object]:
    """The accuracy of the release alone, by the encoder that it was made with."""
    held_out = draw_held_out(trial.world, trial.shots, trial.seed)
    features = embed_held_out_records(trial.world, trial.shots, trial.seed, trial.encoder, trial.encoder)
    said = classify_by_means(trial, private, encoder(trial.encoder), features, SeededNoise(trial.seed))
    accuracy = float((said == held_out.targets).mean())
    return {"verdicts": [dataclasses.asdict(Verdict(trial.encoder, voted=True, accuracy=accuracy))]}


def _evolve(
    trial: Trial, private: PrivateDataset, shared: Path
) -> tuple[list[Image.Image | None], list[int], dict[str, object]]:
    lent = trial.appearance == "matched" and not choose_delta(trial.method)
    own = dataclasses.replace(trial, appearance="as-is") if lent else trial
    evolved, generator, made = _run(own, private, shared)
    giver = _run(name_lender(trial), private, shared)[0] if lent else evolved
    look = find_released_appearance(giver.receipts)
    pictures, targets = [], []
    for target, label in enumerate(private.labels):
        for each in evolved.dataset[label]:
            pictures.append(develop(generator.received(each.digest), look))
            targets.append(target)
    best = _best_tenth_mass(trial, evolved, generator)
    return pictures, targets, {**made, "best_tenth": best}


def name_lender(trial: Trial) -> Trial:
    """The run whose released appearance a method of pure ε-DP is lent, at no charge: it cannot pay for its own."""
    return dataclasses.replace(trial, method="dp-means", initial=1, iterations=None)


def _run(
    trial: Trial, private: PrivateDataset, shared: Path
) -> tuple[Evolved, LocalGenerator, dict[str, object]]:
    plan, method = make_plan(trial, private.labels)
    generator, watch = LocalGenerator(plan, model(), shared), Watch()
    noise: Noise = SeededNoise(trial.seed) if trial.noise else NoNoise(trial.seed)
    evolved = ran(plan, method, private, generator, noise, watch)
    return evolved, generator, {"images": watch.images, "iterations": plan.method.iterations}


def ran(
    plan: PublicPlan,
    method: Method,
    private: PrivateDataset,
    generator: KeepingGenerator,
    noise: Noise,
    watch: Watch,
    voter: Encoder | None = None,
) -> Evolved:
    """A whole run of a plan, with a ledger of its own; ``voter`` stands for the plan's encoder."""
    eyes = voter or encoder(plan.encoder.name or BUNDLED)
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.sqlite")
        account = ledger.account(
            plan.run_id, private.privacy_units(), plan.privacy.relation, Limits(plan.budget)
        ).enrol()
        judge = (
            UniformJudge(account, noise, plan)
            if method.selector is None
            else PrivateJudge(
                views=PrivateViews(private, eyes),
                chooser=Chooser(plan, eyes, generator.received, method.make_selector()),
                account=account,
                noise=noise,
                events=method.plan_events(plan),
            )
        )
        evolved = evolve(plan, generator, judge, watch, identify=str)
        if isinstance(judge, PrivateJudge):
            paid = {each.measured: each.iteration for each in evolved.receipts}
            watch.measured = load(account.read_measured(evolved.receipts[-1].iteration))
            watch.scene = find_scene(judge.chooser, evolved)
            figures = assess(
                judge.chooser,
                evolved.receipts,
                evolved.pools.__getitem__,
                evolved.dataset,
                lambda digest: account.read_measured(paid[digest]),
            )
            watch.assessed = None if figures is None else Assessment.of(figures)
        ledger.close()
    return evolved


def find_scene(chooser: Chooser, evolved: Evolved) -> SelectionInput:
    """What the last release chose from, in all renditions."""
    last, plan = evolved.receipts[-1].iteration, chooser.plan
    look = next((each for each in evolved.receipts if not each.iteration), None)
    return join_renditions(chooser.find_inputs(last, evolved.pools[last], choose_renditions(plan, look)))


def make_plan(
    trial: Trial, labels: tuple[str, ...], modality: Images | None = None, domain: str | None = None
) -> tuple[PublicPlan, Method]:
    """The plan of a trial, and its method.

    Args:
        trial: What is run.
        labels: Of the private set.
        modality: How another model than the bundled one is asked.
        domain: What the prompt calls a private set that ``split.SETS`` has not.
    """
    budget = Budget(Fraction(trial.epsilon), trial.delta)
    scope = Scope("replace-one", trial.iterations or 1, len(labels), trial.shots, trial.candidates)
    method, _ = selectors.resolve_method(trial.method, budget, scope)
    iterations = method.iterations(trial.iterations, budget, scope)
    first = trial.candidates * (trial.initial or method.initial)
    rounds = iterations or method.keep == "selected"
    values = {
        "format": PLAN_FORMAT,
        "run_id": f"{trial.seed:032x}",
        "data": {"domain": domain or SETS[trial.world].domain, "shots": trial.shots},
        "privacy": {
            "epsilon": str(budget.epsilon),
            "delta": trial.delta if choose_delta(method.name) else 0.0,
        },
        "provider": {"api": "http://127.0.0.1", "seed": trial.seed},
        "encoder": {
            "name": trial.encoder,
            "frame": frame_digest(trial.encoder, None) if method.centre_first else None,
        },
        "method": {
            "name": method.name,
            "candidates": trial.candidates if rounds else first,
            "initial": first,
            "prototypes": method.prototypes_for(trial.candidates),
            "iterations": iterations,
            "strengths": method.schedule.over(iterations),
            "pool": method.pool,
            "keep": method.keep,
            "appearance": trial.appearance or method.appearance_for(budget, scope),
        },
        "labels": labels,
        "modality": modality or model_options(),
        "centre_first": bool(method.centre_first),
        "noise": "INSECURE-seeded",
    }
    # A method's defaults may be about more than this trial has.
    plan = PublicPlan.model_validate(drop_unused(values, PlanFields.model_validate(values)))
    return plan, method


def model_options() -> Images:
    """How the bundled model is asked."""
    advice = recommend(model())
    return Images(guidance=advice.guidance, steps=advice.steps, width=SIDE, height=SIDE)


def _best_tenth_mass(trial: Trial, evolved: Evolved, generator: LocalGenerator) -> float | None:
    """Share of the first round's prototypes that are of the truly best tenth of the first pool.

    Truly best: least mean distance to the five nearest held-out real images of the class, on an encoder.
    """
    if not evolved.receipts:
        return None  # nothing was chosen
    held_out = draw_held_out(trial.world, trial.shots, trial.seed)
    features = embed_held_out_records(trial.world, trial.shots, trial.seed, trial.encoder, trial.encoder)
    shares = []
    for target, label in enumerate(held_out.labels):
        pool = evolved.populations[0][label]
        embedded = encoder(trial.encoder).embed(
            [decode_picture(generator.received(each.digest)) for each in pool]
        )
        near = np.sort(cdist(embedded, features[held_out.targets == target]), axis=1)[:, :NEIGHBOURS].mean(
            axis=1
        )
        best = {pool[place].id for place in np.argsort(near)[: -(-len(pool) // 10)]}
        chosen = next(each for each in evolved.receipts if each.iteration == 1).of(label)
        shares.append(sum(each.id in best for each in chosen) / len(chosen))
    return float(np.mean(shares))


def scores(trial: Trial, pictures: list[Image.Image | None], targets: np.ndarray) -> dict[str, object]:
    """Every judge's verdict on a dataset, and its distances on the voter."""
    held_out = draw_held_out(trial.world, trial.shots, trial.seed)
    seen = {name: look(pictures) for name, look in judges(trial.encoder).items()}
    verdicts = []
    for name, made in seen.items():
        real = embed_held_out_records(trial.world, trial.shots, trial.seed, trial.encoder, name)
        accuracy = judge(name, made, targets, real, held_out.targets, trial.seed)
        verdicts.append(dataclasses.asdict(Verdict(name, name == trial.encoder, accuracy)))
    real = embed_held_out_records(trial.world, trial.shots, trial.seed, trial.encoder, trial.encoder)
    made = seen[trial.encoder]
    classes = range(len(held_out.labels))
    apart = [pdist(made[targets == each]).mean() for each in classes if (targets == each).sum() > 1]
    enough = len(made) >= FEWEST  # one shot of three classes is too few
    close = measure_closeness(made, real).to_json() if enough else {}
    return {
        "verdicts": verdicts,
        **{name: close.get(name) for name in ("frechet", "precision", "recall")},
        "diversity": float(np.mean(apart)) if apart else 0.0,
    }
