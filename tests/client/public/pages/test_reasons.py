"""What left, why each image of it could, and how much it was."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from pcevolve.public.pages.reasons import Reasons, TrafficTable
from pcevolve.public.pages.report.brief import Brief
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.traffic import Traffic
from support.briefs import PAID, brief_of

Make = Callable[..., Path]


def test_what_left_is_counted_as_the_record_counts_it(finished: Make):
    root = finished()
    run, left = RunReader.strict(root), brief_of(root).left
    sent = [each.sent for each in run.traffic.attempts]
    images = {digest for each in sent for digest in each.body.files}
    assert f"{len(sent)} requests, {sum(each.wire_bytes for each in sent):,} bytes" in left
    assert f"{len(images)} different images, which the provider had made itself" in left


def test_what_left_are_words_and_no_names_of_classes_where_words_stand_for_them(finished: Make):
    root = finished()
    assert "with the class names and the words for the domain" in brief_of(root).left
    hidden = brief_of(root, words=("kind 0", "kind 1"))
    assert "with words in place of the class names and the words for the domain" in hidden.left
    assert hidden.assumptions[0].startswith("Words in place of class names")


def test_images_without_a_reason_take_the_reassurance_away(finished: Make):
    run = RunReader.strict(finished())
    traffic = dataclasses.replace(TrafficTable.of(run.traffic, run.require_plan()), unexplained=1)
    found = Brief.of(run.require_plan(), PAID, traffic, run.traffic.attempts)
    assert "Not confirmed" in found.stayed


def test_images_of_a_record_without_a_plan_left_without_a_reason(finished: Make):
    run = RunReader.strict(finished())
    assert (Reasons.of(run.traffic).unexplained, run.traffic.plan is None) == (0, False)
    bare = Traffic(None)
    for line, entry in enumerate(run.entries, start=1):
        bare.take(entry.record, line)
    found = Reasons.of(bare)
    assert found.unexplained == sum(map(len, found.carried.values())) == 8
