"""Attacks on the pipe between keeper and runner: the one taken over, the other as it is.

A runner asks whatever it likes, in whatever order. Until it has paid, it gets the same bytes whatever the private
images are; what it has paid for it gets once. A keeper answers whatever it likes, and nothing leaves for it but what
the public plan gives. (What a keeper could put into the plan itself is public, and the threat model says so.)
"""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from PIL import Image

from leaks.owner import Count, found, private_folder
from pcevolve.app.session.preflight import check_run
from pcevolve.errors import ClientError
from pcevolve.keeper.keeper import Keeper
from pcevolve.keeper.keeping import refuse, serve
from pcevolve.keeper.ledger.ledger import Ledger
from pcevolve.keeper.padding import Padding
from pcevolve.keeper.screen import OwnerScreen
from pcevolve.public import protocol
from pcevolve.public.config.config import RunConfig
from pcevolve.public.processes.pipe import GoneError, Pipe, open_conversation
from pcevolve.public.release import Choice, Chosen
from pcevolve.public.run.progress import Audience
from pcevolve.public.transcript.bodies import Bodies
from pcevolve.public.transcript.log import Transcript
from pcevolve.public.transcript.records import Opened
from pcevolve.wire.execution import carry_out
from pcevolve.wire.reaching import RunnerJob
from support import online
from support.clock import Clock
from support.examples import examples
from support.provider import png
from support.runs import RUN_ID, rng

Line = tuple[str, str]
FAMILY = "the pipe"
HEAD = "5" * 64
SLOTS = ("i000/c000/n000000", "i000/c001/n000000")
"""The calls that the first release waits for."""
DIGESTS = {slot: [f"{number:064x}" for number in range(4)] for slot in SLOTS}


