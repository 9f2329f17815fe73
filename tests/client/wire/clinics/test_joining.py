"""An owner's front at a coordinator's door: certificates, and what it is told when it is not let in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError
from rich.console import Console

from pcevolve.errors import ProtocolError, UsageError
from pcevolve.public.clinics.answers import SignedAnswer
from pcevolve.public.clinics.messages import Introduced, state_presence
from pcevolve.public.clinics.sync import Denied, News
from pcevolve.public.processes.doorway import listen
from pcevolve.public.protocol import digest_plan
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.progress import Audience
from pcevolve.public.transcript.log import Transcript
from pcevolve.public.transcript.records import Opened, Planned
from pcevolve.wire.clinics import door as module
from pcevolve.wire.clinics.copying import Copy
from pcevolve.wire.clinics.door import Door, RecordLines, serve
from pcevolve.wire.clinics.joining import Front
from support.certificates import self_signed
from support.clinics import make_clinics, make_key
from support.runs import small_plan

CLINICS = make_clinics(2)
PLAN = small_plan(method="pe", delta=1e-5, epsilon="1", shots=20, clinics=CLINICS)


class Owner:
    """The first owner, who says no more than who it is."""

    def __init__(self, key: int = 1) -> None:
        self.key = make_key(key)

    def introduce(self) -> Introduced:
        import base64

        token = self.key.signing.sign(state_presence(CLINICS.digest))
        return Introduced(owner=0, roster=CLINICS.digest, token=base64.b64encode(token))


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path]]:
    """A door with TLS, whose plan is there: its address and its certificate."""
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.3)
    folder = RunFolder(tmp_path / "run")
    folder.root.mkdir()
    record = Transcript(folder.transcript)
    record.append(Opened(run_id=PLAN.run_id, api=PLAN.provider.api, dialect=PLAN.provider.dialect))
    record.append(Planned(plan=PLAN))
    record.close()
    from importlib.metadata import version

    door = Door(folder, version("pcevolve"), lambda _: None)
    door._plan, door._clinics, door._lines = digest_plan(PLAN), CLINICS, RecordLines(folder)
    certificate = self_signed(tmp_path, "localhost")
    server = serve(listen("127.0.0.1", 0), door, certificate, tmp_path / "key.pem")
    yield f"https://localhost:{server.socket.getsockname()[1]}", certificate
    server.shutdown()


def make_front(url: str, ca_file: Path | None, owner: Owner | None = None) -> Front:
    return Front(url, ca_file, owner or Owner(), Audience(Console(quiet=True)))  # type: ignore[arg-type]


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    (tmp_path / "copy").mkdir()
    return Copy(RunFolder(tmp_path / "copy"))


def test_an_owner_who_trusts_the_certificate_reads_the_record(served, copy):
    url, certificate = served
    front = make_front(url, certificate)
    copy.extend(front.sync(copy).lines, front.fetch)
    assert copy.has_plan


def test_a_certificate_that_nobody_vouches_for_is_refused_with_what_to_give(served, copy):
    with pytest.raises(UsageError, match="--ca-file FILE"):
        make_front(served[0], None).sync(copy)


def test_authorities_that_cannot_be_read_are_told(served, tmp_path):
    (tmp_path / "none.pem").write_text("nothing")
    for path in (tmp_path / "none.pem", tmp_path / "missing.pem"):
        with pytest.raises(UsageError, match="cannot be used"):
            make_front(served[0], path)


def test_an_owner_who_is_not_let_in_hears_why(served, copy):
    url, certificate = served
    with pytest.raises(UsageError, match="the key is not that of this owner"):
        make_front(url, certificate, Owner(2)).sync(copy)


def test_a_long_answer_is_taken_of_an_owner(served, copy):
    url, certificate = served
    long = SignedAnswer.of(0, bytes(2**17), bytes(64))
    assert make_front(url, certificate).sync(copy, question="1" * 64, answer=long).lines


@pytest.mark.parametrize("names", [["a\nprivacy: epsilon 0.01"], ["a\x1b[2J"], ["a" * 1000], ["a"] * 65])
def test_a_coordinator_has_no_lines_of_its_own_on_an_owners_terminal(names):
    with pytest.raises(ValidationError):
        News.model_validate({"missing": names})
    with pytest.raises(ValidationError):
        Denied.model_validate({"why": "".join(names) + "\n"})


def test_what_is_no_coordinator_is_told(copy, clinics_api):
    with pytest.raises((UsageError, ProtocolError), match="no coordinator"):
        make_front(clinics_api, None).sync(copy)


def test_a_door_without_a_usable_certificate_does_not_open(tmp_path):
    (tmp_path / "bad.pem").write_text("nothing")
    with pytest.raises(UsageError, match="--certificate"):
        serve(listen("127.0.0.1", 0), Door(RunFolder(tmp_path), "1", print), tmp_path / "bad.pem", None)
