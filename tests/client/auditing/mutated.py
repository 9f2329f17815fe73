"""Honest records of runs of many kinds, and every way in which a forger might change one."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pcevolve.auditing.rerun import Rerun
from pcevolve.keeper.ledger.ledger import Account, Paid
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Event
from pcevolve.public.release import Choice, Chosen, Query, Receipt
from pcevolve.public.transcript.bodies import Bodies, BodyRef
from pcevolve.public.transcript.layout import RunLayout
from pcevolve.public.transcript.log import Entry
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import (
    Answered,
    Finished,
    Planned,
    Received,
    Record,
    RecordedRelease,
    Sent,
)
from pcevolve.wire.providers import dialect
from support.runs import SmallRun, following_plan, replace_settings, small_plan

BEFORE = small_plan(candidates=4, initial=4, prototypes=2, lookahead=1, more=1)
WORDED = small_plan(
    candidates=4, initial=4, prototypes=2, lookahead=1, more=1, iterations=3, strengths=(), vary_by="prompt",
    prompts=(("a cut", "a long cut"), ("good leather", "better leather")),
)  # fmt: skip
"""A plan by which no image goes back: the prompt by which it was made does."""
TOGETHER = replace_settings(BEFORE, {"at_once": 3, "batch": 1})
"""A plan with three requests under way at once."""
FOLLOWING = following_plan()
"""A plan that varies a release and chooses nothing."""
TEXTS = small_plan(candidates=4, initial=4, prototypes=2, lookahead=1, more=1, dialect="chat")

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
            Choice(label, tuple(Chosen(each.id, each.digest) for each in made[-BEFORE.method.prototypes :]))
            for label, made in pool.candidates.items()
        )
        return self.account.pay(query, (Event("uniform"),), lambda: Paid(choices))


@dataclass(frozen=True)
class Honest:
    """A run that the real parts carried out: its plan, its lines up to that, and what follows."""

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
        records = [entry.record for entry in RunReader.strict(root).entries]
        start = next(place for place, each in enumerate(records) if isinstance(each, Planned)) + 1
        cut = _blocks if plan.provider.at_once == 1 else _halves
        return cls(root, plan, tuple(records[:start]), tuple(cut(records[start:])))

    @property
    def bodies(self) -> Bodies:
        return RunReader(RunLayout(self.root), ()).bodies

    def record(self, blocks: Blocks) -> RunReader:
        """A record with other blocks; its chain is not looked at here."""
        records = [*self.beginning, *(record for block in blocks for record in block)]
        return RunReader(
            RunLayout(self.root), tuple(Entry(seq, each, "") for seq, each in enumerate(records))
        )


def _blocks(records: list[Record]) -> Iterator[Block]:
    block: list[Record] = []
    for record in records:
        block.append(record)
        if isinstance(record, RecordedRelease | Received | Finished):
            yield tuple(block)
            block = []


def _halves(records: list[Record]) -> Iterator[Block]:
    """Of requests that are under way together: each that leaves, and each answer with what it brought."""
    brought = {each.slot: each for each in records if isinstance(each, Received)}
    for record in records:
        if isinstance(record, Sent | RecordedRelease | Finished):
            yield (record,)
        elif isinstance(record, Answered):
            yield (record, brought[record.slot])


Mutation = Callable[[Honest, Blocks], None]


def dropped(at: int) -> Mutation:
    return lambda honest, blocks: blocks.pop(at % len(blocks)) and None


def moved(at: int, to: int) -> Mutation:
    def mutate(honest: Honest, blocks: Blocks) -> None:
        block = blocks.pop(at % len(blocks))
        blocks.insert(to % len(blocks), block)

    return mutate


def repeated(at: int, to: int) -> Mutation:
    return lambda honest, blocks: blocks.insert(to % len(blocks), blocks[at % len(blocks)])


def carrying(at: int, of: int) -> Mutation:
    """A request that varies another of the provider's images than it should."""

    def mutate(honest: Honest, blocks: Blocks) -> None:
        varied = [place for place, each in enumerate(blocks) if _carries(honest.plan, each[0])]
        if not varied:
            return
        place = varied[at % len(varied)]
        sent, *rest = blocks[place]
        assert isinstance(sent, Sent)
        bodies = honest.bodies
        known = sorted({each for block in honest.blocks for each in _outputs(block)})
        spelled = dialect(honest.plan.provider.dialect).encode
        call, due = honest.plan.calls[sent.slot], bodies.get(sent.body)
        all_of_them = (spelled(honest.plan, call, bodies.file(each)).body for each in known)
        others = [each for each in all_of_them if each != due]
        body = others[of % len(others)]
        blocks[place] = (_with_body(sent, bodies.put(body)), *rest)

    return mutate


