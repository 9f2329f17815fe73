"""GCap: text-to-image by captions of private images (baseline of the PCEvolve paper, appendix A.3). NOT PRIVATE."""

from __future__ import annotations

from pcevolve.methods.lift import certain_lift
from pcevolve.methods.method import Method, always
from pcevolve.methods.rounds import unprotected_once

METHOD = Method(
    name="gcap",
    summary="NOT PRIVATE (needs --not-private): text-to-image by captions of private images, which leave as prompts",
    guarantee=(
        "none: captions of private images leave as prompts, without any noise, and stand in the record; one image of "
        "each privacy unit at most is captioned"
    ),
    selector="captions",
    tight=unprotected_once,
    lift=certain_lift,
    rounds=always(1),
    prototypes=None,
    initial=0,
    own=frozenset(
        {"not_private", "captioner", "captioner_model", "captioner_key_file", "send_private_images"}
    ),
)
