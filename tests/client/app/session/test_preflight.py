"""Between the options and the first prompt: what a run must have settled before the API hears of it, and with whom."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pcevolve.app.cli import commands as cli
from pcevolve.auditing import audit
from pcevolve.errors import BudgetError, DataError, LedgerError, ProviderError
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.keeper.ledger.ledger import Account
from pcevolve.keeper.private import judge as views
from pcevolve.public.encoders import bundled
from support import online
from support.accounts import set_cap
from support.provider import png

pytestmark = pytest.mark.system
NUMBERS: dict[str, int] = {}


@pytest.fixture
def events(server, monkeypatch) -> list[str]:
    """Everything the API hears and all private work, in order."""
    seen: list[str] = []

    def note(name: str, owner: object, method: str) -> None:
        honest = getattr(owner, method)

        def noting(*arguments: object, **named: object) -> object:
            seen.append(name)
            return honest(*arguments, **named)

        monkeypatch.setattr(owner, method, noting)

    note("request", online.LocalServer, "answer")
    note("embedding", views.PrivateViews, "_usable")
    note("appearances", views, "measure_appearances")
    note("price", Account, "require")
    note("earlier runs", Account, "compute_spent_before")
    note("enrolment", Account, "enrol")
    return seen


@pytest.fixture
def cut_off(run, server, tmp_path) -> Path:
    """A run that paid for its first round and then lost its API."""

    def failing(heard: online.Heard) -> online.Reply:
        if heard.path.endswith("img2img"):
            return online.answer_json(500, {"error": "RuntimeError", "errors": "out of memory"})
        return online.a1111(heard)

    server.speak = failing
    with pytest.raises(ProviderError):
        run()
    server.speak = online.a1111
    server.heard.clear()
    return tmp_path / "run"


@pytest.fixture
def folder(tmp_path) -> Callable[..., Path]:
    """A folder of private images: keywords are classes, words name images; the same word, the same image."""

    def make(name: str, **classes: str) -> Path:
        for label, words in classes.items():
            (tmp_path / name / label).mkdir(parents=True)
            for word in words.split():
                number = NUMBERS.setdefault(word, 500 + len(NUMBERS))
                (tmp_path / name / label / f"{word}.png").write_bytes(png(number))
        return tmp_path / name

    return make


@pytest.mark.parametrize(
    ("options", "prepared"),
    [
        ({}, {"earlier runs", "embedding"}),
        ({"method": "dp-means", "appearance": "matched"}, {"earlier runs", "embedding", "appearances"}),
        ({"method": "random"}, set()),
    ],
)
def test_private_images_are_looked_at_and_the_ledger_is_asked_before_the_greeting(
    run, events, options, prepared
):
    run(**options)
    greeting = events.index("request")
    assert set(events[:greeting]) == {"price", *prepared}
    assert not {"appearances", "earlier runs"} & set(events[greeting:])
    # The ledger once more, in whole ticks, for what it learned while the owner was asked.
    assert events[greeting:].count("price") == 1
    assert events[greeting:].index("price") < events[greeting:].index("enrolment")


def test_a_private_image_that_cannot_be_embedded_stops_a_run_before_the_greeting(run, server, monkeypatch):
    monkeypatch.setattr(bundled, "embed", lambda state, pixels: np.nan)
    with pytest.raises(DataError, match="cannot embed a private image"):
        run()
    assert server.heard == []


def test_the_owner_is_warned_where_a_tick_was_too_short_and_nobody_else_is(run, capsys):
    root = run(pad_selection=0.001)
    assert re.search(
        r"WARNING: the longest private work between two requests took [0-9.]+ s of the 0.001 s to which it is padded, "
        r"so the provider could observe the longer time: give --set privacy.pad_selection=[1-9]\d* next time",
        " ".join(capsys.readouterr().err.split()),
    )
    for file in root.rglob("*"):
        assert file.is_dir() or b"longest private work" not in file.read_bytes()


def test_a_run_that_cannot_be_paid_for_is_refused_before_the_api_hears_of_it(run, server):
    run()
    server.heard.clear()
    with pytest.raises(
        BudgetError,
        match="earlier runs have already spent epsilon=10 on the most exposed image of these data",
    ) as refused:
        run(out="second")
    assert f"earlier runs are {Path('run').absolute()} (" in str(refused.value)
    with pytest.raises(
        LedgerError,
        match=r"a different neighbour relation: use the same relation, --set privacy.relation=replace-one, as .*run \(",
    ):
        run(relation="add-remove", out="third")
    assert server.heard == []
    assert len(LedgerBook(Path("ledger/ledger.sqlite")).runs()) == 1


def test_a_run_does_not_go_on_without_its_ledger(run, cut_off, server, tmp_path):
    for half in ("ledger/ledger.sqlite", "ledger/ledger.key"):
        (tmp_path / half).rename(tmp_path / f"{half}.away")
    with pytest.raises(LedgerError, match=r"ledger of this run is gone from /.*ledger\.sqlite: restore it"):
        run("--resume", "run")
    assert not (tmp_path / "ledger" / "ledger.sqlite").exists()
    LedgerBook(tmp_path / "ledger" / "ledger.sqlite").close()
    with pytest.raises(LedgerError, match="does not contain the run in run: restore the ledger"):
        run("--resume", "run")
    assert server.heard == []


def show_runs(capsys, *more: str) -> str:
    capsys.readouterr()
    cli.app(["budget", "show", "--ledger", "ledger/ledger.sqlite", *more], standalone_mode=False)
    return capsys.readouterr().out


def test_names_of_units_have_a_source_only_where_units_have_names(run, folder, command, words, tmp_path):
    refused = command(*words("--set", "data.unit_namespace=ward"))
    assert refused.code == 2
    assert "data.unit_namespace says whose names the units have: give --unit-map" in refused.said
    assert command(*words("--set", "data.unit_namespace=a\tb", unit_map="units.csv")).code == 2
    (tmp_path / "units.csv").write_text("file,patient\ncut/a.png,p\ngood/x.png,q\n")
    root = run(
        "--set",
        "data.unit_namespace=St. Mary",
        private=folder("all", cut="a", good="x"),
        unit_map="units.csv",
    )
    shared = [each.read_bytes() for each in root.rglob("*") if each.is_file()]
    assert not any(b"St. Mary" in each for each in shared)
    assert b"St. Mary" not in Path("ledger/ledger.sqlite").read_bytes()
    assert "the owner's claim that no patient here" in (root / "release" / "README.md").read_text()
    assert all(finding.holds for finding in audit(root))


def test_a_run_with_noise_does_not_follow_one_without(run, server, capsys):
    half = {"epsilon": 3, "iterations": 1}
    set_cap(Path("ledger/ledger.sqlite"), 6)
    seeded = run(out="seeded", insecure_noise_seed=1, **half)
    assert json.loads((seeded / "summary.json").read_text())["epsilon_spent"] is None
    assert ">Privacy loss ε, cumulative<" not in (seeded / "report.html").read_text()
    server.heard.clear()
    with pytest.raises(BudgetError, match="an INSECURE run used these data"):
        run(out="honest", **half)
    assert server.heard == []
    knowing = run(out="knowing", forget_insecure=True, **half)
    for name in ("release/README.md", "report.html", "summary.json"):
        told = (knowing / name).read_text()
        assert "INSECURE runs on the same data are left out of the account" in told, name
    assert all(finding.holds for finding in audit(knowing))
    rows = json.loads(show_runs(capsys, "--json"))
    assert [(row["noise"], row["epsilon"]) for row in rows] == [("INSECURE", None), ("os-csprng", 3.0)]
    assert "INSECURE" in show_runs(capsys)


def test_a_run_that_goes_on_keeps_what_it_said_of_earlier_ones(run, folder, server, request):
    run(private=folder("g", cut="r", good="s"), out="first", iterations=1)
    cut_off = {"private": folder("h", cut="t", good="tt"), "out": "cut off", "iterations": 1}
    request.getfixturevalue("broken_img2img")
    with pytest.raises(ProviderError):
        run(**cut_off)
    server.speak = online.a1111
    run(private=folder("k", cut="ttt", good="tttt"), out="between", iterations=1)
    out = run("--resume", "cut off", **cut_off)
    assert "listed 1 earlier run" in (out / "release" / "README.md").read_text()
    assert all(finding.holds for finding in audit(out))


def test_a_container_without_a_volume_for_its_ledger_runs_nothing(run, monkeypatch, tmp_path):
    monkeypatch.setenv("PCEVOLVE_LEDGER_VOLUME", str(tmp_path))
    with pytest.raises(
        LedgerError, match="is not a volume, so the ledger, which records what was spent, would be lost"
    ):
        run(out="gone")
    monkeypatch.setenv("PCEVOLVE_LEDGER_VOLUME", "/proc")
    with pytest.raises(LedgerError, match="is not on the volume /proc and may be lost"):
        run(out="elsewhere")
    assert not (tmp_path / "gone").exists() or not (tmp_path / "gone" / "release").exists()
    monkeypatch.setenv("PCEVOLVE_LEDGER_VOLUME", "/")
    run(out="kept")
