"""Forged records of several owners: the audit refuses each."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from safetensors.numpy import load, save

from pcevolve.auditing import audit
from pcevolve.auditing.summed import CLAIM
from pcevolve.public.clinics.answers import (
    Exchange,
    SignedAnswer,
    decode_exchanges,
    encode_exchanges,
    state_answer,
)
from pcevolve.public.finding import Finding
from pcevolve.public.transcript.bodies import Bodies
from support import online
from support.clinics import bring_together, make_key
from support.forge import Event, forge
from support.paid import make_paid_run
from support.runs import small_plan

Forge = Callable[[Bodies, Event], list[Event]]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("clinics")
    server = online.LocalServer(online.a1111)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "usual"))
        bring_together(folder, server.address, appearance="as-is").carry_out()
    server.close()
    return folder / "run"


@pytest.fixture
def run(honest: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(honest, tmp_path / "run"))


def rewrite(run: Path, change: Forge) -> None:
    """Write a record again, with other releases, as one chain."""
    bodies = Bodies(run / "transcript" / "bodies")
    forge(
        run,
        lambda events: [
            each
            for event in events
            for each in (change(bodies, event) if event["kind"] == "released" else [event])
        ],
    )


def look(run: Path) -> Finding:
    (found,) = [each for each in audit(run) if each.claim == CLAIM]
    return found


def exchange(change: Callable[[list[Exchange]], list[Exchange]]) -> Forge:
    """A forgery of what was asked and answered."""

    def forge_answers(bodies: Bodies, released: Event) -> list[Event]:
        changed = change(list(decode_exchanges(bodies.file(released["answers"]))))
        return [{**released, "answers": bodies.keep(encode_exchanges(changed))}]

    return forge_answers


def answer(change: Callable[[Exchange, SignedAnswer], SignedAnswer | None]) -> Forge:
    """A forgery of one owner's answer to the last question."""

    def forge_last(exchanges: list[Exchange]) -> list[Exchange]:
        *rest, last = exchanges
        changed = change(last, last.answers[1])
        kept = () if changed is None else (changed,)
        return [*rest, last.model_copy(update={"answers": (last.answers[0], *kept, last.answers[2])})]

    return exchange(forge_last)


def sign(question: str, vector: bytes, owner: int = 1) -> SignedAnswer:
    return SignedAnswer.of(
        owner, vector, make_key(owner + 1).signing.sign(state_answer(question, owner, vector))
    )


def drop_answers(_bodies: Bodies, released: Event) -> list[Event]:
    return [{name: value for name, value in released.items() if name != "answers"}]


def release_twice(_bodies: Bodies, released: Event) -> list[Event]:
    return [released, released]


def choose_otherwise(_bodies: Bodies, released: Event) -> list[Event]:
    released["receipt"]["choices"][0]["chosen"].reverse()
    return [released]


FORGERIES: dict[str, tuple[Forge, str]] = {
    "a changed vector": (
        answer(lambda asked, own: own.model_copy(update={"vector": bytes(len(own.vector))})),
        "has not signed",
    ),
    "a changed vector that its owner signed": (
        answer(lambda asked, own: sign(asked.question.digest, bytes(len(own.vector)))),
        "cannot be the sum",
    ),
    "a swapped owner": (
        answer(lambda asked, own: sign(asked.question.digest, own.vector, 2).model_copy(update={"owner": 1})),
        "has not signed",
    ),
    "another owner's place": (answer(lambda asked, own: own.model_copy(update={"owner": 2})), "once and in order"),
    "a missing answer": (answer(lambda asked, own: None), "once and in order"),
    "a missing signature": (
        answer(lambda asked, own: own.model_copy(update={"signature": bytes(64)})),
        "has not signed",
    ),
    "a plan that differs": (
        exchange(lambda all_of_them: [
            each.model_copy(update={"question": each.question.model_copy(update={"plan": "0" * 64})})
            for each in all_of_them
        ]),
        "another question",
    ),
    "other candidates": (
        exchange(lambda all_of_them: [
            each.model_copy(update={"question": each.question.model_copy(update={"head": "0" * 64})})
            for each in all_of_them
        ]),
        "another question",
    ),
    "one access left out": (exchange(lambda all_of_them: all_of_them[:1]), "not all accesses"),
    "one access twice": (exchange(lambda all_of_them: [*all_of_them, all_of_them[-1]]), "another question"),
    "no answers": (drop_answers, "not all accesses"),
    "a selection that does not follow": (choose_otherwise, "does not follow"),
}  # fmt: skip


def test_an_honest_record_holds(run):
    assert look(run).holds
    assert look(run).checked == 1


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_record_does_not_hold(run, name):
    change, said = FORGERIES[name]
    rewrite(run, change)
    found = look(run)
    assert not found.holds
    assert said in found.faults[0]


def test_a_second_answer_for_a_release_is_a_second_release_which_no_plan_has(run):
    rewrite(run, release_twice)
    assert any(each.faults for each in audit(run))


def test_a_measurement_that_is_not_the_sum_is_refused(run):
    def exaggerate(bodies: Bodies, released: Event) -> list[Event]:
        arrays = load(bodies.file(released["receipt"]["measured"]))
        arrays["middle"] = arrays["middle"] + 2 * abs(arrays["middle"]).max()
        return [{**released, "receipt": {**released["receipt"], "measured": bodies.keep(save(arrays))}}]

    rewrite(run, exaggerate)
    assert "not the sum" in look(run).faults[0]


def test_a_run_of_one_owner_names_no_answers(tmp_path):
    run = make_paid_run(tmp_path / "run", small_plan(method="pcevolve"))
    assert [each for each in audit(run) if each.claim == CLAIM] == []
    rewrite(run, lambda bodies, each: [{**each, "answers": bodies.keep(b"any")}])
    assert look(run).faults[0] == "receipt for iteration 1: names answers of owners that the plan has not"
