"""The door between two processes: every message crosses unchanged, and whoever speaks nonsense gets one clear line."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Iterator

import pytest

from pcevolve.errors import BudgetError, ClientError, ProtocolError
from pcevolve.keeper.keeping import serve
from pcevolve.public import protocol
from pcevolve.public.processes.pipe import Pipe, open_conversation
from pcevolve.public.publish.assessed import AssessedFigures
from pcevolve.public.release import Choice, Chosen, Receipt
from pcevolve.wire.asking import RemoteKeeper
from support.runs import RUN_ID, small_plan

RECEIPT = Receipt(
    RUN_ID, 1, (Choice("cut", (Chosen("a", "0" * 64),)),), (), "replace-one", (-0.0, 1e-300), "5" * 64
)
MEASURED = bytes(range(256)) * 5


class Answering:
    """A keeper that answers everything, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[object] = []
        self.refuses: Exception | None = None

    def _note(self, asked: object) -> None:
        self.asked.append(asked)
        if self.refuses is not None:
            raise self.refuses

    def prepare(self, asked: protocol.Prepare) -> protocol.Prepared:
        self._note(asked)
        return protocol.Prepared(method_reason="few shots")

    def settle(self, said: protocol.Settle) -> protocol.Settled:
        self._note(said)
        return protocol.Settled(plan=small_plan())

    def begin(self, asked: protocol.Begin) -> protocol.Begun:
        self._note(asked)
        return protocol.Begun(receipts=(RECEIPT,))

    def compare(self, asked: protocol.Compare) -> protocol.Compared:
        self._note(asked)
        return protocol.Compared()

    def made(self, told: protocol.Made) -> None:
        self._note(told)

    def show(self, asked: protocol.Show) -> protocol.Shown:
        self._note(asked)
        return protocol.Shown()

    def release(self, asked: protocol.Release) -> protocol.Released:
        self._note(asked)
        return protocol.Released(receipt=RECEIPT, measurement=base64.b64encode(MEASURED))

    def assess(self, asked: protocol.Assess) -> protocol.Assessed:
        self._note(asked)
        return protocol.Assessed(
            assessment=AssessedFigures(classes_apart=1.5, distance=0.25, nearest=0.25, agreement=None)
        )

    def finish(self, told: protocol.Finish) -> protocol.Done:
        self._note(told)
        return protocol.Done()

    def close(self, asked: protocol.Close) -> None:
        self._note(asked)


class Door:
    """A keeper behind its door in a thread, and the pipe before it."""

    def __init__(self) -> None:
        first, second = open_conversation()
        self.keeper, self.told = Answering(), list[ClientError]()
        self.pipe, self._behind = Pipe(*first), Pipe(*second)
        self.remote = RemoteKeeper(self.pipe)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        try:
            serve(self.keeper, self._behind, self.told.append)
        finally:  # also of a keeper that breaks down: who asks would wait for ever
            self._behind.close()

    def end(self) -> None:
        self._thread.join(10)
        assert not self._thread.is_alive()


@pytest.fixture
def door() -> Iterator[Door]:
    made = Door()
    yield made
    made.remote.close(protocol.Close())
    made.end()


ASKED: dict[str, tuple[Callable[[RemoteKeeper], object], object]] = {
    "prepare": (
        lambda keeper: keeper.prepare(protocol.Prepare(run_id=RUN_ID)),
        protocol.Prepared(method_reason="few shots"),
    ),
    "settle": (lambda keeper: keeper.settle(protocol.Settle()), protocol.Settled(plan=small_plan())),
    "begin": (
        lambda keeper: keeper.begin(protocol.Begin(plan="1" * 64)),
        protocol.Begun(receipts=(RECEIPT,)),
    ),
    "compare": (
        lambda keeper: keeper.compare(protocol.Compare(classes=())),
        protocol.Compared(),
    ),
    "show": (lambda keeper: keeper.show(protocol.Show(iteration=1)), protocol.Shown()),
    "release": (
        lambda keeper: keeper.release(protocol.Release(iteration=1, head="2" * 64)),
        protocol.Released(receipt=RECEIPT, measurement=base64.b64encode(MEASURED)),
    ),
    "assess": (
        lambda keeper: keeper.assess(protocol.Assess()),
        protocol.Assessed(
            assessment=AssessedFigures(classes_apart=1.5, distance=0.25, nearest=0.25, agreement=None)
        ),
    ),
    "finish": (lambda keeper: keeper.finish(protocol.Finish(figures={"cost": 0.5})), protocol.Done()),
}


