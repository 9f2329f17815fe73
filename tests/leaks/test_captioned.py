"""GCap: the caption of a private image leaves as it was recorded, from a NOT PRIVATE run; anything else does not."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from leaks.forgeries.forging import edited, stored
from leaks.forgeries.receipts import chosen, receipted, said
from leaks.held import Moment, with_measurement
from pcevolve.auditing import Audit, audit
from pcevolve.errors import ClientError, EgressError
from pcevolve.ledger.ledger import Paid
from pcevolve.privacy import Event
from pcevolve.public.captioning import digest_of, measurement_of
from pcevolve.public.captions import choices_of
from pcevolve.public.fields import Extension
from pcevolve.public.release import Captioned, Choice, Chosen, Noised, PublicEcho, Query, Receipt
from pcevolve.transcript import RunReader
from support.captioned import Saying, captioned_plan, captioned_run, open_captioned
from support.extended import reopened
from support.provider import FakeProvider
from support.runs import SmallRun, small_plan

PLAN = captioned_plan()
LABEL, OTHER = PLAN.labels
EVENT = Event("unprotected")
SECRET = "patient 17: positive"
SAYING = Saying(["a deep cut", "a long cut"])


@pytest.fixture
def moment(tmp_path: Path) -> Moment[Captioned]:
    provider = FakeProvider()
    return Moment.of(open_captioned(tmp_path, PLAN, provider, SAYING), provider, Captioned)


def with_words(moment: Moment, words: str) -> Chosen:
    """The honest caption's name with other words."""
    return Chosen(moment.honest.item.id, digest_of(words))


def renamed(moment: Moment, words: str) -> Receipt:
    """The honest receipt, whose first caption is another; what it measured has it."""
    first, *rest = moment.receipt.choices
    measured = measurement_of([[words, "a long cut"], ["a deep cut", "a long cut"]])
    digest = moment.run.transcript.bodies.keep(measured)
    held = (with_words(moment, words), *first.chosen[1:])
    return dataclasses.replace(moment.receipt, choices=(Choice(LABEL, held), *rest), measured=digest)


SOURCES: dict[str, Callable[[Moment], object]] = {
    "other words under the released caption's name": lambda m: m.unchecked(with_words(m, SECRET), m.receipt),
    "other words in a receipt that was changed": lambda m: m.unchecked(
        with_words(m, SECRET), renamed(m, SECRET)
    ),
    "the honest caption in a receipt that nobody paid for": lambda m: m.unchecked(
        m.honest.item, dataclasses.replace(m.receipt, events=(Event("uniform"),))
    ),
    "another place's caption": lambda m: Captioned(LABEL, m.receipt.of(LABEL)[1], m.receipt),
    "another class's caption": lambda m: Captioned(OTHER, m.receipt.of(OTHER)[0], m.receipt),
    "another class's caption under this one's name": lambda m: m.unchecked(m.receipt.of(OTHER)[0], m.receipt),
    "the honest caption as a noised image": lambda m: m.unchecked(m.honest.item, m.receipt, kind=Noised),
    "the honest caption as an image that the plan names": lambda m: PublicEcho(m.honest),
    "no caption": lambda m: None,
}


@pytest.mark.parametrize("name", SOURCES)
def test_no_other_caption_leaves(moment: Moment, name: str):
    source, before = SOURCES[name](moment), len(moment.provider.requests)
    with pytest.raises(ClientError, match=r"request|knows no receipt|plain values"):
        moment.run.gate.answers([(moment.call, source)]).__next__()
    assert len(moment.provider.requests) == before


def test_a_call_that_brings_its_own_caption_is_none_of_the_plan(moment: Moment):
    call = dataclasses.replace(moment.call, caption=SECRET)
    with pytest.raises(EgressError, match="is not in the public plan"):
        moment.run.gate.vary(call, moment.honest)
    assert not any(SECRET.encode() in each.body for each in moment.provider.requests)


def test_the_released_one_leaves_behind_the_public_prompt_of_its_class_and_no_image_does(moment: Moment):
    moment.run.gate.vary(moment.call, moment.honest)
    sent = json.loads(moment.provider.requests[-1].body)
    assert sent["prompt"] in {f"{PLAN.prompt(LABEL)}, {words}" for words in SAYING.words}
    assert "image" not in sent


@pytest.mark.parametrize(
    ("measured", "why"),
    [
        pytest.param(measurement_of([["x", "y"], ["x", "y"]]), "not what was measured", id="others"),
        pytest.param(b"patient 17", "holds no captions", id="words"),
        pytest.param(b"[" * 100_000, "holds no captions", id="nested"),
        pytest.param(measurement_of([["x", "y"]]), "form and number", id="fewer classes"),
        pytest.param(measurement_of([["x", "y", "z"], ["x", "y", "z"]]), "form and number", id="more"),
        pytest.param(measurement_of([["x", "y"], ["x", "y\nz"]]), "form and number", id="a second line"),
        pytest.param(measurement_of([["x", "y"], ["x", "y" * 401]]), "form and number", id="a long one"),
        pytest.param(measurement_of([["x", "y"], ["x", "y\u200b"]]), "form and number", id="hidden letters"),
        pytest.param(b'[["x", "y"],["x","y"]]', "form and number", id="another spelling"),
    ],
)
def test_what_a_committed_receipt_says_leaves_only_if_it_was_measured(
    tmp_path: Path, measured: bytes, why: str
):
    provider = FakeProvider()
    run = open_captioned(tmp_path, PLAN, provider)
    named = (Chosen(PLAN.held(LABEL, 0), digest_of("a")), Chosen(PLAN.held(LABEL, 1), digest_of("b")))
    receipt = run.account.pay(
        Query(PLAN.run_id, 1), (EVENT,), lambda: Paid((Choice(LABEL, named),), measured)
    )
    moment = Moment(run, provider, receipt, Captioned)
    with pytest.raises(EgressError, match=why):
        run.gate.vary(moment.call, moment.honest)
    assert not any(b"prompt" in each.body for each in provider.requests)


