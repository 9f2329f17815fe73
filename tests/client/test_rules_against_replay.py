"""The rulebook and the audit's replay are written twice, and say the same of any record, honest or forged."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcevolve.auditing.replay import Replay
from pcevolve.evolution import Pool
from pcevolve.ledger.ledger import Account, Paid
from pcevolve.privacy import Event
from pcevolve.providers import dialect
from pcevolve.public.calls import Call
from pcevolve.public.fields import Extension
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Choice, Chosen, Query, Receipt
from pcevolve.rules import ItsPrompt, OneImage, Refusal, RunState
from pcevolve.transcript import RunLayout, RunReader
from pcevolve.transcript.bodies import BodyRef
from pcevolve.transcript.log import Entry
from pcevolve.transcript.records import (
    Answered,
    Extended,
    Finished,
    Planned,
    Received,
    Record,
    Released,
    Sent,
)
from support.extended import extended_run
from support.runs import SmallRun, small_plan

BEFORE = small_plan(candidates=4, initial=4, prototypes=2, lookahead=1, more=1)
ADDED = Extension(more=1, strength=0.5)
WORDED = small_plan(
    candidates=4, initial=4, prototypes=2, lookahead=1, more=1, iterations=3, strengths=(), vary_by="prompt",
    prompts=(("a cut", "a long cut"), ("good leather", "better leather")),
)  # fmt: skip
"""The same, in which no image goes back: the prompt by which it was made does."""
TOGETHER = BEFORE.model_copy(update={"at_once": 3, "batch": 1})
"""The same, with three requests under way at once."""
DIALECT = dialect(BEFORE.dialect)
SAME: Final = {
    "is out of order": "out of order, or asked again after it was answered",
    "is asked again after it was answered": "out of order, or asked again after it was answered",
    "carries an image that the plan names and the provider had not sent": (
        "the plan names an image that the provider had not sent"
    ),
    "has no receipt for its class and iteration": "its image has no receipt for this class and iteration",
    "has a receipt of another run": "its receipt is of another run",
    "has a receipt that names an image that is not what the API sent": (
        "its receipt names an image that the provider had not sent"
    ),
    "has a receipt that names an image of another class": "its receipt names an image of another class",
    "has a receipt that names an image of no earlier iteration": (
        "its receipt names an image that the provider had not sent"
    ),
    "varies an image of which no prompt is known": "it varies an image of which no prompt is known",
    "another image": "its body differs from what the plan and the receipt give",
}
"""What the rulebook says, and what the replay says of the same."""
_UNSENT: Final = SAME["has a receipt that names an image that is not what the API sent"]
TOO_LATE: Final = "its receipt names an image of no earlier iteration"
"""The rulebook says this of an image that came out of its turn, since it explains broken records too; the replay says
that it had not come. Both refuse, so both are taken for the same."""

Block = tuple[Record, ...]
"""A request with what came of it, or a receipt."""
Blocks = list[Block]


@dataclass(frozen=True)
class LastOnes:
    """A judge that always chooses the last candidates, so that every run of these tests sees the same record."""

    account: Account

    def show(self, query: Query, pool: Pool) -> None:
        """Nothing to prepare."""

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Pay nothing, for nothing private was looked at."""
        choices = tuple(
            Choice(label, tuple(Chosen(each.id, each.digest) for each in made[-BEFORE.prototypes :]))
            for label, made in pool.candidates.items()
        )
        return self.account.pay(query, (Event("uniform"),), lambda: Paid(choices))


@dataclass(frozen=True)
class Honest:
    """A run that was carried out by the real parts.

    Attributes:
        root: Its folder.
        plan: Its plan, with the extension.
        beginning: Its lines up to the plan.
        blocks: What follows, without the closing line.
    """

    root: Path
    plan: PublicPlan
    beginning: Block = field(repr=False)
    blocks: tuple[Block, ...] = field(repr=False)

    @classmethod
    def at(cls, root: Path, plan: PublicPlan) -> Honest:
        run = SmallRun.open(root, plan)
        run.judge = LastOnes(run.account)
        run.finish()
        run.close()
        extended_run(root, ADDED)
        records = [entry.record for entry in RunReader.strict(root).entries]
        start = next(place for place, each in enumerate(records) if isinstance(each, Planned)) + 1
        cut = _blocks if plan.at_once == 1 else _halves
        return cls(root, plan.extended_by([ADDED]), tuple(records[:start]), tuple(cut(records[start:])))

    def record(self, blocks: Blocks) -> RunReader:
        """A record with other blocks; its chain is not looked at here."""
        records = [*self.beginning, *(record for block in blocks for record in block)]
        return RunReader(
            RunLayout(self.root), tuple(Entry(seq, each, "") for seq, each in enumerate(records))
        )


