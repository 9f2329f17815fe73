"""What left, why each image of it could, and how much it was."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from pcevolve.public.pages.reasons import Reasons, TrafficTable
from pcevolve.public.pages.report.brief import Brief
from pcevolve.public.plan import PublicPlan
from pcevolve.public.transcript.bodies import BodyRef
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Sent
from pcevolve.public.transcript.traffic import Traffic
from support.briefs import PAID, brief_of
from support.runs import small_plan

Make = Callable[..., Path]


def test_what_left_is_counted_as_the_record_counts_it(finished: Make):
    root = finished()
    run, left = RunReader.strict(root), brief_of(root).left
    sent = [each.sent for each in run.traffic.attempts]
    images = {digest for each in sent for digest in each.body.files}
    assert f"{len(sent)} requests with {sum(each.wire_bytes for each in sent):,} bytes in total" in left
    assert f"{len(images)} different images that the provider had made itself" in left


def test_what_left_are_words_and_no_names_of_classes_where_words_stand_for_them(finished: Make):
    root = finished()
    assert "They contained the class names and the domain words" in brief_of(root).left
    hidden = brief_of(root, words=("kind 0", "kind 1"))
    assert "They contained words in place of the class names and the domain words" in hidden.left
    assert hidden.assumptions[0].startswith("Words in place of class names")


def test_images_without_a_reason_take_the_reassurance_away(finished: Make):
    run = RunReader.strict(finished())
    traffic = dataclasses.replace(TrafficTable.of(run.traffic, run.require_plan()), unexplained=1)
    found = Brief.of(run.require_plan(), PAID, traffic, run.traffic.attempts)
    assert "Not confirmed" in found.stayed


@pytest.mark.parametrize("plan", [None, small_plan()])
def test_an_image_that_leaves_with_a_request_of_no_plan_has_no_reason(plan: PublicPlan | None):
    digest = "1" * 64
    body = BodyRef(sha256="0" * 64, size=9, text=f'{{"image":"{{{{sha256:{digest}}}}}"}}')
    traffic = Traffic(plan)
    traffic.take(Sent(slot="hello", method="GET", url="http://h/x", headers=(), body=body, wire_bytes=9), 1)
    found = Reasons.of(traffic)
    assert found.unexplained == 1
    assert [(each.digest, each.origin) for each in found.carried[1]] == [(digest, None)]
