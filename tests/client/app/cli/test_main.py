"""What a command may ask of the kernel, from its first line on."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pcevolve.app.cli import audit, finished
from pcevolve.app.cli import main as entry
from pcevolve.app.cli.commands import COMMANDS
from pcevolve.app.first import pricing  # noqa: F401

# Whom a test confines as nobody may read no library of root's.
from pcevolve.app.session import access, preflight  # noqa: F401
from pcevolve.public.config import config  # noqa: F401
from pcevolve.public.processes import launcher
from pcevolve.public.processes.confinement import confine_keeper
from pcevolve.public.run import owner
from support.confined import confines, in_a_process, lay_out

NETWORKED = {"doctor", "fetch-encoder", "prompts --api there"}
"""The others need none, or leave it to children."""


def begin_and_end_a_child() -> None:
    os.waitpid(os.fork() or os._exit(0), 0)


def carry_out_a_probe(*words: str) -> list[str]:
    """Call the entry as a process does, and at the place of the command try a socket, a program and a fork."""
    said: list[str] = []

    def probe(app: object) -> None:
        for act in (socket.socket, partial(os.execv, "/nothing", ["nothing"]), begin_and_end_a_child):
            try:
                act()
                said.append("done")
            except OSError as error:
                said.append(type(error).__name__)

    commands = ModuleType("pcevolve.app.cli.commands")
    commands.app, commands.carry_out = None, probe  # type: ignore[attr-defined]
    sys.modules["pcevolve.app.cli.commands"] = commands
    sys.argv = ["pcevolve", *words]
    launcher.start_children = lambda: SimpleNamespace(pids=())  # type: ignore[assignment,return-value]
    side: Any = SimpleNamespace(pids=(), doors=())
    launcher.start_keepers_side = lambda: side  # type: ignore[assignment]
    launcher.start_clients_side = lambda path: side  # type: ignore[assignment]
    entry.prepare_server = lambda: None
    entry.main()
    return said


@confines
@pytest.mark.parametrize("command", sorted({*COMMANDS, *NETWORKED}))
def test_a_command_has_a_socket_if_it_needs_one_and_never_a_program_or_a_child(command: str) -> None:
    socket = "done" if command in NETWORKED else "PermissionError"
    found = in_a_process(lambda: carry_out_a_probe(*command.split()))
    assert found == [socket, "PermissionError", "PermissionError"]


@confines
@pytest.mark.parametrize("words", [["run", "--keeper", "socket"], ["run", "--keeper=socket"]])
def test_a_client_that_has_met_its_keeper_has_no_network_of_its_own(words: list[str]) -> None:
    assert in_a_process(lambda: carry_out_a_probe(*words)) == ["PermissionError"] * 3


@confines
@pytest.mark.parametrize(
    "words",
    [["run", "--from", "there"], ["run", "--from=there"], ["preview", "--from", "there"], ["demo", "--text"]],
)
def test_a_command_with_children_has_no_network_itself_whatever_they_are_for(words: list[str]) -> None:
    assert in_a_process(lambda: carry_out_a_probe(*words)) == ["PermissionError"] * 3


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        yield lay_out(Path(made))


@confines
@pytest.mark.parametrize("words", [["--require-confinement", "status"], ["status", "--require-confinement"]])
@pytest.mark.parametrize("demanded", [False, True])
def test_a_command_goes_on_where_the_kernel_confines_it_as_demanded(words: list[str], demanded: bool) -> None:
    def work() -> list[str]:
        if demanded:
            os.environ["PCEVOLVE_REQUIRE_CONFINEMENT"] = "1"
        return carry_out_a_probe(*words)

    assert in_a_process(work) == ["PermissionError"] * 3


@confines
@pytest.mark.parametrize("words", [["run"], ["status"], ["doctor"]])
@pytest.mark.parametrize("by_variable", [False, True])
def test_a_command_that_the_kernel_does_not_confine_is_refused_on_demand(
    words: list[str], by_variable: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    def work() -> object:
        confine_keeper(["/"], [])  # the filter hides from this process that the kernel has either
        if by_variable:
            os.environ["PCEVOLVE_REQUIRE_CONFINEMENT"] = "1"
        with pytest.raises(SystemExit) as left:
            carry_out_a_probe(*words, *[] if by_variable else ["--require-confinement"])
        return left.value.code

    assert in_a_process(work) == 2
    assert capfd.readouterr().err == (
        "error: confinement is required, and not enforced on this system (no Landlock and no seccomp): nothing was "
        "read or sent\n"
    )


PLANTED = {
    "audit {own}": ("pcevolve.auditing", "own/file"),
    "audit --html {own}": ("pcevolve.auditing", "own/file own/new"),
    "budget plan": ("pcevolve.app.first.pricing", ""),
    "budget show --ledger {own}/file": ("pcevolve.keeper.ledger.ledger", "own/file own/new"),
    "budget history --ledger {own}/file": ("pcevolve.keeper.ledger.ledger", "own/file own/new"),
    "budget cap --ledger {own}/file": ("pcevolve.keeper.ledger.ledger", "own/file own/new"),
    "budget cap 9 --ledger {own}/file": ("pcevolve.keeper.ledger.ledger", "own/file own/new"),
    "budget export --ledger {own}/file": ("pcevolve.keeper.ledger.ledger", "own/file own/new"),
    "check {own}": ("pcevolve.keeper.check", "own/file"),
    "classify RUN {own}": ("pcevolve.auditing.rerun", "own/file"),
    "clinics key {own}/key": ("pcevolve.keeper.clinics.keys", "own/file own/new"),
    "clinics roster {own}/file": ("pcevolve.public.clinics.roster", "own/file"),
    "compare {own}": ("pcevolve.keeper.finished.comparison", "own/file"),
    "doctor": ("pcevolve.app.first.doctor", ""),
    "evaluate {own} --test there": ("pcevolve.auditing.rerun", "own/file own/new"),
    "export --format parquet {own}": ("pcevolve.public.publish.exports", "own/file own/new"),
    "fetch-encoder clip": ("pcevolve.app.fetching", ""),
    "init {own}": ("pcevolve.app.first.init", "own/file own/new"),
    "pack --out {own}/zip {own}": ("pcevolve.auditing.packing", "own/file own/new"),
    "plan {own}": ("pcevolve.wire.console", "own/file"),
    "prompts --domain a --labels b --out {own}/new": ("pcevolve.public.answers", "own/new"),
    "prompts --domain a --private {own} --api b --model c --out {own}/new": (
        "pcevolve.public.answers",
        "own/new",
    ),
    "report {own}": ("pcevolve.public.pages.report.page", "own/file own/new"),
    "status --ledger {own}/file": ("pcevolve.keeper.ledger.ledger", "own/file own/new"),
}
"""By command, a module that it imports when it knows what it is asked for; and what can be opened from then on."""


@confines
@pytest.mark.parametrize("command", PLANTED)
def test_a_command_writes_what_it_is_for_and_reads_what_it_was_given(command: str, folder: Path) -> None:
    module, opened = PLANTED[command]

    def work() -> list[str]:
        found: dict[str, None] = {}
        os.environ |= {"TMPDIR": str(folder), "HOME": str(folder)}

        class Planted(ModuleType):
            def __getattr__(self, name: str) -> object:
                for path, mode in (("own/file", "rb"), ("own/new", "wb"), ("private/image", "rb")):
                    with contextlib.suppress(OSError):
                        (folder / path).open(mode).close()
                        found[path] = None
                raise AttributeError(name)

        sys.modules[module] = Planted(module)
        for each in (finished, audit):
            each.require_run = lambda path: None  # type: ignore[attr-defined]
        of_run = SimpleNamespace(root=folder / "own", find_options=lambda: None)
        owner.OwnerFolder.of = lambda *_: of_run  # type: ignore[method-assign,assignment,return-value]
        sys.argv = ["pcevolve", *command.format(own=folder / "own").split()]
        with contextlib.suppress(ImportError):
            entry.main()
        return [*found]

    assert in_a_process(work) == opened.split()


def test_every_command_without_processes_of_its_own_is_among_them() -> None:
    assert {each.split()[0] for each in PLANTED} | {"audit-dp"} == COMMANDS.keys() - {*entry.APART, "keeper"}


def test_the_entry_imports_nothing_but_the_standard_library() -> None:
    code = "import sys, pcevolve.app.cli.main; print(*{each.partition('.')[0] for each in sys.modules})"
    paths = {"PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, env=paths)
    loaded = {each for each in done.stdout.split() if each not in sys.stdlib_module_names and each[0] != "_"}
    assert loaded == {"pcevolve"}, done.stderr


ENDING = """
import atexit, sys
from pcevolve.app.cli import main
from pcevolve.app.cli import commands

