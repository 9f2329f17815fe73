"""The coordinator's door, over loopback: who is let in, what is taken, and what everybody is told."""

from __future__ import annotations

import base64
import hashlib
import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from pcevolve.errors import UsageError
from pcevolve.public.clinics.answers import Question, SignedAnswer, state_answer
from pcevolve.public.clinics.messages import state_agreement, state_presence
from pcevolve.public.clinics.sync import BODIES, SYNC, News, Sync
from pcevolve.public.processes.doorway import listen
from pcevolve.public.protocol import digest_plan
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.transcript.bodies import Bodies
from pcevolve.public.transcript.chain import GENESIS
from pcevolve.public.transcript.log import Transcript
from pcevolve.public.transcript.records import Opened, Planned
from pcevolve.wire.clinics import door as module
from pcevolve.wire.clinics.door import Door, serve
from support.clinics import make_clinics, make_key
from support.runs import small_plan

CLINICS = make_clinics(2)
PLAN = small_plan(method="pe", delta=1e-5, epsilon="1", shots=20, clinics=CLINICS)
QUESTION = Question(plan=digest_plan(PLAN), iteration=1, part=0, head="1" * 64, earlier="2" * 64, step=0.5)


class Coordinator:
    """A door that is open, with a record of a plan."""

    def __init__(self, folder: Path) -> None:
        self.folder = RunFolder(folder)
        folder.mkdir()
        record = Transcript(self.folder.transcript)
        record.append(Opened(run_id=PLAN.run_id, api=PLAN.provider.api, dialect=PLAN.provider.dialect))
        record.append(Planned(plan=PLAN))
        record.close()
        self.told: list[str] = []
        self.door = Door(self.folder, "1.0", self.told.append)
        listener = listen("127.0.0.1", 0)
        self.server = serve(listener, self.door, None, None)
        self.client = httpx.Client(
            base_url=f"http://127.0.0.1:{self.server.socket.getsockname()[1]}", timeout=20
        )
        self.failed: list[Exception] = []
        self.results: list[object] = []

    def go(self, work: Callable[[], object]) -> threading.Thread:
        def run() -> None:
            try:
                self.results.append(work())
            except UsageError as error:
                self.failed.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        time.sleep(0.2)
        return thread

    def say(self, owner: int = 0, key: int | None = None, **said: object) -> httpx.Response:
        signer = make_key(owner + 1 if key is None else key).signing
        token = signer.sign(state_presence(str(said.get("roster", CLINICS.digest))))
        word = {"version": "1.0", "roster": CLINICS.digest, "owner": owner, "token": base64.b64encode(token),
                "head": GENESIS, **said}  # fmt: skip
        return self.client.post(SYNC, content=Sync.model_validate(word).model_dump_json())

    def agree(self, owner: int) -> httpx.Response:
        signature = make_key(owner + 1).signing.sign(state_agreement(digest_plan(PLAN)))
        return self.say(owner, agreement=base64.b64encode(signature))


@pytest.fixture
def coordinator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Coordinator]:
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.5)
    made = Coordinator(tmp_path / "run")
    yield made
    made.server.shutdown()


@pytest.fixture
def open_door(coordinator: Coordinator) -> Iterator[Coordinator]:
    waiting = coordinator.go(lambda: coordinator.door.wait(PLAN))
    coordinator.agree(0)
    coordinator.agree(1)
    waiting.join(5)
    assert not waiting.is_alive()
    return coordinator


def answer(owner: int, question: Question = QUESTION, fill: int = 0) -> dict[str, object]:
    vector = bytes([fill] * 8)
    signature = make_key(owner + 1).signing.sign(state_answer(question.digest, owner, vector))
    return {"question": question.digest, "answer": SignedAnswer.of(owner, vector, signature)}


def test_whoever_comes_before_there_is_a_plan_is_told_to_come_again(coordinator):
    """A coordinator that was started again knows no owner yet, whose front goes on where it was."""
    assert coordinator.say().status_code == 503
    token = base64.b64encode(make_key(1).signing.sign(state_presence(CLINICS.digest))).decode()
    let_in = {"Authorization": f"0 {token}"}
    assert coordinator.client.get(BODIES + "0" * 64, headers=let_in).status_code == 503
    assert coordinator.client.post(SYNC, content=b" " * (2**16 + 1), headers=let_in).status_code == 503


def test_a_run_waits_for_every_owner_and_for_nobody_else(coordinator):
    waiting = coordinator.go(lambda: coordinator.door.wait(PLAN))
    assert coordinator.agree(0).status_code == 200
    assert News.model_validate_json(coordinator.say(0).content).missing == ("Clinic 2",)
    assert waiting.is_alive()
    coordinator.agree(1)
    waiting.join(5)
    assert not waiting.is_alive()
    assert "Clinic 2 agrees (2 of 2)" in coordinator.told


