"""DPImg: a noised private image leaves as it was released and paid for; with less noise, or none, it does not."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from leaks import secrets
from leaks.forgeries.forging import stored
from leaks.forgeries.receipts import chosen, receipted, said
from leaks.held import Moment, with_measurement
from pcevolve.auditing import audit, replay
from pcevolve.dp.mechanisms import SecureNoise, SeededNoise
from pcevolve.errors import ClientError, EgressError
from pcevolve.ledger.ledger import Paid
from pcevolve.methods import method
from pcevolve.modality.images.arrays import levels, values_of
from pcevolve.privacy import Event
from pcevolve.private.noising import NoisingJudge
from pcevolve.public.noised import choices_of, files_in, measurement_of, png, shape_of
from pcevolve.public.release import Candidate, Choice, Chosen, Noised, Prototype, PublicEcho, Query, Receipt
from support.noised import noised_plan, noised_run, open_noised, private_images
from support.provider import FakeProvider
from support.runs import SmallRun, small_plan

PLAN = noised_plan()
LABEL, OTHER = PLAN.labels
EVENT = method("dpimg").planned(PLAN)[1][0]


def private_image() -> bytes:
    """The private image that the attacker would like to send, in the plan's size."""
    values = values_of(private_images(PLAN.labels).items[0], PLAN.images.width, PLAN.images.height)
    return png(levels(values))


@pytest.fixture
def moment(tmp_path: Path) -> Moment[Noised]:
    provider = FakeProvider()
    return Moment.of(open_noised(tmp_path, PLAN, provider), provider, Noised)


def with_digest(moment: Moment, data: bytes) -> Chosen:
    """The honest image's name with other bytes, which are kept where bodies are."""
    return Chosen(moment.honest.item.id, moment.run.transcript.bodies.keep(data))


def renamed(moment: Moment, data: bytes) -> Receipt:
    """The honest receipt, whose first image is another."""
    first, *rest = moment.receipt.choices
    held = (with_digest(moment, data), *first.chosen[1:])
    return dataclasses.replace(moment.receipt, choices=(Choice(LABEL, held), *rest))


def drawn_again(moment: Moment, event: Event = EVENT) -> bytes:
    """The file of a noised image that nobody paid for, with as much noise or less."""
    run = moment.run
    judge = NoisingJudge(private_images(PLAN.labels), run.account, SecureNoise(), PLAN, event)
    measured = judge._drawn("1").measured
    return next(iter(files_in(PLAN, measured).values()))


LESS = dataclasses.replace(EVENT, parameter=str(EVENT.value / 100))
SOURCES: dict[str, Callable[[Moment], object]] = {
    "the private image under the released one's name": lambda m: m.unchecked(
        with_digest(m, private_image()), m.receipt
    ),
    "the private image in a receipt that was changed": lambda m: m.unchecked(
        with_digest(m, private_image()), renamed(m, private_image())
    ),
    "a noised image that was not released": lambda m: m.unchecked(with_digest(m, drawn_again(m)), m.receipt),
    "a noised image with less noise": lambda m: m.unchecked(with_digest(m, drawn_again(m, LESS)), m.receipt),
    "the honest image at a price that was not paid": lambda m: m.unchecked(
        m.honest.item, dataclasses.replace(m.receipt, events=(LESS,))
    ),
    "another place's image": lambda m: Noised(LABEL, m.receipt.of(LABEL)[1], m.receipt),
    "another class's image": lambda m: Noised(OTHER, m.receipt.of(OTHER)[0], m.receipt),
    "another class's image under this one's name": lambda m: m.unchecked(m.receipt.of(OTHER)[0], m.receipt),
    "the honest image as a prototype": lambda m: _prototype(m),
    "the honest image as one that the plan names": lambda m: PublicEcho(_candidate(m)),
    "no image": lambda m: None,
}


def _candidate(moment: Moment) -> Candidate:
    image = moment.honest.item
    return Candidate(image.id, LABEL, 0, None, image.digest, "image/png")


def _prototype(moment: Moment) -> Prototype:
    return Prototype(_candidate(moment), moment.receipt)


@pytest.mark.parametrize("name", SOURCES)
def test_no_other_image_leaves(moment: Moment, name: str):
    source, before = SOURCES[name](moment), len(moment.provider.requests)
    with pytest.raises(ClientError, match=r"request|knows no receipt"):
        moment.run.gate.answers([(moment.call, source)]).__next__()
    assert len(moment.provider.requests) == before


def test_the_released_one_leaves_byte_for_byte(moment: Moment):
    moment.run.gate.vary(moment.call, moment.honest)
    held = files_in(PLAN, moment.run.account.measured(1))
    due = moment.run.gate._policy._dialect.encode(PLAN, moment.call, held[moment.honest.item])
    assert moment.provider.requests[-1].body == due.body


