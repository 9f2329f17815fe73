"""Between the options and the first prompt: what a run must have settled before the API hears of it, and with whom."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pcevolve.auditing import audit
from pcevolve.cli import main as cli
from pcevolve.config.config import RunConfig
from pcevolve.egress.sockets import HttpTransport
from pcevolve.encoders import bundled
from pcevolve.errors import BudgetError, DataError, EgressError, LedgerError, ProviderError
from pcevolve.ledger.ledger import Account, Ledger
from pcevolve.private import judge as views
from pcevolve.private.judge import PrivateJudge
from pcevolve.session import images, texts
from pcevolve.transcript import RunReader
from support import online
from support.provider import png
from support.typed import typed

pytestmark = pytest.mark.system


@pytest.fixture
def run(server, tmp_path, monkeypatch) -> Callable[..., None]:
    """The command, for one small run with two rounds; the ledger's path is relative to the working directory."""
    for seed, label in enumerate(("cut", "good")):
        (tmp_path / "private" / label).mkdir(parents=True)
        (tmp_path / "private" / label / "a.png").write_bytes(png(seed))
    monkeypatch.setenv("PCEVOLVE_API_KEY", online.LOGIN)
    monkeypatch.chdir(tmp_path)
    given = typed(
        **{
            "private": tmp_path / "private",
            "domain": "scratch",
            "method": "pcevolve",
            "yes": True,
            "shots": 1,
        },
        **{"api": server.address, "dialect": "a1111", "model": "v1-5", "patience": 0, "pad_selection": 0.1},
        **{"candidates": 2, "batch": 2, "size": 16, "iterations": 2},
    )

    def command(*more: object, out: str = "run", ledger: str | None = "ledger.sqlite") -> None:
        options = ["run", *given, *typed(out=tmp_path / out, ledger=ledger), *more]
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
    with pytest.raises(BudgetError, match="earlier runs already spent epsilon=10 on these data") as refused:
        run(out="second")
    assert f"spent by {Path('run').absolute()} (" in str(refused.value)
    with pytest.raises(
        LedgerError,
        match=r"another neighbour relation: use the same, --set privacy.relation=replace-one, as .*run \(",
    ):
        run("--set", "privacy.relation=add-remove", "--set", "privacy.lifetime_epsilon=99", out="third")
    assert server.heard == []
    assert len(Ledger(Path("ledger.sqlite")).runs()) == 1


