"""RF: text-to-image, less what resembles another class's private images (PCEvolve, appendix A.3). NOT PRIVATE."""

from __future__ import annotations

from pcevolve.methods.lift import certain_lift
from pcevolve.methods.method import Method, always
from pcevolve.methods.rounds import unprotected_once

POOL = 3
"""Candidates for each image of the dataset."""


METHOD = Method(
    name="rf",
    summary="NOT PRIVATE (needs --not-private): text-to-image, less what resembles another class's private images",
    guarantee=(
        "none: which candidates are kept depends on the private images without any noise, and the record has a number "
        "for every candidate that says how near they are; nothing but prompts is sent"
    ),
    selector="resembling",
    tight=unprotected_once,
    lift=certain_lift,
    rounds=always(0),
    initial=POOL,
    pool="all",
    keep="selected",
    own=frozenset({"not_private"}),
    varies=False,
)
