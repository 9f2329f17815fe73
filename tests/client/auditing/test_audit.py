"""The audit believes nothing that the record does not prove."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from pcevolve.auditing import Audit, audit
from pcevolve_shared import images
from support.examples import examples
from support.forge import Event, forge, rewritten_body
from support.provider import png
from support.runs import SmallRun, small_plan


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("run")
    run = SmallRun.open(root)
    run.finish()
    run.close()
    return root


VARIANTS = {
    "lookahead": {"lookahead": 2},
    "more samples": {"more": 2},
    "all generations": {"pool": "all", "initial": 5},
    "selected dataset": {"pool": "all", "keep": "selected", "initial": 5},
    "several prototypes": {"prototypes": 3},
    "one class": {"labels": ("cut",)},
    "selected without evolution": {"keep": "selected", "iterations": 0, "strengths": (), "initial": 5},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_an_honest_run_of_any_shape_passes_every_check(tmp_path: Path, name: str):
    run = SmallRun.open(tmp_path, small_plan(**VARIANTS[name]))
    made = run.finish()
    run.close()
    assert faults(tmp_path) == []
    assert len(list((tmp_path / "release").rglob("*.png"))) == sum(map(len, made.dataset.values()))


def test_an_image_left_out_of_a_selected_dataset_is_noticed(tmp_path: Path):
    run = SmallRun.open(tmp_path, small_plan(pool="all", keep="selected"))
    run.finish()
    run.close()
    path = tmp_path / "release" / "manifest.json"
    manifest = json.loads(path.read_text())
    left_out = manifest["files"].pop()
    (tmp_path / "release" / left_out["path"]).unlink()
    path.write_text(json.dumps(manifest))
    assert f"release/{left_out['path']} is missing" in faults(tmp_path)
    manifest["unreadable"] = [left_out["candidate"]]
    path.write_text(json.dumps(manifest))
    assert "release/manifest.json is not what the record gives: files, unreadable" in faults(tmp_path)


def test_a_lookahead_of_another_image_is_noticed(tmp_path: Path):
    run = SmallRun.open(tmp_path, small_plan(lookahead=1))
    run.finish()
    run.close()
    changed_request(tmp_path, "image", images.to_base64(png(1)), "l000/")
    assert "its body differs from what the plan and the receipt give" in " ".join(faults(tmp_path))


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def faults(root: Path) -> list[str]:
    return [fault for finding in audit(root) for fault in finding.faults]


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
        assert faults(root), f"byte {place} of {source.name} became {data[place]}"
        shutil.rmtree(root)


def test_a_truncated_transcript_is_noticed(copy: Path):
    log = copy / "transcript" / "log.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    assert "the end of its record is not anchored" in " ".join(faults(copy))


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("epsilon_spent", 1.0, "is not what the record gives: guarantee.epsilon_spent"),
        ("events", [], "is not what the record gives: guarantee.events"),
        ("epsilon_budget", 1.0, "is not what the record gives: guarantee.epsilon_budget"),
        ("relation", "add-remove", "is not what the record gives: guarantee.relation"),
        ("delta", 0.1, "is not what the record gives: guarantee.delta"),
    ],
)
def test_a_manifest_that_claims_more_than_the_receipts_is_noticed(copy: Path, key, value, fault):
    path = copy / "release" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["guarantee"][key] = value
    path.write_text(json.dumps(manifest))
    assert f"release/manifest.json {fault}" in " ".join(faults(copy))


def changed_request(root: Path, field: str, value: object, slot: str = "i002/") -> None:
    """Forge a record in which the last request of a kind was sent with another field, or one more."""

    def change(events: list[Event]) -> list[Event]:
        sent = (index for index, event in enumerate(events) if event["kind"] == "sent")
        place = max(index for index in sent if events[index]["slot"].startswith(slot))
        events[place] = rewritten_body(root, events[place], edit)
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
    changed_request(copy, field, value)
    assert "its body differs from what the plan and the receipt give" in " ".join(faults(copy))


def test_a_greeting_in_the_middle_of_a_run_is_noticed(copy: Path):
    def change(events: list[Event]) -> list[Event]:
        greeting = [event for event in events if event.get("slot") == "hello"]
        middle = len(events) // 2
        while events[middle]["kind"] != "sent":
            middle += 1
        return [*events[:middle], *greeting, *events[middle:]]

    forge(copy, change)
    assert "'sent' hello stands where request" in " ".join(faults(copy))


def test_a_plan_is_of_the_run_that_the_record_was_opened_for(tmp_path: Path):
    """Where nothing is chosen, no receipt says whose it is."""
    run = SmallRun.open(tmp_path, small_plan(method="t2i", iterations=0, strengths=()))
    run.finish()
    run.close()

    def change(events: list[Event]) -> list[Event]:
        next(each for each in events if each["kind"] == "planned")["plan"]["run_id"] = "f" * 32
        return events

    forge(tmp_path, change)
    assert faults(tmp_path) == [
        "the plan is for another run, address or dialect than the record was opened for"
    ]


def test_the_receipt_of_the_dataset_is_one_of_this_run(tmp_path: Path):
    """No request follows it that another run's would not allow."""
    run = SmallRun.open(tmp_path, small_plan(pool="all", keep="selected"))
    run.finish()
    run.close()

    def change(events: list[Event]) -> list[Event]:
        last = [each for each in events if each["kind"] == "released"][-1]
        last["receipt"]["run_id"] = "f" * 32
        return events

    forge(tmp_path, change)
    assert "for another run or relation" in " ".join(faults(tmp_path))


