"""Processes that confine themselves, and an attacker in them who tries to get past."""

from __future__ import annotations

import ctypes
import encodings.idna  # noqa: F401 - else imported by the first connection, when its folder is out of reach
import fcntl
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from sqlite3 import OperationalError, connect

import pytest

from pcevolve.public.processes.confinement import (
    ConfinementError,
    Enforcement,
    confine_keeper,
    confine_offline,
    confine_online,
    leave_files,
    list_network_paths,
    make_caches,
)
from pcevolve.public.processes.landlock import Files
from support import intruder
from support.confined import NOBODY, confine, confines, in_a_process

pytestmark = confines
HEADERS = intruder.read_headers(os.uname().machine) or {}


@pytest.mark.skipif(not HEADERS, reason="the kernel's headers are not installed")
@pytest.mark.parametrize("kind", ["keeper", "runner", "offline", "online"])
def test_no_system_call_of_an_attacker_gets_past_and_each_does_without_confinement(
    kind: str, folder: Path
) -> None:
    attempts = intruder.ATTEMPTS[kind]

    def attack() -> dict[str, int]:
        confine(kind, folder)
        return intruder.try_calls(attempts, HEADERS)

    refused = {each: intruder.refusal(each) for each in attempts if each.split()[0] in HEADERS}
    assert len(refused) >= 150
    assert in_a_process(attack) == refused
    free = in_a_process(lambda: intruder.try_calls(attempts, HEADERS))
    assert {each for each, answer in free.items() if answer == refused[each]} == set()


@pytest.mark.parametrize("kind", ["free", "keeper", "runner", "offline", "online"])
def test_nothing_is_learnt_of_another_process_or_done_to_it_and_all_of_it_without_confinement(
    kind: str, folder: Path
) -> None:
    def attack() -> list[str]:
        other = subprocess.Popen(["cat"], stdin=subprocess.PIPE)  # it ends with this process
        while Path(f"/proc/{other.pid}/comm").read_text() != "cat\n":
            time.sleep(0.01)
        if kind != "free":
            os.environ["TMPDIR"] = str(folder)
            confine(kind, folder)
            leave_files(Files())  # those of a run have given up theirs already
        return intruder.try_others([other.pid])

    assert len(in_a_process(attack)) == (39 if kind == "free" else 0)


def test_a_database_locks_and_commits_in_a_keeper(folder: Path) -> None:
    def work() -> list[int]:
        confine("keeper", folder)
        path = folder / "own" / "ledger.sqlite"
        with closing(connect(path)) as one, closing(connect(path, timeout=0)) as other:
            one.execute("create table t (a)")
            one.execute("begin immediate")
            one.execute("insert into t values (1)")
            with pytest.raises(OperationalError, match="locked"):
                other.execute("begin immediate")
            one.execute("commit")
            return [*other.execute("select a from t").fetchone()]

    assert in_a_process(work) == [1]


def test_a_runner_connects_to_an_address_and_a_keeper_to_none(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()

        def work(kind: str) -> str:
            confine(kind, folder)
            try:
                with socket.create_connection(address, timeout=5) as connection:
                    connection.sendall(b"hello")
            except OSError as error:
                return str(error)
            return "connected"

        for kind in ("runner", "online"):
            assert in_a_process(lambda kind=kind: work(kind)) == "connected"
        for kind in ("keeper", "offline"):
            assert in_a_process(lambda kind=kind: work(kind)) == "[Errno 1] Operation not permitted"


def test_no_program_is_started_and_no_process_forked(folder: Path) -> None:
    def work(kind: str) -> list[str]:
        confine(kind, folder)
        said = []
        for act in (os.fork, lambda: subprocess.run(["/bin/true"]), lambda: os.execv("/bin/true", ["true"])):
            try:
                act()
            except OSError as error:
                said.append(type(error).__name__)
        return said

    for kind in ("keeper", "runner", "offline", "online"):
        assert in_a_process(lambda kind=kind: work(kind)) == ["PermissionError"] * 3


def test_threads_begun_later_are_confined_too(folder: Path) -> None:
    def work() -> str:
        confine("keeper", folder)
        said: list[str] = []

        def read() -> None:
            try:
                said.append((folder / "private" / "image").read_text())
            except OSError as error:
                said.append(type(error).__name__)

        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
        return said[0]

    assert in_a_process(work) == "PermissionError"


def test_a_thread_that_runs_already_is_refused(folder: Path) -> None:
    def work() -> str:
        waiting = threading.Event()
        threading.Thread(target=waiting.wait, daemon=True).start()
        with pytest.raises(ConfinementError, match="another thread runs already"):
            confine("keeper", folder)
        return "refused"

    assert in_a_process(work) == "refused"


def test_no_core_is_dumped_no_privilege_gained_and_no_debugger_let_in(folder: Path) -> None:
    def work() -> list[object]:
        confine_keeper(["/proc/self"], [str(folder / "own")])
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        dumpable = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)
        core = resource.getrlimit(resource.RLIMIT_CORE)
        joblib = os.environ["JOBLIB_MULTIPROCESSING"]
        return [status["NoNewPrivs"].strip(), status["Seccomp"].strip(), core, dumpable, joblib]

    assert in_a_process(work) == ["1", "2", [0, 0], 0, "0"]


