"""Noise that is the owners' sum: what it gives, and where it leaves a selector."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from safetensors.numpy import load, save

from pcevolve.auditing import find_encoder
from pcevolve.auditing.rerun import Rerun
from pcevolve.errors import ProtocolError
from pcevolve.public import selectors
from pcevolve.public.clinics.answers import Exchange, decode_exchanges
from pcevolve.public.clinics.grid import to_residues
from pcevolve.public.clinics.summing import NoData, SummedNoise, Summing, UnansweredError, _are_near
from pcevolve.public.lineage import Pool
from pcevolve.public.media.images.appearance import Appearance
from pcevolve.public.privacy import Event
from pcevolve.public.release import Receipt
from pcevolve.public.selectors.choosing import Chooser
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import RecordedRelease
from support import online
from support.clinics import bring_together, make_clinics

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


@dataclass
class Released:
    """What a coordinator put on record of a release, and what an owner makes of it."""

    summing: Summing
    receipt: Receipt
    measured: bytes
    pool: Pool
    head: str
    exchanges: tuple[Exchange, ...]

    def find_fault(self, measured: bytes | None = None, **changes: object) -> str:
        known = self.measured if measured is None else measured
        receipt = replace(self.receipt, **changes)
        return self.summing.find_fault(receipt, known, self.pool, self.head, self.exchanges)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunReader:
    folder, server = tmp_path_factory.mktemp("clinics"), online.LocalServer(online.a1111)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(folder / "usual"))
        bring_together(folder, server.address, appearance="matched").carry_out()
    server.close()
    return RunReader.strict(folder / "run")


@pytest.fixture
def released(run: RunReader) -> dict[int, Released]:
    plan, entries = run.require_plan(), list(run.entries)
    selector = selectors.find_method(plan.method.name).make_selector()
    summing = Summing(plan, Chooser(plan, find_encoder(plan), run.bodies.file, selector))
    found = {}
    for before, entry in pairwise(entries):
        if isinstance(record := entry.record, RecordedRelease):
            receipt = record.receipt
            measured = run.bodies.file(receipt.measured) if receipt.measured else b""
            pool, exchanges = Rerun.of(run).pools[receipt.iteration], run.bodies.file(record.answers)
            summing.note(receipt, measured)
            found[receipt.iteration] = Released(
                summing, receipt, measured, pool, before.digest, decode_exchanges(exchanges)
            )
    return found


def test_what_the_answers_give_is_what_is_on_record(released):
    assert [*released] == [0, 1]
    for each in released.values():
        found = each.summing.release(each.receipt.iteration, each.pool, each.head, each.exchanges)
        assert found == (each.receipt, each.measured)
        assert each.find_fault() == ""


def test_a_release_that_says_it_is_another_is_one(released):
    for each in released.values():
        assert "another one than the plan's" in each.find_fault(run_id="f" * 32)
    assert "another one than the plan's" in released[1].find_fault(b"")


def test_an_appearance_is_the_sum_of_the_answers_but_for_rounding(released):
    values = released[0].receipt.values
    assert released[0].find_fault(values=tuple(each * (1 + 1e-12) for each in values)) == ""
    for odd in (tuple(each + 0.01 for each in values), values[:-1]):
        assert "not the sum" in released[0].find_fault(values=odd)


def test_what_was_measured_is_the_sum_of_the_answers_but_for_rounding(released):
    arrays = load(released[1].measured)
    assert len(arrays) > 1
    for name, array in arrays.items():
        far = np.zeros_like(array)
        far.flat[-1] = np.abs(array).max() or 1.0
        # Whether the same choice follows from it is another question.
        assert "not the sum" not in released[1].find_fault(save({**arrays, name: array + 1e-9 * far}))
        assert "not the sum" in released[1].find_fault(save({**arrays, name: array + 1e-3 * far}))
        assert "not the sum" in released[1].find_fault(save({**arrays, name: array[None]}))
    assert "not the sum" in released[1].find_fault(save({**arrays, "more": np.zeros(1)}))


def test_a_choice_that_does_not_follow_from_the_sums_is_noticed(released):
    first, *rest = released[1].receipt.choices
    turned = replace(first, chosen=tuple(reversed(first.chosen)))
    assert "does not follow" in released[1].find_fault(choices=(turned, *rest))


def test_sums_that_are_nothing_anywhere_are_the_same():
    assert _are_near({"votes": np.zeros(3)}, {"votes": np.zeros(3)})


def test_candidates_are_shown_in_the_appearance_that_was_released(released):
    summing, pool = released[1].summing, released[1].pool
    (shown,) = summing.scenes(1, pool)
    renditions = (Appearance.released(released[0].receipt.values), None)
    as_released, as_is = summing.chooser.scenes(1, pool, renditions)
    assert np.array_equal(shown.pools[0], as_released.pools[0])
    assert not np.array_equal(shown.pools[0], as_is.pools[0])
