"""Threads each of which computes alone."""

from __future__ import annotations

import numpy as np
import torch
from threadpoolctl import threadpool_info

from pcevolve.encoders.threads import lone_workers

PRODUCTS = np.ones((2, 2)) @ np.ones((2, 2))  # NumPy has loaded its library of linear algebra


def threads_of_products() -> set[int]:
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_neither_torch_nor_numpy_divides_the_work_of_a_lone_worker():
    threads, divided = torch.get_num_threads(), threads_of_products()
    with lone_workers(threads) as pool:
        assert pool.submit(threads_of_products).result() == {1}
        assert pool.submit(torch.get_num_threads).result() == 1
    assert (torch.get_num_threads(), threads_of_products()) == (threads, divided)
