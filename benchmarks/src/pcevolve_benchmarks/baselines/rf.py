"""Real filtering (RF): prompts alone, without the images that lie near another class's private images; more is made
until there are enough.

What is measured has no noise: it says of every candidate how near private images are. How near an image is to those of
its own class plays no part, as in the publications. They reject what is nearer than a fixed distance of their own
encoder's. Ours has another scale: the distance is that at which the private images of different classes lie.

Source: He et al. 2023, section 3.2, and as PCEvolve, section 5.1 and appendix A.3, describes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pcevolve.public.dp.mechanisms import FloatArray
from pcevolve.public.geometry.distances import squared_distances
from pcevolve.public.media import find_medium
from pcevolve.public.release import Candidate, Choice, Chosen
from pcevolve.public.selectors import PrivateEmbeddings
from pcevolve_benchmarks.baselines.session import (
    Baseline,
    BaselineAccess,
    BaselineImages,
    BaselineSession,
    Round,
    replan,
)

MOST_TIMES = 6
"""How often a class is asked for; what is rejected least fills what is missing then."""
NO_IMAGE = -1.0
"""Distance of a candidate that is no image."""


def find_limit(private: PrivateEmbeddings) -> float:
    """The distance below which a candidate is rejected: the median from private images to another class."""
    far = [
        distance_to_others(private.embeddings[private.targets == target], private, target)
        for target in np.unique(private.targets)
    ]
    found = np.concatenate(far)
    return float(np.median(found[np.isfinite(found)])) if np.isfinite(found).any() else 0.0


def distance_to_others(points: FloatArray, private: PrivateEmbeddings, target: int) -> FloatArray:
    """Distance of each point to the nearest private image of another class, float64 ``(n,)``; infinite without any."""
    others = np.asarray(private.embeddings, dtype=np.float64)[private.targets != target]
    far = np.sqrt(squared_distances(points, others).min(axis=1, initial=np.inf))
    return np.where(np.isfinite(points).all(axis=1), far, NO_IMAGE)


def keep_far(
    made: Sequence[Candidate], far: Mapping[str, float], limit: float, wanted: int
) -> list[Candidate]:
    """The first candidates that are far enough, at most so many."""
    return [each for each in made if far[each.id] >= limit][:wanted]


def _carry_out(session: BaselineSession) -> BaselineImages:
    private = session.components.views.embeddings(None)
    limit, plan = find_limit(private), session.plan
    kept = {label: _fill(session, private, target, limit) for target, label in enumerate(plan.labels)}
    choices = tuple(
        Choice(label, tuple(Chosen(each.id, each.digest) for each in of_class))
        for label, of_class in kept.items()
    )
    return BaselineImages(kept, (kept,), (Round(1, choices, session.accesses[1]),))


def _fill(
    session: BaselineSession, private: PrivateEmbeddings, target: int, limit: float
) -> tuple[Candidate, ...]:
    """Ask for one class until enough candidates are far from the others."""
    plan, label = session.plan, session.plan.labels[target]
    made: list[Candidate] = []
    far: dict[str, float] = {}
    for time in range(MOST_TIMES):
        # With another seed the same calls bring other images; their names are told apart by how often it asked.
        sender = session.sender.with_plan(
            replan(
                plan, provider=plan.provider.model_copy(update={"seed": (plan.provider.seed + time) % 2**31})
            )
        )
        own = [call for call in plan.round(0) if call.label == label]
        fresh = [
            Candidate(f"{each.id}-{time}" if time else each.id, each.label, each.iteration, None, each.digest)
            for call in own
            for each in sender.make(call, None, None)
        ]
        decode = find_medium(plan.modality.kind).decode
        points = session.components.encoder.embed([decode(sender.received(each.digest)) for each in fresh])
        made += fresh
        far |= dict(
            zip([each.id for each in fresh], distance_to_others(points, private, target), strict=True)
        )
        kept = keep_far(made, far, limit, plan.method.candidates)
        if len(kept) == plan.method.candidates:
            return tuple(kept)
    farthest = sorted(made, key=lambda each: -far[each.id])
    return tuple(farthest[: plan.method.candidates])


BASELINE = Baseline(
    name="rf",
    summary="text-to-image, without what lies near another class's private images",
    protects="nothing: which candidates are kept depends on the private images without any noise",
    base="t2i",
    accesses=lambda budget, scope: ((BaselineAccess("unprotected"),),),
    carry_out=_carry_out,
    paid=False,
)
