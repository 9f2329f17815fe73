"""Each image is embedded by itself, by a thread that computes alone."""

from __future__ import annotations

import time

import numpy as np
import pytest
import torch
from PIL import Image
from threadpoolctl import threadpool_info

from pcevolve.public.encoders.singly import centre_square, embed_each, lone_workers, pixel_array, thread_count


def picture(seed: int, size: tuple[int, int] = (8, 8)) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def threads_of_products() -> set[int]:
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_neither_torch_nor_numpy_divides_the_work_of_a_lone_worker():
    threads, divided = torch.get_num_threads(), threads_of_products()
    assert thread_count() == threads
    with lone_workers(threads) as pool:
        assert pool.submit(threads_of_products).result() == {1}
        assert pool.submit(torch.get_num_threads).result() == 1
    assert (torch.get_num_threads(), threads_of_products()) == (threads, divided)


def test_the_centre_square_is_taken_of_any_shape():
    wide, tall = picture(0, (9, 4)), picture(0, (4, 9))
    assert centre_square(wide).tobytes() == wide.crop((2, 0, 6, 4)).tobytes()
    assert centre_square(tall).tobytes() == tall.crop((0, 2, 4, 6)).tobytes()


def test_pixels_are_between_0_and_1_and_nan_where_an_image_cannot_be_used():
    found = pixel_array([Image.new("RGB", (4, 4), (255, 0, 51)), None], 2)
    assert found[0].reshape(3, 4).tolist() == [[1.0] * 4, [0.0] * 4, [np.float32(0.2)] * 4]
    assert np.isnan(found[1]).all()


@pytest.mark.parametrize("threads", [0, 1, 3, None])
def test_every_image_goes_through_the_network_alone_and_keeps_its_place(threads):
    def forward(image):
        grey = np.asarray(image, dtype=np.float32).mean()
        return np.array([grey, np.inf if grey == 7 else 1], dtype=np.float32)

    greys = (9, 7, 5)
    images = [None, *(Image.new("L", (3, 2), grey) for grey in greys)]
    rows = embed_each(images, lambda image: image, forward, 2, threads)
    assert np.array_equal(rows, [[np.nan] * 2, [9, 1], [np.nan] * 2, [5, 1]], equal_nan=True)


def test_what_a_thread_raises_is_raised():
    def forward(image):
        raise ZeroDivisionError("of this image")

    with pytest.raises(ZeroDivisionError, match="of this image"):
        embed_each([picture(0)], lambda image: image, forward, 2)


def test_who_is_stopped_begins_nothing_any_more():
    begun: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        time.sleep(0.05)

    def stop() -> None:
        with lone_workers(1) as pool:
            for number in range(50):
                pool.submit(work, number)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert len(begun) < 10
