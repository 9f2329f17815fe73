"""Private Evolution's cat experiments: the paper's noise, privacy and variation degrees, down to the bytes on the wire.

Source: Lin et al. 2024, appendix L: noise multiplier 2, 13 iterations, (6.62, 1e-3)-DP under add-remove.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pcevolve.public.transcript.reader import RunReader
from support.folders import class_folders, events, receipts
from support.processes import Client

DEGREES = (0.98, 0.96, 0.94, 0.92, 0.90, 0.88, 0.84, 0.8, 0.76, 0.72, 0.68, 0.64, 0.6)


def test_the_degrees_that_cross_the_wire_are_the_paper_s(client: Client, tmp_path: Path):
    private, out = class_folders(tmp_path / "private", seed=1), tmp_path / "run"
    asked = ["--set", f"method.strengths={','.join(map(str, DEGREES))}"]
    options = client.run_options(
        private, out, method="pe", epsilon="6.62", delta="1e-3", relation="add-remove"
    )
    client.succeed(*without(options, "--iterations"), *asked)
    plan = RunReader.strict(out).require_plan()
    assert (plan.method.strengths, plan.method.iterations) == (DEGREES, 13)
    sent = [json.loads(each["body"]["text"]) for each in events(out) if each.get("method") == "POST"]
    strengths = [body["strength"] for body in sent if "strength" in body]
    assert tuple(dict.fromkeys(strengths)) == DEGREES
    assert json.loads(client("audit", out, "--json").stdout)["holds"]


def without(options: list[object], name: str) -> list[object]:
    at = options.index(name) if name in options else len(options)
    return [*options[:at], *options[at + 2 :]]


def test_unbalanced_data_get_an_unbalanced_dataset_for_a_part_of_the_price(client: Client, tmp_path: Path):
    private, out = class_folders(tmp_path / "private", seed=1, shots=24), tmp_path / "run"
    for image in sorted((private / "type B").iterdir())[6:]:
        image.unlink()
    # At epsilon 30 the noise on the counts, of deviation 1.7, would make 4 images of type B in one run of a hundred.
    options = client.run_options(private, out, method="pe", epsilon="100", candidates=8)
    client.succeed(
        *options,
        "--set",
        "method.class_counts=true",
        "--set",
        "method.votes=2",
        "--set",
        "method.threshold=2",
        "--set",
        "method.threshold_end=0",
        "--yes",
    )
    assert sizes(out) == {"type A": 8, "type B": pytest.approx(2, abs=1)}
    first, *_ = receipts(out)
    assert [each["mechanism"] for each in first["events"]] == ["gaussian", "gaussian"]
    card = (out / "release" / "README.md").read_text()
    assert "also releases the number of privacy units in each class" in card
    assert "Its classes were cut to the proportions of released noisy counts" in card
    assert json.loads(client("audit", out, "--json").stdout)["holds"]


def sizes(run: Path) -> dict[str, int]:
    return {label: len(list((run / "release" / label).glob("*.png"))) for label in ("type A", "type B")}
