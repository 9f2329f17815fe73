"""The keeper: what it answers, when, and in which order it can be asked."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from pcevolve.app.session.preflight import check_run
from pcevolve.errors import BudgetError, DataError, ProtocolError
from pcevolve.keeper.keeper import Keeper
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.keeper.padding import Padding
from pcevolve.keeper.screen import OwnerScreen
from pcevolve.public import protocol
from pcevolve.public.calls import Call
from pcevolve.public.config.config import RunConfig
from pcevolve.public.modality import ModelSize
from pcevolve.public.privacy import Budget
from pcevolve.public.transcript.bodies import Bodies
from pcevolve.public.transcript.log import Transcript
from pcevolve.public.transcript.records import Opened, Planned
from support.clock import Clock
from support.folders import class_folders
from support.provider import png

RUN_ID = "0123456789abcdef0123456789abcdef"
HEAD = "5" * 64


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keeper(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Keeper:
    """Of two images in two classes, for a run of one round; its id is found where no other test looks."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "usual"))
    options = {
        "private": class_folders(tmp_path / "private", 1, ("cut", "good"), 1), "domain": "scratch", "shots": 1,
        "method": "pe", "delta": 1e-5, "candidates": 2, "iterations": 1, "epsilon": "1000",
        "out": tmp_path / "run", "ledger": tmp_path / "state" / "ledger.sqlite",
    }  # fmt: skip
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").touch()  # as the runner claims it
    made = Keeper(check_run(RunConfig.of(options)), OwnerScreen(quiet=True))
    made._padding = Padding(4.0, clock, clock.sleep)
    made._began = clock.now
    return made


def settled(keeper: Keeper) -> protocol.Begin:
    """Prepare and settle a run; what begins it."""
    keeper.prepare(protocol.Prepare(run_id=RUN_ID))
    plan = keeper.settle(protocol.Settle(size=ModelSize(16, 16))).plan
    with closing(Transcript(keeper._folder.transcript)) as record:
        if not record.entries:
            record.append(Opened(run_id=RUN_ID, api=plan.provider.api, dialect=plan.provider.dialect))
    return protocol.Begin(plan=protocol.digest_plan(plan))


@pytest.mark.parametrize("took", [0.25, 3.9, 7.0])
def test_reading_and_embedding_private_data_end_at_a_whole_tick_and_make_no_tick_too_short(
    keeper, clock, monkeypatch, took
):
    clock.now += took / 2  # reading them
    monkeypatch.setattr(type(keeper.components), "prepare", lambda *_: clock.sleep(took / 2), raising=True)
    keeper.prepare(protocol.Prepare(run_id=RUN_ID))
    assert clock.now - keeper._began == (4.0 if took < 4 else 8.0)
    assert keeper._padding.longest == 0


def test_a_preparation_that_is_refused_ends_at_a_whole_tick_as_well(keeper, clock, monkeypatch):
    def refuse(*_: object) -> None:
        clock.sleep(5.0)
        raise DataError("a private image has no embedding")

    monkeypatch.setattr(type(keeper.components), "prepare", refuse)
    with pytest.raises(DataError, match="has no embedding"):
        keeper.prepare(protocol.Prepare(run_id=RUN_ID))
    assert clock.now - keeper._began == 8.0


def test_a_run_that_never_begins_leaves_no_ledger_behind(keeper, tmp_path):
    settled(keeper)
    keeper.close()
    assert not (tmp_path / "state").exists()


def tell(keeper: Keeper, folder: Path, calls: list[Call]) -> None:
    """Answer calls with images of their own, which lie in the record."""
    bodies = Bodies(folder / "run" / "transcript" / "bodies")
    bodies.folder.mkdir(parents=True, exist_ok=True)
    for place, call in enumerate(calls):
        digests = tuple(bodies.keep(png(40 * place + index)) for index in range(call.count))
        keeper.made(protocol.Made(slot=call.slot, digests=digests))


