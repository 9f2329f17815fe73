"""DPImg: private images themselves under Gaussian noise, varied by the provider (baseline of the PCEvolve paper)."""

from __future__ import annotations

from pcevolve.methods.lift import uniform_lift
from pcevolve.methods.method import Method, Schedule, always
from pcevolve.methods.rounds import gaussian_once, published_gaussian_once

METHOD = Method(
    name="dpimg",
    summary="DPImg: noised private images are varied; noise destroys them, so it is a yardstick and no use otherwise",
    guarantee=(
        "(epsilon, delta)-DP by Gaussian differential privacy: one release of private images under noise, one image of "
        "each privacy unit at most, in places of its class that are drawn at random; with d values of an image, each "
        "in [0, 1], a privacy unit moves what is released by at most sqrt(d) in L2 norm under add-remove and by "
        "sqrt(2 d) under replace-one; the released images leave"
    ),
    selector="noised",
    tight=gaussian_once,
    lift=uniform_lift,
    published=published_gaussian_once,
    rounds=always(1),
    delta=1e-5,
    prototypes=None,
    schedule=Schedule(0.8, 0.8),
    initial=0,
)
