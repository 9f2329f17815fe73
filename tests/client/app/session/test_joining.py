"""What an owner types is looked at before anything is started."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pcevolve.app.session.joining import JoinedFolder, Joining, _ask, order_front
from pcevolve.app.session.orders import DoorAddress, order_runner
from pcevolve.errors import DataError, UsageError
from pcevolve.keeper.clinics.keeping import _ConsentOfLauncher
from pcevolve.public.config.config import RunConfig
from pcevolve.public.processes.pipe import Pipe, open_conversation
from pcevolve.public.run.meeting import FrontSettings
from pcevolve.public.run.progress import Audience


def make(root: Path, url: str = "https://coordinator.example", **own: Any) -> Joining:
    (root / "private").mkdir(exist_ok=True)
    options = {
        "private": str(root / "private"), "roster": str(root / "roster.toml"), "key": str(root / "own.key"),
        "folder": str(root / "joined"), "ledger": str(root / "own" / "ledger.sqlite"), "unit_map": None,
        "texts": [None, None], "weights": None, "lifetime": None, **own,
    }  # fmt: skip
    return Joining(url, options, None, yes=True)


def test_an_owners_data_run_ledger_and_key_lie_beside_each_other(tmp_path):
    assert make(tmp_path).check().folder.root == tmp_path / "joined"
    (tmp_path / "joined").mkdir()
    for given, said in (
        ({"folder": str(tmp_path / "private" / "joined")}, "lies in"),
        ({"ledger": str(tmp_path / "private" / "ledger.sqlite")}, "lies in"),
        (
            {"key": str(tmp_path / "joined" / "own.key")},
            r"--key .*own\.key lies in .*joined, the run's folder",
        ),
    ):
        with pytest.raises(UsageError, match=said):
            make(tmp_path, **given).check()


@pytest.mark.parametrize("agrees", [True, False])
def test_the_keeper_hears_the_person_whom_no_front_asks_in_its_own_words(agrees):
    ours, theirs = open_conversation()
    keeper: Any = SimpleNamespace(pipe=Pipe(*ours))
    consent, asked = _ConsentOfLauncher(Pipe(*theirs)), list[str]()

    def answer(question: str) -> bool:
        asked.append(question)
        return agrees

    consent.ask()
    assert _ask(keeper, SimpleNamespace(agrees=answer), "Shall it go on?") is agrees  # type: ignore[arg-type]
    assert consent.is_given() is agrees
    assert asked == ["Take part in this run with your data?"]


class Orders:
    """A process that keeps what it is ordered."""

    def order(self, work: str, reads: list[str], writes: list[str], **_: object) -> None:
        self.work, self.reads, self.writes = work, reads, writes

    def pass_on_words(self) -> None:
        """It says nothing."""


def test_an_owners_front_may_read_the_authorities_and_write_its_copy_and_nothing_else(tmp_path):
    (tmp_path / "ca.pem").touch()
    settings = FrontSettings(url="https://a", ca_file=tmp_path / "ca.pem", folder=tmp_path / "copy")
    front = Orders()
    order_front(front, settings, Audience(), is_there=False)  # type: ignore[arg-type]
    assert (front.reads, front.writes) == ([str(tmp_path / "ca.pem")], [str(tmp_path / "copy")])


def test_a_coordinators_runner_may_read_its_certificate_and_its_key_and_nothing_else(tmp_path):
    files = [tmp_path / "cert.pem", tmp_path / "key.pem"]
    for each in files:
        each.touch()
    runner = Orders()
    settings = RunConfig.of(
        {"private": "/mine/scans", "domain": "scratch", "out": str(tmp_path / "run")}
    ).public()
    door = DoorAddress("127.0.0.1", 8440, (files[0], files[1]))
    order_runner(runner, settings, None, Audience(), door=door)  # type: ignore[arg-type]
    assert (runner.reads, runner.writes) == ([str(each) for each in files], [str(tmp_path / "run")])


@pytest.mark.parametrize("url", ["ftp://coordinator", "coordinator:8440", "", "https://"])
def test_what_is_no_address_is_refused(tmp_path, url):
    with pytest.raises(UsageError):
        make(tmp_path, url).check()


def test_data_that_are_not_there_are_told_before_anything_is_started(tmp_path):
    with pytest.raises(DataError, match="no such folder or file"):
        make(tmp_path, private=str(tmp_path / "none")).check()


def test_a_run_that_was_cut_off_goes_on_by_the_same_command(tmp_path):
    assert JoinedFolder(tmp_path).resume_command == "the same command"
