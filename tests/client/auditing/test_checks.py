"""The audit believes nothing that the record does not prove."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from leaks.forgeries.corpus import FORGERIES
from leaks.forgeries.forging import Forgery, edited, refused
from leaks.forgeries.order import asked_for_the_balance
from leaks.forgeries.receipts import receipted
from pcevolve.auditing import audit
from pcevolve.public.run.folder import RunFolder
from pcevolve.wire.egress.transport import ConnectionTroubleError, Incoming, Outgoing
from pcevolve.wire.providers import dialect
from pcevolve_shared import images, wire
from support.examples import examples
from support.forge import faults_of, find_event, forge
from support.paid import make_paid_run
from support.provider import FakeProvider, ok, png
from support.runs import SmallRun, small_plan

SELECTED = {"pool": "all", "keep": "selected", "initial": 5}
VARIANTS = {
    "lookahead": {"lookahead": 2},
    "more samples": {"more": 2},
    "all generations": {"pool": "all", "initial": 5},
    "selected dataset": SELECTED,
    "several prototypes": {"prototypes": 3},
    "one class": {"labels": ("cut",)},
    "selected without evolution": {"keep": "selected", "iterations": 0, "strengths": (), "initial": 5},
}
MADE = ("release", "summary.json", "report.html")


def finish(root: Path, **changes: object) -> Path:
    return make_paid_run(root, small_plan(**changes))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finish(tmp_path_factory.mktemp("run"))


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "copy"))


@pytest.mark.parametrize("name", VARIANTS)
def test_an_honest_run_of_any_shape_passes_every_check(tmp_path: Path, name: str):
    finish(tmp_path, **VARIANTS[name])
    assert faults_of(tmp_path) == []
    made = json.loads((tmp_path / "release" / "manifest.json").read_text())["files"]
    assert len(list((tmp_path / "release").rglob("*.png"))) == len(made) > 0


@pytest.mark.parametrize("changes", [{}, {"dialect": "chat"}], ids=["images", "texts"])
def test_answers_that_begin_with_a_byte_order_mark_are_read_by_every_check(tmp_path: Path, changes: dict):
    def marked(request: Outgoing) -> Incoming:
        answer = FakeProvider().answer(request)
        return replace(answer, body=b"\xef\xbb\xbf" + answer.body)

    run = SmallRun.open(tmp_path, small_plan(**changes), FakeProvider(marked))
    run.finish()
    assert faults_of(tmp_path) == []


def test_a_dataset_of_which_one_class_has_nothing_is_no_fault(tmp_path: Path):
    """Every release was among enough; what was paid for is kept."""
    asked: list[Outgoing] = []

    def answer(request: Outgoing) -> Incoming | None:
        asked.append(request)
        fields = json.loads(request.body or b"{}")
        if len(asked) <= 9 or "good" not in fields["prompt"]:
            return None
        made = [{"image": images.to_base64(png(1)), "seed": each} for each in range(fields.get("n", 1))]
        return ok({"images": made, "cost": 0.0} if len(made) > 1 else {**made[0], "cost": 0.0})

    assert faults_of(make_paid_run(tmp_path, small_plan(), FakeProvider(answer))) == []
    assert len(asked) == 13


def test_any_changed_byte_of_the_transcript_is_noticed(finished: Path, tmp_path: Path):
    files = sorted(path for path in (finished / "transcript").rglob("*") if path.is_file())
    random = np.random.default_rng()  # other bytes every time
    for number in range(examples(120)):
        source = files[number % len(files)]
        data = bytearray(source.read_bytes())
        place = int(random.integers(len(data)))
        data[place] ^= 1 << int(random.integers(8))
        root = Path(shutil.copytree(finished, tmp_path / "changed"))
        (root / source.relative_to(finished)).write_bytes(data)
        assert faults_of(root), f"byte {place} of {source.name} became {data[place]}"
        shutil.rmtree(root)


# -- forged records: the quick ones of those that an auditor is handed in tests/leaks -------------------------------

QUICK = (
    *("a greeting after the plan", "a receipt left out", "a second closing line", "no closing line"),
    *("another mechanism", "a number beside the choice", "measured where nobody looked"),
    *("an image of another class", "an image of an earlier round", "outputs in another order"),
    *("another host", "a header of its own", "a key that is longer in one request", "an answer's length"),
    *("body: a private picture", "body: words in a prompt", "body: a seed", "body: a field of its own"),
    *("requests in the closing line", "a second log", "two images exchanged"),
    *("an image left out and called unreadable", "manifest: a smaller epsilon", "manifest: fewer events"),
)


@pytest.mark.parametrize(
    "forgery", [each for each in FORGERIES if each.kind == "control" and each.name in QUICK], ids=str
)
def test_a_run_that_lies_is_told(copy: Path, forgery: Forgery):
    found, told = refused(forgery, copy)
    assert found, told


def test_the_quick_forgeries_are_all_there():
    assert {*QUICK} <= {each.name for each in FORGERIES if each.kind == "control"}


def test_the_balance_may_be_asked_for_once_before_the_plan(copy: Path):
    asked_for_the_balance(1)(copy)
    assert faults_of(copy) == []


def test_how_often_a_request_failed_and_the_key_changed_is_told_for_either_could_say_something(
    tmp_path: Path,
):
    asked: list[Outgoing] = []

    def fail_once(request: Outgoing) -> None:
        asked.append(request)
        if len(asked) == 3:
            raise ConnectionTroubleError("the connection broke")

    def exchange(events: list[dict]) -> None:
        for event in events[events.index(next(each for each in events if each["kind"] == "failed")) :]:
            event.update({"wire_bytes": event["wire_bytes"] + 5} if event["kind"] == "sent" else {})

    make_paid_run(tmp_path, small_plan(), FakeProvider(fail_once))
    forge(tmp_path, exchange)
    assert faults_of(tmp_path) == []
    claims = " ".join(each.claim for each in audit(tmp_path))
    assert "in this order; that 1 got no answer and 1 showed another key, the record alone says" in claims


def test_a_way_to_the_api_that_none_can_go_is_told(copy: Path):
    edited("opened", lambda event: event.update(proxied=True))(copy)
    assert "line 1: a proxy carries https alone" in faults_of(copy)


def test_the_choices_of_a_run_that_was_cut_off_are_checked_too(tmp_path: Path):
    means = {**SELECTED, "method": "dp-means", "delta": 1e-5, "centre_first": True, "prototypes": 2}
    honest = finish(tmp_path / "honest", **means, candidates=4)
    forged = Path(shutil.copytree(honest, tmp_path / "forged"))
    receipted(lambda receipt: receipt["choices"][0]["chosen"].reverse())(forged)
    for root in (honest, forged):
        truncate(root)
        remove(root, *MADE)
    assert faults_of(honest) == []
    assert "receipt for iteration 1: its choices do not follow from what was measured" in faults_of(forged)


def test_a_plan_is_of_the_run_that_the_record_was_opened_for(tmp_path: Path):
    """Where nothing is chosen, no receipt says whose it is."""
    finish(tmp_path, method="t2i", iterations=0, strengths=())
    forge(tmp_path, lambda events: find_event(events, "planned")["plan"].update(run_id="f" * 32))
    said = "the plan is for another run, address or dialect than the record was opened for"
    assert faults_of(tmp_path) == [said]


def test_the_receipt_of_the_dataset_is_one_of_this_run(tmp_path: Path):
    """No request follows it that another run's would not allow."""
    finish(tmp_path, pool="all", keep="selected")
    forge(tmp_path, lambda events: find_event(events[::-1], "released")["receipt"].update(run_id="f" * 32))
    assert "for another run or relation" in " ".join(faults_of(tmp_path))