@pytest.mark.parametrize(
    ("options", "prepared"),
    [
        (("--method", "pcevolve"), {"price", "earlier runs", "embedding"}),
        (
            ("--method", "dp-means", "--set", "method.appearance=matched"),
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
    monkeypatch.setattr(bundled, "embed", lambda state, pixels: np.nan)
    with pytest.raises(DataError, match="cannot embed a private image"):
        run()
    assert server.heard == []


def test_the_connection_closes_before_the_dataset_is_selected(run, events, monkeypatch):
    honest = PrivateJudge.release
    monkeypatch.setattr(PrivateJudge, "release", lambda *given: events.append("release") or honest(*given))
    run("--method", "dp-means")
    last = len(events) - events[::-1].index("request")
    assert events[last:] == ["closed", "release", "closed"]


def said_by(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().err.split())


def test_the_owner_is_warned_where_a_tick_was_too_short_and_nobody_else_is(run, capsys, tmp_path):
    run("--set", "privacy.pad_selection=0.001")
    told = said_by(capsys)
    assert re.search(
        r"WARNING: the longest private work between two requests took [0-9.]+ s of the 0.001 s that one tick lasts, "
        r"so the provider saw that it was more: give --set privacy.pad_selection=[1-9]\d* next time, "
        r"or with --resume RUN",
        told,
    )
    for file in (tmp_path / "run").rglob("*"):
        assert file.is_dir() or b"longest private work" not in file.read_bytes()


def test_a_run_that_does_not_begin_leaves_nothing_in_the_ledger(run, server):
    server.close()
    with pytest.raises(ProviderError):
        run("--set", "provider.first_contact=0")
    assert Ledger(Path("ledger.sqlite")).runs() == []


def test_a_run_does_not_go_on_without_its_ledger(run, cut_off, server, tmp_path):
    for half in ("ledger.sqlite", "ledger.key"):
        (tmp_path / half).rename(tmp_path / f"{half}.away")
    server.heard.clear()
    with pytest.raises(LedgerError, match=r"ledger of this run is gone from /.*ledger\.sqlite: restore it"):
        run("--resume", "run")
    assert not (tmp_path / "ledger.sqlite").exists()
    Ledger(tmp_path / "ledger.sqlite").close()
    with pytest.raises(LedgerError, match="does not know this run, which has begun: restore the one"):
        run("--resume", "run")
    assert server.heard == []


def test_a_run_does_not_go_on_with_a_ledger_that_has_forgotten_what_it_paid_for(
    run, server, cut_off, tmp_path
):
    shutil.copy(tmp_path / "backup.sqlite", tmp_path / "ledger.sqlite")
    server.heard.clear()
    with pytest.raises(
        EgressError, match="no receipt for iteration 1: is it the one that the run began with"
    ):
        run("--resume", "run")
    assert server.heard == []


def more_images(root: Path, **extra: int) -> None:
    """Give classes some more images."""
    for place, (label, count) in enumerate(extra.items()):
        for number in range(count):
            (root / label / f"more-{number}.png").write_bytes(png(100 * (place + 1) + number))


def test_a_subsample_is_all_that_is_used_and_charged_and_the_rest_can_be_measured_on(run, capsys, tmp_path):
    more_images(tmp_path / "private", cut=8, good=5)
    run("--shots", "3", "--set", "data.subsample=3", "--test", "rest", "--set", "data.subsample_seed=7")
    (row,) = Ledger(Path("ledger.sqlite")).runs()
    assert (row.units, row.images) == (6, 6)
    assert (tmp_path / "run" / "private" / "evaluation.json").exists()
    card = (tmp_path / "run" / "release" / "README.md").read_text()
    assert (
        "that every class has 3 or more units (image) to draw from, each counted for one class alone" in card
    )
    assert "nominal shots per class: 3" in card
    assert all(finding.holds for finding in audit(tmp_path / "run"))


def test_what_a_subsample_means_for_the_folder_is_computed_and_said_wherever_the_epsilon_is(
    run, capsys, tmp_path
):
    more_images(tmp_path / "private", cut=8, good=5)
    run("--shots", "3", "--set", "data.subsample=3", "--epsilon", "10")
    seen = (
        "Seen from the folder that the private dataset was drawn from, one image bears epsilon <= 20 at delta 0: it "
        "changes up to 2 units of the draw."
    )
    printed = capsys.readouterr()
    assert seen in " ".join(printed.err.split())
    assert "; 20 seen from the folder" in " ".join(printed.out.split())
    assert seen in (tmp_path / "run" / "release" / "README.md").read_text()
    assert seen in " ".join((tmp_path / "run" / "report.html").read_text().split()).replace("&lt;", "<")
    manifest = json.loads((tmp_path / "run" / "release" / "manifest.json").read_text())
    assert (manifest["guarantee"]["epsilon_spent"], manifest["guarantee"]["epsilon_folder"]) == (10, 20)
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["epsilon_folder"] == 20
    manifest["guarantee"]["epsilon_folder"] = 10.0
    (tmp_path / "run" / "release" / "manifest.json").write_text(
        json.dumps(manifest, indent=1, sort_keys=True) + "\n"
    )
    assert "guarantee.epsilon_folder" in str([each.faults for each in audit(tmp_path / "run")])


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--method", "random"),
        ("--method", "pe", "--set", "method.class_counts=true", "--delta", "1e-5"),
        ("--test", "rest"),
    ],
)
@pytest.mark.parametrize(
    ("more", "drawn", "told"),
    [
        (
            (7, 9),
            9,
            "8 (cut) to 10 (good) images each to draw from, and data.subsample says 9: --set data.subsample=8",
        ),
        (
            (2, 2),
            100,
            "3 images each to draw from, and data.subsample says 100: --set data.subsample=3 draws them all",
        ),
    ],
)
def test_a_subsample_of_more_than_a_class_has_is_refused_before_anything_is_spent_or_sent(
    run, server, capsys, tmp_path, more, drawn, told, options
):
    more_images(tmp_path / "private", cut=more[0], good=more[1])
    with pytest.raises(DataError, match=r"give a smaller number, or leave data.subsample out") as refusal:
        run("--set", f"data.subsample={drawn}", "--shots", str(drawn), *options)
    assert told in said_by(capsys)
    assert not any(character.isdigit() for character in str(refusal.value))
    assert (server.heard, (tmp_path / "ledger.sqlite").exists()) == ([], False)


def test_a_subsample_of_all_is_no_statement_about_how_many_there_are(run, tmp_path):
    """What is public of a run on exactly K of each class is what is public of one that drew them out of more."""
    assumed = []
    for out, more in (("all", 2), ("some", 9)):
        more_images(tmp_path / "private", cut=more, good=more)
        run("--set", "data.subsample=3", "--shots", "3", "--set", "privacy.lifetime_epsilon=99", out=out)
        manifest = json.loads((tmp_path / out / "release" / "manifest.json").read_text())
        assumed.append(manifest["guarantee"]["assumed_public"])
    assert assumed[0] == assumed[1]
    assert not any("out of more" in each for each in assumed[0])


def patients(root: Path, **classes: str) -> Path:
    """Two images of each patient in each of the classes named; the map of who is in which."""
    lines = ["file,patient", "cut/a.png,nobody", "good/a.png,nobody"]
    for place, (patient, of) in enumerate(classes.items()):
        for label, number in ((label, number) for label in of.split() for number in range(2)):
            name = f"{label}/{patient}-{number}.png"
            (root / name).write_bytes(png(1000 + 10 * place + 2 * number + (label == "cut")))
            lines.append(f"{name},{patient}")
    (root.parent / "units.csv").write_text("\n".join(lines))
    return root.parent / "units.csv"


def test_the_seed_of_a_subsample_stays_in_the_owners_configuration(run, tmp_path):
    more_images(tmp_path / "private", cut=8, good=8)
    run("--shots", "3", "--set", "data.subsample=3", "--set", "data.subsample_seed=4242424242424242")
    found = {
        file.name
        for file in (tmp_path / "run").rglob("*")
        if file.is_file() and b"4242424242" in file.read_bytes()
    }
    assert found == {"config.toml"}
    assert (tmp_path / "run" / "config.toml").stat().st_mode & 0o777 == 0o600


def test_a_run_that_goes_on_draws_the_same_subsample(run, server, tmp_path):
    more_images(tmp_path / "private", cut=8, good=8)
    server.instead.append(online.said(500, {"error": "RuntimeError", "errors": "out of memory"}))
    with pytest.raises(ProviderError):
        run("--shots", "3", "--set", "data.subsample=3")
    run("--shots", "3", "--resume", "run", ledger=None)
    (row,) = Ledger(Path("ledger.sqlite")).runs()
    assert row.images == 6


def test_a_run_that_goes_on_with_a_folder_in_which_somebody_else_would_be_drawn_is_refused(
    run, server, tmp_path
):
    more_images(tmp_path / "private", cut=4, good=4)
    server.instead.append(online.said(500, {"error": "RuntimeError", "errors": "out of memory"}))
    with pytest.raises(ProviderError):
        run("--shots", "3", "--set", "data.subsample=3")
    more_images(tmp_path / "private", cut=60, good=60)
    server.heard.clear()
    with pytest.raises(LedgerError, match="the private data are not those that this run began with"):
        run("--shots", "3", "--resume", "run", ledger=None)
    assert server.heard == []


def texts_of(path: Path, rows: list[tuple[str, str, str]], **options: object) -> RunConfig:
    """Options of a run on a table of texts, their labels and their patients."""
    path.write_text("\n".join(",".join(row) for row in [("text", "label", "patient"), *rows]))
    common = {"domain": "notes", "api": "http://127.0.0.1:1", "dialect": "chat", "out": path.parent / "out"}
    return RunConfig.of({"private": path, **common, **options})


@pytest.mark.parametrize("kind", ["text", "image"])
def test_no_error_says_which_class_has_nothing_left_to_be_measured_on(tmp_path, kind):
    draw = {"subsample": 2, "shots": 2, "test": "rest"}
    if kind == "text":
        rows = [("one", "flu", ""), ("two", "flu", ""), *((f"{n}", "gout", "") for n in range(5))]
        settings, read = texts_of(tmp_path / "t.csv", rows, **draw), texts.read_run
    else:
        for label, count in (("flu", 2), ("gout", 5)):
            (tmp_path / "private" / label).mkdir(parents=True)
            for number in range(count):
                (tmp_path / "private" / label / f"{number}.png").write_bytes(png(number + 10 * count))
        private, read = str(tmp_path / "private"), images.read_run
        settings = RunConfig.of({"private": private, "domain": "x", "out": tmp_path / "o", **draw})
    with pytest.raises(DataError, match=f"--test rest: a class has no {kind} that was not drawn") as refusal:
        read(settings)
    assert "flu" not in str(refusal.value)


def test_another_window_makes_no_other_data_to_spend_on(run, tmp_path):
    for place, path in enumerate(sorted((tmp_path / "private").rglob("*.png"))):
        values = np.random.default_rng(place).integers(31768, 32828, (16, 16))
        Image.fromarray(values.astype(np.uint16)).save(path)
    with pytest.raises(DataError, match=r"has next to no contrast .* --set data.window=LOW,HIGH"):
        run(out="none")
    run("--set", "data.window=31768,32828")
    assert RunReader.strict(tmp_path / "run").require_plan().window == "31768,32828"
    assert all(finding.holds for finding in audit(tmp_path / "run"))
    with pytest.raises(BudgetError):
        run("--set", "data.window=32000,32828", out="again")
