"""Candidates are embedded as they come: what the next release compares, once, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from pcevolve.errors import ModelError
from pcevolve.public.calls import Call
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.release import Candidate
from pcevolve.public.selectors import SelectionInput, find_method
from pcevolve.public.selectors.choosing import Chooser, find_frame
from pcevolve_shared import images
from support.runs import small_plan


class Counting:
    """An encoder that remembers how many images it saw."""

    name = "counting"
    dimension = 3
    frame = None

    def __init__(self) -> None:
        self.seen = 0

    def embed(self, pictures: Sequence[Image.Image | None]) -> np.ndarray:
        self.seen += len(pictures)
        return np.array([np.asarray(each, dtype=float).mean((0, 1)) for each in pictures])


def make_image(digest: str) -> bytes:
    pixels = np.random.default_rng(list(digest.encode())).integers(0, 256, (8, 8, 3))
    return images.encode(Image.fromarray(pixels.astype(np.uint8)))


def chooser(**changes: object) -> Chooser:
    plan = small_plan(method="pe", delta=1e-5, **changes)
    return Chooser(plan, Counting(), make_image, find_method("pe").make_selector())


def bring(used: Chooser, calls: Sequence[Call]) -> list[tuple[Candidate, ...]]:
    """Have a chooser receive made-up answers to calls, one after the other."""
    made = []
    for call in calls:
        names = [call.output(index) for index in range(call.count)]
        made.append(tuple(Candidate(each, call.label, call.iteration, None, each) for each in names))
        used.receive(call, made[-1])
    return made


def test_what_came_is_embedded_once_before_anybody_asks() -> None:
    used = chooser()
    calls = list(used.plan.round(0))
    made = bring(used, calls)
    assert used.encoder.seen == sum(call.count for call in calls) == 6
    of_class = {
        label: tuple(
            one for call, each in zip(calls, made, strict=True) if call.label == label for one in each
        )
        for label in used.plan.labels
    }
    pool = Pool(of_class)
    (scene,) = used.find_inputs(1, pool, (None,))
    assert used.encoder.seen == 6
    assert used.find_inputs(1, pool, (None,))[0] is scene
    assert used.find_inputs(2, pool, (None,))[0] is not scene
    fresh = chooser()
    (expected,) = fresh.find_inputs(1, Pool(of_class), (None,))
    assert all(map(np.array_equal, scene.pools, expected.pools))


@pytest.mark.parametrize(
    ("changes", "calls"),
    [
        ({}, lambda plan: plan.round(2)),
        ({"lookahead": 1}, lambda plan: plan.round(0)),
        ({"more": 1}, lambda plan: plan.extensions()),
    ],
    ids=["the last round", "what is judged by its variations", "what only enlarges"],
)
def test_what_no_release_compares_is_not_embedded(changes, calls) -> None:
    used = chooser(**changes)
    assert bring(used, list(calls(used.plan)))
    assert used.encoder.seen == 0


@pytest.mark.parametrize("brought", [None, "1" * 64])
def test_a_run_in_a_public_frame_that_the_encoder_does_not_bring_is_refused(brought: str | None) -> None:
    plan, encoder, other = (
        small_plan(method="dp-means", centre_first=True, frame="0" * 64),
        Counting(),
        Counting(),
    )
    encoder.frame = SimpleNamespace(digest=plan.encoder.frame)
    assert find_frame(plan, encoder) is encoder.frame
    other.frame = brought and SimpleNamespace(digest=brought)
    with pytest.raises(ModelError, match="was judged in the public frame with sha256 0000"):
        find_frame(plan, other)


def test_variations_are_embedded_where_candidates_are_judged_by_them() -> None:
    used = chooser(lookahead=1)
    bring(used, list(used.plan.lookaheads(0)))
    assert used.encoder.seen == 6


def test_the_last_round_is_embedded_as_it_came_where_the_dataset_is_selected() -> None:
    used = chooser(lookahead=1, keep="selected", pool="all")
    bring(used, list(used.plan.round(2)))
    assert used.encoder.seen == 6


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({"appearance": "matched"}, 0),
        ({"appearance": "auto", "keep": "selected", "pool": "all"}, 6),
        ({"appearance": "as-is"}, 6),
    ],
    ids=["matched", "auto", "as-is"],
)
def test_before_an_appearance_is_released_only_what_will_be_judged_as_it_came_is_embedded(
    changes: dict[str, object], seen: int
) -> None:
    used = chooser(**changes)
    bring(used, list(used.plan.round(0)))
    assert used.encoder.seen == seen


def test_what_was_never_received_is_embedded_when_it_is_asked_for_and_once() -> None:
    used = chooser()
    asked = [Candidate(name, "cut", 0, None, name) for name in ("a", "b", "a")]
    found = used.embed(asked)
    assert (found.shape, used.encoder.seen) == ((3, 3), 2)
    assert np.array_equal(used.embed(asked[:1]), found[2:])
    assert used.encoder.seen == 2


@pytest.mark.parametrize(("gaps", "matched"), [((3.0, 1.0), True), ((1.0, 3.0), False), ((2.0, 2.0), False)])
def test_of_two_looks_the_one_whose_picks_lie_nearer_is_taken_and_of_equal_ones_that_which_came(
    gaps, matched
):
    def place(gap: float) -> SelectionInput:
        pools = (np.full((2, 1), gap), np.full((2, 1), -gap))
        return SelectionInput(("cut", "good"), pools, 1, 10, 1, 0, 7, "replace-one")

    scenes = [place(gap) for gap in gaps]
    used = chooser()
    used = replace(
        used, selector=SimpleNamespace(pick=lambda _, scene: [np.array([scenes.index(scene)])] * 2)
    )
    made = {
        label: tuple(Candidate(f"{label}-{k}", label, 0, None, f"{k}" * 64) for k in range(2))
        for label in ("cut", "good")
    }
    measured = {"centre": np.zeros(1), "axes": np.eye(1), "means": np.zeros((2, 1))}
    choices, values = used.choose(measured, scenes, Pool(made))
    assert [each.chosen[0].id for each in choices] == [f"cut-{int(matched)}", f"good-{int(matched)}"]
    assert values == ((1.0,) if matched else (0.0,))
