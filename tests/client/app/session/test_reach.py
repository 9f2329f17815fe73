"""What the command that was typed can still open while its processes work."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pcevolve.app.session import reach
from pcevolve.errors import UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.processes.confinement import confine_offline
from pcevolve.public.run.checked import CheckedRun
from support.confined import confines, in_a_process, lay_out

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


def test_a_run_s_command_keeps_its_run_and_its_ledger_and_private_names_alone(folder: Path) -> None:
    def keep(folder: Path) -> None:
        reach.keep_files_of_run(check(folder))

    assert list_possible(folder, keep) == [
        "list private",
        "write in the run",
        *OF_LEDGER,
        "remove the run's folder",
    ]


def test_a_keeper_s_command_writes_in_no_run(folder: Path) -> None:
    def keep(folder: Path) -> None:
        reach.keep_files_of_keeper(check(folder))

    assert list_possible(folder, keep) == ["list private", "read beside the run", *OF_LEDGER]


def test_a_client_s_command_keeps_its_run_alone(folder: Path) -> None:
    def keep(folder: Path) -> None:
        reach.keep_files_of_client(folder / "runs" / "run")

    assert list_possible(folder, keep) == ["write in the run", "remove the run's folder"]


def test_a_demonstration_s_command_keeps_its_folders_and_reads_its_server_s_words(folder: Path) -> None:
    def keep(folder: Path) -> None:
        (folder / "runs" / "run").mkdir()
        (folder / "runs" / "secrets.txt").touch()  # of a demonstration with texts
        places = [folder / "runs" / "run", folder / "runs" / "secrets.txt"]
        reach.keep_files_of_demo(places, folder / "runs" / "log")
        (folder / "runs" / "log").read_bytes()

    assert list_possible(folder, keep) == [
        "write in the run",
        "link in the usual one",
        "remove the run's folder",
    ]


def test_where_links_among_private_files_lead_is_listed_too(folder: Path) -> None:
    (folder / "private" / "elsewhere").symlink_to(folder / "own")

    def work() -> list[str]:
        os.environ |= {"TMPDIR": str(folder), "XDG_STATE_HOME": str(folder / "state")}
        confine_offline()
        reach.keep_files_of_run(check(folder))
        return sorted(each.name for each in (folder / "private" / "elsewhere").iterdir())

    assert in_a_process(work) == ["file", "movable"]


def test_a_command_that_cannot_be_confined_is_refused(folder: Path) -> None:
    (folder / f"pcevolve-{65534 if os.getuid() == 0 else os.getuid()}").symlink_to(folder / "own")

    def work() -> str:
        os.environ["TMPDIR"] = str(folder)
        confine_offline()
        with pytest.raises(UsageError, match="is not yours alone: remove it, or set TMPDIR"):
            reach.keep_files_of_client(folder / "run")
        return "refused"

    assert in_a_process(work) == "refused"