@pytest.mark.parametrize("name", ASKED)
def test_an_answer_is_on_the_other_side_what_it_was_on_this(door, name):
    ask, expected = ASKED[name]
    found = ask(door.remote)
    assert found == expected
    assert found.model_dump_json() == expected.model_dump_json()  # -0.0 equals 0.0


def test_what_needs_no_answer_gets_none(door):
    door.remote.made(protocol.Made(slot="x", digests=("0" * 64,)))
    assert ASKED["show"][0](door.remote) == protocol.Shown()
    assert door.keeper.asked[0] == protocol.Made(slot="x", digests=("0" * 64,))


@pytest.mark.parametrize("first", ["release", "made"])
def test_a_refusal_is_of_its_kind_and_its_text_stays_with_the_keeper(door, first):
    door.keeper.refuses = BudgetError("patient 4711 is spent")
    if first == "made":
        door.remote.made(protocol.Made(slot="x", digests=()))
    with pytest.raises(BudgetError, match="the reason is on standard error alone") as refused:
        ASKED["release"][0](door.remote)
    assert refused.value.is_reported
    assert refused.value.exit_code == 4
    assert [str(each) for each in door.told] == ["patient 4711 is spent"]


def test_a_full_disk_is_told_the_owner_and_to_the_other_side_as_a_refusal(door):
    door.keeper.refuses = OSError(28, "No space left on device", "/private/ledger.sqlite")
    with pytest.raises(ClientError, match="the reason is on standard error alone"):
        ASKED["release"][0](door.remote)
    assert ["No space left" in str(each) for each in door.told] == [True]


@pytest.mark.parametrize(
    "line",
    [
        ("drop", "{}"),
        ("release", "{}"),
        ("release", '{"iteration": -1, "head": "' + "0" * 64 + '"}'),
        ("release", '{"iteration": 1, "head": "' + "0" * 64 + '", "more": 1}'),
        ("made", '{"slot": "x", "digests": ["../../private/a.png"]}'),
        ("settle", '{"plan": {}}'),
        ("prepare", "[" * 100_000),
        ("refused", '{"kind": "BudgetError", "code": 4}'),
    ],
    ids=lambda line: f"{line[0]} {line[1][:40]}",
)
def test_a_runner_that_sends_nonsense_is_answered_no_more(door, line):
    door.pipe.send(*line)
    with pytest.raises(ProtocolError):
        ASKED["release"][0](door.remote)
    assert [type(each) for each in door.told] == [ProtocolError]
    assert not any(isinstance(each, protocol.Release) for each in door.keeper.asked)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("shown", "{}"), "the keeper answered 'shown' where Released was requested"),
        (("released", "{}"), "is not a message of the protocol"),
        (("released", '{"receipt": 1}'), "is not a message of the protocol"),
        (("refused", '{"kind": "SystemExit", "code": 0}'), "the reason is on standard error alone"),
    ],
)
def test_a_keeper_that_sends_nonsense_is_not_believed(line, said):
    first, second = open_conversation()
    remote, other = RemoteKeeper(Pipe(*first)), Pipe(*second)
    other.send(*line)
    with pytest.raises(ProtocolError, match=said):
        ASKED["release"][0](remote)


def test_a_keeper_that_is_gone_is_one_clear_line():
    first, second = open_conversation()
    remote, other = RemoteKeeper(Pipe(*first)), Pipe(*second)
    other.close()
    with pytest.raises(ProtocolError, match="the keeper of the private data ended during the run"):
        ASKED["release"][0](remote)
    remote.close(protocol.Close())


def test_a_keeper_whose_runner_is_gone_says_nothing():
    door = Door()
    door.pipe.close()
    door.end()
    assert door.told == []
