"""The audit believes nothing that the record does not prove."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pcevolve.auditing import Audit, audit
from pcevolve_shared import images
from support.examples import examples
from support.forge import Event, faults_of, forge, rewrite_body
from support.provider import png
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
BODY = "its body differs from what the plan and the receipt give"
MADE = ("release", "summary.json", "report.html")
OWN = {"README.md": "release/README.md", "report.html": "report.html", "summary.json": "summary.json"}


def finish(root: Path, **changes: object) -> Path:
    run = SmallRun.open(root, small_plan(**changes))
    run.finish()
    run.close()
    return root


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


def test_the_api_key_is_nowhere_in_the_run(finished: Path):
    for path in finished.rglob("*"):
        assert not path.is_file() or b"secret-key" not in path.read_bytes(), path


# -- the release ---------------------------------------------------------------------------------------------------


def edit_manifest(root: Path, change: Callable[[dict], None]) -> None:
    path = root / "release" / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("epsilon_spent", 1.0),
        ("events", []),
        ("epsilon_budget", 1.0),
        ("relation", "add-remove"),
        ("delta", 0.1),
    ],
)
def test_a_manifest_that_claims_more_than_the_receipts_is_noticed(copy: Path, key: str, value: object):
    edit_manifest(copy, lambda manifest: manifest["guarantee"].update({key: value}))
    said = f"release/manifest.json is not what the record gives: guarantee.{key}"
    assert said in " ".join(faults_of(copy))


def test_an_image_left_out_of_a_selected_dataset_is_noticed(tmp_path: Path):
    left_out = []
    finish(tmp_path, pool="all", keep="selected")
    edit_manifest(tmp_path, lambda manifest: left_out.append(manifest["files"].pop()))
    (tmp_path / "release" / left_out[0]["path"]).unlink()
    assert f"release/{left_out[0]['path']} is missing" in faults_of(tmp_path)
    edit_manifest(tmp_path, lambda manifest: manifest.update(unreadable=[left_out[0]["candidate"]]))
    assert "release/manifest.json is not what the record gives: files, unreadable" in faults_of(tmp_path)


def test_an_image_that_is_not_the_providers_is_noticed_in_the_dataset(copy: Path):
    one, two = sorted((copy / "release" / "cut").iterdir())[:2]
    one.write_bytes(two.read_bytes())
    assert "is not the image that the provider sent" in " ".join(faults_of(copy))


# -- forged records ------------------------------------------------------------------------------------------------


def change_body(root: Path, field: str, value: object, slot: str = "i002/") -> None:
    """Forge a record in which the last request of a kind was sent with another field, or one more."""

    def change(events: list[Event]) -> list[Event]:
        sent = (index for index, event in enumerate(events) if event["kind"] == "sent")
        place = max(index for index in sent if events[index]["slot"].startswith(slot))
        events[place] = rewrite_body(root, events[place], edit)
        return events

    def edit(body: bytes) -> bytes:
        fields = json.loads(body) | {field: value}
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()

    forge(root, change)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("image", images.to_base64(png(12345))),
        ("strength", 0.79),
        ("seed", 1),
        ("prompt", "A leather texture image with cut of patient 17"),
        ("negative_prompt", " "),
        ("n", 2),
        ("user", "ward 3"),
        ("adapter", "ward 3"),
        ("scale", 0.5),
    ],
)
def test_a_lying_client_cannot_hide_a_request_that_the_plan_does_not_give(copy: Path, field, value):
    change_body(copy, field, value)
    assert BODY in " ".join(faults_of(copy))


def test_a_lookahead_of_another_image_is_noticed(tmp_path: Path):
    finish(tmp_path, lookahead=1)
    change_body(tmp_path, "image", images.to_base64(png(1)), "l000/")
    assert BODY in " ".join(faults_of(tmp_path))


def first(events: list[Event], kind: str) -> Event:
    return next(each for each in events if each["kind"] == kind)


def receipt(events: list[Event]) -> Event:
    return first(events, "released")["receipt"]


def edit_events(edit: Callable[[list[Event]], object]) -> Callable[[list[Event]], list[Event]]:
    """Change events where they stand."""

    def change(events: list[Event]) -> list[Event]:
        edit(events)
        return events

    return change


def lengthen(events: list[Event], kind: str) -> None:
    next(each for each in reversed(events) if each["kind"] == kind)["wire_bytes"] += 1


def greet_in_the_middle(events: list[Event]) -> None:
    middle = next(k for k, each in enumerate(events) if k >= len(events) // 2 and each["kind"] == "sent")
    events[middle:middle] = [event for event in events if event.get("slot") == "hello"]


def turn_outputs(events: list[Event]) -> None:
    next(each for each in reversed(events) if len(each.get("outputs", ())) > 1)["outputs"].reverse()


def choose_the_unknown(events: list[Event]) -> None:
    chosen = receipt(events)["choices"][0]["chosen"][0]
    chosen["id"] = "0" * len(chosen["id"])


def choose_of_another_class(events: list[Event]) -> None:
    one, other = receipt(events)["choices"]
    one["chosen"] = other["chosen"]


CHEAP = {"mechanism": "exponential", "parameter": "1/1000", "count": 1}
EXTENDED = {"kind": "extended", "extension": {"more": 1, "strength": 0.5}}
FORGERIES: dict[str, tuple[Callable[[list[Event]], object], str]] = {
    "a greeting in the middle": (greet_in_the_middle, "'sent' hello stands where request"),
    "a prototype without a receipt": (
        lambda events: events.remove(first(events, "released")),
        "stands where the receipt for iteration 1 is due",
    ),
    "a receipt paid less than planned": (
        lambda events: receipt(events).update(events=[CHEAP]),
        "not the planned price or mechanism",
    ),
    "a receipt for an image of another class": (choose_of_another_class, "varies an image of another class"),
    "a receipt that says what the plan does not leave open": (
        lambda events: receipt(events).update(values=[0.0]),
        "says something that the plan does not leave open",
    ),
    "a measurement that nobody paid for": (
        lambda events: receipt(events).update(measured=first(events, "received")["outputs"][0]),
        "names a measurement that nobody paid for",
    ),
    "a choice of what had not come": (
        choose_the_unknown,
        "names an image that is not among those it chose from",
    ),
    "a request to another host": (
        lambda events: first(events, "sent").update(url="http://127.0.0.2:9/v1/models"),
        "not where the plan says",
    ),
    "a header that the plan does not give": (
        lambda events: first(events, "sent")["headers"].append(["X-Ward", "3"]),
        "carried headers that the plan does not give",
    ),
    "outputs in another order": (turn_outputs, "brought other outputs than are on record"),
    "a request of another length": (lambda events: lengthen(events, "sent"), "with another key"),
    "an answer of another length": (
        lambda events: lengthen(events, "answered"),
        "its recorded length is wrong",
    ),
    "a line behind the closing line": (
        lambda events: events.append(events[-1]),
        "stands where nothing, for the record is closed is due",
    ),
    "another number of requests": (
        lambda events: events[-1].update(sent=14),
        "counts 14 requests, and 13 are on record",
    ),
    "more extensions than a run may have": (
        lambda events: events.extend([EXTENDED] * 1000),
        "'extended' stands where request y001/c000/n000000 is due",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_record_that_lies_is_noticed(copy: Path, name: str):
    edit, said = FORGERIES[name]
    forge(copy, edit_events(edit))
    assert said in " ".join(faults_of(copy))


def test_a_plan_is_of_the_run_that_the_record_was_opened_for(tmp_path: Path):
    """Where nothing is chosen, no receipt says whose it is."""
    finish(tmp_path, method="t2i", iterations=0, strengths=())
    forge(tmp_path, edit_events(lambda events: first(events, "planned")["plan"].update(run_id="f" * 32)))
    said = "the plan is for another run, address or dialect than the record was opened for"
    assert faults_of(tmp_path) == [said]


def test_the_receipt_of_the_dataset_is_one_of_this_run(tmp_path: Path):
    """No request follows it that another run's would not allow."""
    finish(tmp_path, pool="all", keep="selected")
    forge(tmp_path, edit_events(lambda events: receipt(events[::-1]).update(run_id="f" * 32)))
    assert "for another run or relation" in " ".join(faults_of(tmp_path))