def test_what_the_ledger_learned_while_the_owner_was_asked_refuses_a_run_before_any_candidate(
    keeper, tmp_path
):
    begin = settled(keeper)
    with closing(LedgerBook(tmp_path / "state" / "ledger.sqlite")) as other:
        other.set_cap(Budget(Fraction(1), 1e-5))
    with pytest.raises(BudgetError, match="pcevolve budget cap"):
        keeper.begin(begin)
    with closing(LedgerBook(tmp_path / "state" / "ledger.sqlite")) as other:
        assert other.runs() == []
    assert not (tmp_path / "state" / "runs").exists()


def test_the_ledger_is_asked_again_when_a_release_is_paid_for(begun, tmp_path):
    with closing(LedgerBook(tmp_path / "state" / "ledger.sqlite")) as other:
        other.set_cap(Budget(Fraction(1), 1e-5))
    with pytest.raises(BudgetError, match="pcevolve budget cap"):
        begun.release(protocol.Release(iteration=1, head=HEAD))


@pytest.fixture
def begun(keeper: Keeper, tmp_path: Path) -> Keeper:
    """A keeper of a run whose first candidates are there."""
    keeper.begin(settled(keeper))
    tell(keeper, tmp_path, list(keeper._plan.round(0)))
    return keeper


def test_a_run_is_entered_and_a_release_leaves_at_a_whole_tick_however_long_they_took(
    keeper, clock, tmp_path, monkeypatch
):
    begin = settled(keeper)
    enrol = type(keeper._account).enrol

    def slow(account: object) -> object:
        clock.now += 5.5
        return enrol(account)

    monkeypatch.setattr(type(keeper._account), "enrol", slow)
    assert clock.now == pytest.approx(104.0)  # it was prepared in a tick
    keeper.begin(begin)
    assert clock.now == pytest.approx(112.0)
    tell(keeper, tmp_path, list(keeper._plan.round(0)))
    released = keeper.release(protocol.Release(iteration=1, head=HEAD))
    assert clock.now == pytest.approx(116.0)
    assert released.receipt.iteration == 1


def test_a_release_of_what_the_keeper_was_told_comes_with_what_it_measured_and_is_in_the_ledger(begun):
    released = begun.release(protocol.Release(iteration=1, head=HEAD))
    assert begun._account.receipts() == (released.receipt,)
    assert begun._account.read_measured(1) == released.measurement != b""
    told = {each.id: each.digest for of_call in begun._selection.lineage.answers.values() for each in of_call}
    chosen = [each for label in begun._plan.labels for each in released.receipt.of(label)]
    assert chosen
    assert all(told[each.id] == each.digest for each in chosen)


def test_the_plan_follows_from_the_owner_s_options_whatever_the_runner_says_of_the_api(keeper):
    keeper.prepare(protocol.Prepare(run_id=RUN_ID))
    one = keeper.settle(protocol.Settle(size=ModelSize(16, 16))).plan
    other = keeper.settle(protocol.Settle(size=ModelSize(64, 32), takes_several=False)).plan
    changed = {name for name in type(one).model_fields if getattr(one, name) != getattr(other, name)}
    assert changed == {"modality"}
    assert (other.modality.width, other.modality.height) == (64, 32)


def test_nothing_is_on_the_ledger_or_stored_before_the_owner_agrees(keeper, tmp_path):
    settled(keeper)
    assert not keeper._account.enrolled
    assert sorted(each.name for each in (tmp_path / "run").iterdir()) == [".lock", "transcript"]
    assert not (tmp_path / "runs").exists()


def _begin(keeper: Keeper) -> None:
    keeper.begin(settled(keeper))


NOTHING = "nothing is selected before the run begins"
OTHER = "must begin with the last plan that was made"
ORDER: dict[str, tuple[Callable[[Keeper], object] | None, str, Callable[[Keeper], object]]] = {
    "an answer": (settled, NOTHING, lambda it: it.made(protocol.Made(slot="i000/c000/n000000", digests=()))),
    "a comparison": (settled, NOTHING, lambda it: it.compare(protocol.Compare(classes=()))),
    "a look": (settled, NOTHING, lambda it: it.show(protocol.Show(iteration=1))),
    "a release": (settled, NOTHING, lambda it: it.release(protocol.Release(iteration=1, head=HEAD))),
    "an assessment": (settled, NOTHING, lambda it: it.assess(protocol.Assess())),
    "an early assessment": (_begin, "the plan is not complete", lambda it: it.assess(protocol.Assess())),
    "an early plan": (None, "only after a run is prepared", lambda it: it.settle(protocol.Settle())),
    "a late plan": (_begin, "before the run begins", lambda it: it.settle(protocol.Settle())),
    "no plan": (None, OTHER, lambda it: it.begin(protocol.Begin(plan="0" * 64))),
    "another plan": (settled, OTHER, lambda it: it.begin(protocol.Begin(plan="0" * 64))),
    "twice": (settled, "prepared only once", lambda it: it.prepare(protocol.Prepare(run_id="1" * 32))),
}


