"""An owner's front at a coordinator's door: certificates, and what it is told when it is not let in."""

from __future__ import annotations

import base64
import io
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pytest
from pydantic import ValidationError
from rich.console import Console

from pcevolve.errors import DeclinedError, KeeperGoneError, ProtocolError, UsageError
from pcevolve.public.clinics.answers import Question, SignedAnswer
from pcevolve.public.clinics.messages import Agreed, Considered, Introduced, state_presence
from pcevolve.public.clinics.sync import Denied, News
from pcevolve.public.processes.doorway import listen
from pcevolve.public.protocol import digest_plan
from pcevolve.public.release import Receipt
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.progress import Audience
from pcevolve.public.transcript.chain import GENESIS, Line, digest
from pcevolve.public.transcript.log import Transcript
from pcevolve.public.transcript.records import Finished, Opened, Planned, Record, RecordedRelease, to_event
from pcevolve.wire.clinics import door as module
from pcevolve.wire.clinics import joining
from pcevolve.wire.clinics.copying import Copy
from pcevolve.wire.clinics.door import Door, RecordLines
from pcevolve.wire.clinics.joining import Front, take_part
from pcevolve.wire.clinics.serving import serve
from support.certificates import self_signed
from support.clinics import make_clinics, make_key
from support.runs import small_plan

CLINICS = make_clinics(2)
PLAN = small_plan(method="pe", delta=1e-5, epsilon="1", shots=20, clinics=CLINICS)


QUESTION = Question(plan="1" * 64, iteration=1, part=0, head="2" * 64, earlier="3" * 64, step=0.5)
ANSWER = SignedAnswer.of(0, bytes(8), bytes(64))


class Owner:
    """The first owner, who says no more than who it is, and does whatever it is asked."""

    def __init__(self, key: int = 1, is_agreed: bool = True) -> None:
        self.key, self.is_agreed = make_key(key), is_agreed
        self.asked: list[object] = []

    def consider(self) -> Considered:
        self.asked.append("consider")
        return Considered(plan=digest_plan(PLAN), is_agreed=self.is_agreed)

    def agree(self, plan: str) -> Agreed:
        self.asked.append(("agree", plan))
        return Agreed(signature=base64.b64encode(b"agreed"))

    def check(self) -> None:
        self.asked.append("check")

    def answer(self, news: News) -> SignedAnswer:
        self.asked.append(("answer", news.question))
        return ANSWER

    def finish(self, figures: dict[str, object]) -> None:
        self.asked.append(("finish", figures))

    def introduce(self) -> Introduced:
        token = self.key.signing.sign(state_presence(CLINICS.digest))
        return Introduced(owner=0, roster=CLINICS.digest, token=base64.b64encode(token))


class Served(NamedTuple):
    """A door with TLS, whose plan is there: its address and its certificate."""

    url: str
    certificate: Path
    door: Door


@pytest.fixture
def told() -> list[str]:
    """What the coordinator's screen says."""
    return []


@pytest.fixture
def served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: list[str], request: pytest.FixtureRequest
) -> Iterator[Served]:
    """A door; a test may say from which day on its certificate is good."""
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.3)
    folder = RunFolder(tmp_path / "run")
    folder.root.mkdir()
    record = Transcript(folder.transcript)
    record.append(Opened(run_id=PLAN.run_id, api=PLAN.provider.api, dialect=PLAN.provider.dialect))
    record.append(Planned(plan=PLAN))
    record.close()
    door = Door(folder, version("pcevolve"), told.append)
    door._plan, door._clinics, door._lines = digest_plan(PLAN), CLINICS, RecordLines(folder)
    certificate = self_signed(
        tmp_path, "localhost", address="127.0.0.9", begins=getattr(request, "param", -1)
    )
    server = serve(listen("127.0.0.1", 0), door, certificate, tmp_path / "key.pem")
    yield Served(f"https://localhost:{server.socket.getsockname()[1]}", certificate, door)
    server.shutdown()


def make_front(url: str, ca_file: Path | None, owner: Owner | None = None) -> Front:
    return Front(url, ca_file, owner or Owner(), Audience(Console(quiet=True)))  # type: ignore[arg-type]


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    (tmp_path / "copy").mkdir()
    return Copy(RunFolder(tmp_path / "copy"))


def test_an_owner_who_trusts_the_certificate_reads_the_record(served, copy):
    url, certificate, _ = served
    front = make_front(url, certificate)
    copy.extend(front.sync(copy).lines, front.fetch)
    assert copy.has_plan


