"""A run in three processes, as somebody types it: what the kernel lets each do, and what is left when one dies.

What the kernel lets them do is asked of the installed command, whose processes are new interpreters; what is left is
asked of forks, which die as well.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from pcevolve.public.processes.confinement import find_enforcement
from support import online
from support.folders import class_folders, events, receipts
from support.forked import CHILD
from support.forkserver import ForkServer, Started

COMMAND = Path(sys.executable).with_name("pcevolve")
SECONDS = 300
TICK = 0.4
IS_CONFINED = pytest.mark.skipif(not find_enforcement().is_whole, reason="this kernel confines nobody")


@dataclass
class Api:
    """An API on loopback that has something done when its n-th request comes."""

    before: dict[int, Callable[[], object]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.server = online.LocalServer(self.answer)

    def answer(self, heard: online.Heard) -> online.Reply:
        self.before.pop(len(self.server.heard), lambda: None)()
        return online.a1111(heard)


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api()
    yield made
    made.server.close()


@dataclass
class Typed:
    """The command in a folder of its own, whose options lead to an API.

    Attributes:
        forks: What starts it; it is the installed one, in a new interpreter, without.
    """

    folder: Path
    api: Api
    forks: ForkServer | None = None

    def words(self, *more: str) -> list[str]:
        options = {
            "--private": "private", "--domain": "scratch", "--shots": "3", "--out": "run", "--method": "pe",
            "--delta": "1e-5", "--candidates": "2", "--iterations": "2", "--api": self.api.server.address,
            "--dialect": "a1111", "--model": "v1-5",
        }  # fmt: skip
        settings = {
            "privacy.ledger": "own/ledger.sqlite", "privacy.pad_selection": TICK, "provider.seed": 7,
            "privacy.insecure_noise_seed": 3, "provider.batch": 2, "provider.size": 16, "provider.patience": 0,
        }  # fmt: skip
        said = [each for name, value in settings.items() for each in ("--set", f"{name}={value}")]
        return ["run", *(each for pair in options.items() for each in pair), "--yes", *said, *more]

    def start(self, *words: str, first: tuple[str, str] | tuple[()] = ()) -> subprocess.Popen[str] | Started:
        environment = {**os.environ, "PCEVOLVE_API_KEY": online.LOGIN, "HOME": str(self.folder)}
        if self.forks is not None:
            return self.forks.start(words, environment, folder=self.folder, first=first)
        return subprocess.Popen(
            [COMMAND, *words],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """Run a command to its end: its exit code, and what it printed."""
        process = self.start(*words)
        out, err = process.communicate(timeout=SECONDS)
        return process.returncode, out, err


@pytest.fixture
def installed(tmp_path: Path, api: Api) -> Typed:
    class_folders(tmp_path / "private", 1, ("cut", "good"))
    return Typed(tmp_path, api)


@pytest.fixture
def typed(installed: Typed, forks: ForkServer) -> Typed:
    return replace(installed, forks=forks)


def children(launcher: int) -> dict[str, int]:
    """The processes of a run by their roles."""
    found = {}
    for pid in Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split():
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        is_new = CHILD in words
        found[words[words.index(CHILD) + 1] if is_new else Path(f"/proc/{pid}/comm").read_text().strip()] = (
            int(pid)
        )
    return found


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory, forks: ForkServer) -> Path:
    """A run that nothing interrupts."""
    made, folder = Api(), tmp_path_factory.mktemp("reference")
    class_folders(folder / "private", 1, ("cut", "good"))
    typed = Typed(folder, made, forks)
    code, _, err = typed(*typed.words())
    made.server.close()
    assert code == 0, err
    return folder / "run"


@pytest.mark.parametrize("victim", ["launcher", "runner"])  # who else dies is missed at the next message
def test_killed_at_every_request_a_run_ends_as_if_nothing_had_been(typed, api, reference, victim):
    last = sum(each["kind"] == "sent" for each in events(reference))
    running: list[subprocess.Popen[str] | Started] = []

    def kill() -> None:
        launcher = running[-1].pid
        os.kill(launcher if victim == "launcher" else children(launcher)[victim], signal.SIGKILL)

    # Each resumed run asks once more what was cut off, and is killed at what comes next.
    api.before = dict.fromkeys(range(1, 2 * last, 2), kill)
    code, said = -1, ""
    for _ in range(2 * last):
        resumed = ["run", "--resume", "run", "--yes"] if (typed.folder / "run").exists() else typed.words()
        running.append(typed.start(*(resumed if _is_begun(typed.folder / "run") else typed.words())))
        _, said = running[-1].communicate(timeout=SECONDS)
        code = running[-1].returncode
        if code == 0:
            break
        if victim != "launcher":
            assert len(re.findall("error: ", said)) == 1, said
    assert code == 0, said
    assert receipts(typed.folder / "run") == receipts(reference)
    _is_whole(typed)


def _is_begun(run: Path) -> bool:
    return (run / "transcript" / "log.jsonl").exists() and any(
        each["kind"] == "planned" for each in events(run)
    )


def _is_whole(typed: Typed) -> None:
    """One receipt a round, in record and ledger, and an audit that holds."""
    assert [each["iteration"] for each in receipts(typed.folder / "run")] == [1, 2]
    code, out, _ = typed("budget", "history", "--ledger", "own/ledger.sqlite", "--json")
    assert code == 0
    assert sorted(row["iteration"] for row in json.loads(out)) == [1, 2]
    assert typed("audit", "run", "--allow-insecure")[0] == 0


def test_ctrl_c_is_answered_in_two_lines_and_resume_goes_on(typed, api, reference):
    running: list[subprocess.Popen[str] | Started] = []
    api.before = {6: lambda: os.kill(running[-1].pid, signal.SIGINT)}
    running.append(typed.start(*typed.words()))
    _, said = running[-1].communicate(timeout=SECONDS)
    assert running[-1].returncode == 130, said
    assert said.count("stopped") == 1
    assert "to continue, without paying twice for anything" in said
    assert "Traceback" not in said
    assert typed("run", "--resume", "run", "--yes")[0] == 0
    assert receipts(typed.folder / "run") == receipts(reference)


def test_what_the_keeper_refuses_is_told_once_and_ends_the_command_with_its_code(typed):
    words = [each for each in typed.words() if not each.startswith("privacy.insecure")]
    words = [each for place, each in enumerate(words) if each != "--set" or words[place + 1] != "--set"]
    assert typed(*words)[0] == 0
    again = ["other" if each == "run" and place else each for place, each in enumerate(words)]
    code, _, said = typed(*again)
    assert code == 4
    assert said.count("error: ") == 1
    assert not (typed.folder / "other").exists()


def list_held(launcher: int, private: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """By role, what the kernel says of each process of a command; how many sockets and private files it holds open."""
    for role, pid in {"launcher": launcher, **children(launcher)}.items():
        status = Path(f"/proc/{pid}/status").read_text()
        said = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        files = [str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir() if each.is_symlink()]
        said["sockets"] = str(sum(each.startswith("socket:") for each in files))
        said["private"] = str(sum(place in each for each in files for place in private))
        yield role, said


@dataclass
class Seen:
    """Of each process of a command, what the kernel says of it at one request."""

    running: list[subprocess.Popen[str]] = field(default_factory=list)
    found: dict[str, dict[str, str]] = field(default_factory=dict)

    def look(self) -> None:
        self.found.update(list_held(self.running[-1].pid, ("/private/", "/own/")))

    def list_roles(self, is_so: Callable[[dict[str, str]], bool]) -> set[str]:
        return {role for role, each in self.found.items() if is_so(each)}


def look_at(typed: Typed, number: int, *words: str) -> Seen:
    """Run a command to its end, and look at its processes at its n-th request."""
    seen = Seen()
    typed.api.before = {len(typed.api.server.heard) + number: seen.look}
    seen.running.append(typed.start(*words))
    _, said = seen.running[-1].communicate(timeout=SECONDS)
    assert seen.running[-1].returncode == 0, said
    return seen


@IS_CONFINED
def test_while_a_run_goes_on_no_process_has_both_a_private_file_and_the_network(installed):
    seen = look_at(installed, 4, *installed.words())
    assert seen.list_roles(lambda each: each["Seccomp"] == "2") == {"launcher", "keeper", "runner", "decoder"}
    assert seen.list_roles(lambda each: int(each["sockets"]) > 0) == {"runner"}
    assert seen.list_roles(lambda each: int(each["private"]) > 0) == {"keeper"}


@IS_CONFINED
def test_a_run_from_a_release_has_a_runner_of_its_own_and_reaches_nothing_private(installed, reference):
    words = ["--from", str(reference), "--out", "more", "--candidates", "4", "--yes", "--require-confinement"]
    seen = look_at(installed, 3, "run", *words, "--api", installed.api.server.address)
    assert seen.list_roles(lambda each: each["Seccomp"] == "2") == {"launcher", "runner"}
    assert seen.list_roles(lambda each: int(each["sockets"]) > 0) == {"runner"}
    assert seen.list_roles(lambda each: int(each["private"]) > 0) == set()
    code, out, said = installed("run", "--resume", "more", "--yes", "--json")
    assert code == 0, said
    assert json.loads(out)["images_released"] == 8


def test_python_gets_progress_errors_of_their_kind_and_nothing_private_from_confined_processes(
    installed, api
):
    script = installed.folder / "script.py"
    script.write_text(
        f"""
