"""A socket file lets in one client and goes; what keeps a side from the other's is what its machine shows of it."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pcevolve.public.processes.doorway import DoorError, admit, is_contained, is_cut_off, knock, open_pipe
from pcevolve.public.processes.pipe import GoneError

ROOT = "1 0 0:1 / / ro - overlay overlay rw"
MACHINE, CONTAINER = "pid:[4026531836]", "pid:[4026532999]"


@contextmanager
def waiting(path: Path) -> Iterator[list[tuple[int, bool]]]:
    """A keeper that waits at a path; whoever uses this knocks."""
    came: list[tuple[int, bool]] = []
    thread = threading.Thread(target=lambda: came.append(admit(str(path))), daemon=True)
    thread.start()
    while not path.exists():
        assert thread.is_alive()
    yield came
    thread.join()


def test_one_client_comes_in_and_the_file_goes(tmp_path: Path) -> None:
    path = tmp_path / "keeper.sock"
    with waiting(path) as came:
        client = open_pipe(knock(str(path), 5))
    keeper = open_pipe(came[0][0])
    keeper.send("welcome")
    assert client.receive() == ("welcome", "{}")
    assert not path.exists()
    assert came[0][1] is False, "both are one process here, and no container"
    with pytest.raises(
        DoorError, match=r"no keeper answered at .*, or it already has another client.*nothing was sent"
    ):
        knock(str(path), 0)
    client.close()
    with pytest.raises(GoneError):
        keeper.receive()
    keeper.close()


def test_the_file_is_nobody_elses(tmp_path: Path) -> None:
    path = tmp_path / "keeper.sock"
    umask = os.umask(0o077)
    try:
        with waiting(path):
            assert path.stat().st_mode & 0o077 == 0
            os.close(knock(str(path), 5))
    finally:
        os.umask(umask)


def test_whoever_reads_from_one_that_left_words_unread_finds_it_gone() -> None:
    ours, theirs = map(open_pipe, (each.detach() for each in socket.socketpair()))
    ours.send("word")
    theirs.close()
    with pytest.raises(GoneError):
        ours.receive()
    with pytest.raises(GoneError):
        ours.send("word")
    ours.close()


def test_two_keepers_do_not_wait_at_one_path_and_the_first_goes_on_waiting(tmp_path: Path) -> None:
    path = tmp_path / "keeper.sock"
    with waiting(path) as came:
        with pytest.raises(DoorError, match="another keeper is using"):
            admit(str(path))
        assert not came
        os.close(knock(str(path), 5))
    assert len(came) == 1


def test_what_a_keeper_left_that_was_killed_is_in_nobodys_way(tmp_path: Path) -> None:
    path = tmp_path / "keeper.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    with pytest.raises(DoorError, match="no keeper answered"):
        knock(str(path), 0)
    thread = threading.Thread(target=lambda: os.close(admit(str(path))[0]), daemon=True)
    thread.start()
    os.close(knock(str(path), 5))
    thread.join()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.write_text("mine"), "is not a socket: give --socket a new file"),
        (lambda path: path.mkdir(), "is not a socket: give --socket a new file"),
        (lambda path: path.parent.rmdir(), "No such file or directory: give --socket"),
    ],
)
def test_a_path_that_is_something_else_is_refused_and_left_alone(
    tmp_path: Path, make: Callable[[Path], object], said: str
) -> None:
    path = tmp_path / "door" / "keeper.sock"
    path.parent.mkdir()
    make(path)
    with pytest.raises(DoorError, match=said):
        admit(str(path))
    assert not path.is_file() or path.read_text() == "mine"


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"lo": "0x9"}, True),
        ({"lo": "0x9", "tunl0": "0x80"}, True),
        ({"lo": "0x9", "eth0": "0x1003"}, False),
        ({"eth0": "0x1003"}, False),
        (None, False),
    ],
)
def test_a_keeper_is_cut_off_where_nothing_is_up_but_loopback(
    tmp_path: Path, flags: dict[str, str] | None, expected: bool
) -> None:
    for name, value in (flags or {}).items():
        (tmp_path / "net" / name).mkdir(parents=True)
        (tmp_path / "net" / name / "flags").write_text(value + "\n")
    assert is_cut_off(str(tmp_path / "net")) is expected


@pytest.mark.parametrize(
    ("points", "namespace", "expected"),
    [
        (["/proc", "/sys/fs/cgroup", "/dev/pts", "/tmp", "/etc/hosts", "/runs", "/door"], CONTAINER, True),
        (["/runs", "/door"], MACHINE, False),
        (["/runs", "/door", "/private"], CONTAINER, False),
        (["/runs", "/door", "/state"], CONTAINER, False),
        (["/runs", "/door", "/runs2"], CONTAINER, False),
        (["/home"], CONTAINER, False),
    ],
)
def test_a_client_is_contained_where_it_has_nothing_of_its_machine_but_what_it_needs(
    tmp_path: Path, points: list[str], namespace: str, expected: bool
) -> None:
    lines = [ROOT, *(f"2 1 0:2 /x {each} rw - ext4 /dev/vda rw" for each in points)]
    (tmp_path / "mountinfo").write_text("\n".join(lines) + "\n")
    (tmp_path / "ns").mkdir()
    (tmp_path / "ns" / "pid").symlink_to(namespace)
    assert is_contained(["/runs", "/door"], str(tmp_path)) is expected


def test_a_client_that_cannot_look_does_not_claim_to_be_contained(tmp_path: Path) -> None:
    assert not is_contained(["/runs"], str(tmp_path))
