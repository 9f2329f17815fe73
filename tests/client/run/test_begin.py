"""Between the options and the first prompt: what a run must have settled before the API hears of it, and with whom."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pcevolve.audit import audit
from pcevolve.cli import main as cli
from pcevolve.egress.transport import HttpTransport
from pcevolve.encoders.frozen import FrozenEncoder
from pcevolve.errors import BudgetError, DataError, EgressError, LedgerError, ProviderError, UsageError
from pcevolve.ledger.ledger import Account, Ledger
from pcevolve.private import views
from pcevolve.private.judge import PrivateJudge
from pcevolve.run.settings import RunSettings
from support import online
from support.provider import png


@pytest.fixture
def run(server, tmp_path, monkeypatch) -> Callable[..., None]:
    """The command, for one small run with two rounds; the ledger's path is relative to the working directory."""
    for seed, label in enumerate(("cut", "good")):
        (tmp_path / "private" / label).mkdir(parents=True)
        (tmp_path / "private" / label / "a.png").write_bytes(png(seed))
    monkeypatch.setenv("PCEVOLVE_API_KEY", online.LOGIN)
    monkeypatch.chdir(tmp_path)
    given = ["--private", tmp_path / "private", "--domain", "scratch", "--method", "pcevolve", "--yes"]
    given += ["--api", server.address, "--dialect", "a1111", "--model", "v1-5", "--patience", "0"]
    given += ["--candidates", "2", "--batch", "2", "--size", "16", "--iterations", "2"]
    given += ["--pad-selection", "0.1"]

    def command(*more: object, out: str = "run", ledger: str | None = "ledger.sqlite") -> None:
        options = ["run", *given, "--out", tmp_path / out, *(["--ledger", ledger] if ledger else []), *more]
        cli.app([str(each) for each in options], standalone_mode=False)

    return command


@pytest.fixture
def events(server, monkeypatch) -> list[str]:
    """What the API hears and what private work is done, in order."""
    seen: list[str] = []

    def noted(name: str, owner: object, method: str) -> None:
        honest = getattr(owner, method)

        def noting(*arguments: object, **named: object) -> object:
            seen.append(name)
            return honest(*arguments, **named)

        monkeypatch.setattr(owner, method, noting)

    noted("request", online.LocalServer, "answer")
    noted("embedding", views.PrivateViews, "_usable")
    noted("appearances", views, "appearances")
    noted("price", Account, "require")
    noted("earlier runs", Account, "spent_before")
    noted("enrolment", Account, "enrol")
    noted("closed", HttpTransport, "close")
    return seen


@pytest.fixture
def cut_off(run, server, tmp_path) -> Path:
    """A run that paid for its first round and then lost its API; ``backup.sqlite`` is its ledger before it paid."""

    def failing(heard: online.Heard) -> online.Reply:
        if heard.path.endswith("img2img"):
            return online.said(500, {"error": "RuntimeError", "errors": "out of memory"})
        if heard.method == "POST":
            shutil.copy(tmp_path / "ledger.sqlite", tmp_path / "backup.sqlite")
        return online.a1111(heard)

    server.speak = failing
    with pytest.raises(ProviderError):
        run()
    server.speak = online.a1111
    return tmp_path / "run"


def test_a_run_that_cannot_be_paid_for_is_refused_before_the_api_hears_of_it(run, server):
    run()
    server.heard.clear()
    with pytest.raises(BudgetError, match="earlier runs already spent epsilon=10 on these data"):
        run(out="second")
    with pytest.raises(LedgerError, match="another neighbour relation: use the same, --relation replace-one"):
        run("--relation", "add-remove", "--lifetime-epsilon", "99", out="third")
    assert server.heard == []
    assert len(Ledger(Path("ledger.sqlite")).runs()) == 1


@pytest.mark.parametrize(
    ("options", "prepared"),
    [
        (("--method", "pcevolve"), {"price", "earlier runs", "embedding"}),
        (
            ("--method", "dp-means", "--appearance", "matched"),
            {"price", "earlier runs", "embedding", "appearances"},
        ),
        (("--method", "random"), {"price"}),
    ],
)
def test_private_images_are_looked_at_and_the_ledger_is_asked_before_the_greeting(
    run, events, options, prepared
):
    run(*options)
    greeting = events.index("request")
    assert set(events[:greeting]) == prepared
    assert "appearances" not in events[greeting:]
    assert "price" not in events[greeting:]
    assert "earlier runs" not in events[greeting:]


def test_a_private_image_that_cannot_be_embedded_stops_a_run_before_the_greeting(run, server, monkeypatch):
    monkeypatch.setattr(FrozenEncoder, "_forward", lambda encoder, pixels: np.nan)
    with pytest.raises(DataError, match="cannot embed a private image"):
        run()
    assert server.heard == []


def test_the_connection_closes_before_the_dataset_is_selected(run, events, monkeypatch):
    honest = PrivateJudge.release
    monkeypatch.setattr(PrivateJudge, "release", lambda *given: events.append("release") or honest(*given))
    run("--method", "dp-means")
    last = len(events) - events[::-1].index("request")
    assert events[last:] == ["closed", "release", "closed"]


def test_a_run_is_enrolled_between_the_greeting_and_the_first_prompt(run, events):
    run()
    assert events[events.index("request") :][:3] == ["request", "enrolment", "request"]


def said_by(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().err.split())


