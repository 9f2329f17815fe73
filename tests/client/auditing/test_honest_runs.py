"""Runs of the real judge on private images, with the real noise: the audit has nothing against any of them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pcevolve.auditing import audit
from pcevolve.dp.mechanisms import SecureNoise
from pcevolve.egress.transport import Incoming, Outgoing, Transport
from pcevolve.encoders import BUNDLED, SPECTRAL, frame_digest, load_encoder
from pcevolve.errors import UnusableError
from pcevolve.private.dataset import PrivateDataset
from pcevolve.private.judge import PrivateJudge, PrivateViews
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Chosen
from pcevolve.selectors import method
from pcevolve.selectors.choosing import Chooser
from pcevolve.transcript import RunReader
from pcevolve_shared import images
from support.forge import forge
from support.paid import encoder
from support.provider import FakeProvider, ok, png
from support.runs import SmallRun, rng, small_plan

LABELS, SHOTS, SIDE = ("cut", "good"), 3, 24
SELECTED = {"pool": "all", "keep": "selected", "initial": 8, "prototypes": 2, "centre_first": True}
AUG_PE = {"method": "aug-pe", "pool": "survivors", "keep": "selected", "prototypes": 4}
RUNS = {
    "dp-means in the look that fits": {"method": "dp-means", "appearance": "auto", **SELECTED},
    "dp-means in the encoder's frame": {
        "method": "dp-means",
        **SELECTED,
        "frame": frame_digest("bundled", None),
    },
    "dp-means through two views": {
        "method": "dp-means",
        **SELECTED,
        "encoder": SPECTRAL,
        "frame": frame_digest(SPECTRAL, None),
    },
    "dp-means, matched": {"method": "dp-means", "appearance": "matched", **SELECTED},
    "dp-means, as they come": {"method": "dp-means", **SELECTED},
    "dp-means, all sums at once": {"method": "dp-means", **SELECTED, "centre_first": False},
    "dp-means without evolution": {"method": "dp-means", **SELECTED, "iterations": 0, "strengths": ()},
    "pe": {"method": "pe", "prototypes": 4, "lookahead": 2},
    "pe with several votes and a threshold that falls": {
        "method": "pe",
        "prototypes": 4,
        "votes": 2,
        "threshold": 3.0,
        "threshold_end": 1.0,
    },
    "pe with class counts": {"method": "pe", "prototypes": 4, "class_counts": True},
    "pe with class counts, matched": {
        "method": "pe",
        "prototypes": 4,
        "class_counts": True,
        "appearance": "matched",
    },
    "pe-em": {"method": "pe-em", "prototypes": 4},
    "secpe": {"method": "secpe", "pool": "all", "keep": "selected"},
    "secpe in few cells": {"method": "secpe", "pool": "all", "keep": "selected", "cells": 2},
    "aug-pe": AUG_PE,
    "aug-pe of all rounds": {**AUG_PE, "pool": "all"},
    "aug-pe that draws from more variations by votes above a threshold": {
        **AUG_PE,
        "selection": "prob",
        "variations": 3,
        "threshold": 1.0,
    },
    "pcevolve": {"method": "pcevolve"},
    "pcevolve through an IP-Adapter": {"method": "pcevolve", "adapter": "ip", "adapter_scale": 0.5},
    "pcevolve with another tau": {"method": "pcevolve", "tau": 3.0},
    "pcevolve with neighbours": {"method": "pcevolve", "prototypes": 2, "lookahead": 1},
    "jvem": {"method": "jvem", "prototypes": 2},
    "dp-means, one image more or less": {"method": "dp-means", "relation": "add-remove", **SELECTED},
    "jvem, one image more or less": {"method": "jvem", "relation": "add-remove"},
    "one class": {"method": "jvem", "labels": ("cut",)},
}


def private_images(labels: tuple[str, ...]) -> PrivateDataset:
    """A few images per class, each class of its own tone."""
    targets = np.repeat(np.arange(len(labels)), SHOTS)
    pixels = [rng(row).integers(0, 120, (SIDE, SIDE, 3)) + 100 * target for row, target in enumerate(targets)]
    pictures = tuple(Image.fromarray(each.astype(np.uint8)) for each in pixels)
    return PrivateDataset(labels, pictures, targets, tuple(b"%d" % row for row in range(len(targets))))


def judged_run(root: Path, plan: PublicPlan, provider: Transport | None = None) -> Path:
    """A whole run in which the private images choose."""
    run, chosen = SmallRun.open(root, plan, provider), method(plan.method)
    eyes = encoder() if plan.encoder == BUNDLED else load_encoder(plan.encoder)
    chooser = Chooser(plan, eyes, run.transcript.bodies.file, chosen.make_selector())
    views = PrivateViews(private_images(plan.labels), eyes)
    run.judge = PrivateJudge(views, chooser, run.account, SecureNoise(), chosen.planned(plan))
    run.finish()
    run.close()
    return root


@pytest.mark.statistical
@pytest.mark.parametrize("name", RUNS)
def test_a_run_of_the_real_judge_passes_every_check(tmp_path: Path, name: str):
    shape = {"candidates": 4, "initial": 4, "shots": SHOTS, **RUNS[name]}
    plan = small_plan(**shape, delta=method(str(shape["method"])).delta)
    findings = audit(judged_run(tmp_path, plan))
    assert [fault for finding in findings for fault in finding.faults] == []
    assert any(finding.claim.startswith("every choice follows") and finding.checked for finding in findings)


def test_a_receipt_that_brings_back_what_was_voted_out_is_found(tmp_path: Path):
    root = judged_run(tmp_path, small_plan(**AUG_PE, candidates=4, initial=16, shots=SHOTS, delta=1e-5))
    record = RunReader.strict(root)
    before, last = record.receipts[-2:]
    first = [
        Chosen(call.output(place), digest)
        for call in record.plan.round(0)
        for place, digest in enumerate(record.outputs[call.slot])
        if call.label == "cut"
    ]
    lost = next(each for each in first if each not in before.of("cut"))

    def bring_back(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        receipt = next(each["receipt"] for each in reversed(events) if each["kind"] == "released")
        receipt["choices"][0]["chosen"][0] = asdict(lost)
        return events

    forge(root, bring_back)
    faults = [fault for finding in audit(root) for fault in finding.faults]
    said = "names an image that is not among those it chose from, for 'cut'"
    assert f"receipt for iteration {last.iteration}: {said}" in faults


def always(data: bytes) -> FakeProvider:
    """A provider that answers every request with the same bytes."""

    def answer(request: Outgoing) -> Incoming | None:
        if not request.body:
            return None
        made = [{"image": images.to_base64(data)}] * json.loads(request.body).get("n", 1)
        return ok({"images": made} if len(made) > 1 else made[0])

    return FakeProvider(answer)


@pytest.mark.parametrize("data", [png(1), b"no image " * 9], ids=["one picture", "no picture"])
def test_a_run_pays_for_no_choice_where_all_that_came_is_the_same_or_no_picture(tmp_path: Path, data: bytes):
    plan = small_plan(
        method="dp-means", delta=method("dp-means").delta, candidates=4, shots=SHOTS, **SELECTED
    )
    with pytest.raises(UnusableError, match="too little that can be used"):
        judged_run(tmp_path, plan, always(data))
    assert RunReader.strict(tmp_path).receipts == ()