def refuse(front: Front, copy: Copy, said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        front.sync(copy)
    assert "\n" not in str(refused.value)


def wait_for(told: list[str], said: str) -> None:
    """Wait until the coordinator's screen says something, and nothing else."""
    end = time.monotonic() + 10
    while not told and time.monotonic() < end:
        time.sleep(0.01)
    assert [said in each for each in told] == [True]


def test_a_certificate_that_nobody_vouches_for_is_refused_with_what_to_give(served, copy, tmp_path, told):
    (tmp_path / "other").mkdir()
    for authorities in (None, self_signed(tmp_path / "other", "localhost")):
        refuse(make_front(served.url, authorities), copy, "not trusted: give --ca-file FILE")
    wait_for(told, "somebody could not join: that machine does not trust the certificate")


def test_a_certificate_of_another_host_is_refused_on_both_screens(served, copy, told):
    other = served.url.replace("localhost", "127.0.0.1")
    refuse(
        make_front(other, served.certificate), copy, "another host's: use the host name in the certificate"
    )
    wait_for(told, "somebody could not join: the certificate is for a different host name")


@pytest.mark.parametrize(
    ("served", "said"),
    [
        (-400, "by that machine's clock, the certificate has expired"),
        (400, "or by that machine's clock it is not valid yet"),
    ],
    indirect=["served"],
)
def test_where_a_clock_is_a_year_off_both_screens_say_so(served, copy, told, said):
    refuse(
        make_front(served.url, served.certificate),
        copy,
        "by this machine's clock, it has expired: correct the clock",
    )
    wait_for(told, f"somebody could not join: {'the certificate is for' if 'yet' in said else said}")
    assert said in told[0]


def test_who_comes_with_the_wrong_scheme_is_told_which_is_right(served, copy, clinics_api, told, monkeypatch):
    monkeypatch.setattr(joining.time, "sleep", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    said = io.StringIO()
    audience = Audience(Console(file=said, width=200))
    with pytest.raises(KeyboardInterrupt):
        Front(served.url.replace("https", "http"), None, Owner(), audience).sync(copy)  # type: ignore[arg-type]
    assert "use https://)" in said.getvalue()
    refuse(
        make_front(clinics_api.replace("http", "https"), None),
        copy,
        "speaks no TLS: use http://",
    )
    wait_for(
        told,
        "somebody could not join: the coordinator uses --certificate, so the address must begin with https://",
    )


def test_authorities_that_cannot_be_read_are_told(served, tmp_path):
    (tmp_path / "none.pem").write_text("nothing")
    for path in (tmp_path / "none.pem", tmp_path / "missing.pem"):
        with pytest.raises(UsageError, match="cannot be used"):
            make_front(served[0], path)


def test_an_owner_who_is_not_let_in_hears_why(served, copy):
    url, certificate, _ = served
    with pytest.raises(UsageError, match="the key differs from this owner's key"):
        make_front(url, certificate, Owner(2)).sync(copy)


def test_a_long_answer_is_taken_of_an_owner(served, copy):
    url, certificate, _ = served
    long = SignedAnswer.of(0, bytes(2**17), bytes(64))
    assert make_front(url, certificate).sync(copy, question="1" * 64, answer=long).lines


@pytest.mark.parametrize("names", [["a\nprivacy: epsilon 0.01"], ["a\x1b[2J"], ["a" * 1000], ["a"] * 65])
def test_a_coordinator_has_no_lines_of_its_own_on_an_owners_terminal(names):
    with pytest.raises(ValidationError):
        News.model_validate({"missing": names})
    with pytest.raises(ValidationError):
        Denied.model_validate({"why": "".join(names) + "\n"})


def test_what_is_no_coordinator_is_told(copy, clinics_api):
    with pytest.raises((UsageError, ProtocolError), match=r"not a coordinator|a coordinator never sends"):
        make_front(clinics_api, None).sync(copy)


def test_a_door_without_a_usable_certificate_does_not_open(tmp_path):
    (tmp_path / "bad.pem").write_text("nothing")
    with pytest.raises(UsageError, match="--certificate"):
        serve(listen("127.0.0.1", 0), Door(RunFolder(tmp_path), "1", print), tmp_path / "bad.pem", None)


def test_an_owner_who_comes_too_early_is_told_and_waits_for_the_plan(served, copy, monkeypatch):
    plan, served.door._plan = served.door._plan, ""
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        served.door._plan = plan if len(waited) == 2 else ""

    monkeypatch.setattr(joining.time, "sleep", wait)
    said = io.StringIO()
    audience = Audience(Console(file=said, width=200))
    assert Front(served.url, served.certificate, Owner(), audience).sync(copy).lines  # type: ignore[arg-type]
    assert waited == [2.0, 2.0]
    assert said.getvalue().count("has no plan yet: trying again") == 1


def test_an_owner_is_told_who_is_waited_for_where_that_is_news_and_nothing_else_is(served, copy, monkeypatch):
    said, north = io.StringIO(), News(missing=("North",))
    front = Front(served.url, served.certificate, Owner(), Audience(Console(file=said)))  # type: ignore[arg-type]
    heard = [north, north, News(missing=("South",)), News(missing=("East",), lines="bGluZQ=="), News()]
    monkeypatch.setattr(front, "_request", lambda *_: heard.pop(0))
    while heard:
        front.sync(copy)
    assert said.getvalue().splitlines() == ["waiting for North", "waiting for South"]


class Coordinator:
    """A coordinator that has one piece of news after the other, and keeps what it is told."""

    def __init__(self, *news: News) -> None:
        self.news, self.kept, self.refused = [*news], dict[str, object](), list[Exception]()

    def sync(self, _copy: Copy) -> News:
        return self.news.pop(0)

    def fetch(self, digest: str) -> bytes:
        raise AssertionError(digest)

    def add_to_messages(self, **said: object) -> None:
        self.kept |= said

    def refuse(self, _copy: Copy, error: Exception) -> None:
        self.refused.append(error)


class Pipe:
    """Says nothing further."""

    def send(self, _said: object) -> None:
        """Ignore."""


class Person:
    """Somebody who says yes or no; None if nobody is there."""

    def __init__(self, says: bool | None) -> None:
        self.says = says

    def is_there(self) -> bool:
        return self.says is not None

    def agrees(self, _question: str) -> bool:
        return bool(self.says)


def write(*records: Record) -> list[bytes]:
    head, lines = GENESIS, list[bytes]()
    for record in records:
        lines.append(Line(seq=len(lines), prev=head, event=to_event(record)).encode())
        head = digest(lines[-1])
    return lines


LINES = write(
    Opened(run_id=PLAN.run_id, api=PLAN.provider.api, dialect=PLAN.provider.dialect),
    Planned(plan=PLAN),
    RecordedRelease(receipt=Receipt(PLAN.run_id, 1, (), (), "replace-one", ())),
    Finished(sent=0),
)


def bring(*lines: bytes, **said: object) -> News:
    return News(lines=base64.b64encode(b"".join(lines)), **said)


def go(owner: Owner, coordinator: Coordinator, copy: Copy, says: bool | None = None) -> object:
    audience = Audience(Console(quiet=True), person=Person(says))
    return take_part(coordinator, owner, copy, copy._folder, audience, Pipe())  # type: ignore[arg-type]


def test_an_owner_agrees_once_answers_checks_each_release_and_ends_with_the_run(copy, monkeypatch):
    monkeypatch.setattr(joining, "publish_copy", lambda _folder: {"images": 3})
    owner, coordinator = Owner(), Coordinator(
        bring(LINES[0]), bring(LINES[1]), bring(question=QUESTION), bring(), bring(LINES[2]),
        bring(figures={"images": 3}), bring(LINES[3]), bring(figures={"images": 3}),
    )  # fmt: skip
    assert go(owner, coordinator, copy) == {"images": 3}
    assert owner.asked == [
        "consider", ("agree", digest_plan(PLAN)), ("answer", QUESTION), "check", ("finish", {"images": 3}),
    ]  # fmt: skip
    assert coordinator.kept == {
        "agreement": base64.b64encode(b"agreed"), "question": QUESTION.digest, "answer": ANSWER,
    }  # fmt: skip
    assert (coordinator.news, coordinator.refused) == ([], [])


@pytest.mark.parametrize(
    ("says", "kind", "said"), [(None, UsageError, "give --yes"), (False, DeclinedError, "Nothing was spent")]
)
def test_without_a_persons_yes_nobody_agrees_and_the_coordinator_hears_it(copy, says, kind, said):
    owner, coordinator = Owner(is_agreed=False), Coordinator(bring(*LINES[:2]))
    with pytest.raises(kind, match=said):
        go(owner, coordinator, copy, says)
    assert owner.asked == ["consider"]
    assert [type(each) for each in coordinator.refused] == [kind]


def test_a_person_who_says_yes_is_asked_before_the_plan_is_signed(copy):
    owner = Owner(is_agreed=False)
    with pytest.raises(IndexError):  # no more news
        go(owner, Coordinator(bring(*LINES[:2])), copy, says=True)
    assert owner.asked == ["consider", ("agree", digest_plan(PLAN))]


@pytest.mark.parametrize(
    ("error", "is_told"), [(KeeperGoneError("gone"), False), (ProtocolError("no"), True)]
)
def test_an_owner_whose_keeper_died_has_refused_nothing_and_may_come_again(copy, monkeypatch, error, is_told):
    def answer(_owner: Owner, _news: News) -> SignedAnswer:
        raise error

    monkeypatch.setattr(Owner, "answer", answer)
    coordinator = Coordinator(bring(*LINES[:2]), bring(question=QUESTION))
    with pytest.raises(type(error)):
        go(Owner(), coordinator, copy)
    assert coordinator.refused == [error] * is_told