def test_the_owner_is_told_the_tick_before_and_whether_it_was_kept_after(run, capsys):
    run("--pad-selection", "1")
    told = said_by(capsys)
    assert "padded to whole multiples of 1 s (--pad-selection)" in told
    assert re.search(r"Time: the longest private work between two requests took [0-9.e-]+ s of the 1 s", told)
    assert "WARNING: the longest" not in told


def test_the_owner_is_warned_where_a_tick_was_too_short_and_nobody_else_is(run, capsys, tmp_path):
    run("--pad-selection", "0.001")
    told = said_by(capsys)
    assert re.search(
        r"WARNING: the longest private work between two requests took [0-9.]+ s of the 0.001 s that one tick lasts, "
        r"so the provider saw that it was more: give --pad-selection [1-9]\d* next time, or with --resume",
        told,
    )
    for file in (tmp_path / "run").rglob("*"):
        assert file.is_dir() or b"longest private work" not in file.read_bytes()


def test_the_owner_is_told_that_nothing_is_padded_without_a_tick(run, capsys):
    run("--pad-selection", "0")
    told = said_by(capsys)
    assert told.count("not hidden: --pad-selection 0 lets the provider time all private work") == 2


def test_a_run_that_does_not_begin_leaves_nothing_in_the_ledger(run, server):
    server.close()
    with pytest.raises(ProviderError):
        run("--first-contact", "0")
    assert Ledger(Path("ledger.sqlite")).runs() == []


def test_a_run_goes_on_from_another_directory_with_the_ledger_that_it_began_with(
    run, cut_off, tmp_path, monkeypatch
):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    run("--resume", ledger=None)
    assert all(finding.holds for finding in audit(cut_off))
    assert not Path("ledger.sqlite").exists()
    (row,) = Ledger(tmp_path / "ledger.sqlite").runs()
    assert (row.rounds, row.epsilon) == (2, 10.0)


def test_a_run_does_not_go_on_without_its_ledger(run, cut_off, server, tmp_path):
    for half in ("ledger.sqlite", "ledger.key"):
        (tmp_path / half).rename(tmp_path / f"{half}.away")
    server.heard.clear()
    with pytest.raises(LedgerError, match=r"ledger of this run is gone from /.*ledger\.sqlite: restore it"):
        run("--resume")
    assert not (tmp_path / "ledger.sqlite").exists()
    Ledger(tmp_path / "ledger.sqlite").close()
    with pytest.raises(LedgerError, match="does not know this run, which has begun: restore the one"):
        run("--resume")
    assert server.heard == []


def test_a_run_does_not_go_on_with_a_ledger_that_has_forgotten_what_it_paid_for(
    run, server, cut_off, tmp_path
):
    shutil.copy(tmp_path / "backup.sqlite", tmp_path / "ledger.sqlite")
    server.heard.clear()
    with pytest.raises(
        EgressError, match="no receipt for iteration 1: is it the one that the run began with"
    ):
        run("--resume")
    assert server.heard == []


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        (("--epsilon", "3"), "--epsilon is not what this run began with, which was 10"),
        (("--method", "pe"), "--method is not what this run began with, which was pcevolve"),
        (("--image-host", "x.example"), "--image-host is not what this run began with"),
        (
            ("--ledger", "other.sqlite"),
            r"--ledger is not what this run began with, which was /.*ledger\.sqlite",
        ),
    ],
)
def test_a_run_goes_on_with_its_own_options_or_not_at_all(run, server, cut_off, changed, named):
    server.heard.clear()
    with pytest.raises(UsageError, match=named):
        run("--resume", *changed, ledger=None)
    assert server.heard == []
    run("--resume", "--patience", "1", ledger=None)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"epsilonn = 1", "'epsilonn' is not an option; pcevolve run --help lists them"),
        (b"[run]\nepsilon = 3", "'run' is not an option"),
        (b"resume = true", "'resume' is not an option"),
        (b"domain = '\xff'", "cannot be read"),
    ],
)
def test_a_configuration_with_what_is_no_option_is_refused(run, server, tmp_path, content, fault):
    (tmp_path / "run.toml").write_bytes(content)
    with pytest.raises(UsageError, match=fault):
        run("--config", tmp_path / "run.toml")
    assert server.heard == []


def test_a_configuration_gives_what_the_command_line_does_not(run, tmp_path):
    (tmp_path / "run.toml").write_text(
        'epsilon = "3"\niterations = 1\nimage-host = ["a.example"]\nnegative-prompt = "blur"\n'
    )
    run("--config", tmp_path / "run.toml")
    stored = RunSettings.load(tmp_path / "run" / "config.toml")
    assert (stored.epsilon, stored.iterations) == ("3", 2), "flags win"
    assert (stored.image_hosts, stored.negative_prompt) == (("a.example",), "blur")


def test_the_owner_is_told_that_classes_do_not_hold_what_shots_says(run, capsys, tmp_path):
    run()
    assert "your classes hold 1 privacy units each, and --shots says 10" in " ".join(
        capsys.readouterr().err.split()
    )
    for file in (tmp_path / "run" / "transcript").rglob("*"):
        assert file.is_dir() or b"privacy units each" not in file.read_bytes()
    run("--shots", "1", "--lifetime-epsilon", "99", out="second")
    assert "privacy units each" not in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("option", ["--lookahead", "--more"])
def test_what_needs_rounds_is_refused_without_them(run, server, option):
    with pytest.raises(
        UsageError, match="need rounds of variation, which this run has not: give --iterations"
    ):
        run("--method", "t2i", option, "2")
    assert server.heard == []