@pytest.mark.parametrize(
    ("said", "status", "why", "told"),
    [
        ({"key": 3}, 403, "not that of this owner", ""),
        ({"roster": "0" * 64, "key": 3}, 403, "another roster", ""),
        ({"owner": 5, "key": 6}, 403, "not that of this owner", ""),
        ({"owner": 1, "key": 1}, 403, "not that of this owner", "Clinic 1"),
        ({"owner": 5, "key": 2, "roster": "0" * 64}, 403, "another roster", "Clinic 2"),
        ({"version": "0.9"}, 409, "version 1.0 of pcevolve, and this owner 0.9", "Clinic 1"),
        ({"lines": 7}, 409, "copy of another record", "Clinic 1"),
        ({"lines": 1, "head": "0" * 64}, 409, "copy of another record", "Clinic 1"),
    ],
)
def test_whoever_is_not_let_in_is_told_why_and_of_an_owner_the_coordinator_once(
    open_door, said, status, why, told
):
    before = len(open_door.told)
    for _ in range(2):
        answered = open_door.say(**said)
        assert answered.status_code == status
        assert why in answered.json()["why"]
    heard = open_door.told[before:]
    assert len(heard) == bool(told)
    for each in heard:
        assert each.startswith(f"{told} is not let in: ")
        assert why in each
        assert each.isprintable()


SEVERAL_LINES = b'{"version": "0.9\\nall is well", "roster": "%s", "owner": 0, "token": "", "head": "%s"}' % (
    b"0" * 64,
    b"0" * 64,
)


@pytest.mark.parametrize("body", [b"", b"{}", b"nonsense", b"[" * 10_000, SEVERAL_LINES])
def test_what_is_no_message_is_refused(open_door, body):
    assert open_door.client.post(SYNC, content=body).status_code == 422
    assert open_door.client.post("/v1/other", content=body).status_code == 404


def test_a_message_without_a_length_or_too_long_is_not_read(open_door):
    def pieces() -> Iterator[bytes]:
        yield b"x"

    assert open_door.client.post(SYNC, content=pieces()).status_code == 413
    visit = http.client.HTTPConnection(
        open_door.client.base_url.host, open_door.client.base_url.port, timeout=5
    )
    visit.putrequest("POST", SYNC)
    visit.putheader("Content-Length", str(2**30))
    visit.endheaders()
    assert visit.getresponse().status == 413


def test_nothing_long_is_read_of_somebody_who_is_no_owner(open_door):
    for token in (None, make_key(3), make_key(1)):
        visit = http.client.HTTPConnection(
            open_door.client.base_url.host, open_door.client.base_url.port, timeout=5
        )
        visit.putrequest("POST", SYNC)
        visit.putheader("Content-Length", str(2**20))
        if token is not None:
            signed = token.signing.sign(state_presence(CLINICS.digest))
            visit.putheader("Authorization", f"0 {base64.b64encode(signed).decode()}")
        is_owner = token is not None and token.public == CLINICS.owners[0].key
        visit.endheaders(b"x" * 2**20 if is_owner else None)
        assert visit.getresponse().status == (422 if is_owner else 403)


def test_whoever_says_nothing_is_hung_up_on(coordinator, monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.2)
    address = coordinator.client.base_url
    with socket.create_connection((address.host, address.port), timeout=5) as visit:
        assert visit.recv(1) == b""


def test_a_signature_under_another_plan_is_no_agreement(coordinator):
    waiting = coordinator.go(lambda: coordinator.door.wait(PLAN))
    signature = make_key(1).signing.sign(state_agreement("0" * 64))
    answered = coordinator.say(0, agreement=base64.b64encode(signature))
    assert "no signature under the coordinator's plan" in answered.json()["why"]
    assert waiting.is_alive()
    coordinator.agree(0)
    coordinator.agree(1)
    waiting.join(5)


def test_an_owner_reads_the_record_line_by_line_and_its_files(open_door):
    news = News.model_validate_json(open_door.say().content)
    assert news.lines == open_door.folder.log.read_bytes()
    digest = Bodies(open_door.folder.bodies).keep(b"an image")
    token = base64.b64encode(make_key(1).signing.sign(state_presence(CLINICS.digest))).decode()
    let_in = {"Authorization": f"0 {token}"}
    assert open_door.client.get(BODIES + digest, headers=let_in).content == b"an image"
    for path in (BODIES + "0" * 64, BODIES + "../log.jsonl", BODIES + "%2e%2e/log.jsonl", "/", BODIES):
        assert open_door.client.get(path, headers=let_in).status_code == 404
    for wrong in (
        {},
        {"Authorization": f"1 {token}"},
        {"Authorization": "0 x"},
        {"Authorization": f"9 {token}"},
    ):
        assert open_door.client.get(BODIES + digest, headers=wrong).status_code == 403


