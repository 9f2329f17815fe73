"""Killed at every step, out of space, raced: what was released is on record, and nothing is drawn twice."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pcevolve.errors import BudgetError, LedgerError
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.keeper.ledger.ledger import Paid
from pcevolve.public.release import Receipt
from support.accounts import ONE, UNITS, budget, never, outcome, query
from support.examples import is_nightly
from support.killing import Work, kill_at_call, kill_at_system_call, survive, until_it_survives

pytestmark = pytest.mark.system

MEASURED = bytes(range(256)) * 80  # five pages, so that a commit has several writes to be killed between
NAMES = ["ledger.key", "ledger.sqlite"]
PAGE = 4096
REFUSED = 3
STRIDE = 1 if is_nightly() else 8
"""Every step is killed at night, and for a change every eighth, other ones each time."""


@pytest.fixture(params=[kill_at_call, kill_at_system_call], ids=["calls", "system calls"])
def kill(request):
    if request.param is kill_at_system_call:
        try:
            kill_at_system_call(lambda: None, 1)
        except PermissionError:
            pytest.skip("no ptrace here")
    return request.param


@pytest.fixture
def scratch(tmp_path) -> Iterator[Path]:
    """A folder in memory, where there is one: a kill, unlike a power cut, leaves what was written but not synced."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


def pay_for_one(path: Path, draw: Callable[[], Paid]) -> Receipt:
    with closing(LedgerBook(path)) as ledger:
        mine = ledger.account("a", UNITS, "replace-one", budget(1)).enrol()
        return mine.pay(query(1), [ONE], draw)


def release(path: Path) -> None:
    """Act like a run: pay for a draw that no other process makes, then let it out."""
    receipt = pay_for_one(path, outcome(os.urandom(8).hex(), MEASURED))
    path.with_name("released").write_text(receipt.of("cut")[0].id)


def enrol(path: Path) -> None:
    with closing(LedgerBook(path)) as ledger:
        ledger.account("a", UNITS, "replace-one", budget(1)).enrol()


def create(path: Path) -> None:
    LedgerBook(path).close()


def runs(path: Path) -> list[tuple[str, float]]:
    with closing(LedgerBook(path)) as ledger:
        return [(row.run_id, row.epsilon) for row in ledger.runs()]


def assert_released_once(path: Path) -> bool:
    """Exactly what is on record has left, and the run goes on from it; true if it was on record already."""
    released = path.with_name("released")
    before = runs(path)
    on_record = before == [("a", 1.0)]
    assert on_record or before in ([], [("a", 0.0)])  # the enrolment is whole or undone
    receipt = pay_for_one(path, never if on_record else outcome("second draw", MEASURED))
    assert on_record or not released.exists()
    if released.exists():
        assert released.read_text() in ("", receipt.of("cut")[0].id)
    with closing(LedgerBook(path)) as ledger:
        mine = ledger.account("a", UNITS, "replace-one", budget(1)).enrol()
        assert mine.receipts() == (receipt,)
        assert mine.read_measured(1) == MEASURED
    assert runs(path) == [("a", 1.0)]
    return on_record


def copies(base: Path, root: Path, work: Callable[[Path], None]) -> Callable[[int], Work]:
    """Prepares the work on a copy of a ledger's folder, one for each step."""

    def prepare(step: int) -> Work:
        if base.exists():
            shutil.copytree(base, root / str(step))
        path = root / str(step) / "ledger.sqlite"
        return lambda: work(path)

    return prepare


# -- kill -9 -------------------------------------------------------------------------------------------------------


def kill_while_releasing(kill, base: Path, root: Path) -> list[bool]:
    """Of each step at which a release was killed: whether it was on record, once all of that holds that has to hold."""
    seen = []
    for step in until_it_survives(kill, copies(base, root, release), STRIDE):
        path = root / str(step) / "ledger.sqlite"
        with contextlib.suppress(LedgerError), closing(LedgerBook(path, create=False)) as ledger:
            assert ledger.runs() in ([], [*ledger.runs()][:1])
        seen.append(assert_released_once(path))
        assert {each.name for each in path.parent.iterdir()} - {"released"} == set(NAMES)
    assert seen == sorted(seen), "once it is on record it stays there"
    return seen


def test_a_first_run_killed_at_any_step_leaves_no_ledger_or_a_whole_one_and_can_be_begun_again(kill, scratch):
    seen = kill_while_releasing(kill, scratch / "none", scratch / "at")
    assert {False, True} == set(seen)
    assert len(seen) * STRIDE > 150


def test_a_recovery_killed_at_any_step_is_made_again(kill, scratch, half_written):
    assert len(kill_while_releasing(kill, half_written, scratch / "again")) * STRIDE > 40


@pytest.fixture(scope="module")
def half_written(tmp_path_factory) -> Path:
    """A ledger whose writer was killed in the middle of a commit: some pages are new, the journal has the old."""
    root = tmp_path_factory.mktemp("half written")
    enrol(root / "base" / "ledger.sqlite")
    old = (root / "base" / "ledger.sqlite").read_bytes()
    with contextlib.suppress(PermissionError):
        for step in until_it_survives(
            kill_at_system_call, copies(root / "base", root / "half", release), 3
        ):  # a commit has more calls
            folder = root / "half" / str(step)
            journal = folder / "ledger.sqlite-journal"
            if (folder / "ledger.sqlite").read_bytes() != old and journal.exists():
                return folder
    pytest.skip("no ptrace here")


def test_a_process_killed_while_it_draws_has_released_and_spent_nothing(scratch):
    path = scratch / "ledger.sqlite"
    enrol(path)
    assert survive(lambda: pay_for_one(path, lambda: os.kill(os.getpid(), signal.SIGKILL))) == -signal.SIGKILL
    assert not assert_released_once(path)


