"""Two neighbouring private datasets, and a provider whose images lie exactly where the one differing unit decides.

Images are single colours and the encoder reads a place in the plane off the colour, so that the pairs that
``pcevolve audit-dp`` calls the worst can be put before the whole client: loop, judge, ledger, gate and transcript.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
from PIL import Image

from pcevolve.auditing.dp_audit.audit import LABELS, SHOTS, Neighbours
from pcevolve.keeper.ledger.ledger import Account, Ledger, Limits
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private.judge import PrivateJudge, PrivateViews, UniformJudge
from pcevolve.public.dp.mechanisms import Noise
from pcevolve.public.loop.evolution import evolve
from pcevolve.public.loop.lineage import Judge
from pcevolve.public.loop.usability import Usability
from pcevolve.public.methods import choose_delta
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Budget, Event, Relation
from pcevolve.public.selectors import METHODS, Selector, find_method
from pcevolve.public.selectors.choosing import Chooser
from pcevolve.public.selectors.method import Method
from pcevolve.public.selectors.rounds import Scope
from pcevolve.public.transcript.log import Transcript
from pcevolve.wire.egress.gate import Gate
from pcevolve.wire.egress.retry import RetryPolicy
from pcevolve.wire.egress.transport import Incoming, Outgoing
from pcevolve.wire.providers import dialect
from pcevolve_shared import images
from support.provider import FakeProvider, ok
from support.runs import ADDRESS, Silent, small_plan

Seen = tuple[tuple[int, ...], ...]
"""What one run sent back, round by round: of each prototype, its place in the pool that the provider had sent."""


class ColourEncoder:
    """Reads a place off a colour: red is its number; green tells images of the same place apart."""

    name = "bundled"
    dimension = 2
    frame = None

    def __init__(self, places: Sequence[tuple[float, float]]) -> None:
        self._places = np.array(places)

    def embed(self, shown: Sequence[Image.Image | None]) -> np.ndarray:
        return np.array([self._places[np.asarray(each)[0, 0, 0]] for each in shown if each is not None])


@dataclass(frozen=True)
class Setting:
    """Common knowledge of both sides of the game.

    Attributes:
        method: How prototypes are chosen.
        epsilon: Of the whole run.
        rounds: T.
        relation: Neighbour relation.
    """

    method: str
    epsilon: Fraction
    rounds: int = 2
    relation: Relation = "replace-one"

    @property
    def parts(self) -> Method:
        return find_method(self.method)

    @property
    def delta(self) -> float:
        return choose_delta(self.method)

    @cached_property
    def pair(self) -> Neighbours:
        """Neighbours for which the method's selector is at its worst, for an attacker who bets on one of them.

        The audit's pairs are made to show a large ratio of probabilities. A bet needs a large difference: as many
        candidates that gain as lose, and nobody beside the differing unit who votes for one of them.
        """
        looking = self.parts if self.parts.queries_data else METHODS["pcevolve"]
        found = Neighbours.worst_for(looking, self.relation, images=1)
        if looking.name == "pcevolve":
            return replace(found, pools=tuple(pool[:2] for pool in found.pools))
        return replace(found, common=tuple(unit for unit in found.common if unit[0] != found.first[0]))

    @cached_property
    def places(self) -> list[tuple[float, float]]:
        """Everywhere that an image can be; its colour is its number."""
        units = (*self.pair.common, self.pair.first, self.pair.second)
        private = [unit[1] for unit in units if unit is not None]
        return list(dict.fromkeys([*private, *(place for pool in self.pair.pools for place in pool)]))

    @cached_property
    def plan(self) -> PublicPlan:
        candidates = len(self.pair.pools[0])
        return small_plan(
            method=self.method,
            labels=LABELS,
            candidates=candidates,
            prototypes=self.parts.prototypes_for(candidates) if self.method == "pe" else 1,
            iterations=self.rounds,
            strengths=(0.8,) * self.rounds,
            batch=candidates,
            relation=self.relation,
            shots=SHOTS,
            epsilon=str(self.epsilon),
            delta=self.delta,
            noise="INSECURE-seeded",
            pool=self.parts.pool,
            centre_first=bool(self.parts.centre_first),
        )

    @cached_property
    def events(self) -> dict[int, tuple[Event, ...]]:
        """Effects of each round on the data, as the method's own calibration has it."""
        scope = Scope(self.relation, self.rounds, len(LABELS), SHOTS, self.plan.method.candidates)
        return self.parts.accesses(self.budget, scope, appearance="as-is")

    @property
    def budget(self) -> Budget:
        return Budget(self.epsilon, self.delta)

    @cached_property
    def encoder(self) -> ColourEncoder:
        return ColourEncoder(self.places)

    @cached_property
    def datasets(self) -> tuple[PrivateDataset, PrivateDataset]:
        """The first, and its neighbour."""
        return self._dataset(self.pair.first), self._dataset(self.pair.second)

    @cached_property
    def shown(self) -> dict[str, list[str]]:
        """Base64 that the provider sends, by class."""
        return {
            label: [self._colour(place, index) for index, place in enumerate(pool)]
            for label, pool in zip(LABELS, self.pair.pools, strict=True)
        }

    def _dataset(self, unit: tuple[int, tuple[float, float], int] | None) -> PrivateDataset:
        units = (*self.pair.common, unit) if unit is not None else self.pair.common
        colours = [Image.new("RGB", (16, 16), (self.places.index(place), 0, 0)) for _, place, _ in units]
        targets = np.array([target for target, _, _ in units])
        return PrivateDataset(LABELS, tuple(colours), targets, tuple(bytes([n]) for n in range(len(units))))

    def _colour(self, place: tuple[float, float], index: int) -> str:
        image = Image.new("RGB", (16, 16), (self.places.index(place), index, 0))
        image.paste((0, 0, 255), (8, 0, 16, 16))  # of one colour it could not be used
        return images.to_base64(images.encode(image, "png"))


