"""Noise that is the owners' sum: what it gives, and where it leaves a selector."""

from __future__ import annotations

import numpy as np
import pytest

from pcevolve.errors import ProtocolError
from pcevolve.public.clinics.grid import to_residues
from pcevolve.public.clinics.summing import NoData, SummedNoise, UnansweredError
from pcevolve.public.privacy import Event
from support.clinics import make_clinics

EVENTS = (Event("gaussian", "3"), Event("gaussian", "2"))
OWN = np.array([1.0, -2.0])


def make_noise(*sums: list[float], steps: tuple[float, ...] = ()) -> SummedNoise:
    clinics = make_clinics(2)
    grid = ask(SummedNoise(clinics, 40, EVENTS, [], steps)).grid
    answers = [
        [to_residues(grid.round(np.array(each))), to_residues(grid.round(np.zeros(len(each))))]
        for each in sums
    ]
    return SummedNoise(clinics, 40, EVENTS, answers, [grid.step for _ in sums] or steps)


def ask(noise: SummedNoise) -> UnansweredError:
    with pytest.raises(UnansweredError) as left:
        noise.gaussian("first", OWN, 6.0)
    return left.value


def test_an_access_that_nobody_answered_is_left_with_the_sums_at_hand():
    left = ask(make_noise())
    assert left.values.tolist() == [1.0, -2.0]
    assert left.grid.deviation * left.grid.step == pytest.approx(6.0, rel=1e-8)
    assert "1.0" not in repr(left) + str(left)


def test_an_access_that_is_answered_gives_the_sum_of_all_whatever_is_at_hand():
    noise = make_noise([5.0, 7.0])
    assert noise.gaussian("first", OWN, 6.0) == pytest.approx([5.0, 7.0], abs=1e-8)
    with pytest.raises(UnansweredError) as second:
        noise.gaussian("second", OWN, 4.0)
    # Each access by its own event: z = 2, and the same sensitivity.
    assert second.value.grid.deviation * second.value.grid.step == pytest.approx(4.0, rel=1e-8)


def test_a_grid_that_was_asked_for_is_the_one_that_is_rounded_to():
    assert ask(make_noise(steps=(2.0**-20,))).grid.step == 2.0**-20


def test_answers_of_another_length_are_refused():
    with pytest.raises(ProtocolError, match="another length"):
        make_noise([5.0, 7.0, 9.0]).gaussian("first", OWN, 6.0)


def test_draws_do_not_add_up():
    noise = make_noise()
    with pytest.raises(ProtocolError, match="do not add up"):
        noise.exponential("any", OWN, 1)
    with pytest.raises(ProtocolError, match="do not add up"):
        noise.uniform("any", 2)


def test_who_has_no_data_has_none():
    nobody = NoData(4)
    assert len(nobody.embeddings(None)) == 0
    assert nobody.appearances.shape == (0, 6)
    assert nobody.unit_of.size == 0