def test_in_a_plan_without_the_mark_no_caption_leaves(tmp_path: Path):
    provider = FakeProvider()
    run = SmallRun.open(tmp_path, small_plan(), provider)
    for call in run.plan.round(0):
        run.gate.create(call)
    held = Chosen(run.plan.held("cut", 0), digest_of(SECRET))
    measured = measurement_of([[SECRET], [SECRET]])
    receipt = run.account.pay(
        Query(run.plan.run_id, 1), (Event("uniform"),), lambda: Paid((Choice("cut", (held,)),), measured)
    )
    before = len(provider.requests)
    with pytest.raises(EgressError, match="must carry a released prototype"):
        run.gate.vary(next(iter(run.plan.round(1))), Captioned("cut", held, receipt))
    assert len(provider.requests) == before


def test_a_plan_whose_mark_was_taken_off_is_no_plan_for_the_gate(tmp_path: Path):
    with pytest.raises(EgressError, match="no public plan that can be written down"):
        open_captioned(tmp_path, PLAN.model_copy(update={"not_private": False}))


def test_a_run_that_was_cut_off_sends_what_it_had_recorded_and_shows_no_image_again(tmp_path: Path):
    run = open_captioned(tmp_path, PLAN, captioner=SAYING)
    paid = run.judge.release(Query(PLAN.run_id, 1), None)
    run.close()
    again = Saying([SECRET])
    resumed = open_captioned(tmp_path, PLAN, captioner=again)
    resumed.finish()
    assert resumed.account.receipts() == (paid,)
    assert again.asked == []
    resumed.close()
    assert not Audit.of(tmp_path).broken


def test_no_image_goes_back_in_an_extension(tmp_path: Path):
    captioned_run(tmp_path, PLAN).close()
    with (
        reopened(tmp_path, FakeProvider()) as (gate, _, committed),
        pytest.raises(EgressError, match="no noise hides which images this run chose"),
    ):
        gate.extend(1, Extension(more=1, strength=0.5), committed)
    assert not RunReader.strict(tmp_path).require_plan().extended


HOSTILE = [
    'a"}\r\nX-Key: 1',
    "\u202egnp.tuc",
    "x" * 100_000,
    "{label} {domain}",
    "{{sha256:" + "0" * 64 + "}}",
    "",
]


def test_whatever_a_captioner_says_is_one_line_of_a_prompt_and_the_record_holds(tmp_path: Path):
    provider = FakeProvider()
    plan = captioned_plan(candidates=6, prototypes=6, shots=6)
    run = open_captioned(tmp_path, plan, provider, Saying(HOSTILE), shots=6)
    run.finish()
    run.close()
    sent = [json.loads(each.body) for each in provider.requests if each.body]
    assert all(each["prompt"].isprintable() and len(each["prompt"]) < 500 for each in sent)
    assert {tuple(each) for each in sent} == {tuple(sent[0])}
    assert not Audit.of(tmp_path).broken


def _other_words(root: Path) -> None:
    measurement = measurement_of([[SECRET, SECRET], [SECRET, SECRET]])
    with_measurement(root, measurement, choices_of(PLAN, measurement))


FORGERIES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a plan without the mark": (
        edited("planned", lambda event: event["plan"].pop("not_private")),
        "transcript line 4 is damaged",
    ),
    "a plan that does not say who looked": (
        edited("planned", lambda event: event["plan"].pop("captioner")),
        "transcript line 4 is damaged",
    ),
    "a plan that says that nobody else looked": (
        edited("planned", lambda event: event["plan"].update(captioner={"kind": "chat"})),
        "transcript line 4 is damaged",
    ),
    "a price": (
        receipted(said(events=[{"mechanism": "gaussian", "parameter": "2", "count": 1}])),
        "not the planned price",
    ),
    "no price": (
        receipted(said(events=[{"mechanism": "uniform", "parameter": "0", "count": 1}])),
        "not the planned price",
    ),
    "two captions exchanged": (
        receipted(lambda receipt: chosen(receipt).reverse()),
        "names something else than what is released|names other captions",
    ),
    "another caption's digest": (
        receipted(lambda receipt: chosen(receipt)[0].update(digest=digest_of(SECRET))),
        "names other captions than those that were measured",
    ),
    "other captions than those that left": (_other_words, "its body differs from what the plan"),
    "words for a measurement": (
        lambda root: receipted(said(measured=stored(root, b"patient 17: positive")))(root),
        "the measurement holds no captions",
    ),
    "no measurement": (receipted(said(measured="")), "does not say what was measured"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_the_audit_refuses_a_record_with(tmp_path: Path, name: str):
    captioned_run(tmp_path, PLAN).close()
    act, fault = FORGERIES[name]
    act(tmp_path)
    told = [each for finding in audit(tmp_path) for each in finding.faults]
    assert any(re.search(fault, each) for each in told), told