class Adversary(FakeProvider):
    """Sends every class the same pool in every round, and remembers what comes back."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.setting = setting
        self._given: Counter[str] = Counter()
        self._labels = {setting.plan.prompt(label): label for label in LABELS}
        self.returned: list[int] = []

    def answer(self, request: Outgoing) -> Incoming:
        if request.method == "GET":
            return super().answer(request)
        fields = json.loads(request.body)
        label = self._labels[fields["prompt"]]
        pool = self.setting.shown[label]
        if "image" in fields:
            self.returned.append(pool.index(fields["image"]))
        made = [pool[(self._given[label] + k) % len(pool)] for k in range(fields["n"])]
        self._given[label] += len(made)
        answers = [{"image": each, "seed": 0} for each in made]
        return ok({"images": answers, "cost": 0.0} if len(made) > 1 else {**answers[0], "cost": 0.0})

    def seen(self) -> Seen:
        """The choices of each round."""
        width = len(self.returned) // self.setting.rounds
        return tuple(
            tuple(self.returned[start : start + width]) for start in range(0, len(self.returned), width)
        )


def play(setting: Setting, side: int, noise: Noise, folder: Path, selector: Selector | None = None) -> Seen:
    """One whole run on one of the datasets, as the provider saw it."""
    provider, plan = Adversary(setting), setting.plan
    ledger, transcript = Ledger(folder / "ledger.sqlite"), Transcript(folder / "transcript")
    data, spoken = setting.datasets[side], dialect(plan.provider.dialect)
    account = ledger.account(
        plan.run_id,
        data.privacy_units(),
        plan.privacy.relation,
        Limits(setting.budget),
        data.unit_name,
    ).enrol()
    gate = Gate(transcript, spoken, ADDRESS, provider, RetryPolicy(seconds=1, first=1))
    gate.questions.hello(plan.run_id)
    gate.begin(plan, account.is_committed, account.read_measured)
    judge = _judge(setting, data, account, noise, transcript, selector)
    evolve(plan, gate, judge, Silent(), Usability(plan, transcript.bodies.file).identify)
    transcript.close()
    ledger.close()
    return provider.seen()


def _judge(
    setting: Setting,
    data: PrivateDataset,
    account: Account,
    noise: Noise,
    transcript: Transcript,
    selector: Selector | None,
) -> Judge:
    if setting.parts.selector is None:
        return UniformJudge(account, noise, setting.plan)
    return PrivateJudge(
        views=PrivateViews(data, setting.encoder),
        chooser=Chooser(
            setting.plan, setting.encoder, transcript.bodies.file, selector or setting.parts.make_selector()
        ),
        account=account,
        noise=noise,
        events=setting.events,
    )
