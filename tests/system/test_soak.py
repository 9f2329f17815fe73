"""The soak's verdict: each thing that it must not let pass ends it with a failure."""

from collections import Counter

import pytest

from benchmarks.soak.__main__ import Tally, result
from benchmarks.soak.traffic import HOSTILE, VALID

CREATION, NONSENSE = VALID[0], HOSTILE[1]


def tally(status=200, growth=0.0):
    found = Tally()
    found.note(CREATION, status, 0.1)
    found.note(NONSENSE, 422, 0.0)
    found.memory = [(at, 500 + growth * (at > 50)) for at in range(100)]
    return found


def passed(found, last=("200", "503"), code=0):
    return result(found, Counter(last), code, 100)["passed"]


def test_images_for_users_and_refusals_for_others_pass():
    assert passed(tally())


@pytest.mark.parametrize("status", [500, 429, 422, 0])
def test_a_user_without_images_fails(status):
    assert not passed(tally(status))


def test_memory_that_grows_fails():
    assert passed(tally(growth=60))
    assert not passed(tally(growth=70))


@pytest.mark.parametrize(
    ("last", "code"), [(("500",), 0), (("ReadError",), 0), (("200",), -9), (("200",), None)]
)
def test_an_end_out_of_order_fails(last, code):
    assert not passed(tally(), last, code)


def test_any_500_fails_whoever_asked():
    found = tally()
    found.note(NONSENSE, 500, 0.0)
    assert not passed(found)
    assert result(found, Counter(["200"]), 0, 100)["errors_500"] == 1
