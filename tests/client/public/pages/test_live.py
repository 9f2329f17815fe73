"""The pages of a run that is under way: complete, safe to open, and what the record gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcevolve.public.pages.live import Standing, list_opening, render_live, write_preview
from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire.egress.transport import Outgoing
from pcevolve_shared import images
from support.provider import FakeProvider, ok
from support.runs import SmallRun, small_plan

NO_IMAGES = {"images": [{"image": images.to_base64(b"no image"), "seed": k} for k in range(2)], "cost": 0.0}
LABELS = ("R&D 'cut'", "good")


def open_record(
    root: Path, provider: FakeProvider | None = None, *, whole: bool = False, **changes: object
) -> RunReader:
    """The record of a run whose opening, or whole first round, was asked for, and nothing else."""
    plan = small_plan(**{"labels": LABELS, "candidates": 12, **changes})
    run = SmallRun.open(root, plan, provider)
    for call in plan.round(0) if whole else plan.opening:
        run.gate.create(call)
    run.close()
    return RunReader.strict(root)


def test_it_shows_the_first_images_of_every_class_and_nothing_else(tmp_path: Path):
    record = open_record(tmp_path)
    found = list_opening(record, record.require_plan())
    assert {label: len(each) for label, each in found.items()} == dict.fromkeys(LABELS, 8)
    assert record.receipts == ()
    page = write_preview(record).read_text()
    assert page.count('<img src="data:image/jpeg;base64,') == 16
    assert "R&amp;D &#39;cut&#39;" in page
    assert "R&D" not in page
    assert "A leather texture image with good" in page


def test_what_is_no_image_is_said_to_be_none(tmp_path: Path):
    broken = FakeProvider(lambda request: ok(NO_IMAGES) if request.method == "POST" else None)
    page = write_preview(open_record(tmp_path, broken, candidates=2)).read_text()
    assert page.count(">not an image</span>") == 4
    assert "<img" not in page


def test_while_a_round_begins_the_images_of_the_one_before_stay_on_the_page(tmp_path: Path):
    varied = []

    def stop_at_the_second(request: Outgoing) -> None:
        varied.extend([request] if b'"strength"' in request.body else [])
        if len(varied) == 2:
            raise KeyboardInterrupt

    run = SmallRun.open(tmp_path, small_plan(), FakeProvider(stop_at_the_second))
    with pytest.raises(KeyboardInterrupt):
        run.evolve()
    run.close()
    record = RunReader.lenient(tmp_path)
    assert sum(record.plan.calls[slot].iteration == 1 for slot in record.outputs) == 1
    page = render_live(record, Standing()).decode()
    assert "Iteration 1 of 2" in page
    assert page.count("data:image/jpeg") == 6 + len(record.outputs[[*record.outputs][-1]])


def test_of_each_class_the_twelve_newest_images_are_shown(tmp_path: Path):
    record = open_record(tmp_path, whole=True, candidates=14)
    assert sum(map(len, record.outputs.values())) == 28
    assert render_live(record, Standing()).decode().count("data:image/jpeg") == 24
