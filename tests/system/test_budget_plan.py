"""``pcevolve budget plan`` as a person runs it: a real process, no API, nothing spent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.forkserver import ForkServer
from support.processes import Client


@pytest.fixture
def client(tmp_path: Path, forks: ForkServer) -> Client:
    """The command line alone: a plan needs no API."""
    return Client(tmp_path, "http://127.0.0.1:9", forks)


def planned(client: Client, *options: object) -> dict[str, object]:
    process = client("budget", "plan", *options, "--json")
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def complaint(client: Client, *options: object) -> str:
    """The refusal, as one line whatever box it is drawn in."""
    process = client("budget", "plan", *options)
    assert process.returncode == 2, process.stderr
    assert process.stdout == ""
    assert "Traceback" not in process.stderr
    return " ".join(process.stderr.replace("│", " ").split())


def test_what_a_guess_at_a_listed_secret_is_worth_is_told_before_anything_is_spent(client):
    options = ("--method", "secpe", "--shots", 90, "--candidates", 40, "--secret-size", 3)
    secrets = planned(client, *options, "--secret-bound", "2e-4")["secrets"]
    assert list(secrets["success"]) == ["1e-06", "1e-05", "0.0001", "0.001", "0.01", "0.1"]
    assert secrets["success"]["0.0001"] == pytest.approx(2e-4)
    assert secrets["success"]["0.1"] == pytest.approx(0.1351, abs=5e-5)
    assert (secrets["mu"], secrets["cells"]) == (pytest.approx(0.178933, abs=5e-7), 12)
    shown = " ".join(client("budget", "plan", *options).stdout.replace("│", " ").split())
    assert "0.001 where it was 1e-4" in shown
    assert "3 texts at most, which count 0.105 of a vote each" in shown
    assert planned(client, "--method", "pe")["secrets"] is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "--method must be given: --help says more"),
        (("--method", "magic"), "unknown method 'magic': choose one of aug-pe, auto,"),
        (("--method", "pe", "--epsilon", "1", "--noise-multiplier", "2"), "give one of them"),
        (("--method", "pe", "--epsilon", "0"), "epsilon must be a finite number above 0"),
        (("--method", "pe", "--epsilon", "inf"), "epsilon must be a finite number above 0"),
        (("--method", "pe", "--epsilon", "1e999999999"), "epsilon must be a finite number above 0"),
        (("--method", "pe", "--noise-multiplier", "nan"), "noise-multiplier must be a finite number above 0"),
        (("--method", "jvem", "--noise-multiplier", "2"), "adds no Gaussian noise: give --epsilon"),
        (("--method", "auto", "--noise-multiplier", "2"), "name a method"),
        (("--method", "pe", "--delta", "0"), "needs --delta, for example --delta 1e-5"),
        (("--method", "pe", "--delta", "1"), "delta must be at least 0 and below 1"),
        (("--method", "pe", "--delta", "nan"), "delta must be at least 0 and below 1"),
        (("--method", "jvem", "--calibration", "published"), "has only one calibration"),
        (("--method", "pe", "--relation", "twins"), "--relation"),
        (("--method", "pe", "--iterations", "0"), "--iterations"),
        (("--method", "pe", "--classes", "1001"), "--classes"),
        (("--method", "pe", "--shots", "0"), "--shots"),
        (("--method", "pe", "--candidates", "1000001"), "--candidates"),
        (("--method", "pe", "--secret-size", "3"), "--secret-size means nothing to method 'pe'"),
        (
            ("--method", "secpe", "--secret-bound", "1e-5"),
            "method.secret_bound must not be below method.secret_prior",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused_in_plain_words(client, options, words):
    assert words in complaint(client, *options)


def test_a_plan_touches_neither_ledger_nor_torch(client, tmp_path):
    planned(client, "--method", "jvem")
    assert list(tmp_path.iterdir()) == []
    code = (
        "import sys; from pcevolve.cli.main import app; "
        "app(['budget', 'plan', '--method', 'jvem', '--json'], standalone_mode=False); "
        "assert 'torch' not in sys.modules and 'opendp' not in sys.modules"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert process.returncode == 0, process.stderr
