"""What the command that was typed can still open while its processes work."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pcevolve.app.session import access
from pcevolve.app.session.access import follow_links, require_apart
from pcevolve.errors import UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.processes.confinement import confine_keeper, confine_offline
from pcevolve.public.run.checked import CheckedRun
from support.confined import confines, in_a_process, lay_out
from support.folders import class_folders

pytestmark = confines


@pytest.fixture
def folder() -> Iterator[Path]:
    """Beside ``private``, ``shared`` and ``own`` of ``lay_out``, whose ``shared/link`` leads to a private file."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        yield lay_out(Path(made))


def check(folder: Path) -> CheckedRun:
    options = {
        "private": folder / "private",
        "domain": "scratch",
        "out": folder / "runs" / "run",
        "epsilon": "1",
    }
    settings = RunConfig.of({**options, "ledger": folder / "ledger" / "ledger.sqlite"})
    return CheckedRun(settings)


def list_possible(folder: Path, keep: Callable[[Path], None]) -> list[str]:
    """What a command can do that keeps some files."""

    def work() -> list[str]:
        os.environ |= {"TMPDIR": str(folder), "XDG_STATE_HOME": str(folder / "state")}
        os.environ.pop("PCEVOLVE_LEDGER", None)
        confine_offline()
        keep(folder)
        private, run, ledger = (folder / name for name in ("private", "runs/run", "ledger"))
        acts: dict[str, Callable[[], object]] = {
            "list private": lambda: [*private.iterdir()],
            "read private": (private / "image").read_bytes,
            "write private": lambda: (private / "image").write_bytes(b"content"),
            "read what lies elsewhere": (folder / "own" / "file").read_bytes,
            "write elsewhere": lambda: (folder / "own" / "file").write_bytes(b"content"),
            "write in the run": lambda: (run / "file").write_bytes(b"new"),
            "read beside the run": (folder / "runs" / "other").read_bytes,
            "write beside the run": lambda: (folder / "runs" / "new").write_bytes(b"new"),
            "write in the ledger's folder": lambda: (ledger / "file").write_bytes(b"new"),
            "link in the ledger's folder": lambda: (ledger / "link").symlink_to("file"),
            "write in the usual one": lambda: (folder / "state/pcevolve/file").write_bytes(b"new"),
            "link in the usual one": lambda: (folder / "state/pcevolve/runs/link").symlink_to(ledger),
            "remove the run's folder": lambda: ((run / "file").unlink(), run.rmdir()),
        }
        return [name for name, act in acts.items() if _succeeds(act)]

    (folder / "runs").mkdir()
    (folder / "runs" / "other").write_bytes(b"content")
    for each in (folder / "runs", folder / "runs" / "other"):
        if os.getuid() == 0:
            os.chown(each, 65534, 65534)
    return in_a_process(work)


def _succeeds(act: Callable[[], object]) -> bool:
    try:
        act()
    except OSError:
        return False
    return True


OF_LEDGER = ["write in the ledger's folder", "link in the usual one"]


def keep_files_of_demo(folder: Path) -> None:
    (folder / "runs" / "run").mkdir()
    (folder / "runs" / "secrets.txt").touch()  # of a demonstration with texts
    places = [folder / "runs" / "run", folder / "runs" / "secrets.txt"]
    access.keep_files_of_demo(places, folder / "runs" / "log")
    (folder / "runs" / "log").read_bytes()  # its server's words


IN_RUN = ["write in the run", "remove the run's folder"]
KEPT: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "a run's": (
        lambda folder: access.keep_files_of_run(check(folder)),
        ["list private", "write in the run", *OF_LEDGER, "remove the run's folder"],
    ),
    "a keeper's": (
        lambda folder: access.keep_files_of_keeper(check(folder)),
        ["list private", "read beside the run", *OF_LEDGER],
    ),
    "a client's": (lambda folder: access.keep_files_of_client(folder / "runs" / "run"), IN_RUN),
    "a demonstration's": (keep_files_of_demo, [IN_RUN[0], "link in the usual one", IN_RUN[1]]),
}


@pytest.mark.parametrize("command", KEPT)
def test_a_command_keeps_its_run_or_its_ledger_and_of_private_files_their_names(
    command: str, folder: Path
) -> None:
    keep, possible = KEPT[command]
    assert list_possible(folder, keep) == possible


def test_where_links_among_private_files_lead_is_listed_too(folder: Path) -> None:
    (folder / "private" / "elsewhere").symlink_to(folder / "own")

    def work() -> list[str]:
        os.environ |= {"TMPDIR": str(folder), "XDG_STATE_HOME": str(folder / "state")}
        confine_offline()
        access.keep_files_of_run(check(folder))
        return sorted(each.name for each in (folder / "private" / "elsewhere").iterdir())

    assert in_a_process(work) == ["file", "movable"]