def test_the_api_key_is_nowhere_in_the_run(finished: Path):
    for path in finished.rglob("*"):
        assert not path.is_file() or b"secret-key" not in path.read_bytes(), path


def state(root: Path) -> tuple[list[str], list[str]]:
    """What an audit says is wrong, and what it says has not happened yet."""
    findings = audit(root)
    return [fault for each in findings for fault in each.faults], [
        each.pending for each in findings if each.pending
    ]


MADE = ("release", "summary.json", "report.html")


def remove(root: Path, *names: str) -> None:
    for name in names:
        shutil.rmtree(root / name) if (root / name).is_dir() else (root / name).unlink()


def test_a_run_that_was_cut_off_before_it_was_published_is_unfinished_and_not_broken(copy: Path):
    remove(copy, *MADE)
    wrong, pending = state(copy)
    assert wrong == []
    assert pending == [
        "the run is unfinished: the end of its record is not anchored, so lines may be missing in "
        f"transcript/log.jsonl; pcevolve run --resume {copy} goes on"
    ]


@pytest.mark.parametrize("kept", ["summary.json", "report.html", "release-parquet", "release-webdataset"])
def test_a_release_cannot_be_hidden_while_something_that_was_made_of_it_is_left(copy: Path, kept: str):
    (copy / "release-parquet").mkdir()
    (copy / "release-webdataset").mkdir()
    remove(copy, *({*MADE, "release-parquet", "release-webdataset"} - {kept}))
    wrong, _ = state(copy)
    assert any(f"and yet there is {kept}" in each for each in wrong)
    assert "release/manifest.json is missing" in wrong


@pytest.mark.parametrize("left", ["manifest.json", "cut", "README.md"])
def test_a_release_of_which_a_part_is_left_is_no_release_that_was_never_made(copy: Path, left: str):
    remove(copy, "summary.json", "report.html")
    remove(copy, *(f"release/{each.name}" for each in (copy / "release").iterdir() if each.name != left))
    assert [each for each in state(copy)[0] if each.startswith("release/") and each.endswith(" is missing")]


def test_what_is_made_of_a_release_is_none_of_an_unfinished_run(copy: Path):
    log = copy / "transcript" / "log.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    remove(copy, *MADE)
    (copy / "release-webdataset").mkdir()
    assert "and yet there is release-webdataset" in " ".join(state(copy)[0])
    remove(copy, "release-webdataset")
    (copy / "report.html").symlink_to("nowhere")
    assert "and yet there is report.html" in " ".join(state(copy)[0])


def test_more_extensions_than_a_run_may_have_are_a_fault_and_no_crash(copy: Path):
    asked = {"kind": "extended", "extension": {"more": 1, "strength": 0.5}}
    forge(copy, lambda events: [*events, *([asked] * 1000)])
    assert "'extended' stands where request y001/c000/n000000 is due" in " ".join(faults(copy))


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


OWN = {"README.md": "release/README.md", "report.html": "report.html", "summary.json": "summary.json"}


def test_a_file_that_belongs_to_no_record_is_noticed(copy: Path):
    (copy / "transcript" / "notes.txt").write_text("hello")
    assert "transcript/notes.txt belongs to no record" in " ".join(faults(copy))


def test_a_receipt_that_was_paid_less_than_planned_is_noticed(copy: Path):
    def change(events: list[Event]) -> list[Event]:
        receipt = next(event["receipt"] for event in events if event["kind"] == "released")
        receipt["events"] = [{"mechanism": "exponential", "parameter": "1/1000", "count": 1}]
        return events

    forge(copy, change)
    assert "not the planned price or mechanism" in " ".join(faults(copy))