@pytest.fixture(scope="module", autouse=True)
def _usual_ledger(memory: Path) -> Iterator[None]:
    """Runs here bear the id of other tests' runs: the usual ledger's folder, which leads to them, is their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(memory / "state"))
        yield


def options(root: Path, **changes: object) -> dict[str, object]:
    return {
        "private": root / "private", "unit_map": root / "units.csv", "domain": "scratch", "shots": 3, "method": "pe",
        "delta": 1e-5, "candidates": 4, "iterations": 1, "epsilon": "8", "seed": 11, "batch": 4, "size": 16,
        "out": root / "run", "ledger": root / "own" / "ledger.sqlite", "pad_selection": 0.01, **changes,
    }  # fmt: skip


def other_pixels(private: Path) -> None:
    for number, path in enumerate(sorted(private.rglob("*.png"))):
        Image.fromarray(rng(900 + number).integers(0, 256, (20, 20, 3), dtype="uint8")).save(path)


def larger_images(private: Path) -> None:
    for number, path in enumerate(sorted(private.rglob("*.png"))):
        Image.fromarray(rng(900 + number).integers(0, 256, (90, 130, 3), dtype="uint8")).save(path)


def an_image_more(private: Path) -> None:
    Image.fromarray(rng(1).integers(0, 256, (20, 20, 3), dtype="uint8")).save(private / "cut" / "more.png")
    with (private.parent / "units.csv").open("a") as units:
        units.write("\ncut/more.png,patient-9")


def notes_beside(private: Path) -> None:
    (private / "cut" / "notes.txt").write_text("seen on Monday")


VARIANTS: dict[str, Callable[[Path], None]] = {
    "other pixels": other_pixels,
    "larger images": larger_images,
    "an image more": an_image_more,
    "notes beside the images": notes_beside,
}


@dataclass
class Answered:
    """What a conversation brought.

    Attributes:
        lines: All that the keeper answered.
        paid: Iterations that its ledger has paid for, in order.
    """

    root: Path
    lines: list[Line]
    paid: list[int]

    @property
    def before_paying(self) -> list[Line]:
        names = [name for name, _ in self.lines]
        return self.lines[: names.index("released")] if "released" in names else self.lines


def open_keeper(root: Path, **changes: object) -> Keeper:
    """A keeper whose clock costs no time, of a run whose folder the runner has claimed and whose answers lie there."""
    run = check_run(RunConfig.of(options(root, **changes)))
    keeper, clock = Keeper(run, OwnerScreen(quiet=True)), Clock()
    keeper._padding = Padding(4.0, clock, clock.sleep)
    keeper._began = clock.now
    return keeper


def lay_out_record(root: Path) -> None:
    (root / "run").mkdir()
    (root / "run" / ".lock").touch()
    with closing(Transcript(root / "run" / "transcript")) as record:
        record.append(Opened(run_id=RUN_ID, api="http://127.0.0.1:7860", dialect="getimg"))
    bodies = Bodies(root / "run" / "transcript" / "bodies")
    for place, slot in enumerate(SLOTS):
        DIGESTS[slot] = [bodies.keep(png(10 * place + number)) for number in range(4)]


def converse(root: Path, said: list[Line], **changes: object) -> Answered:
    """Have a runner say some lines to a keeper of its own, and collect what comes back."""
    lay_out_record(root)
    first, second = open_conversation()
    runner, behind = Pipe(*first), Pipe(*second)
    try:
        for line in [*said, ("close", "{}")]:
            runner.send(*line)
        try:
            serve(open_keeper(root, **changes), behind, lambda error: None)
        except ClientError as error:
            refuse(behind, error)
        behind.close()
        lines = []
        with suppress(GoneError):
            while True:
                lines.append(runner.receive())
    finally:
        runner.close()
    ledger = root / "own" / "ledger.sqlite"
    if not ledger.exists():
        return Answered(root, lines, [])
    with closing(Ledger(ledger, create=False)) as known:
        return Answered(root, lines, [each.receipt.iteration for each in known.payments(RUN_ID)])


def begin(plan: str) -> Line:
    return "begin", json.dumps({"plan": plan})


def made(slot: str, digests: list[str] | None = None) -> Line:
    return "made", json.dumps({"slot": slot, "digests": DIGESTS[slot] if digests is None else digests})


def release(iteration: int, head: str = HEAD) -> Line:
    return "release", json.dumps({"iteration": iteration, "head": head})


PREPARE: Line = ("prepare", json.dumps({"run_id": RUN_ID}))
SETTLE: Line = ("settle", json.dumps({"size": {"width": 16, "height": 16}}))
SHOW: Line = ("show", '{"iteration": 1}')


@pytest.fixture
def private(folder: Path) -> Path:
    return private_folder(folder / "private")


METHODS: dict[str, dict[str, object]] = {
    "pe": {},
    "dp-means": {"method": "dp-means", "appearance": "as-is", "initial": 4},
    "pcevolve": {"method": "pcevolve"},
}


def find_plan(memory: Path, **changes: object) -> str:
    """Digest of the plan that every keeper here makes, for it follows from options and public facts."""
    root = Path(mkdtemp(dir=memory))
    private_folder(root / "private")
    _, (name, settled) = converse(root, [PREPARE, SETTLE], **changes).lines
    assert name == "settled"
    return protocol.digest_plan(protocol.Settled.model_validate_json(settled).plan)


@pytest.fixture(scope="module")
def plan(memory: Path) -> str:
    return find_plan(memory)


def list_honest(plan: str) -> list[Line]:
    """All that an honest runner says until the first release is paid for."""
    compare = ("compare", json.dumps({"classes": [DIGESTS[slot] for slot in SLOTS]}))
    return [PREPARE, SETTLE, begin(plan), compare, *map(made, SLOTS), SHOW, release(1)]


def copy_folder(private: Path, memory: Path, change: Callable[[Path], None]) -> Path:
    """Other private data, at the same place of another folder."""
    root = Path(mkdtemp(dir=memory))
    shutil.copytree(private, root / "private")
    shutil.copy(private.parent / "units.csv", root)
    change(root / "private")
    return root


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", VARIANTS)
def test_until_it_has_paid_a_runner_gets_the_same_bytes_whatever_the_private_images_are(
    name: str, method: str, private: Path, memory: Path, count: Count
):
    plan = find_plan(memory, **METHODS[method])
    roots = [private.parent, copy_folder(private, memory, VARIANTS[name])]
    one, other = [converse(root, list_honest(plan), **METHODS[method]) for root in roots]
    assert [name for name, _ in one.lines] == [
        "prepared", "settled", "begun", "compared", "shown", "released",
    ]  # fmt: skip
    count(FAMILY, one.before_paying == other.before_paying, one.lines, other.lines)
    # What was measured follows from the private images, noise included; how long it is does not.
    sizes = [len(json.loads(each.lines[-1][1])["measurement"]) for each in (one, other)]
    count(FAMILY, sizes[0] == sizes[1], sizes)


def test_no_answer_names_a_file_a_patient_or_a_pixel_of_the_owner(private: Path, plan: str, count: Count):
    told = converse(private.parent, list_honest(plan))
    everything = "\n".join(f"{name} {body}" for name, body in told.lines)
    measured = base64.b64decode(json.loads(told.lines[-1][1])["measurement"])
    leaked = found(private, everything.encode(), measured)
    count(FAMILY, len(told.lines) == 6 and not leaked, leaked)


FAULTS: dict[str, Callable[[Path], None]] = {
    "no image": lambda private: next(private.rglob("*.png")).write_bytes(b"no image"),
    "an image twice": lambda private: [
        each.write_bytes(next(private.rglob("*.png")).read_bytes()) for each in (private / "good").iterdir()
    ],
    "a folder that is empty": lambda private: [each.unlink() for each in (private / "good").iterdir()],
    "an image without a patient": lambda private: png_beside(private),
}


def png_beside(private: Path) -> None:
    (private / "cut" / "unlisted.png").write_bytes(png(3))


def test_a_keeper_that_refuses_its_data_says_to_the_runner_that_it_does_and_not_why(
    private: Path, memory: Path, count: Count
):
    heard = {
        name: converse(copy_folder(private, memory, fault), [PREPARE]).lines for name, fault in FAULTS.items()
    }
    expected = [("refused", '{"kind":"DataError","code":3}')]
    for name, lines in heard.items():
        count(FAMILY, lines == expected, name, lines)


ALPHABET: dict[str, Callable[[str], Line]] = {
    "prepare": lambda plan: PREPARE,
    "another run": lambda plan: ("prepare", json.dumps({"run_id": "1" * 32})),
    "settle": lambda plan: SETTLE,
    "settle another size": lambda plan: ("settle", '{"size": {"width": 64, "height": 8}}'),
    "begin": begin,
    "begin another plan": lambda plan: begin("0" * 64),
    "made 1": lambda plan: made(SLOTS[0]),
    "made 2": lambda plan: made(SLOTS[1]),
    "made what is not there": lambda plan: made(SLOTS[1], ["0" * 64] * 4),
    "made too little": lambda plan: made(SLOTS[0], DIGESTS[SLOTS[0]][:1]),
    "made one picture four times": lambda plan: made(SLOTS[0], DIGESTS[SLOTS[0]][:1] * 4),
    "made another class's": lambda plan: made(SLOTS[0], DIGESTS[SLOTS[1]]),
    "show": lambda plan: SHOW,
    "show what is over": lambda plan: ("show", '{"iteration": 0}'),
    "release": lambda plan: release(1),
    "release with another head": lambda plan: release(1, "6" * 64),
    "release the next": lambda plan: release(2),
    "release an appearance": lambda plan: release(0),
    "compare": lambda plan: ("compare", json.dumps({"classes": [DIGESTS[SLOTS[0]]] * 2})),
    "assess": lambda plan: ("assess", "{}"),
    "finish": lambda plan: ("finish", '{"figures": {"epsilon": 0}}'),
}
"""What a runner may say that was taken over."""
HONEST = ["prepare", "settle", "begin", "made 1", "made 2", "show", "release"]


@st.composite
def list_said(draw: st.DrawFn) -> list[str]:
    """The honest conversation as far as it goes, with other words between."""
    said = []
    for each in HONEST[: draw(st.sampled_from([2, 3, 4, *([len(HONEST)] * 3)]))]:
        said += [each, *draw(st.lists(st.sampled_from(sorted(ALPHABET)), max_size=1))]
    return [*said, *draw(st.lists(st.sampled_from(sorted(ALPHABET)), max_size=4))]


@example(said=[*HONEST, "release"])
@example(said=[*HONEST, "made 1", "release the next"])
@example(said=[*HONEST[:4], "release"])
@example(said=[*HONEST[:3], "release an appearance"])
@given(said=list_said())
@settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_a_runner_asks_it_learns_nothing_before_it_pays_and_pays_once(
    said: list[str], memory: Path, plan: str
):
    base = Path(mkdtemp(dir=memory))
    private = private_folder(base / "private")
    heard = [
        converse(copy_folder(private, memory, change), [ALPHABET[each](plan) for each in said])
        for change in (lambda _: None, other_pixels)
    ]
    assert heard[0].before_paying == heard[1].before_paying
    for each in heard:
        released = [
            json.loads(body)["receipt"]["iteration"] for name, body in each.lines if name == "released"
        ]
        assert released == each.paid
        assert each.paid in ([], [1])
    for each in (base, *(each.root for each in heard)):
        shutil.rmtree(each)


def test_a_runner_cannot_make_a_keeper_read_what_is_no_output_of_the_record(
    private: Path, plan: str, count: Count
):
    for path in ("../../../private/cut/0.png", "/etc/passwd", "0" * 63 + "/"):
        said = [PREPARE, SETTLE, begin(plan), made(SLOTS[0], [path] * 4)]
        root = copy_folder(private, private.parent.parent, lambda _: None)
        last, _ = converse(root, said).lines[-1]
        count(FAMILY, last == "refused", path, last)


# The other way round: the keeper was taken over.


@pytest.fixture
def api() -> Iterator[online.LocalServer]:
    made = online.LocalServer(online.a1111)
    yield made
    made.close()


class Lying:
    """A keeper that answers honestly but for one message."""

    def __init__(self, keeper: Keeper, name: str, lie: Callable[[Any], Any]) -> None:
        self._keeper, self._name, self._lie = keeper, name, lie

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        honest = getattr(self._keeper, name)
        return (lambda asked: self._lie(honest(asked))) if name == self._name else honest


def choosing(change: Callable[[Choice], Choice]) -> Callable[[protocol.Released], protocol.Released]:
    """A receipt whose choices were changed."""

    def lie(told: protocol.Released) -> protocol.Released:
        choices = tuple(map(change, told.receipt.choices))
        return told.model_copy(update={"receipt": replace(told.receipt, choices=choices)})

    return lie


def forging(**changes: object) -> Callable[[protocol.Released], protocol.Released]:
    return lambda told: told.model_copy(update={"receipt": replace(told.receipt, **changes)})


LIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "a candidate that never came": (
        "release",
        choosing(
            lambda each: replace(each, chosen=tuple(Chosen(one.id + "9", one.digest) for one in each.chosen))
        ),
    ),
    "bytes that never came, under a candidate's name": (
        "release",
        choosing(lambda each: replace(each, chosen=tuple(Chosen(one.id, "7" * 64) for one in each.chosen))),
    ),
    "one candidate less": ("release", choosing(lambda each: replace(each, chosen=each.chosen[1:]))),
    "another class's name": (
        "release",
        choosing(lambda each: replace(each, label={"cut": "good", "good": "cut"}[each.label])),
    ),
    "a receipt of another run": ("release", forging(run_id="1" * 32)),
    "a receipt of another round": ("release", forging(iteration=2)),
    "a measurement that its receipt does not name": (
        "release",
        lambda told: told.model_copy(update={"measurement": b"the private image"}),
    ),
    "another plan than the one that was agreed on": (
        "settle",
        lambda told: told.model_copy(
            update={"plan": told.plan.model_copy(update={"run_id": "1" * 32, "labels": ("cut", "patient 7")})}
        ),
    ),
}
"""What a keeper says that was taken over, by the message that it answers."""


def run_with(root: Path, api: online.LocalServer, name: str, lie: Callable[[Any], Any]) -> list[bytes]:
    """Carry out a run whose keeper lies; the requests that made or varied images."""
    given = {"api": api.address, "dialect": "a1111", "model": "v1-5", "unit_map": None}
    run = check_run(RunConfig.of(options(root, **given)))
    keeper = Keeper(run, OwnerScreen(quiet=True))
    job = RunnerJob(run.settings.public(), run.folder, online.LOGIN)
    api.heard.clear()
    with run.folder.claim(False):
        try:
            carry_out(job, Lying(keeper, name, lie), Audience(verbose=False, person=Agreeing()))
        finally:
            keeper.close()
    return [each.body for each in api.asked]


class Agreeing:
    """Somebody who says yes."""

    def is_there(self) -> bool:
        return True

    def agrees(self, question: str) -> bool:
        return True


@pytest.mark.parametrize("name", LIES)
def test_for_a_keeper_that_lies_nothing_leaves_but_what_the_plan_gives_anyway(
    name: str, private: Path, memory: Path, api: online.LocalServer, count: Count
):
    honest = run_with(copy_folder(private, memory, lambda _: None), api, "none", lambda told: told)
    before = [each for each in honest if b"init_images" not in each]
    assert len(before) < len(honest)
    ended = False
    try:
        run_with(private.parent, api, *LIES[name])
    except (ClientError, AssertionError, LookupError):
        ended = True
    asked = [each.body for each in api.asked]
    count(FAMILY, ended and asked == before[: len(asked)], ended, len(asked), len(before))