def _blocks(records: list[Record]) -> Iterator[Block]:
    block: list[Record] = []
    for record in records:
        if isinstance(record, Finished | Extended):
            continue
        block.append(record)
        if isinstance(record, Released | Received):
            yield tuple(block)
            block = []


def _halves(records: list[Record]) -> Iterator[Block]:
    """Of requests that are under way together: each that leaves, and each answer with what it brought."""
    brought = {each.slot: each for each in records if isinstance(each, Received)}
    for record in records:
        if isinstance(record, Sent | Released):
            yield (record,)
        elif isinstance(record, Answered):
            yield (record, brought[record.slot])


@pytest.fixture(
    scope="module",
    params=[BEFORE, WORDED, TOGETHER],
    ids=["images", "prompts", "together"],
)
def honest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Honest:
    return Honest.at(tmp_path_factory.mktemp("honest") / "run", request.param)


def told_by_rules(plan: PublicPlan, run: RunReader) -> dict[int, str]:
    """What the rulebook has against each request, by line."""
    state, told = RunState(plan), {}
    for entry in run.entries:
        match entry.record:
            case Released(receipt=receipt):
                state.note_receipt(receipt)
            case Received(slot=slot, outputs=outputs):
                state.note_outputs(slot, outputs)
            case Sent(slot=slot) if slot in plan.calls:
                told[entry.seq] = _against(state, plan.calls[slot], entry.record, run)
    return {line: why for line, why in told.items() if why}


def _against(state: RunState, call: Call, sent: Sent, run: RunReader) -> str:
    verdict = state.verdict(call)
    if state.turn_of(call) is None:
        state.note_leaving(call)  # on record it has left, whatever it carried
    if isinstance(verdict, Refusal):
        return SAME[verdict.why]
    worded = dataclasses.replace(call, wording=verdict.wording) if isinstance(verdict, ItsPrompt) else call
    image = run.bodies.file(verdict.image.digest) if isinstance(verdict, OneImage) else None
    due = DIALECT.encode(state.plan, worded, image).body
    return "" if run.bodies.get(sent.body) == due else SAME["another image"]


def told_by_replay(plan: PublicPlan, run: RunReader) -> dict[int, str]:
    """What the replay has against each request, by line."""
    told = {}
    for fault in Replay(run, plan, DIALECT).faults():
        where, _, why = fault.partition("): ")
        if where.startswith("request "):
            told[int(where.rpartition("line ")[2]) - 1] = _UNSENT if why == TOO_LATE else why
    return told


Mutation = Callable[[Honest, Blocks], None]


def _place(blocks: Blocks, at: int) -> int:
    return at % len(blocks)


def dropped(at: int) -> Mutation:
    def mutate(honest: Honest, blocks: Blocks) -> None:
        blocks.pop(_place(blocks, at))

    return mutate


def moved(at: int, to: int) -> Mutation:
    def mutate(honest: Honest, blocks: Blocks) -> None:
        block = blocks.pop(_place(blocks, at))
        blocks.insert(_place(blocks, to), block)

    return mutate


def repeated(at: int, to: int) -> Mutation:
    def mutate(honest: Honest, blocks: Blocks) -> None:
        blocks.insert(_place(blocks, to), blocks[_place(blocks, at)])

    return mutate


def carrying(at: int, of: int) -> Mutation:
    """A request that varies another of the provider's images than it should."""

    def mutate(honest: Honest, blocks: Blocks) -> None:
        varied = [
            place for place, each in enumerate(blocks) if isinstance(each[0], Sent) and each[0].body.files
        ]
        if not varied:
            return
        place = varied[at % len(varied)]
        sent, *rest = blocks[place]
        assert isinstance(sent, Sent)
        bodies = RunReader(RunLayout(honest.root), ()).bodies
        known = sorted({each for block in honest.blocks for each in _outputs(block)})
        image = bodies.file(known[of % len(known)])
        body = DIALECT.encode(honest.plan, honest.plan.calls[sent.slot], image).body
        blocks[place] = (_with_body(sent, bodies.put(body)), *rest)

    return mutate