def end(*_):
    print("a line")
    raise {error}

atexit.register(print, "tidied up")
sys.argv = ["pcevolve", "doctor"]
{place} = end
main.main()
"""


@pytest.mark.parametrize(
    ("place", "error", "code", "said", "out"),
    [
        ("commands.carry_out", "SystemExit(130)", 130, "", "a line"),
        ("main._prepare", "KeyboardInterrupt", 130, "stopped", "a line"),
        ("commands.carry_out", "SystemExit(2)", 2, "", "a line tidied up"),
    ],
)
def test_after_ctrl_c_a_command_ends_without_tidying_up_and_says_so_even_while_it_is_loading(
    place: str, error: str, code: int, said: str, out: str
) -> None:
    """What torch leaves to be tidied up took a second, and Ctrl-C while modules were loaded a traceback."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", ENDING.format(place=place, error=error)],
        env={**os.environ, "PYTHONPATH": ":".join(filter(None, sys.path))}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr.strip(), " ".join(done.stdout.split())) == (code, said, out)


UNTIL_FILES_ARE_KNOWN = """
import os, sys
from pcevolve.public.processes import confinement

def tell(files):
    print(*sorted({each.partition(".")[0] for each in sys.modules} - {*sys.stdlib_module_names}))
    sys.stdout.flush()
    os._exit(0)

confinement.leave_files, confinement.may_leave_files = tell, lambda: True
from pcevolve.app.cli.main import main
sys.argv = ["pcevolve", *sys.argv[1:]]
main()
"""


@pytest.mark.system
@pytest.mark.parametrize(
    ("words", "more"),
    [
        (
            "run --private p --domain x --shots 1 --epsilon 1 --out o --model m --api http://127.0.0.1",
            "rich ",
        ),
        ("check p", ""),
    ],
)
def test_until_a_command_knows_its_files_it_loads_what_reads_options_and_nothing_else(words, more, tmp_path):
    (tmp_path / "p").mkdir()
    paths = {"PYTHONPATH": ":".join(filter(None, sys.path)), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", UNTIL_FILES_ARE_KNOWN, *words.split()],
        cwd=tmp_path, env={**os.environ, **paths}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    loaded = {each for each in done.stdout.split() if not each.startswith("_")} - {"sitecustomize"}
    expected = (
        f"annotated_types click pcevolve pcevolve_shared pydantic pydantic_core {more}typing_extensions"
    )
    assert sorted(loaded) == [*expected.split(), "typing_inspection"], done.stderr
