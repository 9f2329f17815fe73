"""What can be used as an image, and when two are one."""

from __future__ import annotations

import hashlib
import io

import numpy as np
import pytest
from PIL import Image, ImageDraw

from pcevolve.public.media import UnreadableError
from pcevolve.public.media.images.appearance import Appearance
from pcevolve.public.media.images.medium import IMAGES
from support.pools import look_at, save


def test_images_are_the_same_of_which_all_but_a_line_of_fields_differ_by_two_levels_at_most():
    ramp = np.tile(np.arange(0, 160, 10), (16, 1))[..., None].repeat(3, axis=2)

    def differing(fields: int, levels: int) -> int:
        """How many different images there are of one and another, which is off in so many fields."""
        off = ramp.copy().reshape(256, 3)
        off[:fields, 1] += levels
        return look_at(save(ramp), save(off.reshape(16, 16, 3))).different

    buffer = io.BytesIO()
    Image.fromarray(ramp.astype(np.uint8)).save(buffer, "PNG", compress_level=0)
    assert buffer.getvalue() != save(ramp)
    assert look_at(save(ramp), buffer.getvalue()).different == 1, "other bytes of the same pixels"
    assert differing(fields=256, levels=2) == 1
    assert differing(fields=16, levels=90) == 1
    assert differing(fields=17, levels=3) == 2


def test_a_placeholder_is_the_same_whatever_request_s_id_is_drawn_on_it():
    def placeholder(number: int) -> bytes:
        image = Image.new("RGB", (256, 256), (128, 128, 128))
        drawn = ImageDraw.Draw(image)
        drawn.text((20, 90), "Content blocked by safety filter", fill=(255, 255, 255))
        drawn.text((20, 120), hashlib.sha1(str(number).encode()).hexdigest(), fill=(255, 255, 255))
        return save(np.asarray(image))

    found = look_at(*map(placeholder, range(8)))
    assert (found.usable, found.different, found.enough) == (8, 1, False)


@pytest.mark.parametrize(("side", "levels", "different"), [(4, 3, 2), (4, 2, 1), (1, 32, 1), (1, 48, 2)])
def test_what_is_compared_are_the_means_of_sixteen_fields_a_side(side: int, levels: int, different: int):
    ramp = np.tile(np.arange(0, 192, 3), (64, 1))[..., None].repeat(3, axis=2)
    off = ramp.copy()
    for field in range(17):  # one more than may differ
        row, column = 4 * (field // 16), 4 * (field % 16)
        off[row : row + side, column : column + side] += levels
    assert look_at(save(ramp), save(off)).different == different


def test_what_came_is_decoded_as_it_is_or_in_the_appearance_that_is_wanted():
    pixels = np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    wanted = Appearance.of(Image.fromarray(pixels // 4))
    assert np.array_equal(np.asarray(IMAGES.decode(save(pixels))), pixels)
    other = IMAGES.decode(save(pixels), wanted)
    assert other.tobytes() == wanted.apply_to(Image.fromarray(pixels)).tobytes() != pixels.tobytes()


def test_what_is_released_has_the_pixels_that_came_and_what_is_none_or_flat_is_refused():
    came = save(np.random.default_rng(0).integers(0, 256, (16, 16, 3)))
    assert IMAGES.decode_release(IMAGES.encode_release(came)).tobytes() == IMAGES.decode(came).tobytes()
    for bad in (b"", b"no image", save(np.full((16, 16, 3), 7))):
        assert IMAGES.decode(bad) is None
        with pytest.raises(UnreadableError):
            IMAGES.encode_release(bad)
