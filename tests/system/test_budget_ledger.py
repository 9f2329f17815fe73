"""``pcevolve budget show``, ``history`` and ``export``, as a person runs them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pcevolve.dp.accountants import epsilon
from pcevolve.ledger.ledger import Ledger
from pcevolve.privacy import Event
from support.accounts import ONE, budget, outcome, patients, query
from support.forkserver import ForkServer
from support.processes import Client

PATIENTS = patients(p1=[b"1", b"2"], p2=[b"3"], p3=[b"4"])
NOISE = Event("gaussian", "1234567890123/400000000000", 2)


@pytest.fixture
def client(tmp_path: Path, forks: ForkServer) -> Client:
    """The command line alone: these commands need no API."""
    return Client(tmp_path, "http://127.0.0.1:9", forks)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Two runs on the same patients: one pure, one with Gaussian noise; the clock went back in between."""
    path = tmp_path / "data" / "ledger.sqlite"
    times = iter((1.8e9, 1.8e9, 4e18, 0.0, 60.0))
    with closing(Ledger(path, clock=lambda: next(times))) as book:
        first = book.account("first", PATIENTS, "replace-one", budget(8, 20), "patient").enrol()
        for number in (1, 2):
            first.pay(query(number, "first"), [ONE], outcome("x", b"noised sums"))
        second = book.account("second", PATIENTS, "replace-one", budget(12, 20, 1e-5), "patient").enrol()
        second.pay(query(1, "second"), [NOISE], outcome("y"))
    return path


def test_show_lists_every_run_with_its_unit_and_what_it_spent(client, ledger):
    rows = json.loads(client("budget", "show", "--ledger", ledger, "--json").stdout)
    told = ("run_id", "unit", "units", "images", "named", "noise", "rounds", "draws")
    assert [tuple(row[name] for name in told) for row in rows] == [
        ("first", "patient", 3, 4, True, "os-csprng", 2, 2),
        ("second", "patient", 3, 4, True, "os-csprng", 1, 2),
    ]
    assert [row["epsilon"] for row in rows] == [2.0, epsilon([NOISE], 1e-5)]
    assert [row["delta"] for row in rows] == [0.0, 1e-5]
    table = client("budget", "show", "--ledger", ledger).stdout
    assert all(
        word in table
        for word in ("Privacy ledger", "first", "second", "3 by patient", "replace-one", "1e-05")
    )


def test_history_lists_every_access_with_the_running_epsilon(client, ledger):
    rows = json.loads(client("budget", "history", "--ledger", ledger, "--json").stdout)
    assert [
        (row["number"], row["run_id"], row["iteration"], row["mechanism"], row["count"]) for row in rows
    ] == [
        (2, "first", 1, "exponential", 1),
        (3, "first", 2, "exponential", 1),
        (5, "second", 1, "gaussian", 2),
    ]
    assert [row["epsilon"] for row in rows] == [1.0, 2.0, epsilon([NOISE], 1e-5)]
    assert rows[2]["parameter"] == NOISE.parameter


def test_an_export_lets_an_accountant_elsewhere_recompute_and_holds_nothing_private(client, ledger, tmp_path):
    shown = client("budget", "export", "--ledger", ledger).stdout
    assert client("budget", "export", "--ledger", ledger, "--out", tmp_path / "all.json").returncode == 0
    assert json.loads((tmp_path / "all.json").read_text()) == json.loads(shown)
    second = json.loads(shown)["runs"][1]
    events = [Event(**each) for receipt in second["receipts"] for each in receipt["events"]]
    assert epsilon(events, second["budget"]["delta"]) == second["epsilon"]["gdp"]
    assert second["epsilon"]["pure"] is None
    with closing(sqlite3.connect(ledger)) as db:
        blob = db.execute("SELECT private FROM rows WHERE name = ''").fetchone()[0]
    prints = [blob[start : start + 32].hex() for start in range(0, 4 * 32, 32)]
    assert not any(each in shown for each in [*prints, "noised sums", b"noised sums".hex(), '"units"'])


def test_an_export_overwrites_nothing(client, ledger, tmp_path):
    (tmp_path / "all.json").write_text("mine")
    done = client("budget", "export", "--ledger", ledger, "--out", tmp_path / "all.json")
    assert (done.returncode, (tmp_path / "all.json").read_text()) == (2, "mine")
    assert done.stderr.startswith("error: cannot write")


@pytest.mark.parametrize("command", ["show", "history", "export"])
def test_a_ledger_that_is_not_there_is_one_clear_line(client, tmp_path, command):
    done = client("budget", command, "--ledger", tmp_path / "none.sqlite")
    assert done.returncode == 4
    assert done.stderr.startswith("error: there is no ledger at")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "none.sqlite").exists()


@pytest.mark.parametrize("command", ["show", "history", "export"])
def test_a_damaged_ledger_is_one_clear_line_and_is_left_alone(client, ledger, command):
    data = ledger.read_bytes().replace(b'"parameter": "1"', b'"parameter": "0"')
    ledger.write_bytes(data)
    done = client("budget", command, "--ledger", ledger)
    assert done.returncode == 4
    assert "is damaged" in done.stderr
    assert done.stderr.count("\n") == 1
    assert ledger.read_bytes() == data


def test_a_ledger_can_be_read_while_a_run_is_drawing(client, ledger):
    with closing(Ledger(ledger)) as book:
        mine = book.account("first", PATIENTS, "replace-one", budget(8, 20, 1e-5), "patient").enrol()
        shown = []

        def draw():
            shown.append(client("budget", "show", "--ledger", ledger, "--json"))
            return outcome("z")()

        mine.pay(query(3, "first"), [ONE], draw)
    assert [row["draws"] for row in json.loads(shown[0].stdout)] == [2, 2]