def test_what_finds_and_trusts_a_host_is_read_as_far_as_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "nowhere"))
    found = list_network_paths()
    assert {"/etc/hosts", "/etc/resolv.conf", "/etc/ssl", str(tmp_path)} <= {*found}
    assert all(Path(each).exists() for each in found)
    assert {str(Path(each).parent) for each in found} <= {
        "/etc",
        "/run",
        "/run/systemd",
        str(tmp_path.parent),
    }


@pytest.mark.parametrize(
    ("landlock", "seccomp", "said"),
    [
        (1, True, "enforced by the kernel (Landlock 1, seccomp)"),
        (7, True, "enforced by the kernel (Landlock 7, seccomp)"),
        (0, True, "not enforced on this system (no Landlock)"),
        (7, False, "not enforced on this system (no seccomp)"),
        (0, False, "not enforced on this system (no Landlock and no seccomp)"),
    ],
)
def test_what_the_kernel_enforces_is_whole_with_files_and_system_calls_alone(
    landlock: int, seccomp: bool, said: str
) -> None:
    found = Enforcement(landlock, seccomp)
    assert str(found) == said
    assert found.is_whole is said.startswith("enforced")


def test_a_socket_that_was_open_before_is_closed(folder: Path) -> None:
    def work() -> str:
        one, other = socket.socketpair()
        confine("keeper", folder)
        try:
            os.write(one.fileno(), b"private")
        except OSError as error:
            return error.strerror or ""
        return f"sent to {other}"

    assert in_a_process(work) == "Bad file descriptor"


def test_a_launcher_signals_its_children_and_nobody_else(folder: Path) -> None:
    other = subprocess.Popen(["sleep", "60"], user=NOBODY if os.getuid() == 0 else None)
    pid = other.pid

    def work() -> list[object]:
        child = subprocess.Popen(["sleep", "60"])
        confine_offline([child.pid])
        child.terminate()
        code = child.wait()
        try:
            os.kill(pid, 0)
        except PermissionError:
            return [code, "refused"]
        return [code, "sent"]

    try:
        in_a_process(lambda: os.kill(pid, 0))  # without confinement it may
        assert in_a_process(work) == [-15, "refused"]
    finally:
        other.kill()
        other.wait()


def test_it_is_imported_with_the_standard_library_alone() -> None:
    code = "import sys; from pcevolve.public.processes import confinement; print([*sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {each.split(".")[0] for each in json.loads(done.stdout.replace("'", '"'))}
    ours = {each for each in loaded if each not in sys.stdlib_module_names and not each.startswith("_")}
    assert ours <= {"pcevolve", "sitecustomize", "usercustomize"}, ours


LIBRARIES = """
import os, sys, tempfile, warnings
from pcevolve.public.processes.confinement import confine_keeper, list_system_paths
folder = sys.argv[1]
os.environ["TMPDIR"] = folder
confine_keeper(list_system_paths(), [folder])
warnings.simplefilter("error", UserWarning)
import numpy, torch, torchvision, open_clip, transformers, pyarrow, pyarrow.parquet, PIL.Image, pydicom, threadpoolctl
from sklearn.linear_model import LogisticRegression
net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 2))
torch.nn.functional.cross_entropy(net(torch.zeros(4, 3, 8, 8)), torch.zeros(4, dtype=torch.long)).backward()
torchvision.models.resnet18(weights=None)(torch.zeros(1, 3, 64, 64))
LogisticRegression().fit(numpy.eye(4), [0, 1, 0, 1])
pyarrow.parquet.write_table(pyarrow.table({"a": [1]}), folder + "/table")
PIL.Image.new("RGB", (8, 8)).save(folder + "/a.png")
assert threadpoolctl.threadpool_info() and tempfile.gettempdir() == folder
assert torch.get_num_threads() == len(os.sched_getaffinity(0))
print("done", numpy.__name__)
"""


