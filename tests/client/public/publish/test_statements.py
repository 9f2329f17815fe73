"""What report, wire page and card state for those responsible for the data."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import pytest

from pcevolve.app.cli.commands import app
from pcevolve.auditing import Audit
from pcevolve.public.pages.report.page import write_report
from pcevolve.public.pages.wire.page import render_viewer
from pcevolve.public.parts import LedgerCap, PriorReleases
from pcevolve.public.privacy import Event
from pcevolve.public.publish.statements import list_checks, list_statements
from pcevolve.public.transcript.reader import RunReader
from support.paid import make_paid_run
from support.runs import small_plan

PAID = [Event("exponential", "5")]
EARLIER = PriorReleases(
    releases=1, events=(Event("exponential", "2"),), cap=LedgerCap(epsilon=10, delta=1e-5)
)


def test_a_run_states_its_loss_the_sum_over_the_ledger_and_the_cap_for_a_unit_of_the_whole_folder():
    said = dict(list_statements(small_plan(method="pcevolve", earlier=EARLIER), PAID))
    assert said["Privacy loss of this run"] == "ε 5 for one image of the whole folder, at δ 0"
    assert (
        "in that run and in this run, its total epsilon is at most 7 (delta 0)"
        in said["Privacy loss of all runs in the ledger"]
    )
    assert said["Cap on all runs together"].startswith("ε 10 at δ 1e-05 for any one unit")
    drawn = small_plan(method="pcevolve", earlier=EARLIER, subsample=10)
    said = dict(list_statements(drawn, PAID))
    assert said["Privacy loss of this run"].startswith(
        "ε 10 for one image of the whole folder (5 for one that"
    )
    assert "its total epsilon is at most 12 (" in said["Privacy loss of all runs in the ledger"]


def test_where_there_is_nothing_to_add_the_page_says_so():
    said = dict(list_statements(small_plan(method="pcevolve"), PAID))
    assert (
        "listed no earlier run. The total is therefore the ε of this run"
        in said["Privacy loss of all runs in the ledger"]
    )
    assert said["Cap on all runs together"].startswith("none was set")
    assert dict(list_statements(small_plan(), [Event("uniform")]))["Privacy loss of this run"].startswith(
        "none"
    )
    seeded = dict(list_statements(small_plan(method="pcevolve", noise="INSECURE-seeded"), PAID))
    assert seeded["Privacy loss of this run"].startswith("no guarantee")
    assert "Privacy loss of all runs in the ledger" not in seeded


def test_report_wire_page_and_card_state_the_same_and_name_the_owner_as_the_source(tmp_path: Path):
    plan = small_plan(
        method="pcevolve", earlier=EARLIER, operator="Example <Ltd>", retention="nothing after 30 days"
    )
    run = RunReader.strict(make_paid_run(tmp_path / "run", plan))
    report = unescape(write_report(run).read_text())
    wire = unescape(render_viewer(run, Audit.of(tmp_path / "run").findings).decode())
    for page in (report, wire):
        for title, text in list_statements(plan, run.events):
            assert f"<dt>{title}</dt><dd>{text}</dd>" in page
        for command, _ in list_checks(plan):
            assert f"<code>{command}</code>" in page
    card = (tmp_path / "run" / "release" / "README.md").read_text()
    for page in (report, wire, card):
        assert "Example <Ltd>, as stated by the owner" in page
        assert "nothing after 30 days, as stated by the owner" in page
    bodies = [each.read_bytes() for each in run.layout.bodies.rglob("*") if each.is_file()]
    assert len(bodies) > 4
    assert not any(b"Example" in each for each in bodies), "the provider is not sent what is said of it"
    assert Audit.of(tmp_path / "run").holds


@pytest.mark.parametrize("method", ["pcevolve", "random"])
def test_the_commands_of_a_third_party_run_as_they_stand(tmp_path: Path, method: str):
    make_paid_run(tmp_path / "run", small_plan(method=method))
    commands = [each for each, _ in list_checks(small_plan(method=method)) if each.startswith("pcevolve ")]
    assert sum("audit-dp" in each for each in commands) == (method == "pcevolve")
    plain, *_ = (each for each in commands if each.endswith("--html"))
    app(plain.replace("FOLDER", str(tmp_path / "run")).split()[1:], standalone_mode=False)
    for each in commands:
        if "audit-dp" in each:
            app([*each.split()[1:], "--runs", "100"], standalone_mode=False)