# -- what is left of a run -----------------------------------------------------------------------------------------


def remove(root: Path, *names: str) -> None:
    for name in names:
        shutil.rmtree(root / name) if (root / name).is_dir() else (root / name).unlink()


def truncate(root: Path) -> None:
    log = root / "transcript" / "log.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))


def test_what_a_crash_tore_off_is_not_read_and_breaks_nothing_unless_the_record_was_closed(copy: Path):
    log, half = copy / "transcript" / "log.jsonl", copy / "transcript" / "bodies" / f".{'0' * 64}.partial"
    whole = log.read_bytes()
    for root_is, lines in (("broken", whole), ("unfinished", b"".join(whole.splitlines(keepends=True)[:-1]))):
        remove(copy, *(name for name in MADE if root_is == "unfinished"))
        for torn in (b"", whole[:100]):
            log.write_bytes(lines + torn)
            half.touch()
            assert bool(faults_of(copy)) == (root_is == "broken")
            told = [each.pending for each in audit(copy) if each.pending]
            assert ["and the last is torn off; " in each for each in told] == [bool(torn)] * len(told)
            half.rename(other := half.with_name("0" * 64))
            assert faults_of(copy), "its name is not what it holds"
            other.unlink()
            assert bool(faults_of(copy)) == (root_is == "broken" and bool(torn))


def test_what_a_killed_command_or_a_system_left_is_a_fault_with_advice(copy: Path):
    for name, said in (
        (".DS_Store", " (systems make such unasked: delete it)"),
        (".report.html.partial", f"; if a command was cut off, pcevolve report {copy} clears it away"),
    ):
        (copy / name).touch()
        assert faults_of(copy) == [f"'{name}' belongs to no run{said}"]
        (copy / ".DS_Store").unlink(missing_ok=True)
    with RunFolder(copy).hold():
        assert faults_of(copy) == []


@pytest.mark.parametrize("kept", ["summary.json", "report.html", "release-parquet", "release-webdataset"])
def test_a_release_cannot_be_hidden_while_something_that_was_made_of_it_is_left(copy: Path, kept: str):
    exports = {"release-parquet", "release-webdataset"}
    for name in exports:
        (copy / name).mkdir()
    remove(copy, *({*MADE, *exports} - {kept}))
    wrong = faults_of(copy)
    assert any(f"and yet there is {kept}" in each for each in wrong)
    assert "release/manifest.json is missing" in wrong


@pytest.mark.parametrize("left", ["manifest.json", "cut", "README.md"])
def test_a_release_of_which_a_part_is_left_is_no_release_that_was_never_made(copy: Path, left: str):
    remove(copy, "summary.json", "report.html")
    remove(copy, *(f"release/{each.name}" for each in (copy / "release").iterdir() if each.name != left))
    assert [each for each in faults_of(copy) if each.startswith("release/") and each.endswith(" is missing")]


@pytest.mark.parametrize("is_told", [True, False])
def test_a_plan_says_of_the_provider_s_images_what_the_provider_did(tmp_path: Path, is_told: bool):
    said = {"images": 7, "licences": [{"name": "CC0-1.0", "images": 7}], "licence_files": []}
    size = {"width": 16, "height": 16}
    models = [{"id": "bundled", "name": "b", "base_resolution": size, "library": said}]
    library = dialect("getimg").library("bundled", json.dumps(models).encode())
    assert library is not None
    provider = FakeProvider(lambda request: ok(models) if request.url.endswith(wire.MODELS) else None)
    root = make_paid_run(tmp_path, small_plan(library=library if is_told else None), provider)
    told = "the plan says another thing of the provider's images than the provider did"
    assert any(told in fault for fault in faults_of(root)) is not is_told
