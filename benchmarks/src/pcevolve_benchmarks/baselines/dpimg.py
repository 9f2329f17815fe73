"""DPImg: private images themselves under Gaussian noise, varied by the provider (PCEvolve, appendix A.3)."""

from __future__ import annotations

import hashlib
import math
import struct
import zlib
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import UsageError
from pcevolve.public.dp.calibration import histogram_sensitivity, smallest_noise_multiplier
from pcevolve.public.dp.mechanisms import clamp
from pcevolve.public.figures import USUAL_DELTA
from pcevolve.public.loop.lineage import Population
from pcevolve.public.privacy import Budget, Event
from pcevolve.public.release import Choice, Chosen
from pcevolve.public.selectors import Scope
from pcevolve.public.selectors.selection import deviation
from pcevolve_benchmarks.baselines.places import draw_places, one_round, place_id
from pcevolve_benchmarks.baselines.session import (
    Accesses,
    Baseline,
    BaselineAccess,
    BaselineImages,
    BaselineSession,
    Round,
)
from pcevolve_benchmarks.pixels import levels, values_of

BLANK: Final = 0.5
"""Every value of an image in a place for which there is no unit: mid-grey, under the same noise."""
ROUND: Final = "0001"
"""Public name of the one round, for the noise's keys."""
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_LONGEST_BLOCK: Final = 65_535
"""Bytes of a stored block of deflate."""


def _once(budget: Budget, scope: Scope) -> tuple[Accesses, ...]:
    """Gaussian noise once.

    Raises:
        UsageError: δ is 0.
    """
    if budget.delta == 0:
        raise UsageError("Gaussian noise needs --delta, for example --delta 1e-5")
    return ((BaselineAccess("gaussian", str(smallest_noise_multiplier(budget, 1))),),)


def _carry_out(session: BaselineSession) -> BaselineImages:
    """Noise the images, and have each varied."""
    plan = session.plan
    files = [png(pixels) for pixels in _add_noise(session)]
    count = plan.method.prototypes
    chosen = [
        Chosen(
            place_id(place // count, place % count),
            hashlib.sha256(file).hexdigest(),
        )
        for place, file in enumerate(files)
    ]
    by_class = [chosen[start : start + count] for start in range(0, len(chosen), count)]
    choices = tuple(Choice(label, tuple(each)) for label, each in zip(plan.labels, by_class, strict=True))
    dataset: Population = dict.fromkeys(plan.labels, ())
    for call in plan.round(1):
        place = plan.labels.index(call.label) * count + (call.parent or 0)
        made = session.sender.make(call, files[place], chosen[place].id)
        dataset = {**dataset, call.label: (*dataset[call.label], *made)}
    return BaselineImages(dataset, (dataset,), (Round(1, choices, session.accesses[1]),))


def _add_noise(session: BaselineSession) -> Iterator[NDArray[np.uint8]]:
    """Noised images of all classes, uint8 ``(height, width, 3)``, class after class."""
    plan, data, noise = session.plan, session.components.data, session.components.noise
    width, height = plan.images.width, plan.images.height
    (access,) = session.accesses[1]
    sensitivity = math.sqrt(width * height * 3) * histogram_sensitivity(plan.privacy.relation)
    sigma = deviation(Event("gaussian", access.parameter), sensitivity)
    places = draw_places(data.targets, data.unit_of, len(plan.labels), plan.method.prototypes, noise, ROUND)
    for number, image in enumerate(places.ravel().tolist()):
        values = (
            np.full((height, width, 3), BLANK)
            if image < 0
            else clamp(values_of(data.items[image], width, height))
        )
        yield levels(noise.gaussian(f"{ROUND}/{number}", values, sigma))


def png(pixels: NDArray[np.uint8]) -> bytes:
    """The file of uint8 pixels ``(height, width, 3)``, uncompressed: its bytes depend on no library's version."""
    height, width, _ = pixels.shape
    rows = np.zeros(
        (height, 1 + 3 * width), dtype=np.uint8
    )  # each begins with the number of its filter: none
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = _store(rows.tobytes())
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _store(data: bytes) -> bytes:
    """A zlib stream of blocks that are not compressed."""
    return b"\x78\x01" + b"".join(_blocks(data)) + struct.pack(">I", zlib.adler32(data))


def _blocks(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), _LONGEST_BLOCK):
        block = data[start : start + _LONGEST_BLOCK]
        last = start + _LONGEST_BLOCK >= len(data)
        yield struct.pack("<BHH", last, len(block), 0xFFFF ^ len(block)) + block


BASELINE = Baseline(
    name="dpimg",
    summary="noised private images are varied; noise destroys them, so it is a yardstick and no use otherwise",
    protects=(
        "(epsilon, delta)-DP where it is paid for: one image of each privacy unit at most, in places of its class that "
        "are drawn at random; with d values of an image in [0, 1] a unit moves what is released by at most sqrt(d) in "
        "L2 norm under add-remove and by sqrt(2 d) under replace-one"
    ),
    base="random",
    accesses=_once,
    carry_out=_carry_out,
    compares=False,
    delta=USUAL_DELTA,
    usual=one_round,
)