class Flood:
    """Strangers who connect as fast as they can, hold what they get, and send a byte now and then."""

    def __init__(self, port: int, threads: int = 4) -> None:
        self._port, self._over, self.made = port, threading.Event(), 0
        self._threads = [threading.Thread(target=self._pour, daemon=True) for _ in range(threads)]
        for each in self._threads:
            each.start()

    def end(self) -> None:
        self._over.set()
        for each in self._threads:
            each.join(10)

    def _pour(self) -> None:
        held: list[socket.socket] = []
        while not self._over.is_set():
            try:
                if len(held) < 90:
                    held.append(socket.create_connection(("127.0.0.1", self._port), timeout=5))
                    self.made += 1
                held.append(held.pop(0))
                held[-1].send(b"P")
            except OSError:  # sent away: it comes again
                if held:
                    held.pop().close()
        for each in held:
            each.close()


def test_in_a_flood_of_strangers_an_owner_is_let_in_and_answers(open_door):
    port = open_door.server.socket.getsockname()[1]
    token = base64.b64encode(make_key(1).signing.sign(state_presence(CLINICS.digest))).decode()
    flood, let_in = Flood(port), {"Authorization": f"0 {token}"}
    try:
        end = time.monotonic() + 60
        while flood.made < 340:
            assert time.monotonic() < end
            time.sleep(0.01)
        asking, known, tries = ask(open_door), read_all(open_door), 0
        open_door.client = httpx.Client(base_url=open_door.client.base_url, headers=let_in, timeout=10)
        while True:  # as an owner's front does, who is not let in at once
            tries += 1
            assert tries < 50, "nobody else gets in"
            try:
                heard = open_door.say(0, **known, **answer(0))
                break
            except httpx.HTTPError:
                time.sleep(0.1)
        assert heard.status_code == 200
        open_door.client.headers["Authorization"] = (
            f"1 {base64.b64encode(make_key(2).signing.sign(state_presence(CLINICS.digest))).decode()}"
        )
        assert open_door.say(1, **known, **answer(1)).status_code == 200  # the same connection stays
        asking.join(5)
        assert not asking.is_alive()
        assert len(open_door.server.guests) <= 64 + 1
    finally:
        flood.end()


def test_a_stranger_who_sends_a_byte_at_a_time_is_gone_when_its_time_is_over(open_door, monkeypatch):
    monkeypatch.setattr("pcevolve.wire.clinics.guests.STRANGER_SECONDS", 0.5)
    with socket.create_connection(("127.0.0.1", open_door.server.socket.getsockname()[1])) as slow:
        slow.settimeout(0.05)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                slow.send(b"P")
                if slow.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            pytest.fail("it is still there")


def ask(coordinator: Coordinator) -> threading.Thread:
    return coordinator.go(lambda: coordinator.door.gather(QUESTION, ()))


def read_all(coordinator: Coordinator) -> dict[str, object]:
    raw = coordinator.folder.log.read_bytes().splitlines(keepends=True)
    return {"lines": len(raw), "head": hashlib.sha256(raw[-1]).hexdigest()}


def test_a_question_is_told_until_it_is_answered_and_the_first_answer_counts(open_door):
    asking, known = ask(open_door), read_all(open_door)
    assert News.model_validate_json(open_door.say(0, **known).content).question == QUESTION
    assert News.model_validate_json(open_door.say(0, **known, **answer(0)).content).question is None
    open_door.say(0, **known, **answer(0, fill=9))
    assert asking.is_alive()
    open_door.say(1, **known, **answer(1))
    asking.join(5)
    (found,) = [each for each in open_door.results if each is not None]
    assert [each.vector for each in found] == [bytes(8), bytes(8)]


def test_an_answer_of_somebody_else_or_to_something_else_is_not_taken(open_door):
    asking, known = ask(open_door), read_all(open_door)
    other = QUESTION.model_copy(update={"iteration": 2})
    for said in ({**answer(1)}, {**answer(0, other), "question": QUESTION.digest}):
        assert "not signed by this owner" in open_door.say(0, **known, **said).json()["why"]
    open_door.say(0, **known, **answer(0, other))  # of a question that nobody asks any more
    assert asking.is_alive()
    for place in (0, 1):
        open_door.say(place, **known, **answer(place))
    asking.join(5)


def test_an_owner_who_refuses_ends_the_run_with_a_sentence_that_says_no_more_than_the_kind(open_door):
    asking = ask(open_door)
    open_door.say(1, refusal="DataError")
    asking.join(5)
    (failed,) = open_door.failed
    assert "owner Clinic 2 cannot use its data" in str(failed)


def test_owners_hear_that_the_run_is_over(open_door):
    known = read_all(open_door)
    ending = open_door.go(lambda: open_door.door.finish({"images": 3}))
    for place in (0, 1):
        assert News.model_validate_json(open_door.say(place, **known).content).figures == {"images": 3}
    ending.join(5)
    assert not ending.is_alive()