@pytest.mark.parametrize("name", ORDER)
def test_a_run_is_prepared_once_settled_begun_with_that_plan_and_only_then_chosen_for(keeper, name):
    before, said, ask = ORDER[name]
    if before is not None:
        before(keeper)
    with pytest.raises(ProtocolError, match=said):
        ask(keeper)


WRONG: dict[str, tuple[str, Callable[[Keeper], object]]] = {
    "a call that the plan has not": (
        "no open call 'x'",
        lambda keeper: keeper.made(protocol.Made(slot="x", digests=("0" * 64,))),
    ),
    "a call twice": (
        "no open call 'i000/c000/n000000'",
        lambda keeper: keeper.made(protocol.Made(slot="i000/c000/n000000", digests=("0" * 64,) * 2)),
    ),
    "too many outputs": (
        "must bring 1 outputs",
        lambda keeper: _first_of_round(keeper, 1, 2),
    ),
    "a release out of turn": (
        "release 2 is not the next one",
        lambda keeper: keeper.release(protocol.Release(iteration=2, head=HEAD)),
    ),
    "a release twice": (
        "release 1 is not the next one",
        lambda keeper: [keeper.release(protocol.Release(iteration=1, head=HEAD)) for _ in range(2)],
    ),
}


def _first_of_round(keeper: Keeper, iteration: int, outputs: int) -> object:
    keeper.release(protocol.Release(iteration=1, head=HEAD))
    call = next(iter(keeper._plan.round(iteration)))
    return keeper.made(protocol.Made(slot=call.slot, digests=("0" * 64,) * outputs))


@pytest.mark.parametrize("name", WRONG)
def test_a_runner_that_says_what_cannot_be_is_refused(begun, name):
    said, ask = WRONG[name]
    with pytest.raises(ProtocolError, match=said):
        ask(begun)


def test_nothing_more_is_paid_for_where_a_round_brought_one_picture_alone(begun, tmp_path):
    begun.release(protocol.Release(iteration=1, head=HEAD))
    digest = Bodies(tmp_path / "run" / "transcript" / "bodies").keep(png(7))
    for call in begun._plan.round(1):
        begun.made(protocol.Made(slot=call.slot, digests=(digest,) * call.count))
    for iteration in (1, 2):
        with pytest.raises(ProtocolError, match=f"release {iteration} is not the next one"):
            begun.release(protocol.Release(iteration=iteration, head=HEAD))
    assert len(begun._account.receipts()) == 1


def test_a_release_waits_for_all_candidates(keeper, tmp_path):
    keeper.begin(settled(keeper))
    *others, last = keeper._plan.round(0)
    tell(keeper, tmp_path, others)
    with pytest.raises(ProtocolError, match=f"needs the outputs of call {last.slot}"):
        keeper.release(protocol.Release(iteration=1, head=HEAD))
    assert keeper._account.receipts() == ()


def test_what_was_paid_for_is_answered_again_by_another_keeper_and_nothing_is_embedded_for_it(
    keeper, tmp_path
):
    keeper.begin(settled(keeper))
    plan = keeper._plan
    calls = list(plan.round(0))
    tell(keeper, tmp_path, calls)
    with closing(Transcript(tmp_path / "run" / "transcript")) as record:
        record.append(Planned(plan=plan))
        head = record.head
    first = keeper.release(protocol.Release(iteration=1, head=head))
    keeper.close(protocol.Close())
    again = Keeper(check_run(keeper.components.settings, resume=True), OwnerScreen(quiet=True))
    again.begin(settled(again))
    tell(again, tmp_path, calls)
    assert not again._selection.chooser._embedded
    assert again.release(protocol.Release(iteration=1, head=head)) == first