# -- no space ------------------------------------------------------------------------------------------------------


def try_work(work: Callable[[Path], None], path: Path) -> int:
    try:
        work(path)
    except LedgerError as error:
        return REFUSED if "nothing was released" in str(error) else 1
    return 0


def release_limited(path: Path, size: int) -> None:
    """Release where no file may grow beyond a size, as on a disk that is full in the middle of a write."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    raise SystemExit(try_work(release, path))


def test_a_write_that_fails_at_any_size_is_refused_and_loses_nothing(scratch):
    enrol(scratch / "base" / "ledger.sqlite")
    codes = []
    for size in range(0, 64 * 1024, 2048):  # every write but a journal's header is longer
        path = scratch / str(size) / "ledger.sqlite"
        shutil.copytree(scratch / "base", path.parent)
        codes.append(survive(lambda path=path, size=size: release_limited(path, size)))
        assert path.with_name("released").exists() == (codes[-1] == 0), "what was refused did not leave"
        assert assert_released_once(path) == (codes[-1] == 0)
    assert codes == sorted(codes, reverse=True)
    assert set(codes) == {0, REFUSED}
    assert codes.count(REFUSED) > 10


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small disk can be mounted by root only")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk: Path, but: int) -> Path:
    """Use up a disk, less a number of pages."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(PAGE))
    os.truncate(filler, filler.stat().st_size - but * PAGE)
    return filler


@pytest.mark.parametrize(
    ("before", "work", "least"),
    [(enrol, release, 4), (lambda path: None, create, 3)],
    ids=["payment", "creation"],
)
def test_on_a_full_disk_it_is_refused_and_works_again_when_there_is_space(small_disk, before, work, least):
    refused = 0
    for pages in range(12):
        path = small_disk / str(pages) / "ledger.sqlite"
        before(path)
        filler = fill(small_disk, but=pages)
        code = try_work(work, path)
        refused += code == REFUSED
        filler.unlink()
        assert code in (0, REFUSED)
        assert assert_released_once(path) == (work is release and code == 0)
        shutil.rmtree(path.parent)
    assert least <= refused < 12 + (work is create)


def test_a_ledger_that_stays_open_while_the_disk_is_full_can_be_paid_from_later(small_disk):
    with closing(LedgerBook(small_disk / "ledger.sqlite")) as ledger:
        mine = ledger.account("a", UNITS, "replace-one", budget(1)).enrol()
        filler = fill(small_disk, but=4)
        with pytest.raises(LedgerError, match="nothing was released"):
            mine.pay(query(1), [ONE], outcome("x", MEASURED))
        assert mine.receipts() == ()
        filler.unlink()
        receipt = mine.pay(query(1), [ONE], outcome("y", MEASURED))
        assert mine.receipts() == (receipt,)


def test_a_full_disk_does_not_keep_anybody_from_reading(small_disk):
    path = small_disk / "ledger.sqlite"
    pay_for_one(path, outcome("x"))
    fill(small_disk, but=0)
    assert runs(path) == [("a", 1.0)]
    with pytest.raises(OSError, match="space") as full:
        (small_disk / "more").write_bytes(bytes(PAGE))
    assert full.value.errno == errno.ENOSPC


# -- races ---------------------------------------------------------------------------------------------------------


def together(count: int, work: Callable[[int], int]) -> list[int]:
    """Exit codes, sorted, of processes that begin their work at the same moment."""
    context = multiprocessing.get_context("fork")
    gate = context.Barrier(count)

    def racer(number: int) -> None:
        gate.wait(60)
        os._exit(work(number))

    racers = [context.Process(target=racer, args=(number,)) for number in range(count)]
    for each in racers:
        each.start()
    for each in racers:
        each.join(60)
    return sorted(each.exitcode for each in racers)


def take_the_last(path: Path, number: int) -> int:
    with closing(LedgerBook(path)) as ledger:
        run_id = f"run {number}"
        mine = ledger.account(run_id, UNITS, "replace-one", budget(1)).enrol()
        try:
            mine.pay(query(1, run_id), [ONE], outcome(str(number)))
        except BudgetError as error:
            return REFUSED if "earlier runs have already spent epsilon=1" in str(error) else 1
    return 0


def test_of_two_runs_racing_for_the_last_of_a_lifetime_exactly_one_wins(tmp_path):
    for attempt in range(15):
        path = tmp_path / str(attempt) / "ledger.sqlite"
        create(path)
        assert together(2, lambda number, path=path: take_the_last(path, number)) == [0, REFUSED]
        assert sorted(spent for _, spent in runs(path)) == [0.0, 1.0]


def test_runs_racing_to_make_the_ledger_all_use_the_same_one(tmp_path):
    for attempt in range(15):
        path = tmp_path / str(attempt) / "deep" / "ledger.sqlite"
        codes = together(4, lambda number, path=path: take_the_last(path, number))
        assert codes == [0, REFUSED, REFUSED, REFUSED]
        assert sorted(spent for _, spent in runs(path)) == [0.0, 0.0, 0.0, 1.0]
        assert sorted(each.name for each in path.parent.iterdir()) == NAMES


def resume(path: Path, number: int) -> int:
    receipt = pay_for_one(path, outcome(str(number)))
    path.with_name(f"released {number}").write_text(receipt.of("cut")[0].id)
    return 0


def test_two_processes_that_resume_the_same_run_release_the_same(tmp_path):
    for attempt in range(15):
        path = tmp_path / str(attempt) / "ledger.sqlite"
        enrol(path)
        assert together(2, lambda number, path=path: resume(path, number)) == [0, 0]
        assert len({each.read_text() for each in path.parent.glob("released *")}) == 1
        assert runs(path) == [("a", 1.0)]
