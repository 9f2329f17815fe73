"""``pcevolve budget show``, ``history`` and ``export``, as a person runs them."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from pcevolve.keeper.ledger.ledger import Ledger
from pcevolve.public.dp.accountants import epsilon
from pcevolve.public.privacy import Event
from support.accounts import ONE, budget, outcome, patients, query
from support.processes import Client

PATIENTS = patients(p1=[b"1", b"2"], p2=[b"3"], p3=[b"4"])
NOISE = Event("gaussian", "1234567890123/400000000000", 2)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Two runs on the same patients: one pure, one with Gaussian noise; the clock went back in between."""
    path = tmp_path / "data" / "ledger.sqlite"
    times = iter((1.8e9, 1.8e9, 4e18, 0.0, 60.0))
    with closing(Ledger(path, clock=lambda: next(times))) as book:
        first = book.account("first", PATIENTS, "replace-one", budget(8), "patient").enrol()
        for number in (1, 2):
            first.pay(query(number, "first"), [ONE], outcome("x", b"noised sums"))
        second = book.account("second", PATIENTS, "replace-one", budget(12, 1e-5), "patient").enrol()
        second.pay(query(1, "second"), [NOISE], outcome("y"))
    return path


def test_show_lists_every_run_with_its_unit_and_what_it_spent(alone, ledger):
    rows = json.loads(alone("budget", "show", "--ledger", ledger, "--json").stdout)
    told = ("run_id", "unit", "units", "images", "named", "noise", "releases")
    assert [tuple(row[name] for name in told) for row in rows] == [
        ("first", "patient", 3, 4, True, "os-csprng", 2),
        ("second", "patient", 3, 4, True, "os-csprng", 1),
    ]
    assert [row["epsilon"] for row in rows] == [2.0, epsilon([NOISE], 1e-5)]
    assert [row["delta"] for row in rows] == [0.0, 1e-5]
    table = alone("budget", "show", "--ledger", ledger).stdout
    assert all(
        word in table
        for word in ("Privacy ledger", "first", "second", "3 (unit: patient)", "replace-one", "1e-05")
    )
    together = f"{epsilon([ONE, ONE, NOISE], 1e-5):.4f}"[:4]
    assert f"all runs together have spent epsilon {together}" in table
    assert "on the most exposed patient" in table
    assert "membership inference detects at most" in table


def test_history_lists_every_access_with_the_running_epsilon(alone, ledger):
    rows = json.loads(alone("budget", "history", "--ledger", ledger, "--json").stdout)
    assert [
        (row["number"], row["run_id"], row["iteration"], row["mechanism"], row["count"]) for row in rows
    ] == [
        (2, "first", 1, "exponential", 1),
        (3, "first", 2, "exponential", 1),
        (5, "second", 1, "gaussian", 2),
    ]
    assert [row["epsilon"] for row in rows] == [1.0, 2.0, epsilon([NOISE], 1e-5)]
    assert rows[2]["parameter"] == NOISE.parameter


def test_an_export_lets_an_accountant_elsewhere_recompute_and_holds_nothing_private(alone, ledger, tmp_path):
    shown = alone("budget", "export", "--ledger", ledger).stdout
    alone.succeed("budget", "export", "--ledger", ledger, "--out", tmp_path / "all.json")
    assert json.loads((tmp_path / "all.json").read_text()) == json.loads(shown)
    second = json.loads(shown)["runs"][1]
    events = [Event(**each) for receipt in second["receipts"] for each in receipt["events"]]
    assert epsilon(events, second["budget"]["delta"]) == second["epsilon"]["gdp"]
    assert second["epsilon"]["pure"] is None
    with closing(sqlite3.connect(ledger)) as db:
        blob = db.execute("SELECT private FROM rows WHERE name = ''").fetchone()[0]
    prints = [blob[start : start + 32].hex() for start in range(0, 4 * 32, 32)]
    assert not any(each in shown for each in [*prints, "noised sums", b"noised sums".hex(), '"units"'])


def test_an_export_overwrites_nothing(alone, ledger, tmp_path):
    (tmp_path / "all.json").write_text("mine")
    done = alone("budget", "export", "--ledger", ledger, "--out", tmp_path / "all.json")
    assert (done.returncode, (tmp_path / "all.json").read_text()) == (2, "mine")
    assert done.stderr.startswith("error: cannot write")


def test_a_ledger_that_is_not_there_cannot_be_exported_and_is_not_made(alone, tmp_path):
    done = alone("budget", "export", "--ledger", tmp_path / "none.sqlite")
    assert done.returncode == 4
    assert done.stderr.startswith("error: there is no ledger yet at")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "none.sqlite").exists()