def test_a_command_that_cannot_be_confined_is_refused(folder: Path) -> None:
    (folder / f"pcevolve-{65534 if os.getuid() == 0 else os.getuid()}").symlink_to(folder / "own")

    def work() -> str:
        os.environ["TMPDIR"] = str(folder)
        confine_offline()
        with pytest.raises(UsageError, match="is not yours alone: remove it, or set TMPDIR"):
            access.keep_files_of_client(folder / "run")
        return "refused"

    assert in_a_process(work) == "refused"


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a folder of data, and links to it."""
    monkeypatch.chdir(tmp_path)
    class_folders(tmp_path / "scans", 1)
    for name in ("units.csv", "secrets.txt"):
        Path(name).touch()
    Path("link").symlink_to("scans")
    Path("runs/deep").mkdir(parents=True)
    Path("table.csv").write_text("text,label\n")
    return tmp_path


def settle(**changes: object) -> RunConfig:
    options = {
        "private": "scans",
        "domain": "scan",
        "out": "runs/new",
        "ledger": "state/ledger.sqlite",
        **changes,
    }
    return RunConfig.of({name: str(value) for name, value in options.items()})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"private": "table.csv", "dialect": "chat"},
        {"test": "scans", "unit_map": "units.csv"},
        {"private": "digits:3,5", "ledger": "runs-ledger/ledger.sqlite"},
        {"private": "scans/../scans", "out": "scans/../runs/new"},
        {"private": "link", "out": "link-runs/new"},
        {"unit_map": "scans/units.csv"},
        {"private": "cells", "test": "cells", "out": ".", "ledger": "../state/ledger.sqlite"},
    ],
)
def test_what_lies_beside_each_other_is_let_through(there: Path, changes: dict[str, object]):
    require_apart(settle(**changes))


@pytest.mark.parametrize(
    ("changes", "said", "advice"),
    [
        ({"out": "scans/new"}, "--out scans/new lies in *scans, which is private", "give --out a folder"),
        ({"out": "link/good/new"}, "--out link/good/new lies in *scans", "give --out a folder elsewhere"),
        ({"out": "runs/../scans/new"}, "--out * lies in *scans", "give --out a folder elsewhere"),
        ({"out": "scans"}, "--out scans lies in *scans", "give --out a folder elsewhere"),
        (
            {"out": "."},
            "the ledger *state/ledger.sqlite lies in ., the run's folder, which may be shared",
            "move it",
        ),
        ({"test": "runs/new/test"}, "--test */runs/new/test lies in runs/new, the run's folder", "move it"),
        ({"unit_map": "runs/new/units.csv"}, "--unit-map *units.csv lies in runs/new", "move it elsewhere"),
        ({"private": "runs/new/x.csv", "dialect": "chat"}, "--private *x.csv lies in runs/new", "move it"),
        (
            {"ledger": "ledger.sqlite"},
            "--out runs/new lies in *, the ledger's folder, which is private",
            "put the ledger into a separate folder: privacy.ledger=*/ledger/ledger.sqlite",
        ),
        (
            {"ledger": "runs/ledger.sqlite"},
            "--out runs/new lies in *runs, the ledger's",
            "put",
        ),
        (
            {"ledger": "runs/../units.sqlite", "out": "/elsewhere/new"},
            "--private *scans lies in *, the ledger's folder",
            "put the ledger into a separate folder",
        ),
        ({"ledger": "scans/ledger.sqlite"}, "the ledger *scans/ledger.sqlite lies in *scans", "move it"),
        ({"ledger": "link/deep/l.sqlite"}, "the ledger *link/deep/l.sqlite lies in *scans", "move it"),
        ({"ledger": "runs/new/l.sqlite"}, "the ledger *l.sqlite lies in runs/new, the run's", "move it"),
        ({"private": sys.prefix}, "--private * lies in *, from which Python loads its modules", "move it"),
        ({"from_run": "runs"}, "--out runs/new lies in *runs, the folder of the run that is varied", "give"),
    ],
)
def test_what_lies_in_each_other_is_refused_with_what_to_move(
    there: Path, changes: dict[str, object], said: str, advice: str
):
    before = sorted(there.rglob("*"))
    parts = [re.escape(each).replace(r"\*", ".*") for each in (said, advice)]
    with pytest.raises(UsageError, match=f"^{parts[0]}.*: {parts[1]}"):
        require_apart(settle(**changes))
    assert sorted(there.rglob("*")) == before


def test_a_ledger_that_has_been_used_is_moved_with_its_key(there: Path):
    Path("ledger.key").touch()
    with pytest.raises(UsageError, match="a separate folder, and move the ledger's files there: "):
        require_apart(settle(ledger="ledger.sqlite"))


def lay_links(folder: Path) -> list[str]:
    """A folder with links to a file, to a folder with links of its own, back to itself, and to nowhere."""
    for name in ("store/a", "store/b", "classes/cut/image"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    data = folder / "private"
    data.mkdir()
    (data / "one").symlink_to(folder / "store" / "a")
    (data / "cut").symlink_to(folder / "classes" / "cut")
    (folder / "classes" / "cut" / "other").symlink_to("../../store/b")
    (folder / "classes" / "cut" / "self").symlink_to(data)
    (data / "gone").symlink_to(folder / "nowhere")
    return [str(folder / name) for name in ("private", "classes/cut", "store/b", "store/a")]


def test_what_links_lead_to_is_found_once_each_and_nothing_else(tmp_path: Path) -> None:
    expected = lay_links(tmp_path)
    assert follow_links([expected[0]]) == expected
    assert follow_links([expected[3], "/not/there"]) == [expected[3], "/not/there"]


@confines
def test_a_keeper_reads_what_links_lead_to_and_not_what_lies_beside(folder: Path) -> None:
    places = [folder / "private" / name for name in ("one", "cut/image", "cut/other")]

    def work() -> list[str]:
        lay_links(folder / "shared")
        reads = follow_links([str(folder / "shared" / "private")])
        confine_keeper(reads, [])
        found = [str(folder / "shared" / each.relative_to(folder)) for each in places]
        said = [Path(each).read_text() for each in found]
        try:
            (folder / "shared" / "body").read_text()
        except PermissionError:
            said.append("refused")
        return said

    assert in_a_process(work) == ["store/a", "classes/cut/image", "store/b", "refused"]
