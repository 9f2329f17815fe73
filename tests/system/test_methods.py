"""Shapes of runs between real processes: each ends, is audited and costs what was planned."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from pcevolve.public.transcript.reader import RunReader
from support.folders import class_folders, events, receipts
from support.forkserver import ForkServer
from support.processes import Client, ServerProcess, ledger_of


def run_to_end(client: Client, private: Path, out: Path, *flags: str, **options: object) -> dict:
    done = client.succeed(*client.run_options(private, out, **{"iterations": 2, **options}), *flags, "--json")
    client.succeed("audit", out, "--json")
    return json.loads(done.stdout)


@pytest.mark.parametrize(("appearance", "settled"), [("matched", [[]]), ("auto", [[0.0], [1.0]])])
def test_a_dataset_in_the_appearance_of_the_private_images_is_audited(
    client: Client, tmp_path: Path, appearance: str, settled: list[list[float]]
):
    private = class_folders(tmp_path / "private", seed=1)
    options = {"method": "dp-means", "appearance": appearance, "iterations": 1}
    run_to_end(client, private, tmp_path / "run", **options)
    found = receipts(tmp_path / "run")
    found.sort(key=lambda receipt: receipt["iteration"])
    assert [each["iteration"] for each in found] == [0, 1, 2]
    assert len(found[0]["values"]) == 6
    assert all(each["values"] in settled for each in found[1:])
    card = (tmp_path / "run" / "release" / "README.md").read_text()
    assert ("matched to six released numbers" in card) == (found[-1]["values"] != [0.0])
    assert ("nearer to the released class means" in card) == (appearance == "auto")


def test_images_without_labels_are_one_class(client: Client, tmp_path: Path):
    private = class_folders(tmp_path / "private", seed=1)
    summary = run_to_end(client, private, tmp_path / "run", "--set", "data.unlabelled=true", method="pe")
    assert (summary["classes"], summary["images_released"]) == (1, 4)
    sent = [
        event for event in events(tmp_path / "run") if event["kind"] == "sent" and event["slot"][0] == "i"
    ]
    assert all("A handwritten mark image" in event["body"]["text"] for event in sent)
    assert not any("type" in event["body"]["text"] for event in sent)


def test_a_patient_with_several_images_is_one_unit(client: Client, tmp_path: Path):
    private = class_folders(tmp_path / "private", seed=1, shots=4)
    with (tmp_path / "patients.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "patient"])
        for number, path in enumerate(sorted(private.rglob("*.png"))):
            rows.writerow([path.relative_to(private).as_posix(), f"patient {number % 3}"])
    summary = run_to_end(client, private, tmp_path / "run", method="pe", unit_map=tmp_path / "patients.csv")
    assert summary["unit"] == "patient"
    shown = client("budget", "show", "--ledger", ledger_of(tmp_path / "run"), "--json")
    assert [row["units"] for row in json.loads(shown.stdout)] == [3]


def test_two_kinds_of_noise_on_the_same_data_add_up(client: Client, tmp_path: Path):
    private, ledger = class_folders(tmp_path / "private", seed=1), tmp_path / "ledger" / "ledger.sqlite"
    run_to_end(client, private, tmp_path / "one", method="pe", epsilon=2, ledger=ledger)
    again = {"method": "jvem", "epsilon": 2, "ledger": ledger}
    refused = client(*client.run_options(private, tmp_path / "two", **again))
    assert refused.returncode == 4
    assert "pcevolve budget cap" in " ".join(refused.stderr.split())
    client.succeed("budget", "cap", 4, "--yes", "--ledger", ledger)
    both = run_to_end(client, private, tmp_path / "three", **again)
    assert both["epsilon_spent"] <= 2


def test_prompts_are_varied_where_no_image_goes_back(client: Client, tmp_path: Path):
    private, run = class_folders(tmp_path / "private", seed=1), tmp_path / "run"
    flags = {"vary_by": "prompt", "lookahead": 1, "more": 1, "method": "pe"}
    summary = run_to_end(client, private, run, **flags)
    assert summary["images_released"] == 2 * (4 + 4)

    plan = next(event["plan"] for event in events(run) if event["kind"] == "planned")
    asked = {
        event["slot"]: json.loads(event["body"]["text"]) for event in events(run) if event["kind"] == "sent"
        and event["slot"][0] in "ilx"
    }  # fmt: skip
    assert not any("image" in body or "strength" in body for body in asked.values())
    shared = {prompt for own in plan["provider"]["prompts"] for prompt in own}
    assert {body["prompt"] for body in asked.values()} <= shared
    for receipt in receipts(run):
        for choice in receipt["choices"]:
            place = plan["labels"].index(choice["label"])
            for parent, chosen in enumerate(choice["chosen"]):
                first = parent * plan["method"]["candidates"] // plan["method"]["prototypes"]
                slot = f"i{receipt['iteration']:03d}/c{place:03d}/n{first:06d}"
                assert asked[slot]["prompt"] == _prompt_of(chosen["id"], plan, asked)
    report = (run / "report.html").read_text()
    assert "with the prompts of prototypes" in report
    assert "Prompts of the dataset&#39;s images: " in report or "Prompts of the dataset's images: " in report
    assert "The prompts of the selected images were sent again." in report
    client.succeed("audit", run, "--html")
    page = (run / "audit" / "wire.html").read_text()
    assert "No image was sent. This is the prompt from which the provider had made" in page


def _prompt_of(candidate: str, plan: dict, asked: dict[str, dict]) -> str:
    """The prompt with which an image was asked for."""
    stage, place, number = candidate.split("-")
    begun = [slot for slot in asked if slot.startswith(f"{stage}/{place}/") and slot[-6:] <= number]
    return asked[max(begun)]["prompt"]


def test_several_prompts_for_each_class_reach_the_wire_as_they_stand(client: Client, tmp_path: Path):
    private, prompts = class_folders(tmp_path / "private", seed=1), tmp_path / "prompts.json"
    words = ("--domain", "handwritten mark", "--private", private)
    client.succeed("prompts", *words, "--count", "3", "--out", prompts)
    written = json.loads(prompts.read_text())
    summary = run_to_end(client, private, tmp_path / "run", method="t2i", iterations=None, prompts=prompts)
    assert (summary["epsilon_spent"], summary["images_released"]) == (0, 8)
    sent = [event["body"]["text"] for event in events(tmp_path / "run") if event["kind"] == "sent"]
    shares = Counter(json.loads(body)["prompt"] for body in sent if body)
    assert set(shares) == {prompt for own in written.values() for prompt in own}
    stored = json.loads((tmp_path / "run" / "release" / "manifest.json").read_text())["plan"]
    assert stored["provider"]["prompts"] == [written[label] for label in stored["labels"]]


def test_a_preview_spends_nothing_and_the_run_goes_on_from_it(
    tmp_path: Path, server: ServerProcess, forks: ForkServer
):
    client = Client(tmp_path, server.address, forks)
    out = tmp_path / "run"
    _, *options = client.run_options(class_folders(tmp_path / "private", seed=1), out, candidates=12)
    shown = client.succeed("preview", *options)
    assert Path(shown.stdout.strip()) == out / "preview.html"
    before = RunReader.strict(out)
    assert (before.receipts, len(before.outputs)) == ((), 2 * 4)
    ledger = ledger_of(out)
    assert [
        row["releases"] for row in json.loads(client("budget", "show", "--ledger", ledger, "--json").stdout)
    ] == [0]

    client.succeed("run", "--resume", out)
    after = RunReader.strict(out)
    assert after.entries[: len(before.entries)] == before.entries
    assert len({each.record.slot for each in after.entries if each.record.kind == "sent"}) == after.requests
    client.succeed("audit", out)