def _carries(plan: PublicPlan, record: Record) -> bool:
    """True if it is a request that an image, or a text, goes back with."""
    if plan.varies_prompts or not isinstance(record, Sent) or record.slot not in plan.calls:
        return False
    return plan.calls[record.slot].purpose != "create"


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
        body = dialect(honest.plan.provider.dialect).encode(honest.plan, call, None).body
        bodies = honest.bodies
        blocks[place] = (_with_body(sent, bodies.put(body)), *rest)

    return mutate


def _with_body(sent: Sent, body: BodyRef) -> Sent:
    longer = body.size - sent.body.size
    return sent.model_copy(update={"body": body, "wire_bytes": sent.wire_bytes + longer})


def _outputs(block: Block) -> tuple[str, ...]:
    return tuple(each for record in block if isinstance(record, Received) for each in record.outputs)


def _name(honest: Honest) -> list[Chosen]:
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
    known = _name(honest)
    return _choose(receipt, of, lambda each: _another(known, of, lambda one: one != each))


def _other_digest(honest: Honest, receipt: Receipt, of: int) -> Receipt:
    known = _name(honest)

    def exchange(each: Chosen) -> Chosen:
        return Chosen(each.id, _another(known, of, lambda one: one.digest != each.digest).digest)

    return _choose(receipt, of, exchange)


def _another(known: list[Chosen], of: int, differs: Callable[[Chosen], bool]) -> Chosen:
    others = [each for each in known if differs(each)]
    return others[of % len(others)]


def _choose(receipt: Receipt, at: int, change: Callable[[Chosen], Chosen]) -> Receipt:
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
    "an unknown image": lambda honest, receipt, of: _choose(
        receipt, of, lambda each: Chosen("i000-c000-000099", each.digest)
    ),
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
        places = [place for place, each in enumerate(blocks) if isinstance(each[0], RecordedRelease)]
        if not places:
            return
        place = places[at % len(places)]
        released = blocks[place][0]
        assert isinstance(released, RecordedRelease)
        if released.receipt.choices:
            blocks[place] = (RecordedRelease(receipt=FORGED[kind](honest, released.receipt, of)),)

    return mutate


def mutated(honest: Honest, *mutations: Mutation) -> RunReader:
    blocks = list(honest.blocks)
    for mutate in mutations:
        mutate(honest, blocks)
    return honest.record(blocks)


def obeying(honest: Honest, blocks: Blocks) -> None:
    """Every request carries what the receipt of its round names, whatever that is."""
    named = {
        each[0].receipt.iteration: each[0].receipt for each in blocks if isinstance(each[0], RecordedRelease)
    }
    bodies = honest.bodies
    for place, (sent, *rest) in enumerate(blocks):
        call = honest.plan.calls.get(sent.slot) if isinstance(sent, Sent) else None
        if call is not None and call.purpose == "vary" and call.parent is not None:
            image = bodies.file(named[call.iteration].of(call.label)[call.parent].digest)
            body = dialect(honest.plan.provider.dialect).encode(honest.plan, call, image).body
            blocks[place] = (_with_body(sent, bodies.put(body)), *rest)


def turned(honest: Honest, blocks: Blocks) -> None:
    """The last request says the same in another order."""
    bodies = honest.bodies
    place = max(place for place, each in enumerate(blocks) if isinstance(each[0], Sent) and each[0].body.size)
    sent, *rest = blocks[place]
    fields = json.loads(bodies.get(sent.body))
    body = json.dumps(dict(reversed(fields.items())), ensure_ascii=False, separators=(",", ":"))
    blocks[place] = (_with_body(sent, bodies.put(body.encode())), *rest)


def list_rerun_faults(run: RunReader) -> list[str]:
    """Faults found by running a record again; that it ends too early is one of these things."""
    again = Rerun.of(run)
    told = [*again.requests, *again.receipts, *again.unusable]
    return told or ([] if again.evolved is not None else ["the record ends before the run does"])


def lines_of(faults: Iterable[str], why: str = "") -> set[int]:
    """Lines of the requests to which a fault belongs."""
    return {
        int(where.rpartition("line ")[2])
        for where, _, told in (each.partition("): ") for each in faults)
        if where.startswith("request ") and told.startswith(why)
    }
