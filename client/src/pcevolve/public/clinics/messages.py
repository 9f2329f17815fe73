"""Messages between two processes of a coordinator's or an owner's command, in addition to ``public.protocol``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import Base64Bytes, Field

from pcevolve.public.clinics.answers import Exchanges, Question, SignedAnswer
from pcevolve.public.clinics.owners import MOST_OWNERS
from pcevolve.public.protocol import ASKED, Close, Finish, Iteration, Message
from pcevolve.public.settings import Digest


class Ask(Message):
    """Request the next question of a release, given its exchanges so far (see ``Summing.ask``)."""

    iteration: Iteration
    head: Digest
    exchanges: Exchanges = ()


class Asked(Message):
    """The next question, or None if all are answered."""

    question: Question | None = None


class Add(Message):
    """Combine all owners' answers into a release. The reply is a ``Released``."""

    iteration: Iteration
    head: Digest
    exchanges: Exchanges = ()


ASKED_OF_COORDINATOR: Final[Mapping[str, type[Message]]] = {**ASKED, "ask": Ask, "add": Add}
"""Messages that a coordinator's runner may send, by name."""


class Introduce(Message):
    """Request the identity of the owner."""


class Introduced(Message):
    """The owner's position, and a signature that proves it to the coordinator.

    Attributes:
        owner: The owner's position in the plan, from 0.
        roster: Digest of the list of owners in this owner's copy of the roster.
    """

    owner: Annotated[int, Field(ge=0, lt=MOST_OWNERS)]
    roster: Digest
    token: Base64Bytes


class Consider(Message):
    """Tell the keeper that the record has a plan. The keeper reads the private data and checks the budget."""


class Considered(Message):
    """The plan can be paid for. ``is_agreed`` is True if a person has agreed to this plan before."""

    plan: Digest
    is_agreed: bool


class Agree(Message):
    """Report that a person agreed to a plan on behalf of the owner. The keeper enters the run in the ledger."""

    plan: Digest


class Agreed(Message):
    """The owner's signature of the plan."""

    signature: Base64Bytes


class Check(Message):
    """Read the new lines of the record, and check that every release follows from the owners' answers."""


class Checked(Message):
    """Every release follows from the answers."""


class Answer(Message):
    """Answer a question, given the earlier exchanges of its release."""

    question: Question
    before: Exchanges = ()


class PaidAnswer(Message):
    """The answer, which is paid for and does not change."""

    answer: SignedAnswer


ASKED_OF_OWNER: Final[Mapping[str, type[Message]]] = {
    each.__name__.lower(): each for each in (Introduce, Consider, Agree, Check, Answer, Finish, Close)
}
"""Messages that an owner's front may send, by name."""


def state_presence(roster: str) -> bytes:
    """Return the bytes that an owner signs to be admitted by a coordinator. Admitted owners may read the record."""
    return b"/".join((b"pcevolve clinics presence 1", roster.encode()))


def state_agreement(plan: str) -> bytes:
    """Return the bytes that an owner signs when a person agrees to a plan on its behalf."""
    return b"/".join((b"pcevolve clinics agreement 1", plan.encode()))
