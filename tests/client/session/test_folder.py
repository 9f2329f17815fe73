"""A run's folder and the server on this machine."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from pcevolve.config.config import RunConfig
from pcevolve.durable import write_private
from pcevolve.errors import DataError, ProviderUnreachableError, UsageError
from pcevolve.session.first import demo, local_server
from pcevolve.session.folder import RunFolder
from pcevolve.session.owner import OwnerFolder
from pcevolve.session.private_data import require_shots
from pcevolve.transcript import RunReader
from support.runs import SmallRun, small_plan


def claim(root, resume: bool = False):
    return RunFolder(root).claim(resume)


def test_two_processes_cannot_work_in_one_folder(begun):
    for take in (RunFolder(begun).hold, partial(claim, begun, resume=True)):
        with take(), pytest.raises(UsageError, match="another process is at work"), take():
            pass
    with pytest.raises(BlockingIOError, match="no more processes"), claim(begun, resume=True):
        raise BlockingIOError("no more processes")


def test_a_folder_of_somebody_elses_with_names_as_a_run_has_is_refused_and_left_as_it_is(tmp_path):
    mine = [tmp_path / each for each in ("config.toml", "transcript/interview.txt", "private/cluster/x")]
    for path in mine:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    with pytest.raises(UsageError, match="it holds something else; choose another"), claim(tmp_path):
        pass
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(mine)
    (tmp_path / ".lock").touch()
    with claim(tmp_path):
        assert mine[0].read_text() == mine[1].read_text() == "mine"


def test_what_a_killed_command_left_is_cleared_away_and_a_folder_that_was_whole_takes_its_place(begun):
    for name in (".release-parquet.fresh", "audit", ".audit.fresh", "..audit.fresh.partial", ".mine.partial"):
        (begun / name).mkdir()
        (begun / name / name).touch()
    (begun / ".report.html.partial").touch()
    with RunFolder(begun).hold():
        left = {path.name for path in begun.iterdir()} - {"transcript", ".lock"}
    assert left == {"release-parquet", "audit", ".mine.partial"}
    assert (begun / "audit" / ".audit.fresh").exists()


@pytest.fixture
def begun(tmp_path):
    with claim(tmp_path):
        SmallRun.open(tmp_path).close()
    return tmp_path


def test_an_unfinished_run_is_continued_only_when_asked(begun):
    with pytest.raises(UsageError, match="continue it with pcevolve run --resume"), claim(begun):
        pass
    before = (begun / "transcript" / "log.jsonl").read_bytes()
    with claim(begun, resume=True):
        assert (begun / "transcript" / "log.jsonl").read_bytes() == before


def test_a_line_that_a_power_cut_tore_off_keeps_no_run_from_going_on(begun):
    log = RunFolder(begun).log
    whole = log.read_bytes()
    for length in (len(whole) - 5, whole.index(b'"planned"'), 10):
        log.write_bytes(whole[:length])
        with claim(begun, resume=True):
            SmallRun.open(begun).close()


def test_a_command_that_goes_on_can_be_typed(tmp_path):
    root = tmp_path / "my run"
    with claim(root):
        SmallRun.open(root).close()
    with pytest.raises(UsageError, match=r"pcevolve run --resume '/.*/my run', or"), claim(root):
        pass
    assert RunReader.lenient(root).advice == f"continue it with pcevolve run --resume '{root}'"
    log = root / "transcript" / "log.jsonl"
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])
    assert "begin again with the same command" in RunReader.lenient(root).advice


def test_a_refusal_of_shots_names_the_check_as_it_is_typed(tmp_path):
    (tmp_path / "my texts").mkdir()
    given = {"private": str(tmp_path / "my texts"), "domain": "notes", "out": "x", "dialect": "chat"}
    counts = {"a": 2, "b": 2}
    with pytest.raises(DataError, match=r"; pcevolve check '/.*/my texts' --dialect chat tells more"):
        require_shots(RunConfig.of(given), counts, "texts", counts)


def test_what_lies_beside_a_demonstration_does_so_from_within_its_folder_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert demo._beside(Path(), "random") == tmp_path.with_name(f"{tmp_path.name}-random")


def test_a_demonstration_of_texts_is_none_of_images(tmp_path):
    SmallRun.open(tmp_path, small_plan(run_id="a" * 32)).close()
    found = {"modality": "text", "accuracy": []}
    write_private(OwnerFolder.of(tmp_path, demo._find_ledger(tmp_path)).result, found)
    with pytest.raises(UsageError, match=r"holds a demonstration of texts: give another --out"):
        demo.demonstrate(tmp_path, "image")
    assert demo.demonstrate(tmp_path, "text") == found


class Server:
    """A process that lives until it has been looked at so often, and says something each time."""

    def __init__(self, log: Path, says: list[dict[str, str]]) -> None:
        self._log, self._says = log, says

    def poll(self) -> int | None:
        """The exit code once it has ended."""
        if not self._says:
            return 3
        with self._log.open("a") as log:
            log.write(json.dumps(self._says.pop(0)) + "\n")
        return None


LISTENING = {"event": "listening", "port": "1"}
READY = {"event": "ready", "url": "http://127.0.0.1:7"}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_server, "POLL_SECONDS", 0)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """With what an earlier server said, which is gone."""
    path = tmp_path / "server.log"
    path.write_text(json.dumps({"event": "ready", "url": "http://127.0.0.1:6"}) + "\n")
    return path


def test_a_port_that_answers_is_no_model_in_memory(log: Path):
    server = Server(log, [LISTENING, LISTENING, READY])
    assert local_server._address(server, log, log.stat().st_size) == "http://127.0.0.1:7"
    assert server._says == []


def test_a_server_that_ends_is_not_waited_for(log: Path):
    server = Server(log, [LISTENING])
    with pytest.raises(
        ProviderUnreachableError, match=r"pcevolve-server is not ready: .*server\.log says why"
    ):
        local_server._address(server, log, log.stat().st_size)


@pytest.mark.system
def test_a_guarded_server_ends_with_whoever_wanted_it_and_its_own_end_is_told():
    guarded = [sys.executable, "-I", local_server.__file__]
    with subprocess.Popen([*guarded, "sh", "-c", "exit 3"], stdin=subprocess.PIPE) as ended:
        assert ended.wait(60) == 3
    with subprocess.Popen([*guarded, "sleep", "100"], stdin=subprocess.PIPE) as waiting:
        waiting.stdin.close()
        assert waiting.wait(60) == 256 - signal.SIGTERM