import os, sys
sys.path.append({str(Path(online.__file__).parents[1])!r})
import pcevolve
from system.test_apart import list_held

def look(progress):
    seen.append(progress)
    held.update({{role: int(each["Seccomp"]) for role, each in list_held(os.getpid(), ())}})

held, seen, given = {{}}, [], dict(
    private="private", domain="scratch", shots=3, method="pe", delta=1e-5, candidates=2, iterations=1, size=16, batch=2,
    provider=pcevolve.Provider({api.server.address!r}, "a1111", {online.LOGIN!r}, "v1-5"), ledger="own/ledger.sqlite",
    yes=True, pad_selection=0.01,
)
found = pcevolve.evolve(out="run", progress=look, quiet=True, **given)
print(seen[-1].images == seen[-1].total > 0, len(found.images) > 0, found.verify().holds)
try:
    pcevolve.evolve(out="second", quiet=True, **given)
except pcevolve.BudgetError as error:
    print(error)
print(*sorted(role for role in held if held[role]))
"""
    )
    done = subprocess.run(
        [sys.executable, script],
        cwd=installed.folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    confined = "decoder keeper runner" if find_enforcement().is_whole else ""
    assert done.stdout.split("\n")[:3] == [
        "True True True",
        "the reason is on standard error alone, because it may tell of private data",
        confined,
    ], done.stderr
    assert "earlier runs have already spent epsilon=10" in done.stderr