@pytest.mark.parametrize("command", ["show", "history", "export"])
def test_a_damaged_ledger_is_one_clear_line_and_is_left_alone(alone, ledger, command):
    data = ledger.read_bytes().replace(b'"parameter": "1"', b'"parameter": "0"')
    ledger.write_bytes(data)
    done = alone("budget", command, "--ledger", ledger)
    assert done.returncode == 4
    assert "is damaged" in done.stderr
    assert done.stderr.count("\n") == 1
    assert ledger.read_bytes() == data


def test_a_ledger_can_be_read_while_a_run_is_drawing(alone, ledger):
    with closing(Ledger(ledger)) as book:
        mine = book.account("first", PATIENTS, "replace-one", budget(8, 1e-5), "patient").enrol()
        shown = []

        def draw():
            shown.append(alone("budget", "show", "--ledger", ledger, "--json"))
            return outcome("z")()

        mine.pay(query(3, "first"), [ONE], draw)
    assert [row["releases"] for row in json.loads(shown[0].stdout)] == [2, 1]


def plan(alone: Client, *options: object) -> dict[str, object]:
    process = alone.succeed("budget", "plan", *options, "--json")
    return json.loads(process.stdout)


def complaint(alone: Client, *options: object) -> str:
    """The refusal, as one line whatever box it is drawn in."""
    process = alone("budget", "plan", *options)
    assert process.returncode == 2, process.stderr
    assert process.stdout == ""
    assert "Traceback" not in process.stderr
    return " ".join(process.stderr.replace("│", " ").split())


def test_what_a_guess_at_a_listed_secret_is_worth_is_told_before_anything_is_spent(alone):
    options = ("--method", "secpe", "--shots", 90, "--candidates", 40, "--secret-size", 3)
    secrets = plan(alone, *options, "--secret-bound", "2e-4")["secrets"]
    assert list(secrets["success"]) == ["1e-06", "1e-05", "0.0001", "0.001", "0.01", "0.1"]
    assert secrets["success"]["0.0001"] == pytest.approx(2e-4)
    assert secrets["success"]["0.1"] == pytest.approx(0.1351, abs=5e-5)
    assert (secrets["mu"], secrets["cells"]) == (pytest.approx(0.178933, abs=5e-7), 12)
    shown = " ".join(alone("budget", "plan", *options).stdout.replace("│", " ").split())
    assert "0.001 where it was 1e-4" in shown
    assert "at most 3 texts, each of which counts 0.105 of a vote" in shown
    assert plan(alone, "--method", "pe")["secrets"] is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "--method must be given: see --help"),
        (("--method", "pe", "--epsilon", "1", "--noise-multiplier", "2"), "give only one of them"),
        (("--method", "pe", "--epsilon", "1e999999999"), "epsilon must be a finite number above 0"),
        (("--method", "pe", "--noise-multiplier", "nan"), "noise-multiplier must be a finite number above 0"),
        (("--method", "jvem", "--noise-multiplier", "2"), "adds no Gaussian noise: give --epsilon"),
        (("--method", "auto", "--noise-multiplier", "2"), "give the name of a method"),
        (("--method", "pe", "--delta", "0"), "needs --delta, for example --delta 1e-5"),
        (("--method", "pe", "--delta", "1"), "delta must be at least 0 and below 1"),
        (("--method", "pe", "--relation", "twins"), "--relation"),
        (("--method", "pe", "--iterations", "0"), "--iterations"),
        (("--method", "pe", "--classes", "1001"), "--classes"),
        (("--method", "pe", "--shots", "0"), "--shots"),
        (("--method", "pe", "--candidates", "1000001"), "--candidates"),
        (("--method", "pe", "--secret-size", "3"), "--secret-size has no effect with method 'pe'"),
        (
            ("--method", "secpe", "--secret-bound", "1e-5"),
            "method.secret_bound must not be below method.secret_prior",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused_in_plain_words(alone, options, words):
    assert words in complaint(alone, *options)


def test_a_plan_touches_neither_ledger_nor_torch(alone, tmp_path):
    plan(alone, "--method", "jvem")
    assert list(tmp_path.iterdir()) == []
    code = (
        "import sys; from pcevolve.app.cli.commands import app; "
        "app(['budget', 'plan', '--method', 'jvem', '--json'], standalone_mode=False); "
        "assert 'torch' not in sys.modules and 'opendp' not in sys.modules"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert process.returncode == 0, process.stderr