def test_a_request_to_another_host_is_noticed(copy: Path):
    def change(events: list[Event]) -> list[Event]:
        sent = next(event for event in events if event["kind"] == "sent")
        sent["url"] = sent["url"].replace("127.0.0.1", "127.0.0.2")
        return events

    forge(copy, change)
    assert "not where the plan says" in " ".join(faults(copy))


def test_a_header_that_the_plan_does_not_give_is_noticed(copy: Path):
    def change(events: list[Event]) -> list[Event]:
        sent = next(event for event in events if event["kind"] == "sent")
        sent["headers"].append(["X-Ward", "3"])
        return events

    forge(copy, change)
    assert "carried headers that the plan does not give" in " ".join(faults(copy))


def test_outputs_in_another_order_than_the_answer_brought_them_are_noticed(copy: Path):
    def change(events: list[Event]) -> list[Event]:
        last = max(place for place, each in enumerate(events) if len(each.get("outputs", ())) > 1)
        events[last]["outputs"].reverse()
        return events

    forge(copy, change)
    assert "brought other outputs than are on record" in " ".join(faults(copy))


@pytest.mark.parametrize(
    ("kind", "said"), [("sent", "with another key"), ("answered", "its recorded length is wrong")]
)
def test_a_length_that_is_not_that_of_what_crossed_the_wire_is_noticed(copy: Path, kind: str, said: str):
    def change(events: list[Event]) -> list[Event]:
        next(each for each in reversed(events) if each["kind"] == kind)["wire_bytes"] += 1
        return events

    forge(copy, change)
    assert said in " ".join(faults(copy))


def test_a_line_behind_the_closing_line_is_noticed(copy: Path):
    forge(copy, lambda events: [*events, events[-1]])
    assert "stands where nothing, for the record is closed is due" in " ".join(faults(copy))


def test_a_closing_line_that_counts_another_number_of_requests_is_noticed(copy: Path):
    forge(copy, lambda events: [*events[:-1], events[-1] | {"sent": 14}])
    assert "counts 14 requests, and 13 are on record" in " ".join(faults(copy))


def dropped(kind: str, which: int):
    def change(events: list[Event]) -> list[Event]:
        places = [index for index, event in enumerate(events) if event["kind"] == kind]
        return [event for index, event in enumerate(events) if index != places[which]]

    return change


def test_an_image_that_is_not_the_providers_is_noticed_in_the_dataset(copy: Path):
    one, two = sorted((copy / "release" / "cut").iterdir())[:2]
    one.write_bytes(two.read_bytes())
    assert "is not the image that the provider sent" in " ".join(faults(copy))


def test_a_prototype_without_a_receipt_is_noticed(copy: Path):
    forge(copy, dropped("released", 0))
    assert "stands where the receipt for iteration 1 is due" in " ".join(faults(copy))


def test_a_receipt_for_an_image_of_another_class_is_noticed(copy: Path):
    def change(events: list[Event]) -> list[Event]:
        receipt = next(event["receipt"] for event in events if event["kind"] == "released")
        receipt["choices"][0]["chosen"] = receipt["choices"][1]["chosen"]
        return events

    forge(copy, change)
    assert "varies an image of another class" in " ".join(faults(copy))


def test_a_receipt_that_says_what_the_plan_does_not_leave_open_is_noticed(copy: Path):
    def change(events: list[Event]) -> list[Event]:
        receipt = next(event["receipt"] for event in events if event["kind"] == "released")
        receipt["values"] = [0.0]
        return events

    forge(copy, change)
    assert "says something that the plan does not leave open" in " ".join(faults(copy))


def test_a_measurement_that_nobody_paid_for_is_noticed(copy: Path):
    def change(events: list[Event]) -> list[Event]:
        stored = next(each for each in events if each["kind"] == "received")["outputs"][0]
        next(each for each in events if each["kind"] == "released")["receipt"]["measured"] = stored
        return events

    forge(copy, change)
    assert "names a measurement that nobody paid for" in " ".join(faults(copy))


def test_a_choice_of_what_had_not_come_is_noticed(copy: Path):
    def change(events: list[Event]) -> list[Event]:
        receipt = next(event["receipt"] for event in events if event["kind"] == "released")
        receipt["choices"][0]["chosen"][0]["id"] = "0" * len(receipt["choices"][0]["chosen"][0]["id"])
        return events

    forge(copy, change)
    assert "names an image that is not among those it chose from" in " ".join(faults(copy))
