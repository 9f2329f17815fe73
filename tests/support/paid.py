"""A finished run in which draws were paid for, by a judge that looks at nothing; for tests only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save

from pcevolve.keeper.ledger.ledger import Account, Paid
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.encoders import Encoder, frame_digest, load_encoder
from pcevolve.public.geometry.frame import round_to_noise_scale
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Events
from pcevolve.public.release import Query, Receipt
from pcevolve.public.selectors import Measurement, PrivateEmbeddings, SelectionInput, find_method
from pcevolve.public.selectors.cells import Cells
from pcevolve.public.selectors.choosing import Chooser, choose_renditions
from pcevolve.public.selectors.means import Means
from pcevolve.public.selectors.selection import join_renditions
from pcevolve.public.selectors.sums import choose_release, typical
from pcevolve.wire.egress.transport import Transport
from support.runs import SmallRun

LOOK = (0.2, 0.7, 0.0, 0.9, 0.4, 0.6)
MEANS = {
    "method": "dp-means",
    "delta": 1e-5,
    "pool": "all",
    "keep": "selected",
    "iterations": 1,
    "strengths": (0.8,),
    "centre_first": True,
    "frame": frame_digest("bundled", None),
}
"""A plan that releases class means around a centre, once."""


@cache
def encoder() -> Encoder:
    """The bundled one, loaded once."""
    return load_encoder("bundled")


@dataclass(frozen=True)
class LastOne:
    """A judge that pays the plan's price, and measures that each class's last candidate is the best."""

    chooser: Chooser
    account: Account

    def show(self, query: Query, pool: Pool) -> None:
        """See ``Judge.show``."""

    def release(self, query: Query, pool: Pool) -> Receipt:
        """See ``Judge.release``."""
        plan = self.chooser.plan
        planned = find_method(plan.method.name).plan_events(plan)
        events = planned[query.iteration]
        if query.iteration == 0:
            return self.account.pay(query, events, lambda: Paid((), values=LOOK))
        scenes = self.chooser.find_inputs(
            query.iteration, pool, choose_renditions(plan, self.account.receipt(Query(plan.run_id, 0)))
        )
        free = all(event.free for event in events)
        measured = (
            load(self.account.read_measured(min(t for t in planned if t)))
            if free
            else last_one(self.chooser, join_renditions(scenes), events)
        )
        return self.account.pay(
            query,
            events,
            lambda: Paid(*self._choose(measured, scenes, pool, b"" if free else save(measured))),
        )

    def _choose(self, measured, scenes, pool, memory):
        choices, values = self.chooser.choose(measured, scenes, pool)
        return choices, memory, values


def last_one(chooser: Chooser, scene: SelectionInput, events: Events) -> Measurement:
    """A measurement of the right form by which the last candidate of each class is the best."""
    if isinstance(chooser.selector, Means):
        frame = scene.coordinates
        means = np.array([typical(frame.points(pool[-1:])) for pool in scene.pools])
        middle = means.mean(axis=0)
        values = {"middle": middle, "means": means, "deviations": means - middle}
        doubts = choose_release(frame, scene, events).doubts
        released = {name: round_to_noise_scale(values[name], doubt) for name, doubt in doubts.items()}
        return {"centre": frame.centre, "axes": np.ascontiguousarray(frame.axes), **released}
    if isinstance(chooser.selector, Cells):
        nobody = PrivateEmbeddings(scene.pools[0][:0], np.arange(0), np.arange(0))
        return chooser.selector.measure(nobody, scene, events, SeededNoise(1))
    return {"chosen": np.array([len(pool) - 1 for pool in scene.pools])}


def make_paid_run(root: Path, plan: PublicPlan, provider: Transport | None = None) -> Path:
    """Carry out a whole run through the real parts."""
    run = SmallRun.open(root, plan, provider)
    used = find_method(plan.method.name)
    if used.queries_data:
        chooser = Chooser(plan, encoder(), run.transcript.bodies.file, used.make_selector())
        run.judge = LastOne(chooser, run.account)
    run.finish()
    run.close()
    return root