# -- what is left of a run -----------------------------------------------------------------------------------------


def remove(root: Path, *names: str) -> None:
    for name in names:
        shutil.rmtree(root / name) if (root / name).is_dir() else (root / name).unlink()


def truncate(root: Path) -> None:
    log = root / "transcript" / "log.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))


def test_a_run_that_was_cut_off_before_it_was_published_is_unfinished_and_not_broken(copy: Path):
    remove(copy, *MADE)
    assert faults_of(copy) == []
    assert [each.pending for each in audit(copy) if each.pending] == [
        "the run is unfinished: the end of its record is not anchored, so lines may be missing in "
        f"transcript/log.jsonl; pcevolve run --resume {copy} goes on"
    ]


def test_a_truncated_transcript_is_noticed(copy: Path):
    truncate(copy)
    assert "the end of its record is not anchored" in " ".join(faults_of(copy))


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


def test_what_is_made_of_a_release_is_none_of_an_unfinished_run(copy: Path):
    truncate(copy)
    remove(copy, *MADE)
    (copy / "release-webdataset").mkdir()
    assert "and yet there is release-webdataset" in " ".join(faults_of(copy))
    remove(copy, "release-webdataset")
    (copy / "report.html").symlink_to("nowhere")
    assert "and yet there is report.html" in " ".join(faults_of(copy))


def test_a_file_that_belongs_to_no_record_is_noticed(copy: Path):
    (copy / "transcript" / "notes.txt").write_text("hello")
    assert "transcript/notes.txt belongs to no record" in " ".join(faults_of(copy))


# -- pages ---------------------------------------------------------------------------------------------------------


def test_what_was_not_verified_is_named_file_by_file(copy: Path):
    assert Audit.of(copy).unverified == ["private/", "report.html", "summary.json"]
    with (copy / "release" / "README.md").open("a") as card:
        card.write("In other words.\n")
    assert Audit.of(copy).unverified == ["private/", "report.html", "summary.json", "release/README.md"]
    (copy / "transcript" / "log.jsonl").write_text("")
    assert Audit.of(copy).unverified == ["private/", "release/", "report.html", "summary.json", "transcript/"]


def test_an_audit_renders_what_it_verified_and_nothing_of_a_broken_run_but_what_left(copy: Path):
    honest = {name: (copy / path).read_bytes() for name, path in OWN.items()}
    for path in ("report.html", "summary.json"):
        (copy / path).write_text("epsilon = 0.1")
    pages = Audit.of(copy).write_pages().parent
    assert {path.name for path in pages.iterdir()} == {*OWN, "wire.html"}
    for name in ("README.md", "summary.json"):
        assert (pages / name).read_bytes() == honest[name]
    # It lies beside the page that the owner's leads into audit/ for.
    assert (pages / "report.html").read_bytes() == honest["report.html"].replace(b"audit/wire", b"wire")
    next((copy / "release" / "cut").iterdir()).write_bytes(png(7))
    assert [path.name for path in Audit.of(copy).write_pages().parent.iterdir()] == ["wire.html"]
    assert Audit.of(copy).summary is None
