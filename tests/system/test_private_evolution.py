"""Private Evolution's cat experiments: the paper's noise, privacy and variation degrees, down to the bytes on the wire.

Source: Lin et al. 2024, appendix L: noise multiplier 2, 13 iterations, (6.62, 1e-3)-DP under add-remove.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from pcevolve.dp.accountants import epsilon
from pcevolve.privacy import Budget, Event
from pcevolve.selectors.rounds import Scope, gaussian_per_round
from pcevolve.transcript import RunReader
from support.folders import class_folders, events, receipts, released_files
from support.processes import Client

DEGREES = (0.98, 0.96, 0.94, 0.92, 0.90, 0.88, 0.84, 0.8, 0.76, 0.72, 0.68, 0.64, 0.6)
BUDGET = Budget(Fraction("6.62"), 1e-3)


def test_the_paper_s_budget_buys_the_paper_s_noise():
    rounds = gaussian_per_round(BUDGET, Scope("add-remove", len(DEGREES), 2, 10, 100))
    assert epsilon([Event("gaussian", "2", len(DEGREES))], 1e-3) == pytest.approx(6.62, abs=0.005)
    assert [len(events) for events in rounds] == [1] * 13
    assert float(rounds[0][0].value) == pytest.approx(2, abs=0.003)


def test_the_degrees_that_cross_the_wire_are_the_paper_s(client: Client, tmp_path: Path):
    private, out = class_folders(tmp_path / "private", seed=1), tmp_path / "run"
    asked = ["--set", f"method.strengths={','.join(map(str, DEGREES))}"]
    options = client.run_options(
        private, out, method="pe", epsilon="6.62", delta="1e-3", relation="add-remove"
    )
    done = client(*without(options, "--iterations"), *asked)
    assert done.returncode == 0, done.stderr
    plan = RunReader.strict(out).require_plan()
    assert (plan.strengths, plan.iterations) == (DEGREES, 13)
    sent = [json.loads(each["body"]["text"]) for each in events(out) if each.get("method") == "POST"]
    strengths = [body["strength"] for body in sent if "strength" in body]
    assert tuple(dict.fromkeys(strengths)) == DEGREES
    assert json.loads(client("audit", out, "--json").stdout)["holds"]


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (
            ("--set", "method.strength_start=0.9"),
            "each iteration's is given, so there is no first and last one to give",
        ),
        (("--iterations", 3), "method.strengths: 13 are given for 3 iterations"),
    ],
)
def test_two_schedules_are_refused(client: Client, tmp_path: Path, more: tuple[object, ...], complaint: str):
    private, out = class_folders(tmp_path / "private", seed=1), tmp_path / "run"
    asked = ["--set", f"method.strengths={','.join(map(str, DEGREES))}"]
    refused = client(*without(client.run_options(private, out, method="pe"), "--iterations"), *asked, *more)
    assert refused.returncode == 2
    assert complaint in " ".join(refused.stderr.split())
    assert not out.exists()


def without(options: list[object], name: str) -> list[object]:
    at = options.index(name) if name in options else len(options)
    return [*options[:at], *options[at + 2 :]]


def test_unbalanced_data_get_an_unbalanced_dataset_for_a_part_of_the_price(client: Client, tmp_path: Path):
    private, out = class_folders(tmp_path / "private", seed=1, shots=24), tmp_path / "run"
    for image in sorted((private / "type B").iterdir())[6:]:
        image.unlink()
    # At epsilon 30 the noise on the counts, of deviation 1.7, would make 4 images of type B in one run of a hundred.
    options = client.run_options(private, out, method="pe", epsilon="100", candidates=8)
    done = client(
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
    assert done.returncode == 0, done.stderr
    assert sizes(out) == {"type A": 8, "type B": pytest.approx(2, abs=1)}
    first, *_ = receipts(out)
    assert [each["mechanism"] for each in first["events"]] == ["gaussian", "gaussian"]
    card = (out / "release" / "README.md").read_text()
    assert "numbers of privacy units by class are released" in card
    assert "its classes are cut to the proportions of noisy counts" in card
    assert json.loads(client("audit", out, "--json").stdout)["holds"]
    before = set(released_files(out))
    extended = client("extend", out, "--more", 2, "--yes")
    assert extended.returncode == 0, extended.stderr
    assert sizes(out) == {"type A": 24, "type B": pytest.approx(6, abs=3)}
    assert before <= set(released_files(out))
    assert json.loads(client("audit", out, "--json").stdout)["holds"]


def sizes(run: Path) -> dict[str, int]:
    return {label: len(list((run / "release" / label).glob("*.png"))) for label in ("type A", "type B")}


@pytest.mark.parametrize(
    ("method", "option", "complaint"),
    [
        (
            "pe",
            ("--set", "method.tau=3"),
            "method.tau: only pcevolve has it",
        ),
        (
            "dp-means",
            ("--set", "method.votes=3"),
            "method.votes: only aug-pe, pe has it",
        ),
        (
            "pcevolve",
            (
                "--set",
                "method.class_counts=true",
            ),
            "method.class_counts: only pe has it",
        ),
        (
            "pe",
            ("--set", "method.threshold_end=1"),
            "method.threshold_end: it is where the threshold goes to",
        ),
    ],
)
def test_an_option_that_the_method_would_not_look_at_is_refused(
    client: Client, tmp_path: Path, method: str, option: tuple[object, ...], complaint: str
):
    private, out = class_folders(tmp_path / "private", seed=1), tmp_path / "run"
    refused = client(*client.run_options(private, out, method=method), *option)
    assert refused.returncode == 2
    assert complaint in " ".join(refused.stderr.split())