def worded(at: int, of: int) -> Mutation:
    """A request with another prompt of its class than it should have."""

    def mutate(honest: Honest, blocks: Blocks) -> None:
        asked = [
            place
            for place, each in enumerate(blocks)
            if isinstance(each[0], Sent) and each[0].slot in honest.plan.calls and not each[0].body.files
        ]
        if not asked or not honest.plan.wordings:
            return
        place = asked[at % len(asked)]
        sent, *rest = blocks[place]
        assert isinstance(sent, Sent)
        call = dataclasses.replace(honest.plan.calls[sent.slot], wording=of % honest.plan.wordings)
        body = DIALECT.encode(honest.plan, call, None).body
        bodies = RunReader(RunLayout(honest.root), ()).bodies
        blocks[place] = (_with_body(sent, bodies.put(body)), *rest)

    return mutate


def altered(honest: Honest, number: int, which: int) -> Mutation:
    """A request in the middle with another of its own two prompts, or with another image."""
    return worded(20 + number, which) if honest.plan.varies_prompts else carrying(number, 11)


def _with_body(sent: Sent, body: BodyRef) -> Sent:
    longer = body.size - sent.body.size
    return sent.model_copy(update={"body": body, "wire_bytes": sent.wire_bytes + longer})


def _outputs(block: Block) -> tuple[str, ...]:
    return tuple(each for record in block if isinstance(record, Received) for each in record.outputs)


def _named(honest: Honest) -> list[Chosen]:
    """All that the provider ever sent, under its name."""
    return [
        Chosen(honest.plan.calls[record.slot].output(index), digest)
        for block in honest.blocks
        for record in block
        if isinstance(record, Received)
        for index, digest in enumerate(record.outputs)
    ]


Forge = Callable[[Honest, Receipt, int], Receipt]


def _other_image(honest: Honest, receipt: Receipt, of: int) -> Receipt:
    """Any image of the provider's in the place of one that was chosen."""
    known = _named(honest)
    return _chosen(receipt, of, lambda each: _another(known, of, lambda one: one != each))


def _other_digest(honest: Honest, receipt: Receipt, of: int) -> Receipt:
    known = _named(honest)
    return _chosen(
        receipt,
        of,
        lambda each: Chosen(each.id, _another(known, of, lambda one: one.digest != each.digest).digest),
    )


def _another(known: list[Chosen], of: int, differs: Callable[[Chosen], bool]) -> Chosen:
    others = [each for each in known if differs(each)]
    return others[of % len(others)]


def _unknown(honest: Honest, receipt: Receipt, of: int) -> Receipt:
    return _chosen(receipt, of, lambda each: Chosen("i000-c000-000099", each.digest))


def _chosen(receipt: Receipt, at: int, change: Callable[[Chosen], Chosen]) -> Receipt:
    choices = list(receipt.choices)
    place = at % len(choices)
    first, *rest = choices[place].chosen
    choices[place] = Choice(
        choices[place].label, (change(first), *rest) if at % 2 else (*rest, change(first))
    )
    return dataclasses.replace(receipt, choices=tuple(choices))


FORGED: dict[str, Forge] = {
    "another image": _other_image,
    "another digest": _other_digest,
    "an unknown image": _unknown,
    "another run": lambda honest, receipt, of: dataclasses.replace(receipt, run_id="f" * 32),
    "another iteration": lambda honest, receipt, of: dataclasses.replace(receipt, iteration=of % 4),
    "one choice less": lambda honest, receipt, of: dataclasses.replace(receipt, choices=receipt.choices[1:]),
    "one image less": lambda honest, receipt, of: dataclasses.replace(
        receipt, choices=tuple(Choice(each.label, each.chosen[:1]) for each in receipt.choices)
    ),
    "the classes exchanged": lambda honest, receipt, of: dataclasses.replace(
        receipt,
        choices=tuple(
            Choice(one.label, other.chosen)
            for one, other in zip(receipt.choices, reversed(receipt.choices), strict=True)
        ),
    ),
}


