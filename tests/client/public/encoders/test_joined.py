"""Two encoders as one: what each sees stands behind the other, in one unit, and each keeps axes of its own."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from PIL import Image

from pcevolve.errors import UsageError
from pcevolve.keeper.finished.judging import load_judges
from pcevolve.public.encoders import BUNDLED, JOINED, MOBILENET, frame_digest, load_encoder, named_weights
from pcevolve.public.geometry.frame import Frame
from pcevolve.public.privacy import Event
from pcevolve.public.selectors.means import Means
from pcevolve.public.selectors.selection import PrivateEmbeddings, SelectionInput
from support.neighbours import Observer


@pytest.fixture(scope="module")
def joined():
    return load_encoder(JOINED)


def paint(seed: int) -> Image.Image:
    coarse = np.random.default_rng(seed).integers(0, 256, (9, 9, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((64, 64))


def test_an_embedding_is_that_of_the_bundled_encoder_and_that_of_the_mobilenet_behind_it(joined):
    images = [paint(1), None, paint(2)]
    rows, first, second = (load_encoder(name).embed(images) for name in (JOINED, BUNDLED, MOBILENET))
    assert joined.dimension == 256 + 1280
    assert np.array_equal(rows[:, :256], first, equal_nan=True)
    units = np.unique(rows[[0, 2], 256:][second[[0, 2]] > 0] / second[[0, 2]][second[[0, 2]] > 0])
    assert len(units) == 1
    assert np.log2(units[0]) % 1 == 0, "a power of two loses no digit"
    assert np.isnan(rows[1]).all()


def test_both_parts_have_public_radii_within_a_factor_of_a_root_of_two(joined):
    first, second = (part.radii[15] for part in joined.frame.parts)
    assert 0.7 < first / second < 1.42


def test_a_plan_names_both_files_of_weights_and_of_frames_by_one_digest():
    digests = {
        name: (named_weights(name, None), frame_digest(name, None)) for name in (JOINED, BUNDLED, MOBILENET)
    }
    assert len({each for pair in digests.values() for each in pair}) == 6
    assert load_encoder(JOINED).frame.digest == frame_digest(JOINED, None)
    with pytest.raises(UsageError, match="takes no others"):
        load_encoder(JOINED, "weights.safetensors")


def test_neither_part_judges_what_both_selected():
    voted = {each.name: each.voted for each in load_judges(["cnn", BUNDLED, MOBILENET], JOINED, "cpu")}
    assert voted == {"cnn": False, BUNDLED: True, MOBILENET: True}


def test_in_the_frame_each_part_is_seen_as_by_itself(joined):
    images = [paint(seed) for seed in range(40)]
    rows = joined.embed(images)
    whole = Frame.join(joined.frame, rows)
    alone = [
        Frame.join(part, points)
        for part, points in zip(joined.frame.parts, (rows[:, :256], rows[:, 256:]), strict=True)
    ]
    assert whole.axes.shape == (1536, 32)
    assert np.array_equal(whole.points(rows)[:, :16], alone[0].points(rows[:, :256]))
    assert np.allclose(whole.points(rows)[:, 16:], alone[1].points(rows[:, 256:]), atol=1e-9)
    assert whole.radius == pytest.approx(np.hypot(alone[0].radius, alone[1].radius))


def test_no_replaced_image_moves_what_is_released_of_both_parts_by_more_than_is_paid_for(joined):
    """All neighbours of all pairs of images that lie far out in one part, in the other, or in both."""
    rows = joined.embed([paint(seed) for seed in range(12)])
    scene = SelectionInput(
        ("a", "b"), (rows[:6], rows[6:]), 2, 1, 1, 0, 7, "replace-one", public=joined.frame
    )
    frame, events = scene.coordinates, (Event("gaussian", "1"), Event("gaussian", "1"))
    ways = np.zeros((3, 32))
    ways[0, 0] = ways[1, 16] = 1
    ways[2, [0, 16]] = 0.5**0.5
    far = [frame.centre + sign * 100 * frame.radius * (frame.axes @ way) for way in ways for sign in (-1, 1)]
    records = list(product(far, (0, 1)))

    def release(*private: tuple[np.ndarray, int]) -> list[tuple[np.ndarray, float]]:
        points, targets = np.stack([each for each, _ in private]), np.array([each for _, each in private])
        noise = Observer(middle=0.0)
        Means().measure(PrivateEmbeddings(points, targets, np.arange(len(private))), scene, events, noise)
        return [(values, sigma) for _, values, sigma in noise.asked]

    released = {
        pair: release(*(records[each] for each in pair)) for pair in product(range(len(records)), repeat=2)
    }
    moved = np.zeros(2)
    for (_, kept), before in released.items():
        for other in range(len(records)):
            after = released[other, kept]
            steps = [
                np.linalg.norm(was - now) / sigma
                for (was, sigma), (now, _) in zip(before, after, strict=True)
            ]
            moved = np.maximum(moved, steps)
    assert (moved <= 1).all()
    assert (moved > 0.99).all(), "less noise would not be enough"
