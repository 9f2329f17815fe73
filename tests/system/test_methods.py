"""Every method and every shape of run between real processes: it ends, it is audited, it costs what was planned."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from support.folders import class_folders, events, receipts
from support.online import LocalServer, said
from support.processes import Client
from support.tiny_captioner import save_captioner

METHODS = ["auto", "dp-means", "jvem", "pe", "pe-em", "pcevolve-gm", "pcevolve-g"]


def finished(client: Client, private: Path, out: Path, *flags: str, **options: object) -> dict:
    done = client(*client.run_options(private, out, **{"iterations": 2, **options}), *flags, "--json")
    assert done.returncode == 0, done.stderr
    audited = client("audit", out, "--json")
    assert audited.returncode == 0, audited.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_within_its_budget_and_is_audited(client: Client, tmp_path: Path, method: str):
    private = class_folders(tmp_path / "private", seed=1)
    summary = finished(client, private, tmp_path / "run", method=method, epsilon=3)
    assert 2.9 < summary["epsilon_spent"] <= 3
    assert summary["images_released"] == 8
    assert any(event["kind"] == "released" for event in events(tmp_path / "run"))


def test_noised_private_images_leave_as_they_were_released_and_nothing_else_of_them(
    client: Client, tmp_path: Path
):
    private, run = class_folders(tmp_path / "private", seed=1), tmp_path / "run"
    options = {"method": "dpimg", "epsilon": 3, "iterations": 1, "size": 64}
    done = client(*client.run_options(private, run, **options), "--json")
    assert done.returncode == 0, done.stderr
    tick = re.search(r"whole multiples of (\d+) s", " ".join(done.stderr.split()))
    assert tick, done.stderr
    assert int(tick[1]) > 1, "it is to cover the noise on some 100,000 values"
    summary = json.loads(done.stdout)
    assert 2.9 < summary["epsilon_spent"] <= 3
    assert summary["images_released"] == 8
    (receipt,) = receipts(run)
    released = {one["digest"] for choice in receipt["choices"] for one in choice["chosen"]}
    assert len(released) == 2 * 4
    sent = [each for each in events(run) if each["kind"] == "sent" and each["slot"][0] in "ilxy"]
    carried = {
        digest for each in sent for digest in re.findall("{{sha256:([0-9a-f]{64})}}", each["body"]["text"])
    }
    assert carried == released

    assert client("extend", run, "--more", "1").returncode == 0
    assert client("audit", run, "--html").returncode == 0
    card, report, wire = (
        (run / name).read_text() for name in ("release/README.md", "report.html", "audit/wire.html")
    )
    assert "noised private images were sent, the released ones and no others" in " ".join(card.split())
    assert "none was sent" not in card
    assert "Noised private images left, the released ones" in report
    assert "Everything private" not in report
    assert "Released noised image" in wire


def test_noised_private_images_have_no_rounds_before_or_after(client: Client, tmp_path: Path):
    private = class_folders(tmp_path / "private", seed=1)
    for wrong in (
        {"iterations": 3},
        {"lookahead": 1},
        {"initial": 8},
        {"appearance": "matched"},
        {"pool": "all"},
    ):
        refused = client(
            *client.run_options(private, tmp_path / "run", **{"method": "dpimg", "iterations": 1, **wrong})
        )
        assert refused.returncode == 2, wrong
        assert next(iter(wrong)) in refused.stderr


def test_a_method_without_a_guarantee_runs_only_if_it_is_told_so_and_bears_the_mark(
    client: Client, tmp_path: Path
):
    private, run, ledger = class_folders(tmp_path / "private", seed=1), tmp_path / "run", tmp_path / "ledger"
    options = client.run_options(private, run, method="rf", ledger=ledger)
    refused = client(*options)
    assert refused.returncode == 2
    assert "'rf' protects nobody" in refused.stderr
    assert not run.exists()
    done = client(*options, "--not-private", "--json")
    assert done.returncode == 0, done.stderr
    assert "NOT PRIVATE" in done.stderr
    summary = json.loads(done.stdout)
    assert (summary["images_released"], summary["epsilon_spent"]) == (8, None)
    assert any("NOT PRIVATE" in mark for mark in summary["marks"])
    assert all(path.name.startswith("NOT-PRIVATE-") for path in (run / "release").rglob("*.png"))
    assert not any(
        '"image"' in event["body"]["text"]
        for event in events(run)
        if event["kind"] == "sent"
        if event["body"]["text"]
    )

    audited = client("audit", run)
    assert audited.returncode == 1
    assert "a NOT PRIVATE run passes only with --allow-insecure" in audited.stderr
    assert client("audit", run, "--allow-insecure").returncode == 0
    extended = client("extend", run, "--more", "1")
    assert extended.returncode == 2, extended.stderr
    assert "its images cannot be varied" in extended.stderr
    shown = json.loads(client("budget", "show", "--ledger", ledger, "--json").stdout)
    assert [(row["noise"], row["epsilon"]) for row in shown] == [("none: NOT PRIVATE", None)]
    later = client(*client.run_options(private, tmp_path / "later", method="pe", ledger=ledger))
    assert later.returncode == 4
    assert "a NOT PRIVATE run used these data" in later.stderr
    wrong = client(*client.run_options(private, tmp_path / "other", method="pe"), "--not-private")
    assert wrong.returncode == 2
    assert "--not-private means nothing to method 'pe'" in wrong.stderr


def test_captions_of_private_images_are_prompts_of_a_run_that_bears_the_mark(client: Client, tmp_path: Path):
    private, run, ledger = class_folders(tmp_path / "private", seed=1), tmp_path / "run", tmp_path / "ledger"
    options = client.run_options(private, run, method="gcap", iterations=1, ledger=ledger)
    refused = client(*options)
    assert refused.returncode == 2
    assert "captions of private images go to the API as prompts" in refused.stderr
    server = LocalServer(lambda heard: said(200, {"choices": [{"message": {"content": "A deep\ncut."}}]}))
    try:
        eyes = ("--captioner", f"{server.address}/v1", "--captioner-model", "eyes")
        done = client(*options, "--not-private", *eyes, "--json")
    finally:
        server.close()
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stderr.split())
    assert "private images themselves were sent to the captioner eyes at" in told
    summary = json.loads(done.stdout)
    assert (summary["images_released"], summary["epsilon_spent"]) == (8, None)
    assert len(summary["marks"]) == 2
    assert all(path.name.startswith("NOT-PRIVATE-") for path in (run / "release").rglob("*.png"))
    bodies = [event["body"]["text"] for event in events(run) if event["kind"] == "sent"]
    prompts = {json.loads(body)["prompt"] for body in bodies if body}
    assert {prompt.partition(", ")[2] for prompt in prompts} == {"A deep cut."}
    assert not any("{{sha256" in body for body in bodies if body)

    assert client("audit", run, "--html").returncode == 1
    assert client("audit", run, "--allow-insecure").returncode == 0
    card, report, wire = (
        (run / name).read_text() for name in ("release/README.md", "report.html", "audit/wire.html")
    )
    assert all("to the captioner" in " ".join(page.split()) for page in (card, report, wire))
    assert "A deep cut." in wire
    assert client("extend", run, "--more", "1").returncode == 2
    later = client(*client.run_options(private, tmp_path / "later", method="pe", ledger=ledger))
    assert later.returncode == 4
    assert "a NOT PRIVATE run used these data" in later.stderr
    far = client(
        *options, "--not-private", "--captioner", "https://api.example/v1", "--captioner-model", "eyes"
    )
    assert far.returncode == 2


def test_a_captioner_that_needs_no_model_or_a_local_one_lets_a_run_go_to_its_end(
    client: Client, tmp_path: Path
):
    private, eyes = class_folders(tmp_path / "private", seed=1), save_captioner(tmp_path / "tiny-eyes")
    for name, captioner in (("words", ()), ("model", ("--captioner", eyes))):
        options = client.run_options(
            private, tmp_path / name, method="gcap", iterations=1, ledger=tmp_path / f"{name}.sqlite"
        )
        done = client(*options, "--not-private", *captioner)
        assert done.returncode == 0, done.stderr
        assert "no guarantee: see the warning" in " ".join((done.stdout + done.stderr).split())
        assert client("audit", tmp_path / name, "--allow-insecure").returncode == 0


@pytest.mark.parametrize(("appearance", "settled"), [("matched", [[]]), ("auto", [[0.0], [1.0]])])
def test_a_dataset_in_the_appearance_of_the_private_images_is_audited(
    client: Client, tmp_path: Path, appearance: str, settled: list[list[float]]
):
    private = class_folders(tmp_path / "private", seed=1)
    options = {"method": "dp-means", "appearance": appearance, "iterations": 1}
    finished(client, private, tmp_path / "run", **options)
    found = receipts(tmp_path / "run")
    found.sort(key=lambda receipt: receipt["iteration"])
    assert [each["iteration"] for each in found] == [0, 1, 2]
    assert len(found[0]["values"]) == 6
    assert all(each["values"] in settled for each in found[1:])
    card = (tmp_path / "run" / "release" / "README.md").read_text()
    assert ("matched to six numbers" in card) == (found[-1]["values"] != [0.0])
    assert ("nearer to what was released" in card) == (appearance == "auto")


def test_lookahead_and_more_samples_send_back_what_the_plan_names(client: Client, tmp_path: Path):
    private = class_folders(tmp_path / "private", seed=1)
    summary = finished(client, private, tmp_path / "run", method="pe", lookahead=2, more=3)
    kinds = Counter(event["slot"][0] for event in events(tmp_path / "run") if event["kind"] == "sent")
    looked, extended = (
        2 * 2 * 4,
        4 * 2 * 2,
    )  # iterations x classes x images; the last is sent in two batches each
    assert (kinds["l"], kinds["x"]) == (looked, extended)
    assert summary["images_released"] == 2 * (4 + 4 * 3)


def test_images_without_labels_are_one_class(client: Client, tmp_path: Path):
    private = class_folders(tmp_path / "private", seed=1)
    summary = finished(client, private, tmp_path / "run", "--unlabelled", method="pe")
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
    summary = finished(client, private, tmp_path / "run", method="pe", unit_map=tmp_path / "patients.csv")
    assert summary["unit"] == "patient"
    shown = client("budget", "show", "--ledger", (tmp_path / "run").with_suffix(".ledger"), "--json")
    assert [row["units"] for row in json.loads(shown.stdout)] == [3]


def test_a_published_calibration_is_told_as_what_it_is_worth(client: Client, tmp_path: Path):
    private = class_folders(tmp_path / "private", seed=1)
    summary = finished(client, private, tmp_path / "run", method="pe", calibration="published", epsilon=1)
    assert summary["epsilon_spent"] < 1


def test_noise_that_needs_a_delta_is_refused_without_one(client: Client, tmp_path: Path):
    private = class_folders(tmp_path / "private", seed=1)
    refused = client(*client.run_options(private, tmp_path / "run", method="pe", delta=0))
    assert refused.returncode == 2
    assert "--delta" in refused.stderr
    assert not (tmp_path / "run" / "transcript").exists() or not receipts(tmp_path / "run")


def test_two_kinds_of_noise_on_the_same_data_add_up(client: Client, tmp_path: Path):
    private, ledger = class_folders(tmp_path / "private", seed=1), tmp_path / "ledger.sqlite"
    finished(client, private, tmp_path / "one", method="pe", epsilon=2, ledger=ledger)
    again = {"method": "jvem", "epsilon": 2, "ledger": ledger}
    refused = client(*client.run_options(private, tmp_path / "two", **again))
    assert refused.returncode == 4
    assert "--lifetime-epsilon" in refused.stderr
    both = finished(client, private, tmp_path / "three", **again, lifetime_epsilon=4)
    assert both["epsilon_spent"] <= 2


def test_prompts_are_varied_where_no_image_goes_back(client: Client, tmp_path: Path):
    private, run = class_folders(tmp_path / "private", seed=1), tmp_path / "run"
    flags = {"vary_by": "prompt", "lookahead": 1, "more": 1, "method": "pe"}
    summary = finished(client, private, run, **flags)
    assert summary["images_released"] == 2 * (4 + 4)
    more = client("extend", run, "--more", "1", "--json")
    assert more.returncode == 0, more.stderr
    assert client("audit", run).returncode == 0
    assert "--strength is about images" in client("extend", run, "--more", "1", "--strength", "0.5").stderr

    plan = next(event["plan"] for event in events(run) if event["kind"] == "planned")
    asked = {
        event["slot"]: json.loads(event["body"]["text"]) for event in events(run) if event["kind"] == "sent"
        and event["slot"][0] in "ilxy"
    }  # fmt: skip
    assert not any("image" in body or "strength" in body for body in asked.values())
    shared = {prompt for own in plan["prompts"] for prompt in own}
    assert {body["prompt"] for body in asked.values()} <= shared
    for receipt in receipts(run):
        for choice in receipt["choices"]:
            place = plan["labels"].index(choice["label"])
            for parent, chosen in enumerate(choice["chosen"]):
                first = parent * plan["candidates"] // plan["prototypes"]
                slot = f"i{receipt['iteration']:03d}/c{place:03d}/n{first:06d}"
                assert asked[slot]["prompt"] == _prompt_of(chosen["id"], plan, asked)
    report = (run / "report.html").read_text()
    assert "by prototypes" in report
    assert "Prompts of the dataset&#39;s images: " in report or "Prompts of the dataset's images: " in report
    assert "Which of the prompts had made the chosen images was." in report
    assert client("audit", run, "--html").returncode == 0
    assert "No image: the prompt by which the provider had made" in (run / "audit" / "wire.html").read_text()


def _prompt_of(candidate: str, plan: dict, asked: dict[str, dict]) -> str:
    """The prompt with which an image was asked for."""
    stage, place, number = candidate.split("-")
    begun = [slot for slot in asked if slot.startswith(f"{stage}/{place}/") and slot[-6:] <= number]
    return asked[max(begun)]["prompt"]


def test_several_prompts_for_each_class_reach_the_wire_as_they_stand(client: Client, tmp_path: Path):
    private, prompts = class_folders(tmp_path / "private", seed=1), tmp_path / "prompts.json"
    words = ("--domain", "handwritten mark", "--private", private)
    asked = client("prompts", *words, "--count", "3", "--out", prompts)
    assert asked.returncode == 0, asked.stderr
    written = json.loads(prompts.read_text())
    summary = finished(client, private, tmp_path / "run", method="le", prompts=prompts)
    assert (summary["epsilon_spent"], summary["images_released"]) == (0, 8)
    sent = [event["body"]["text"] for event in events(tmp_path / "run") if event["kind"] == "sent"]
    shares = Counter(json.loads(body)["prompt"] for body in sent if body)
    assert set(shares) == {prompt for own in written.values() for prompt in own}
    stored = json.loads((tmp_path / "run" / "release" / "manifest.json").read_text())["plan"]
    assert stored["prompts"] == [written[label] for label in stored["labels"]]
