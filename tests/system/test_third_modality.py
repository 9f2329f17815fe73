"""A third modality runs, is released and audited, and touches the six places that the documents name."""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcevolve.public.transcript.layout import MANIFEST
from support.extending import ExtendedClient
from support.online import Heard, LocalServer, Reply, answer_json
from support.rows import FILES, LINES, PLACES

CENTRES = {"east": (90.0, 90.0), "west": (-90.0, 90.0)}
"""Of the private classes, further out than any answer."""


def speak(heard: Heard) -> Reply:
    """Compute rows all over the plane, and fill blanks."""
    if heard.method == "GET":
        return answer_json(200, {"data": [{"id": "tables"}]})
    asked = json.loads(heard.body)
    drawn = random.Random(asked["seed"])
    _, _, left = asked["prompt"].partition("\n")
    blanks = left.split(",") if left else ["_", "_"]
    rows = [
        ",".join(f"{drawn.uniform(-60, 60):.2f}" if each == "_" else each for each in blanks)
        for _ in range(asked["n"])
    ]
    return answer_json(200, {"rows": rows})


def write_rows(path: Path, seed: int) -> Path:
    """A hundred rows of each class: next to so many votes noise is nothing."""
    drawn = random.Random(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["label", "x", "y"])
        for label, centre in CENTRES.items():
            table.writerows(
                [label, *(f"{each + drawn.gauss(0, 3):.2f}" for each in centre)] for _ in range(100)
            )
    return path


@pytest.fixture(scope="module")
def api() -> Iterator[LocalServer]:
    server = LocalServer(speak)
    yield server
    server.close()


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory, api: LocalServer) -> ExtendedClient:
    root = tmp_path_factory.mktemp("rows")
    client = ExtendedClient(root)
    client.add(FILES, LINES)
    private = write_rows(root / "private.csv", 1)
    client(
        *("run", "--yes", "--private", private, "--dialect", "rows", "--api", api.address),
        *("--model", "tables", "--domain", "point of the plane", "--method", "pe", "--epsilon", 20),
        *(
            "--shots",
            100,
            "--candidates",
            16,
            "--iterations",
            2,
            "--out",
            root / "run",
            "--set",
            "provider.seed=5",
        ),
    )
    return client


def test_rows_are_asked_for_chosen_by_private_rows_and_released(extended: ExtendedClient, api: LocalServer):
    run = extended.root / "run"
    manifest = json.loads((run / "release" / MANIFEST).read_text())
    assert manifest["guarantee"]["unit"] == "row"
    assert manifest["guarantee"]["epsilon_spent"] <= 20
    card = (run / "release" / "README.md").read_text()
    assert "32 synthetic rows in 2 classes" in card
    assert "The dataset contains no private row, and none was sent to the API." in card
    assert "image" not in (run / "report.html").read_text().partition("<main")[2].replace("image/jpeg", "")
    released = [*(run / "release").rglob("*.csv")]
    assert len(released) == 32
    assert all(len(each.read_text().split(",")) == 2 for each in released)
    # What went back of the eastern class lies in the east, for private rows chose it: nearly all, as the seed is of
    # a run whose first candidates lie all over the plane.
    varied = [json.loads(each.body)["prompt"].partition("\n") for each in api.asked]
    known = [
        (asked.split(" ")[-1], float(left.split(",")[0])) for asked, _, left in varied if left[:1] not in "_"
    ]
    right = [(x > 0) == (label == "east") for label, x in known]
    assert len(right) > 10
    assert sum(right) > 0.7 * len(right)


def test_no_private_number_left_and_what_is_varied_went_back_in_its_prompt(
    extended: ExtendedClient, api: LocalServer
):
    sent = b"\n".join(each.body for each in api.asked)
    with (extended.root / "private.csv").open(newline="") as file:
        numbers = {value for row in csv.DictReader(file) for value in (row["x"], row["y"])}
    varied = [json.loads(each.body)["prompt"].partition("\n")[2] for each in api.asked]
    assert sum(map(bool, varied)) > 4
    assert {*re.findall(r"-?[0-9]+\.[0-9]+", sent.decode())} & numbers == set()


def test_private_rows_are_looked_at_before_a_run(extended: ExtendedClient):
    private = extended.root / "private.csv"
    found = json.loads(extended("check", private, "--dialect", "rows", "--shots", 100, "--json"))
    assert (found["fit"], found["found"]) == (True, {"rows": "200"})
    assert "Private rows in" in extended("check", private, "--dialect", "rows", "--shots", 100)


def test_the_audit_runs_it_again_and_a_judge_measures_it(extended: ExtendedClient):
    run, held_out = extended.root / "run", write_rows(extended.root / "held-out.csv", 2)
    assert json.loads(extended("audit", run, "--json"))["holds"]
    found = json.loads(extended("evaluate", run, "--test", held_out, "--judge", "line", "--json"))
    assert found["test_rows"] == 200
    assert [each["judge"] for each in found["judges"]] == ["line"]


def test_it_touches_the_places_that_the_documents_name_and_no_others():
    touched = {place for place in PLACES if any(each.startswith(place) for each in (*FILES, *LINES))}
    assert touched == PLACES
    assert [each for each in (*FILES, *LINES) if not each.startswith(tuple(PLACES))] == []
    page = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.partition("## A third modality")[2].partition("\n## ")[0]
    named = re.findall(r"^- `([^`]+)`", section, re.MULTILINE)
    assert sorted(named) == sorted(PLACES)
    assert len(named) <= 6
