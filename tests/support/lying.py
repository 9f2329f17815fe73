"""Coordinators who lie, and an owner who answers nonsense: changes of a fork's command; see ``Job.first``.

All parts of the product that would stop such a coordinator within its own processes are taken out first, so that what
is left to stop it is what the owners do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pcevolve.public.clinics.answers import Exchange, Question, SignedAnswer, decode_exchanges
from pcevolve.public.clinics.grid import Grid
from pcevolve.public.clinics.owners import Clinics
from pcevolve.public.clinics.sync import News, Sync
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.plan import PublicPlan
from pcevolve.public.protocol import digest_plan
from pcevolve.public.release import Candidate, Choice
from pcevolve.public.selectors.choosing import Chooser
from pcevolve.public.transcript.chain import GENESIS, Line, digest
from pcevolve.public.transcript.log import read
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Planned, Record, RecordedRelease, to_event
from pcevolve.wire.clinics.door import Door

LIED_TO = 1
Answers = tuple[SignedAnswer, ...]


def believe_everything() -> None:
    """Take any signature, add up whatever comes, and go on although an owner refuses."""
    take = Door._take
    Clinics.has_signed = lambda *_: True  # type: ignore[method-assign]
    Exchange.read = lambda self, _: [each.residues for each in self.answers]  # type: ignore[method-assign]
    Grid.add_up = _add_up  # type: ignore[method-assign]
    Door._take = lambda self, sync: take(self, sync.model_copy(update={"refusal": None}))  # type: ignore[method-assign]


def _add_up(self: Grid, answers: Sequence[np.ndarray]) -> np.ndarray:
    total = np.sum(np.stack(answers), axis=0, dtype=np.uint64)
    return total.view(np.int64).astype(np.float64) * self.step


def change_answers(change: Callable[[Answers], Answers]) -> None:
    """Put other answers on record than owners gave."""
    believe_everything()
    gather = Door.gather
    Door.gather = lambda self, question, before: change(gather(self, question, before))  # type: ignore[method-assign]


def swap_owners(_: object) -> None:
    """Pass the first owner's answer off as the second's, and the other way round."""
    change_answers(
        lambda all_: (
            all_[1].model_copy(update={"owner": 0}),
            all_[0].model_copy(update={"owner": 1}),
            *all_[2:],
        )
    )


def leave_out(_: object) -> None:
    """Leave the last answer out."""
    change_answers(lambda answers: answers[:-1])


def replay(folder: str) -> None:
    """Ask nobody, and use the answers of a run that is over."""
    believe_everything()
    old = RunReader.strict(Path(folder))
    kept = {
        each.question.iteration: each.answers
        for entry in old.entries
        if isinstance(entry.record, RecordedRelease) and entry.record.answers is not None
        for each in decode_exchanges(old.bodies.file(entry.record.answers))
    }
    Door.gather = lambda self, question, before: kept[question.iteration]  # type: ignore[method-assign]


def release_another_sum(_: object) -> None:
    """Release what follows from another sum than the owners'."""
    believe_everything()
    Grid.add_up = lambda self, answers: _add_up(self, answers) + 0.1  # type: ignore[method-assign]


def choose_otherwise(_: object) -> None:
    """Release a choice that does not follow from the sum."""
    believe_everything()
    choose = Chooser.choose

    def change(self: Chooser, measured: Any, scenes: Any, pool: Pool) -> Any:
        choices, values = choose(self, measured, scenes, pool)
        return tuple(_take_others(each, pool.candidates[each.label]) for each in choices), values

    Chooser.choose = change  # type: ignore[method-assign]


def _take_others(choice: Choice, candidates: Sequence[Candidate]) -> Choice:
    shown = {each.id: place for place, each in enumerate(candidates)}
    chosen = [candidates[(shown[each.id] + 1) % len(candidates)] for each in choice.chosen]
    return replace(choice, chosen=tuple(replace(old, id=new.id, digest=new.digest)
                                        for old, new in zip(choice.chosen, chosen, strict=True)))  # fmt: skip


def ask_again(_: object) -> None:
    """Ask one owner once more for the access that it answered, on another grid."""
    believe_everything()
    gather = Door.gather

    def ask_twice(self: Door, question: Question, before: Sequence[Exchange]) -> Answers:
        answers = gather(self, question, before)
        with self._changed:
            self._asked = question.model_copy(update={"step": 2 * question.step}), tuple(before)
            self._answers = {each.owner: each for each in answers if each.owner != LIED_TO}
            self._changed.notify_all()
        self._wait_for(lambda: self._list_others(self._answers), "to answer")
        return answers

    Door.gather = ask_twice  # type: ignore[method-assign]


def ask_one_otherwise(_: object) -> None:
    """Ask one owner on another grid than the others."""
    _tell_one_owner(
        lambda record: record, lambda question: question.model_copy(update={"step": 2 * question.step})
    )


def show_two_plans(_: object) -> None:
    """Show one owner a plan in which the provider is told other words."""

    def change(record: Record) -> Record:
        return (
            record.model_copy(update={"plan": _change(record.plan)})
            if isinstance(record, Planned)
            else record
        )

    def ask(question: Question) -> Question:
        return question

    _tell_one_owner(change, ask)


def _change(plan: PublicPlan) -> PublicPlan:
    return plan.model_copy(update={"data": plan.data.model_copy(update={"domain": "other words"})})


def _tell_one_owner(change: Callable[[Record], Record], ask: Callable[[Question], Question]) -> None:
    believe_everything()
    make_news, take = Door._make_news, Door._take

    def make_other_news(self: Door, sync: Sync) -> News:
        if sync.owner != LIED_TO:
            return make_news(self, sync)
        known, lines = self._lines, _OtherLines(self, change)
        self._lines = lines  # type: ignore[assignment]
        try:
            news = make_news(self, sync)
        finally:
            self._lines = known
        if news.question is None:
            return news
        changes = {"plan": lines.plan, "head": lines.heads[-1]}
        return news.model_copy(update={"question": ask(news.question.model_copy(update=changes))})

    def take_any(self: Door, sync: Sync) -> None:
        if sync.owner == LIED_TO and sync.answer is not None and self._asked is not None:
            sync = sync.model_copy(update={"question": self._asked[0].digest})
        take(self, sync)

    Door._make_news, Door._take = make_other_news, take_any  # type: ignore[method-assign]


class _OtherLines:
    """The record as one owner is shown it: each line changed, in one chain."""

    def __init__(self, door: Door, change: Callable[[Record], Record]) -> None:
        self.heads, self._lines, self.plan = [GENESIS], list[bytes](), ""
        for entry in read(door._folder.transcript):
            record = change(entry.record)
            if isinstance(record, Planned):
                self.plan = digest_plan(record.plan)
            line = Line(seq=len(self._lines), prev=self.heads[-1], event=to_event(record)).encode()
            self._lines.append(line)
            self.heads.append(digest(line))

    def find_news(self, lines: int, _head: str) -> bytes:
        return b"".join(self._lines[lines:])


def answer_nonsense(_: object) -> None:
    """Be an owner whose sums are any numbers."""
    Grid.add_noise = lambda self, steps: np.random.default_rng().integers(-(2**62), 2**62, steps.shape)  # type: ignore[method-assign]


def miss_soon(_: object) -> None:
    """Be a coordinator that says at once whom it waits for."""
    from pcevolve.wire.clinics import door

    door._SILENCE_SECONDS = 0.5


def be_older(version: str) -> None:
    """Be an owner with another version."""
    from pcevolve.wire.clinics import joining

    joining.version = lambda _: version
