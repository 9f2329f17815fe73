"""Noise that is the owners' sum: what it gives, and where it leaves a selector."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from safetensors.numpy import load, save
from scipy import stats

from pcevolve.auditing import find_encoder
from pcevolve.auditing.rerun import Rerun
from pcevolve.errors import ProtocolError
from pcevolve.public import selectors
from pcevolve.public.clinics.answers import Exchange, decode_exchanges
from pcevolve.public.clinics.grid import Grid, to_residues
from pcevolve.public.clinics.owners import Clinics
from pcevolve.public.clinics.summing import NoData, SummedNoise, Summing, UnansweredError, _are_near
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.media.images.appearance import Appearance
from pcevolve.public.privacy import Event
from pcevolve.public.release import Receipt
from pcevolve.public.selectors import Scope, SelectionInput
from pcevolve.public.selectors.choosing import Chooser
from pcevolve.public.selectors.method import scope_of
from pcevolve.public.selectors.rounds import is_blurred
from pcevolve.public.selectors.sums import CentreFirst, release_appearance
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
    (shown,) = summing.find_inputs(1, pool)
    renditions = (Appearance.released(released[0].receipt.values), None)
    as_released, as_is = summing.chooser.find_inputs(1, pool, renditions)
    assert np.array_equal(shown.pools[0], as_released.pools[0])
    assert not np.array_equal(shown.pools[0], as_is.pools[0])


@dataclass
class AllShares:
    """Noise as several owners draw it: each its share, on the grid."""

    clinics: Clinics
    events: list[Event]

    def gaussian(self, _key: str, values: np.ndarray, sigma: float) -> np.ndarray:
        grid = Grid.of(sigma, self.events.pop(0), values.size, self.clinics, 40)
        shares = [grid.add_noise(grid.round(np.zeros(values.shape))) for _ in self.clinics.owners]
        return np.asarray(values + np.sum(shares, axis=0) * grid.step)


@dataclass
class SameNoise:
    """The same numbers at the same access, however much noise is asked for."""

    accesses: int = 0

    def gaussian(self, _key: str, values: np.ndarray, _sigma: float) -> np.ndarray:
        self.accesses += 1
        return np.random.default_rng(self.accesses).normal(0, 30, values.shape)


def make_scene(classes: int, **changes: object) -> SelectionInput:
    pools, labels = np.random.default_rng(5).normal(size=(classes, 8, 32)), map(str, range(classes))
    scene = SelectionInput((*labels,), (*pools,), 2, 10, 1, 1, 7, "replace-one")
    return replace(scene, **changes)


def is_normal(numbers: np.ndarray) -> bool:
    """True for numbers that are normal with deviation 1; false by chance once in ten million."""
    bins = np.searchsorted(stats.norm.ppf(np.arange(1, 20) / 20), numbers)
    return bool(stats.chisquare(np.bincount(bins, minlength=20)).pvalue > 1e-7)


@pytest.mark.statistical
@pytest.mark.parametrize(("owners", "factor"), [((2, 1, 1), 2**0.5), ((3, 1, 2), 6**0.5)])
def test_means_reckon_with_the_noise_that_all_owners_add(owners, factor):
    """Without private data, what is released is noise alone."""
    clinics, events = make_clinics(*owners), (Event("gaussian", "3"), Event("gaussian", "2"))
    scene = make_scene(400, noise_factor=clinics.noise_factor)
    around = CentreFirst(scene.coordinates, scene, events)
    nobody = NoData(32).embeddings(None)
    measured = around.release(nobody, AllShares(clinics, [*events]))
    noisy, sigma, _ = around.recover_noisy_deviations(measured)
    noise = noisy.ravel() / sigma
    assert len(noise) > 6000
    assert is_normal(noise)
    for wrong in (0.7, 1 / 0.7, factor):  # 30 % off, or as if no more were added than is paid for
        assert not is_normal(wrong * noise)


@pytest.mark.parametrize("name", ["dp-means", "pe", "aug-pe"])
@pytest.mark.parametrize("accesses", [1, 2])
def test_a_release_of_several_owners_is_one_owners_who_pays_for_as_much_noise(name, accesses):
    paid = tuple(Event("gaussian", each) for each in ("3", "5")[:accesses])
    widened = tuple(Event("gaussian", each) for each in ("6", "10")[:accesses])
    alone, together = make_scene(4), make_scene(4, noise_factor=2.0)
    selector, nobody = selectors.find_method(name).make_selector(), NoData(32).embeddings(None)
    found = selector.measure(nobody, together, paid, SameNoise())
    expected = selector.measure(nobody, alone, widened, SameNoise())
    assert {each: found[each].tolist() for each in found} == {
        each: expected[each].tolist() for each in expected
    }
    assert selector.could_measure(found, together, paid)
    other = selector.measure(nobody, alone, paid, SameNoise())
    assert any(found[each].tolist() != other[each].tolist() for each in found)
    lift, scope = selectors.find_method(name).lift, Scope("replace-one", 1, 4, 10, 8)
    assert lift(paid, replace(scope, noise_factor=2.0)) == lift(widened, scope) < lift(paid, scope)


@pytest.mark.parametrize("name", ["pe", "aug-pe"])
def test_votes_on_record_have_no_digits_that_only_the_noise_of_all_owners_hides(name):
    selector, paid = selectors.find_method(name).make_selector(), (Event("gaussian", "3"),)
    alone = selector.measure(NoData(32).embeddings(None), make_scene(4), paid, SameNoise())
    assert selector.could_measure(alone, make_scene(4), paid)
    assert not selector.could_measure(alone, make_scene(4, noise_factor=2.0), paid)


def test_an_appearance_of_several_owners_is_one_owners_who_pays_for_as_much_noise():
    prior, nobody = Appearance(*[0.5] * 6), NoData(32)

    def release(event: str, factor: float = 1.0) -> Appearance:
        asked = (nobody.appearances, nobody.unit_of, 40, prior, Event("gaussian", event), "replace-one")
        return release_appearance(*asked, SameNoise(), factor)

    assert release("3", 2.0) == release("6")
    assert release("3") != release("6")
    scope = Scope("replace-one", 1, 4, 10, 8)
    assert is_blurred(Event("gaussian", "3"), replace(scope, noise_factor=2.0))
    assert not is_blurred(Event("gaussian", "3"), scope)


def test_an_appearance_on_record_was_drawn_to_the_guess_by_the_noise_of_all_owners(released):
    summing, pool, receipt = released[0].summing, released[0].pool, released[0].receipt
    nobody, guess = NoData(32), summing.chooser.common_appearance(pool)

    def release(factor: float) -> Appearance:
        event = Event("gaussian", repr(float(receipt.events[0].value) * factor))
        asked = (nobody.appearances, nobody.unit_of, 18, guess, event, "replace-one")
        return release_appearance(*asked, summing._add_up(0, released[0].head, released[0].exchanges))

    assert receipt.values == pytest.approx(release(1.5**0.5).numbers, rel=1e-9)
    assert receipt.values != pytest.approx(release(1.0).numbers, rel=1e-9)


def test_run_owners_and_audit_know_by_the_plan_how_much_noise_there_is(released, run):
    summing, pool = released[1].summing, released[1].pool
    assert summing.join(1, pool).noise_factor == scope_of(run.require_plan()).noise_factor == 1.5**0.5