def receipted(at: int, kind: str, of: int) -> Mutation:
    """A receipt on record that says something else."""

    def mutate(honest: Honest, blocks: Blocks) -> None:
        places = [place for place, each in enumerate(blocks) if isinstance(each[0], Released)]
        if not places:
            return
        place = places[at % len(places)]
        released = blocks[place][0]
        assert isinstance(released, Released)
        if released.receipt.choices:
            blocks[place] = (Released(receipt=FORGED[kind](honest, released.receipt, of)),)

    return mutate


NUMBERS = st.integers(0, 200)
MUTATIONS = st.one_of(
    st.builds(dropped, NUMBERS),
    st.builds(moved, NUMBERS, NUMBERS),
    st.builds(repeated, NUMBERS, NUMBERS),
    st.builds(carrying, NUMBERS, NUMBERS),
    st.builds(worded, NUMBERS, NUMBERS),
    st.builds(receipted, NUMBERS, st.sampled_from(sorted(FORGED)), NUMBERS),
)


def test_neither_has_anything_against_an_honest_record(honest: Honest):
    run = honest.record(list(honest.blocks))
    assert told_by_rules(honest.plan, run) == told_by_replay(honest.plan, run) == {}


@settings(max_examples=150, deadline=None)
@given(mutations=st.lists(MUTATIONS, min_size=1, max_size=3))
def test_both_say_the_same_of_any_record(honest: Honest, mutations: list[Mutation]):
    blocks = list(honest.blocks)
    for mutate in mutations:
        mutate(honest, blocks)
    run = honest.record(blocks)
    assert told_by_rules(honest.plan, run) == told_by_replay(honest.plan, run)


@pytest.mark.parametrize("kind", [each for each in FORGED if each != "another iteration"])
def test_both_refuse_each_forged_receipt(honest: Honest, kind: str):
    """The forgeries above are noticed at all: one of each kind, for the first round."""
    blocks = list(honest.blocks)
    receipted(0, kind, 7)(honest, blocks)
    run = honest.record(blocks)
    assert told_by_rules(honest.plan, run) == told_by_replay(honest.plan, run) != {}


def _slot(block: Block) -> str:
    return next((each.slot for each in block if isinstance(each, Sent | Answered)), "")


@pytest.mark.parametrize("name", ["dropped", "moved", "repeated"])
def test_both_refuse_another_order(honest: Honest, name: str):
    """Of whole requests, each with its answer, so that it does not matter which answers came early."""
    slots = list(dict.fromkeys(filter(None, map(_slot, honest.blocks))))
    second, sixth = slots[1], slots[5]
    of_second = [each for each in honest.blocks if _slot(each) == second]
    others = [each for each in honest.blocks if _slot(each) != second]
    after = max(place for place, each in enumerate(others) if _slot(each) == sixth) + 1
    blocks = {
        "dropped": others,
        "moved": [*others[:after], *of_second, *others[after:]],
        "repeated": [*honest.blocks, of_second[0]],
    }[name]
    run = honest.record(blocks)
    assert told_by_rules(honest.plan, run) == told_by_replay(honest.plan, run) != {}


@pytest.mark.parametrize("number", range(5))
def test_both_refuse_another_image_and_another_prompt(honest: Honest, number: int):
    """Of a request in the middle: its own prompt is one of two."""
    found = []
    for wording in (0, 1):
        blocks = list(honest.blocks)
        altered(honest, number, wording)(honest, blocks)
        run = honest.record(blocks)
        assert told_by_rules(honest.plan, run) == told_by_replay(honest.plan, run)
        found.append(bool(told_by_rules(honest.plan, run)))
    assert sum(found) == (1 if honest.plan.varies_prompts else 2)


def test_a_rulebook_with_one_rule_less_is_found_out(honest: Honest, monkeypatch):
    """The comparison can fail."""
    blocks = list(honest.blocks)
    receipted(0, "another run", 0)(honest, blocks)
    run = honest.record(blocks)
    monkeypatch.setattr(RunState, "note_receipt", _believing)
    assert told_by_rules(honest.plan, run) != told_by_replay(honest.plan, run)


def _believing(state: RunState, receipt: Receipt) -> None:
    state._receipts[receipt.iteration] = dataclasses.replace(receipt, run_id=BEFORE.run_id)
