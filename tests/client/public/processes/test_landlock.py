"""Files of a confined process, on this kernel and as on older ones."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pcevolve.public.processes import landlock
from pcevolve.public.processes.confinement import ConfinementError, confine_keeper
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


@pytest.mark.parametrize(
    ("version", "rights"), [(1, 0x1FFF), (2, 0x3FFF), (3, 0x7FFF), (4, 0x7FFF), (5, 0xFFFF), (7, 0xFFFF)]
)
def test_every_right_that_a_kernel_knows_is_refused_unless_a_rule_gives_it(version: int, rights: int) -> None:
    """By ``linux/landlock.h``: ``REFER`` since 2, ``TRUNCATE`` since 3, ``IOCTL_DEV`` since 5."""
    assert landlock._list_rights(version) == rights
