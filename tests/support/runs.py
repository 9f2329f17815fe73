"""Small runs through the real parts, against the fake provider; for tests only."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pcevolve.keeper.ledger.ledger import Account, Ledger, Limits, PrivateUnit, Terms
from pcevolve.keeper.padding import Padding
from pcevolve.keeper.private.judge import UniformJudge
from pcevolve.public.calls import Call
from pcevolve.public.canonical import drop_unused
from pcevolve.public.dp.mechanisms import SecureNoise
from pcevolve.public.encoders import named_weights
from pcevolve.public.fields import PlanData, PlanEncoder, PlanFields, PlanPrivacy, PlanProvider
from pcevolve.public.loop.evolution import Evolved, evolve
from pcevolve.public.loop.lineage import Judge, Lineage, Pool
from pcevolve.public.loop.usability import Usability
from pcevolve.public.methods import METHOD_TABLE
from pcevolve.public.modality import Images
from pcevolve.public.pages.report.page import write_report
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Budget
from pcevolve.public.publish.assessed import AssessedFigures
from pcevolve.public.publish.dataset import publish, write_summary
from pcevolve.public.publish.release import DatasetRelease
from pcevolve.public.release import Candidate, Prototype, PublicEcho, Query, Receipt
from pcevolve.public.selectors.usefulness import assess
from pcevolve.public.settings import MethodSettings, ReleaseSettings, Section
from pcevolve.public.transcript.log import Transcript
from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire.asking import RecordingJudge
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.allowance import Allowance, Meter
from pcevolve.wire.egress.gate import Gate
from pcevolve.wire.egress.pace import Pace
from pcevolve.wire.egress.retry import Notice, RetryPolicy
from pcevolve.wire.egress.transport import Transport
from pcevolve.wire.providers import dialect
from support.comfyui import WORKFLOW
from support.provider import FakeProvider, png

RUN_ID = "0123456789abcdef0123456789abcdef"
ADDRESS = Address("http://127.0.0.1:9", "secret-key")
OF_IMAGES = frozenset(Images.model_fields) - {"kind"}
"""Settings of a plan that are in its part about images."""


SECTIONS: dict[str, type[Section]] = {
    "data": PlanData, "privacy": PlanPrivacy, "provider": PlanProvider, "encoder": PlanEncoder,
    "method": MethodSettings, "output": ReleaseSettings,
}  # fmt: skip


PARAMETERS = {
    name for each in METHOD_TABLE.values() for name in each.parameters.model_fields
} - MethodSettings.model_fields.keys()
"""Those of methods that not every method has."""


class Silent:
    """A watcher that tells nobody."""

    def generated(self, call: Call) -> None:
        """Ignore."""

    def released(self, receipt: Receipt) -> None:
        """Ignore."""


def small_plan(**changes: object) -> PublicPlan:
    """Two classes, three images each, two iterations, on the ``random`` control."""
    values: dict[str, object] = {
        "format": 1,
        "run_id": RUN_ID,
        "seed": 7,
        "api": ADDRESS.base_url,
        "dialect": "getimg",
        "model": "bundled",
        "method": "random",
        "domain": "leather texture",
        "labels": ("cut", "good"),
        "candidates": 3,
        "initial": changes.get("candidates", 3),
        "iterations": 2,
        "strengths": (0.8, 0.78),
        "batch": 2,
        "shots": 10,
        "epsilon": "10",
        "encoder": "bundled",
    }
    if changes.get("dialect") == "chat":
        values |= {"modality": {"kind": "text", "tokens": 40, "temperature": 1.0}, "encoder": "words"}
    else:
        abilities = dialect(str(changes.get("dialect", "getimg"))).abilities
        asked, values["batch"] = abilities.capabilities, min(2, abilities.most)
        unasked = {
            "steps": ("steps", None),
            "guidance": ("guidance", None),
            "size": ("sized", False),
            "strength": ("graded", False),
        }
        left = dict(value for name, value in unasked.items() if name not in asked)
        own = {name: value for name, value in changes.items() if name in OF_IMAGES}
        values["modality"] = {
            "kind": "image",
            "width": 16,
            "height": 16,
            "guidance": 7.5,
            "steps": 50,
            **left,
            **own,
        }
        values |= {"workflow": WORKFLOW} if "workflow" in asked else {}
        values |= {"strengths": ()} if {**left, **own}.get("graded") is False else {}
    values |= {name: value for name, value in changes.items() if name not in OF_IMAGES}
    values.setdefault("weights", named_weights(str(values["encoder"]), None))
    nested = nest(values)
    entry = METHOD_TABLE.get(nested["method"]["name"])
    parameters = MethodSettings if entry is None else entry.parameters
    for name in PARAMETERS - parameters.model_fields.keys():
        nested["method"].pop(name, None)
    # As a run does: what means nothing with this method and these sizes is left out.
    return PublicPlan.model_validate(drop_unused(nested, PlanFields.model_validate(nested)))


def replace_settings(plan: PublicPlan, changes: Mapping[str, object]) -> PublicPlan:
    """A plan with other settings, each wherever it stands, unchecked."""
    update: dict[str, object] = {}
    for name, value in nest(changes).items():
        is_section = name in SECTIONS and isinstance(value, dict)
        update[name] = getattr(plan, name).model_copy(update=value) if is_section else value
    return plan.model_copy(update=update)


def find_section(plan: PublicPlan, name: str) -> object:
    """The section of a plan that has a setting; the plan itself where none has."""
    return next((getattr(plan, each) for each, kind in SECTIONS.items() if name in kind.model_fields), plan)


def nest(values: Mapping[str, object]) -> dict[str, Any]:
    """Values of a plan, each in the section that has it; encoder and method may be given by their names."""
    nested: dict[str, Any] = {}
    for name, value in values.items():
        if name in ("encoder", "method") and isinstance(value, str):
            nested.setdefault(name, {})["name"] = value
            continue
        section = next((each for each, kind in SECTIONS.items() if name in kind.model_fields), None)
        section = "method" if name in PARAMETERS else section
        (nested if section is None else nested.setdefault(section, {}))[name] = value
    return nested


RELEASED = tuple(png(900 + number) for number in range(3))
"""Images of a release that another run starts from: two of the first class, one of the second."""


def following_plan(**changes: object) -> PublicPlan:
    """A run of five variations for each class of a release that cost an ε of 5/2."""
    digests = [hashlib.sha256(each).hexdigest() for each in RELEASED]
    start = {
        "manifest": "5" * 64,
        "images": (digests[:2], digests[2:]),
        "strength": 0.5,
        "events": ({"mechanism": "exponential", "parameter": "5/4", "count": 2},),
    }
    own = {"method": "from-release", "iterations": 0, "strengths": (), "candidates": 5, "start": start}
    return small_plan(**own | changes)


@dataclass(frozen=True)
class PaddedJudge:
    """A judge whose answers leave at whole ticks, as the keeper's do."""

    judge: Judge
    padding: Padding

    def show(self, query: Query, pool: Pool) -> None:
        """Public work, as long as it takes."""
        self.judge.show(query, pool)

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Private work, in whole ticks."""
        with self.padding.section():
            return self.judge.release(query, pool)


@dataclass
class SmallRun:
    """A run's live parts."""

    root: Path
    plan: PublicPlan
    ledger: Ledger
    account: Account
    transcript: Transcript
    gate: Gate
    judge: Judge

    @classmethod
    def open(
        cls,
        root: Path,
        plan: PublicPlan | None = None,
        provider: Transport | None = None,
        sleep: Callable[[float], None] = lambda seconds: None,
        pace: Pace | None = None,
        address: Address = ADDRESS,
        allowance: Allowance = Allowance(),  # noqa: B008 - frozen
        report: Callable[[Notice], None] = lambda notice: None,
    ) -> SmallRun:
        """Open or reopen a run in a folder."""
        plan = plan or small_plan()
        ledger = Ledger(root.with_name(f"{root.name}-private") / "ledger.sqlite")
        limits = Limits(Budget(Fraction(10), plan.privacy.delta))
        units = [PrivateUnit((b"unit 1",)), PrivateUnit((b"unit 2",))]
        terms = Terms(secure=plan.secure)
        account = ledger.account(plan.run_id, units, plan.privacy.relation, limits, terms=terms).enrol()
        transcript = Transcript(root / "transcript")
        patience = RetryPolicy(seconds=5, first=1, sleep=sleep, report=report)
        meter = Meter(allowance, dialect(plan.provider.dialect), transcript)
        gate = Gate(
            transcript,
            dialect(plan.provider.dialect),
            address,
            provider or FakeProvider(),
            patience,
            pace,
            meter,
        )
        gate.questions.hello(plan.run_id)
        for data in () if plan.start is None else RELEASED:
            transcript.bodies.keep(data)
        rule = Usability(plan, transcript.bodies.file)
        lineage = Lineage(plan, rule.identify, rule.is_enough)
        gate.begin(plan, account.is_committed, account.read_measured, lineage)
        return cls(root, plan, ledger, account, transcript, gate, UniformJudge(account, SecureNoise(), plan))

    def evolve(self) -> Evolved:
        """The whole loop; with the blind judge, unless it was given another."""
        usability = Usability(self.plan, self.transcript.bodies.file)

        def require(pool: Pool) -> None:
            if not self.account.receipts():
                usability.require(pool, lambda: "nothing was spent")

        judge = RecordingJudge(self.judge, self.gate, require)
        return evolve(self.plan, self.gate, judge, Silent(), usability.identify, usability.is_enough)

    def finish(self) -> Evolved:
        """The whole run, down to the release folder."""
        evolved = self.evolve()
        self.gate.finish(self.assess(evolved))
        record = RunReader.strict(self.root)
        publish(self.root / "release", DatasetRelease.of(record, evolved.dataset), record.bodies.file)
        write_summary(record)
        write_report(record)
        return evolved

    def assess(self, evolved: Evolved) -> AssessedFigures | None:
        """Assess the dataset's use by releases of a judge that looks at candidates."""
        chooser = getattr(self.judge, "chooser", None)
        if chooser is None:
            return None
        stored = self.transcript.bodies.file
        return assess(chooser, evolved.receipts, evolved.pools.__getitem__, evolved.dataset, stored)

    def close(self) -> None:
        """Close files, as the end of a process does."""
        self.transcript.close()
        self.ledger.close()


def vary(gate: Gate, call: Call, source: Prototype | PublicEcho | None) -> tuple[Candidate, ...]:
    """Image-to-image: what a single call brings."""
    (made,) = gate.answers([(call, source)])
    return made


def rng(seed: int) -> np.random.Generator:
    """A generator for test data."""
    return np.random.default_rng(seed)
