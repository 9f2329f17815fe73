"""A rerun compares each line of a record with what an honest client would have written."""

from __future__ import annotations

from pathlib import Path

import pytest

from client.auditing.captured import refuse
from client.auditing.mutated import (
    Honest,
    Mutation,
    carrying,
    lines_of,
    list_rerun_faults,
    mutated,
    turned,
    worded,
)
from pcevolve.auditing.comparing import ComparingGate
from pcevolve.auditing.second_check import find_request_faults
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.transport import Incoming, Outgoing
from support.forge import Event, faults_of, forge
from support.provider import FakeProvider
from support.runs import SmallRun, small_plan

BODY = "its body differs from what the plan and the receipt give"


@pytest.mark.parametrize("change", [turned, worded(7, 0), worded(7, 1)], ids=["order", "first", "second"])
def test_the_rerun_refuses_other_words_and_the_same_values_in_another_order(kept: Honest, change: Mutation):
    run = mutated(kept, change)
    assert bool(list_rerun_faults(run)) == (run.entries != mutated(kept).entries)


def test_the_small_check_finds_what_a_rulebook_with_one_rule_less_lets_through(
    kept: Honest, monkeypatch: pytest.MonkeyPatch
):
    """A gate that lets any received image out, run again by the same rules, would have nothing against it."""
    if kept.plan.varies_prompts or kept.plan.modality.kind == "text":
        pytest.skip("no image goes back")
    run = mutated(kept, carrying(7, 11))
    assert lines_of(list_rerun_faults(run), BODY)
    monkeypatch.setattr(ComparingGate, "_difference", lambda gate, sent, expected: None)
    assert list_rerun_faults(run) == []
    assert list(find_request_faults(run))


@pytest.fixture
def refused(tmp_path: Path) -> Path:
    """A run whose first image was refused."""
    asked: list[Outgoing] = []

    def meddle(request: Outgoing) -> Incoming | None:
        asked.extend([request] if request.method == "POST" else [])
        return refuse() if len(asked) == 1 else None

    run = SmallRun.open(tmp_path / "run", small_plan(candidates=8, initial=8, batch=2), FakeProvider(meddle))
    run.finish()
    run.close()
    return tmp_path / "run"


def test_after_a_refusal_every_request_still_has_the_same_key(refused: Path):
    assert faults_of(refused) == []

    def lengthen(events: list[Event]) -> list[Event]:
        last = max(place for place, each in enumerate(events) if each["kind"] == "sent")
        events[last]["wire_bytes"] += 977
        return events

    forge(refused, lengthen)
    assert any("was sent with another key" in each for each in faults_of(refused))


@pytest.mark.parametrize(("length", "fits"), [(5000, True), (5001, False)])
def test_a_request_is_longer_than_it_is_written_down_by_a_key_of_at_most_5000_characters(
    tmp_path: Path, length: int, fits: bool
):
    address = Address("http://127.0.0.1:9", "k" * length)
    run = SmallRun.open(tmp_path, small_plan(), FakeProvider(), address=address)
    run.finish()
    assert any("its recorded length is wrong" in each for each in faults_of(tmp_path)) is not fits