@pytest.mark.models
def test_libraries_load_and_train_in_a_keeper(tmp_path: Path) -> None:
    pytest.importorskip("open_clip")
    done = subprocess.run(
        [sys.executable, "-P", "-c", LIBRARIES, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        env={name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"},
    )
    assert (done.stdout, done.stderr) == ("done numpy\n", "")


def test_a_command_gives_up_files_once_it_knows_which_it_needs(folder: Path) -> None:
    def work() -> list[object]:
        os.environ["TMPDIR"], tempfile.tempdir = str(folder), None
        confine_offline()
        leave_files(Files([str(folder / "shared")], [str(folder / "own")]))
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"temporary")
        done = [name for name, succeeds in intruder.try_files(folder).items() if succeeds]
        (folder / "own" / "made").write_bytes((folder / "shared" / "body").read_bytes())
        return [done, os.environ["TMPDIR"]]

    assert in_a_process(work) == [[], f"{folder}/pcevolve-{NOBODY if os.getuid() == 0 else os.getuid()}"]


def test_who_fetches_weights_locks_and_links_in_the_cache_and_reaches_nothing_else(folder: Path) -> None:
    cache = folder / "own" / "cache"

    def work() -> list[str]:
        os.environ |= {"TMPDIR": str(folder), "XDG_CACHE_HOME": str(cache), "HF_HOME": str(cache / "models")}
        confine_online()
        leave_files(Files(writes=make_caches(), links=make_caches()))
        blob = cache / "models" / "blob"
        with blob.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
        blob.chmod(0o644)
        (cache / "huggingface" / "link").symlink_to(blob)
        return [name for name, succeeds in intruder.try_files(folder).items() if succeeds]

    assert in_a_process(work) == []
    assert sorted(each.name for each in cache.iterdir()) == ["huggingface", "models", "torch"]


def test_where_files_are_put_none_is_read_and_where_names_are_listed_neither(folder: Path) -> None:
    def work() -> list[object]:
        os.environ["TMPDIR"] = str(folder)
        confine_offline()
        own, shared = folder / "own", folder / "shared"
        leave_files(Files(lists=[str(shared)], fills=[str(own)], links=[str(shared)], makes=[str(shared)]))
        (own / "put").write_bytes(b"new")
        (own / "put").rename(own / "file")
        (shared / "made").mkdir()
        (shared / "made").rmdir()
        (shared / "linked").symlink_to("body")
        refused = []
        for act in (
            (own / "file").read_bytes,
            lambda: [*own.iterdir()],
            (own / "made").mkdir,
            lambda: (own / "linked").symlink_to("file"),
            (shared / "body").read_bytes,
            lambda: (shared / "new").write_bytes(b"new"),
            (shared / "body").unlink,
        ):
            with suppress(PermissionError):
                act()
                continue
            refused.append(act)
        return [len(refused), sorted(each.name for each in shared.iterdir())]

    assert in_a_process(work) == [7, ["body", "empty", "link", "linked", "removable"]]


def test_a_launcher_that_gave_up_files_still_ends_its_children(folder: Path) -> None:
    def work() -> int:
        child = subprocess.Popen(["sleep", "60"])
        os.environ["TMPDIR"] = str(folder)
        confine_offline([child.pid])
        leave_files(Files())
        child.terminate()
        return child.wait()

    assert in_a_process(work) == -15


@pytest.mark.parametrize("place", ["link", "readable", "file"])
def test_a_temporary_folder_that_others_prepared_is_refused(place: str, folder: Path) -> None:
    def work() -> str:
        os.environ["TMPDIR"] = str(folder)
        path = folder / f"pcevolve-{os.getuid()}"
        if place == "link":
            path.symlink_to(folder / "private")
        elif place == "readable":
            path.mkdir(0o755)
        else:
            path.touch()
        confine_offline()
        with pytest.raises(ConfinementError, match="is not yours alone: remove it"):
            leave_files(Files())
        return "refused"

    assert in_a_process(work) == "refused"


def test_a_process_of_somebody_else_keeps_its_files(folder: Path) -> None:
    def work() -> int:
        leave_files(Files())
        return len((folder / "private" / "image").read_bytes())

    assert in_a_process(work) == 7
