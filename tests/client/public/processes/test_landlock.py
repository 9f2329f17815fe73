"""Files of a confined process, on this kernel and as on older ones."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from pcevolve.public.processes import landlock
from pcevolve.public.processes.confinement import ConfinementError, confine_keeper
from pcevolve.public.processes.landlock import Files
from support import intruder
from support.confined import confine, confines, in_a_process, older

pytestmark = confines


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("kind", ["keeper", "runner"])
def test_no_file_is_reached_that_no_rule_names(kind: str, version: int, folder: Path) -> None:
    def attack() -> dict[str, bool]:
        confine(kind, folder, older(version))
        return intruder.try_files(folder)

    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert {name for name, done in in_a_process(attack).items() if done} == set()
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_each_way_to_a_file_is_open_without_confinement(folder: Path) -> None:
    done = in_a_process(lambda: intruder.try_files(folder))
    assert len(done) >= 30
    assert {name for name, succeeds in done.items() if not succeeds} == set()


@pytest.mark.parametrize("version", [1, 3, 7])
def test_a_keeper_may_read_and_write_what_its_rules_name(version: int, folder: Path) -> None:
    def work() -> list[str]:
        confine("keeper", folder, older(version))
        own = folder / "own"
        (own / "made").mkdir()
        (own / "made" / "file").write_bytes((folder / "shared" / "body").read_bytes())
        (own / "made" / "file").write_bytes(b"shorter")
        (own / "made" / "file").rename(own / "made" / "renamed")
        (own / "file").unlink()
        shutil.rmtree(own / "made")
        return [each.name for each in own.iterdir()]

    assert in_a_process(work) == ["movable"]


def test_a_rule_for_a_path_that_is_not_there_is_an_error(folder: Path) -> None:
    def work() -> str:
        with pytest.raises(ConfinementError, match="No such file or directory: '/not/there'"):
            confine_keeper(["/not/there"], [])
        return "refused"

    assert in_a_process(work) == "refused"


READ, LIST, LINK, FOLDERS = 0b1100, 0b1000, 1 << 12, 1 << 7 | 1 << 4
FILL = 1 << 1 | 1 << 5 | 1 << 8 | 1 << 14
WRITE = READ | FILL | FOLDERS | 1 << 13


@pytest.mark.parametrize(
    ("version", "size", "handled"),
    [
        (1, 8, 0x1FFF),
        (2, 8, 0x3FFF),
        (3, 8, 0x7FFF),
        (4, 16, 0x7FFF),
        (5, 16, 0xFFFF),
        (6, 24, 0xFFFF),
        (7, 24, 0xFFFF),
    ],
)
@pytest.mark.parametrize("connects", [False, True])
@pytest.mark.parametrize("signals", [False, True])
def test_the_kernel_is_told_every_right_and_gives_back_those_of_the_rules(
    version: int,
    size: int,
    handled: int,
    connects: bool,
    signals: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By ``linux/landlock.h``: ``REFER`` since 2, ``TRUNCATE`` since 3, ``IOCTL_DEV`` since 5, scopes since 6."""
    asked: list[tuple[int | bytes, ...]] = []
    rules = os.open(tmp_path, os.O_PATH)

    def call(*given: int | bytes) -> int:
        asked.append(given)
        return rules

    monkeypatch.setattr(landlock, "_call", call)
    file = tmp_path / "file"
    file.touch()
    folder = [str(tmp_path)]
    files = Files(
        reads=[*folder, str(file)],
        writes=[*folder, str(file)],
        lists=folder,
        fills=folder,
        links=folder,
        makes=folder,
    )
    landlock.restrict(files, version, connects=connects, signals=signals)
    (made, *given, (restricted, which, flags)) = asked
    number, attributes, told, without = made
    assert (number, told, without) == (444, size, 0)
    assert struct.unpack("QQQ", attributes) == (handled, 1 if connects else 3, 1 if signals else 3)
    assert (restricted, which, flags) == (446, rules, 0)
    assert {each[:3] for each in given} == {(445, rules, 1)}
    rights = [struct.unpack("=Qi", each[3])[0] for each in given]
    of_file = 1 << 1 | 1 << 2 | 1 << 14
    expected = [READ, READ & of_file, WRITE, WRITE & of_file, LIST, FILL, LINK, FOLDERS]
    assert rights == [each & handled for each in expected]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.close(rules)


CONFINED = """
import sys
from pcevolve.public.processes.confinement import confine_keeper, list_system_paths
confine_keeper(list_system_paths(), [])
print("confined", flush=True)
sys.stdin.readline()
for path in ("/proc/self/maps", "/proc/meminfo", "/proc/cpuinfo"):
    open(path).close()
print("read", flush=True)
"""
FORGET = f"""
import subprocess, sys
words = [sys.executable, "-c", {CONFINED!r}]
with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as confined:
    assert confined.stdout.readline() == "confined\\n"
    subprocess.run(["mount", "-o", "remount", "/proc"], check=True)
    print(confined.communicate("go\\n")[0], end="")
"""
OWN_PROC = ["unshare", "--pid", "--fork", "--mount", "--mount-proc"]


def test_files_of_proc_stay_allowed_when_the_kernel_has_forgotten_them_for_want_of_memory() -> None:
    """A new mount of ``/proc`` is made to forget its files, as it does by itself where memory is short."""
    if shutil.which("unshare") is None or subprocess.run([*OWN_PROC, "true"], check=False).returncode:
        pytest.skip("no namespaces may be made here")
    done = subprocess.run(
        [*OWN_PROC, sys.executable, "-c", FORGET], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "read\n", done.stderr
