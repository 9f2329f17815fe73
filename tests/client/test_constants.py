"""Numbers that decide privacy, an audit or a verdict, written down once more: none of them moves by accident.

Where a wrong number shows in what the code does, another test shows it (``tests/mutations/constants.py`` says which).
Most here would not: a wider allowance for rounding refuses nothing that is honest, so only what is written here, and
the reason beside the constant, say how wide it may be.
"""

from __future__ import annotations

import importlib
from fractions import Fraction

import pytest

from pcevolve.dp_audit.claim import Claim
from pcevolve.errors import UsageError
from pcevolve.geometry.frame import idle_step
from pcevolve.privacy import Budget

REVIEWED = {
    "pcevolve.dp.calibration": {"DEVIATION_RADIUS": 0.5, "DIGITS": 10},
    "pcevolve.dp.curves": {"ROUNDING_SHARE": 1e-12, "SMALL_RANGE": 1e-7},
    "pcevolve.dp.attacks": {"_DOWN": 1 - 2**-40},
    "pcevolve.selectors.sums": {"ROUNDING_SHARE": 1e-8, "CLIP_RADIUS": 1.0, "PRIOR_VARIANCE": 0.1},
    "pcevolve.selectors.scene": {"GRID": 2.0**30},
    "pcevolve.geometry.frame": {"IDLE": 2.0**-10, "CANDIDATES_SHARE": 1 / 3, "MOST_AXES": 16, "STEP": 2.0**-9},
    "pcevolve.selectors.cells": {"LEAST": 1e-9},
    "pcevolve.selectors.joint": {"CLOSE_WORTH": 0.5, "CLOSE_SHARE": Fraction(3, 20), "BLOCK": 3, "MOST_TUPLES": 20_000},
    "pcevolve.selectors.means": {"REPULSION": 0.5, "BEST_SHARE": 0.1},
    "pcevolve.geometry.distances": {"ROUNDOFF": 2.0**-52},
    "pcevolve.geometry.ruler": {"MACHINE_SHARE": 4e-6, "STEP_SHARE": 2**-10},
    "pcevolve.public.settings": {"TAU": 10.0, "VOTES": 1, "USUAL_DELTA": 1e-5, "MOST_ITERATIONS": 1000},
    "pcevolve.public.figures": {"ROUNDING_SHARE": 1e-12},
    "pcevolve.selectors": {"MAX_NOISE_TO_CLIP_RATIO": 0.67},
    "pcevolve.selectors.rounds": {
        "APPEARANCE_SHARE": 0.2, "BLURRED_APPEARANCE": 0.2, "CENTRE_SHARE": 0.2, "COUNT_SHARE": 0.1,
    },
    "pcevolve.auditing.rebuilt": {"FOOTER": 100_000},
    "pcevolve.auditing.comparing": {"LONGEST_KEY": 5000},
    "pcevolve.transcript.layout": {"MOST_OPENING_BYTES": 100_000, "FORMAT": 2},
    "pcevolve.dp_audit.bound": {"THRESHOLDS": 400},
    "pcevolve.egress.allowance": {"_ROUNDING": 1e-9},
    "pcevolve.egress.address": {"SHORTEST_SECRET": 8},
    "pcevolve.egress.http_transport": {"CONNECT_SECONDS": 10.0},
    "pcevolve.private.secrets": {"SHORTEST": 3, "MOST": 100_000},
    "pcevolve.private.tables": {
        "MOST_TEXTS": 4_000_000, "MOST_FILE_BYTES": 4_294_967_296, "MOST_ROW": 4_194_304, "LEAST_UNPACKED": 16_777_216,
        "ROW_BYTES": 64, "MOST_BATCH": 268_435_456,
    },
    "pcevolve.modality.texts": {"MOST_BYTES": 131_072},
    "pcevolve.modality.images.files": {
        "MAX_FILE_BYTES": 268_435_456, "MAX_PIXELS": 64_000_000, "_COUNTED_BYTES": 65_536, "_LEAST_ALPHA": 8,
    },
    "pcevolve.modality.images.dicom": {"MOST_READS": 500_000, "MOST_ELEMENT_BYTES": 1_048_576, "PIECE": 65_536},
    "pcevolve_benchmarks.datasets.pickles": {"MOST_BYTES": 1_073_741_824, "MOST_READS": 1_000_000},
    "pcevolve.ledger.store": {"SIZE": 32},
    "pcevolve_shared.limits": {
        "MAX_IMAGE_BYTES": 16_777_216, "MAX_PIXELS": 16_777_216, "MAX_SIDE": 8192, "MAX_PROMPT_CHARS": 2048,
        "MAX_MESSAGE_CHARS": 2048, "MAX_FIELDS_BYTES": 65_536, "MAX_RESPONSE_BYTES": 268_435_456, "MAX_BATCH": 64,
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [(module, name, value) for module, rows in REVIEWED.items() for name, value in rows.items()],
)
def test_a_number_that_decides_is_the_one_that_was_reviewed(module: str, name: str, value: object):
    assert getattr(importlib.import_module(module), name) == value


def test_an_empirical_audit_of_fewer_than_a_hundred_runs_is_refused():
    def claim(runs: int) -> Claim:
        return Claim("pe", Budget(Fraction(1), 1e-5), "replace-one", 1, 1, runs, 0.95)

    assert claim(100).runs == 100
    with pytest.raises(UsageError, match="99 runs show nothing: use --runs 100 or more"):
        claim(99)


def test_digits_below_a_thousandth_of_the_noise_are_not_said():
    assert idle_step(1.0) == 1 / 1024
    assert idle_step(1.9) == 1 / 1024