def _paying(
    measured: Callable[[], bytes], choices: Callable[[bytes], tuple[Choice, ...]], root: Path
) -> Moment:
    """A judge in league with the loop: what it says was committed."""
    provider = FakeProvider()
    run = open_noised(root, PLAN, provider)
    data = measured()
    receipt = run.account.pay(Query(PLAN.run_id, 1), (EVENT,), lambda: Paid(choices(data), data))
    return Moment(run, provider, receipt, Noised)


def _some(measurement: bytes) -> tuple[Choice, ...]:
    digests = (Chosen(PLAN.held(LABEL, index), f"{index}" * 64) for index in range(2))
    return (Choice(LABEL, tuple(digests)),)


@pytest.mark.parametrize(
    ("measured", "why"),
    [
        pytest.param(
            lambda: measurement_of(np.zeros(shape_of(PLAN), np.uint8)), "not what was measured", id="others"
        ),
        pytest.param(lambda: b"patient 17", "holds no noised images", id="words"),
        pytest.param(
            lambda: save({"noised": np.zeros(shape_of(PLAN), np.uint8), "x": np.zeros(1)}),
            "size and number",
            id="more",
        ),
        pytest.param(
            lambda: measurement_of(np.zeros((2, 9, 16, 16, 3), np.uint8)), "size and number", id="more images"
        ),
    ],
)
def test_what_a_committed_receipt_says_leaves_only_if_it_was_measured(
    tmp_path: Path, measured: Callable[[], bytes], why: str
):
    moment = _paying(measured, _some, tmp_path)
    with pytest.raises(EgressError, match=why):
        moment.run.gate.vary(moment.call, moment.honest)
    assert not any(b"image" in each.body for each in moment.provider.requests)


def test_in_a_plan_that_varies_received_images_no_noised_one_leaves(tmp_path: Path):
    provider = FakeProvider()
    run = SmallRun.open(tmp_path, small_plan(), provider)
    for call in run.plan.round(0):
        run.gate.create(call)
    call = next(iter(run.plan.round(1)))
    image = Chosen("p001-c000-000000", "0" * 64)
    receipt = run.account.pay(
        Query(run.plan.run_id, 1), (Event("uniform"),), lambda: Paid((Choice("cut", (image,)),))
    )
    before = len(provider.requests)
    with pytest.raises(EgressError, match="must carry a released prototype"):
        run.gate.vary(call, Noised("cut", image, receipt))
    assert len(provider.requests) == before


def test_a_run_that_was_cut_off_sends_what_it_had_paid_for_and_draws_nothing_again(tmp_path: Path):
    run = open_noised(tmp_path, PLAN)
    paid = run.judge.release(
        Query(PLAN.run_id, 1), None
    )  # committed, and not on record when the process died
    run.close()
    again = open_noised(tmp_path, PLAN, noise=SeededNoise(1))
    again.finish()
    assert again.account.receipts() == (paid,)
    again.close()
    assert [fault for finding in audit(tmp_path) for fault in finding.faults] == []


def _zero_image(root: Path) -> None:
    measurement = measurement_of(np.zeros(shape_of(PLAN), np.uint8))
    with_measurement(root, measurement, choices_of(PLAN, measurement))


FORGERIES = {
    "a lower price": (receipted(said(events=[dataclasses.asdict(LESS)])), "not the planned price"),
    "the private image in the receipt": (
        lambda root: receipted(
            lambda receipt: chosen(receipt)[0].update(digest=stored(root, secrets.encoded(secrets.pixels())))
        )(root),
        "names other images than those that were measured",
    ),
    "two images exchanged": (
        receipted(lambda receipt: chosen(receipt).reverse()),
        "names something else than what is released|names other images",
    ),
    "another measurement than what left": (
        _zero_image,
        "its body differs from what the plan and the receipt give",
    ),
    "words for a measurement": (
        lambda root: receipted(said(measured=stored(root, b"patient 17: positive")))(root),
        "the measurement holds no noised images",
    ),
    "no measurement": (receipted(said(measured="")), "does not say what was measured"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_the_audit_refuses_a_record_with(tmp_path: Path, name: str):
    noised_run(tmp_path, PLAN).close()
    act, fault = FORGERIES[name]
    act(tmp_path)
    told = [each for finding in audit(tmp_path) for each in finding.faults]
    assert any(re.search(fault, each) for each in told), told


def test_the_audit_makes_the_files_of_a_measurement_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    noised_run(tmp_path, PLAN).close()
    made: list[bytes] = []
    monkeypatch.setattr(
        replay, "files_in", lambda plan, measured: made.append(measured) or files_in(plan, measured)
    )
    audit(tmp_path)
    assert made
    assert len(made) == len(set(made))
