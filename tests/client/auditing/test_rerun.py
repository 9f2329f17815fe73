"""Choices of the real judge on private images, with the real noise: they follow from what was paid for, or are told."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from leaks.forgeries.forging import edited
from leaks.forgeries.receipts import receipted, said
from pcevolve.app.cli.main import main
from pcevolve.auditing import audit
from pcevolve.errors import ModelError, UnusableError
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private.judge import PrivateJudge, PrivateViews
from pcevolve.public.dp.mechanisms import SecureNoise
from pcevolve.public.encoders import (
    BUNDLED,
    JOINED,
    SPECTRAL,
    bundled_digest,
    frame_digest,
    load_encoder,
    named_weights,
)
from pcevolve.public.finding import Finding
from pcevolve.public.methods import choose_delta
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Chosen
from pcevolve.public.selectors import find_method
from pcevolve.public.selectors.choosing import Chooser
from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire.egress.transport import Incoming, Outgoing, Transport
from pcevolve_shared import images
from support.forge import Event, faults_of, find_event, forge
from support.paid import encoder, make_paid_run
from support.pngs import chunk
from support.provider import FakeProvider, ok, png
from support.runs import SmallRun, rng, small_plan

LABELS, SHOTS, SIDE = ("cut", "good"), 3, 24
CHOICES = "every selection follows from released measurements that were paid for"
SELECTED = {"pool": "all", "keep": "selected", "initial": 8, "prototypes": 2, "centre_first": True}
MEANS = {"method": "dp-means", **SELECTED}
AUG_PE = {"method": "aug-pe", "pool": "survivors", "keep": "selected", "prototypes": 4}
PE = {"method": "pe", "prototypes": 4}
FALLING = {"threshold": 3.0, "threshold_end": 1.0}
SECPE = {"method": "secpe", "pool": "all", "keep": "selected"}
RUNS = {
    "dp-means in the look that fits": {**MEANS, "appearance": "auto"},
    "dp-means in the encoder's frame": {**MEANS, "frame": frame_digest("bundled", None)},
    "dp-means through two views": {**MEANS, "encoder": SPECTRAL, "frame": frame_digest(SPECTRAL, None)},
    "dp-means by two encoders in one": {
        **{**MEANS, "encoder": JOINED, "frame": frame_digest(JOINED, None)},
        "weights": named_weights(JOINED, None),
    },
    "dp-means, matched": {**MEANS, "appearance": "matched"},
    "dp-means, as they come": MEANS,
    "dp-means, all sums at once": {**MEANS, "centre_first": False},
    "dp-means without evolution": {**MEANS, "iterations": 0, "strengths": ()},
    "dp-means, one image more or less": {**MEANS, "relation": "add-remove"},
    "pe": {**PE, "lookahead": 2},
    "pe with several votes and a threshold that falls": {**PE, **FALLING, "votes": 2},
    "pe with class counts": {**PE, "class_counts": True},
    "pe with class counts, matched": {**PE, "class_counts": True, "appearance": "matched"},
    "pe-em": {"method": "pe-em", "prototypes": 4},
    "secpe": SECPE,
    "secpe in few cells": {**SECPE, "cells": 2},
    "aug-pe": AUG_PE,
    "aug-pe of all rounds": {**AUG_PE, "pool": "all"},
    "aug-pe that draws by votes above a threshold": {**AUG_PE, "selection": "prob", "threshold": 1.0},
    "aug-pe that draws from more variations": {**AUG_PE, "selection": "prob", "variations": 3},
    "pcevolve": {"method": "pcevolve"},
    "pcevolve through an IP-Adapter": {"method": "pcevolve", "adapter": "ip", "adapter_scale": 0.5},
    "pcevolve with another tau": {"method": "pcevolve", "tau": 3.0},
    "pcevolve with neighbours": {"method": "pcevolve", "prototypes": 2, "lookahead": 1},
    "jvem": {"method": "jvem", "prototypes": 2},
    "jvem, one image more or less": {"method": "jvem", "relation": "add-remove"},
    "one class": {"method": "jvem", "labels": ("cut",)},
}


def private_images(labels: tuple[str, ...]) -> PrivateDataset:
    """A few images per class, each class of its own tone."""
    targets = np.repeat(np.arange(len(labels)), SHOTS)
    pixels = [rng(row).integers(0, 120, (SIDE, SIDE, 3)) + 100 * target for row, target in enumerate(targets)]
    pictures = tuple(Image.fromarray(each.astype(np.uint8)) for each in pixels)
    return PrivateDataset(labels, pictures, targets, tuple(b"%d" % row for row in range(len(targets))))


def make_judged_run(root: Path, plan: PublicPlan, provider: Transport | None = None) -> Path:
    """A whole run in which the private images choose."""
    run, chosen = SmallRun.open(root, plan, provider), find_method(plan.method.name)
    eyes = encoder() if plan.encoder.name == BUNDLED else load_encoder(plan.encoder.name)
    chooser = Chooser(plan, eyes, run.transcript.bodies.file, chosen.make_selector())
    views = PrivateViews(private_images(plan.labels), eyes)
    run.judge = PrivateJudge(views, chooser, run.account, SecureNoise(), chosen.plan_events(plan))
    run.finish()
    run.close()
    return root


@pytest.mark.statistical
@pytest.mark.parametrize("name", RUNS)
def test_a_run_of_the_real_judge_passes_every_check(tmp_path: Path, name: str):
    shape = {"candidates": 4, "initial": 4, "shots": SHOTS, **RUNS[name]}
    plan = small_plan(**shape, delta=choose_delta(str(shape["method"])))
    findings = audit(make_judged_run(tmp_path, plan))
    assert [fault for finding in findings for fault in finding.faults] == []
    assert any(finding.claim.startswith(CHOICES) and finding.checked for finding in findings)


@pytest.mark.parametrize(("shots", "alike"), [(50, 0.72), (3, None)])
def test_a_run_of_two_encoders_says_whether_agreement_alone_decides(tmp_path: Path, shots, alike):
    shape = {"candidates": 1, "initial": 4, "iterations": 0, "strengths": (), "prototypes": 1}
    plan = small_plan(**{**RUNS["dp-means by two encoders in one"], **shape}, shots=shots, delta=1e-5)
    run = RunReader.strict(make_judged_run(tmp_path, plan))
    assert run.assessment.alike == alike


def test_a_receipt_that_brings_back_what_was_voted_out_is_found(tmp_path: Path):
    root = make_judged_run(tmp_path, small_plan(**AUG_PE, candidates=4, initial=16, shots=SHOTS, delta=1e-5))
    record = RunReader.strict(root)
    before, last = record.receipts[-2:]
    first = [
        Chosen(call.output(place), digest)
        for call in record.plan.round(0)
        for place, digest in enumerate(record.outputs[call.slot])
        if call.label == "cut"
    ]
    lost = next(each for each in first if each not in before.of("cut"))

    def bring_back(events: list[Event]) -> None:
        find_event(events[::-1], "released")["receipt"]["choices"][0]["chosen"][0] = asdict(lost)

    forge(root, bring_back)
    told = "names an image that is not among those it chose from, for 'cut'"
    assert f"receipt for iteration {last.iteration}: {told}" in faults_of(root)


def test_a_plan_on_record_of_more_votes_than_its_method_pays_for_is_told(tmp_path: Path):
    root = make_judged_run(tmp_path, small_plan(method="pe-em", candidates=4, initial=4, shots=SHOTS))

    edited("planned", lambda event: event["plan"]["method"].update(votes=2))(root)
    assert any("is damaged" in fault for fault in faults_of(root))


def commented(data: bytes, comment: int) -> bytes:
    """The same picture with another comment in its file."""
    header = data.index(b"IDAT") - 4
    return data[:header] + chunk(b"tEXt", b"Comment\0%d" % comment) + data[header:]


class Copying:
    """A provider whose first pictures are mostly one picture, each with a comment of its own."""

    made = 0

    def __call__(self, request: Outgoing) -> Incoming | None:
        count = json.loads(request.body or b"{}").get("n", 1) if request.body else 0
        if not count:
            return None
        each = [png(self.made + number) for number in range(count)]
        for number in range(count):
            self.made += 1
            if self.made <= 48 and self.made % 11:
                each[number] = commented(png(7), self.made)
        answers = [{"image": images.to_base64(one)} for one in each]
        return ok({"images": answers} if count > 1 else answers[0])


def exchanged(place: int, other: dict[str, str]) -> Callable[[dict], None]:
    """A receipt with another candidate at one place of its first class."""
    return lambda receipt: receipt["choices"][0]["chosen"].__setitem__(place, other)


@pytest.mark.parametrize(
    "method",
    [
        {**MEANS, "candidates": 12, "iterations": 0, "strengths": ()},
        {"method": "jvem", "prototypes": 2},
        {"method": "pcevolve", "prototypes": 3},
    ],
    ids=["dp-means", "jvem", "pcevolve"],
)
def test_of_copies_of_one_picture_no_other_is_chosen_than_the_one_in_order(tmp_path: Path, method: dict):
    shape = {"candidates": 6, **method, "initial": 24, "shots": SHOTS, "min_usable": 0.05}
    plan = small_plan(**shape, delta=choose_delta(method["method"]))
    honest = make_judged_run(tmp_path / "honest", plan, FakeProvider(Copying()))
    assert faults_of(honest) == []
    record, forged = RunReader.strict(honest), 0
    came = {
        call.output(place): digest
        for call in record.plan.calls.values()
        for place, digest in enumerate(record.outputs[call.slot])
    }
    copies = {name for name, digest in came.items() if b"Comment" in record.bodies.file(digest)}
    for receipt in record.receipts:
        taken = [each.id for each in receipt.of("cut")]
        for place, name in enumerate(taken):
            beside = [each for each in copies - {*taken} if each[:9] == name[:9]]  # of its class and round
            if name in copies and beside and forged < 4:
                root = Path(shutil.copytree(honest, tmp_path / f"forged {forged}"))
                other = asdict(Chosen(beside[0], came[beside[0]]))
                receipted(exchanged(place, other), receipt.iteration)(root)
                where = f"receipt for iteration {receipt.iteration}: its choices do not follow"
                assert any(each.startswith(where) for each in faults_of(root))
                forged += 1
    assert forged


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
    plan = small_plan(**MEANS, delta=choose_delta("dp-means"), candidates=4, shots=SHOTS)
    with pytest.raises(UnusableError, match="too little that can be used"):
        make_judged_run(tmp_path, plan, always(data))
    assert RunReader.strict(tmp_path).receipts == ()


# -- released class counts: what the dataset's sizes follow from ---------------------------------------------------

COUNTED = small_plan(**PE, delta=1e-5, candidates=4, initial=4, shots=SHOTS, class_counts=True)


@pytest.fixture
def counted(tmp_path: Path) -> Path:
    return make_judged_run(tmp_path / "run", COUNTED)


def counts(root: Path) -> Sequence[float]:
    return next(each.values for each in RunReader.strict(root).receipts if each.iteration == 1)


def test_the_first_round_pays_for_two_accesses_and_says_one_number_for_each_class(counted: Path):
    first, *later = RunReader.strict(counted).receipts
    assert [each.mechanism for each in first.events] == ["gaussian", "gaussian"]
    assert len(first.values) == len(COUNTED.labels)
    assert all(len(each.events) == 1 and each.values == () for each in later)
    assert faults_of(counted) == []


@pytest.mark.parametrize(
    ("values", "iteration", "fault"),
    [
        (lambda own: [each + 1 for each in own], 1, "do not follow from what was measured"),
        (lambda own: own, 2, "says something that the plan does not leave open"),
        *((lambda own, new=new: new, 1, "says something that the plan does not leave open")
          for new in ([], [1.0], [1.0, 2.0, 3.0])),
    ],
)  # fmt: skip
def test_numbers_that_were_not_measured_or_are_not_one_for_each_class_are_found(
    counted: Path, values: Callable[[list[float]], list[float]], iteration: int, fault: str
):
    receipted(said(values=values(list(counts(counted)))), iteration=iteration)(counted)
    assert any(fault in each for each in faults_of(counted))


def test_images_that_the_counts_leave_out_are_not_published(counted: Path):
    """Two of four images where the released number is half of the other's."""
    kept = {label: len(list((counted / "release" / label).glob("*.png"))) for label in COUNTED.labels}
    largest = max(counts(counted))
    for label, count in zip(COUNTED.labels, counts(counted), strict=True):
        # Noise may leave no class anything, and then no proportion says what to leave out.
        assert kept[label] == (max(1, -(-max(count, 0) * 4 // largest)) if largest > 0 else 4)
    manifest = json.loads((counted / "release" / "manifest.json").read_text())
    assert len(manifest["files"]) == sum(kept.values())


# -- other weights than those at hand: neither right nor wrong -----------------------------------------------------

OTHER = "0" * 64


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose plan names bundled weights that this version has not."""
    return make_paid_run(tmp_path_factory.mktemp("foreign"), small_plan(method="jvem", weights=OTHER))


def test_choices_by_other_weights_are_told_as_not_checked_and_all_else_holds(foreign: Path):
    findings = audit(foreign)
    (found,) = (each for each in findings if each.claim.startswith(CHOICES))
    assert (found.faults, found.checked, found.holds, found.verdict) == ((), 0, False, "NOT CHECKED")
    for told in (f"sha256 {OTHER}", f"this one has {bundled_digest()}", "none of 2 measurements"):
        assert told in found.unchecked
    others: list[Finding] = [each for each in findings if each is not found]
    assert len(others) == 9
    assert all(each.holds and each.checked for each in others)


def test_the_command_says_so_and_ends_with_the_code_of_weights_that_are_not_at_hand(foreign: Path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["audit", str(foreign)])
    printed = capsys.readouterr()
    assert ended.value.code == ModelError.exit_code == 8
    assert "NOT CHECKED" in printed.out
    assert "BROKEN" not in printed.out
    assert f"{CHOICES}: NOT CHECKED, none of 2 measurements" in printed.err
