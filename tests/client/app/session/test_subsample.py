"""A subsample of the private data: what is drawn is all that is used and charged, and nothing tells what was there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import pcevolve
from pcevolve.app.cli.main import main
from pcevolve.auditing import Audit, audit
from pcevolve.errors import DataError, LedgerError, ProviderError
from pcevolve.keeper.finished.comparison import list_facts, read_runs
from pcevolve.keeper.kind import read_run
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.public.config.config import RunConfig
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.wire.console import describe_begun
from support import online
from support.accounts import set_cap
from support.provider import png

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("few_steps")]
THREE = {"subsample": 3, "shots": 3}


@pytest.fixture
def more(given, tmp_path):
    """Gives classes some more images."""

    def add(**extra: int) -> None:
        for place, (label, count) in enumerate(extra.items()):
            for number in range(count):
                path = tmp_path / "private" / label / f"more-{number}.png"
                path.write_bytes(png(100 * (place + 1) + number))

    return add


@pytest.fixture
def fails_once(server) -> None:
    server.instead.append(online.answer_json(500, {"error": "RuntimeError", "errors": "out of memory"}))


def flat(text: str) -> str:
    return " ".join(text.split())


def squeeze(table: str) -> str:
    """A table's words, without its lines."""
    return " ".join(re.sub(r"[│┃─━┏┓┗┛┡┩└┘├┤┬┴┼╇╈]", " ", table).split())


def manifest(root: Path) -> dict:
    return json.loads((root / "release" / "manifest.json").read_text())


def test_it_is_all_that_is_used_and_charged_and_the_rest_can_be_measured_on(run, more):
    more(cut=8, good=5)
    root = run(**THREE, test="rest", subsample_seed=4242424242424242)
    (row,) = LedgerBook(Path("ledger/ledger.sqlite")).runs()
    assert (row.units, row.images) == (6, 6)
    again = {"subsample_seed": 4242424242424242, "out": "whole", "ledger": "other/ledger.sqlite"}
    whole = run(**THREE, **again, test="private")
    found, same = (json.loads(OwnerFolder.of(each).evaluation.read_bytes()) for each in (root, whole))
    assert found["test"] == same["test"], "of a whole folder, what was drawn is left out"
    card = (root / "release" / "README.md").read_text()
    assert "that every class has at least 3 units (image), each counted for one class" in card
    assert "nominal shots per class: 3" in card
    assert all(finding.holds for finding in audit(root))
    own = OwnerFolder.of(root)
    files = [file for each in (root, own.root) for file in each.rglob("*") if file.is_file()]
    assert [file for file in files if b"4242424242" in file.read_bytes()] == [own.config]
    assert own.config.stat().st_mode & 0o777 == 0o600


def test_what_it_means_for_the_folder_is_computed_and_said_wherever_the_epsilon_is(run, more, capsys):
    more(cut=8, good=5)
    root = run(**THREE)
    printed = capsys.readouterr()
    first, spent = "20 for one image of the whole folder (10", " of 10 for one that was drawn)"
    assert f"epsilon {first} for one that was drawn) at delta 0" in flat(printed.err)
    assert "membership inference detects at most 100 %" in flat(printed.err)
    assert f"epsilon {first}{spent} was spent" in flat(printed.out)
    assert f"epsilon = {first} for one that was drawn)" in (root / "release" / "README.md").read_text()
    for page in ("report.html", "live.html"):
        assert f"{first}{spent}" in flat((root / page).read_text()), page
    Audit.of(root).write_pages()
    assert f"{first}{spent}" in flat((root / "audit" / "wire.html").read_text())
    (column,) = read_runs([root])
    assert list_facts(column)["ε"].startswith(f"{first} for one that was drawn)")
    assert pcevolve.load(root).epsilon == 20
    assert f"epsilon {first} for one that was drawn)" in repr(pcevolve.load(root))
    assert f"{first} for one that was drawn)" in pcevolve.load(root)._repr_html_()
    told = "\n".join(f"{title}: {text}" for title, text in describe_begun(root))
    assert f"privacy: epsilon {first} for one that was drawn)" in told
    capsys.readouterr()
    for command in (["status"], ["budget", "show"]):
        with pytest.raises(SystemExit):
            main([*command, "--ledger", "ledger/ledger.sqlite"])
        # A table folds its cells.
        assert "epsilon 20 for one" in squeeze(capsys.readouterr().out), command
    found = manifest(root)
    assert (found["guarantee"]["epsilon_spent"], found["guarantee"]["epsilon_drawn"]) == (20, 10)
    summary = json.loads((root / "summary.json").read_text())
    assert (summary["epsilon_spent"], summary["epsilon_drawn"]) == (20, 10)
    found["guarantee"]["epsilon_spent"] = 10.0
    (root / "release" / "manifest.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    assert "guarantee.epsilon_spent" in str([each.faults for each in audit(root)])


@pytest.mark.parametrize(
    "options",
    [{"method": "pe", "class_counts": True, "delta": 1e-5}, {"test": "rest"}],
)
@pytest.mark.parametrize(
    ("extra", "drawn", "told"),
    [
        (
            {"cut": 7, "good": 9},
            9,
            "8 (cut) to 10 (good) images each to draw from, but data.subsample is 9: --set data.subsample=8",
        ),
        (
            {"cut": 2, "good": 2},
            100,
            "3 images each to draw from, but data.subsample is 100: --set data.subsample=3 draws them all",
        ),
    ],
)
def test_one_of_more_than_a_class_has_is_refused_before_anything_is_spent_or_sent(
    run, more, server, capsys, tmp_path, extra, drawn, told, options, monkeypatch
):
    more(**extra)
    for terminal in (False, True):  # elsewhere the numbers might end up in a log
        monkeypatch.setenv("TTY_COMPATIBLE", str(int(terminal)))
        with pytest.raises(DataError, match=r"give a smaller number, or leave data.subsample out") as refusal:
            run(subsample=drawn, shots=drawn, **options)
        assert (told in flat(capsys.readouterr().err)) is terminal
    assert not any(character.isdigit() for character in str(refusal.value))
    assert (server.heard, (tmp_path / "ledger" / "ledger.sqlite").exists()) == ([], False)


def test_one_of_all_is_no_statement_about_how_many_there_are(run, more):
    """All that is public of a run on exactly K of each class is what is public of one that drew them out of more."""
    assumed = []
    set_cap(Path("ledger/ledger.sqlite"), 99)
    for out, extra in (("all", 2), ("some", 9)):
        more(cut=extra, good=extra)
        root = run(**THREE, out=out)
        assumed.append(manifest(root)["guarantee"]["assumed_public"])
    assert assumed[0] == assumed[1]
    assert not any("out of more" in each for each in assumed[0])


def test_a_run_that_goes_on_draws_the_same(run, more, fails_once):
    more(cut=8, good=8)
    with pytest.raises(ProviderError):
        run(**THREE)
    run("--resume", "run", **THREE)
    (row,) = LedgerBook(Path("ledger/ledger.sqlite")).runs()
    assert row.images == 6


def test_a_run_that_goes_on_with_a_folder_in_which_somebody_else_would_be_drawn_is_refused(
    run, more, server, fails_once
):
    more(cut=4, good=4)
    with pytest.raises(ProviderError):
        run(**THREE)
    more(cut=60, good=60)
    server.heard.clear()
    with pytest.raises(LedgerError, match="the private data differ from those that this run began with"):
        run("--resume", "run", **THREE)
    assert server.heard == []


@pytest.mark.parametrize("kind", ["text", "image"])
def test_no_error_says_which_class_has_nothing_left_to_be_measured_on(tmp_path, kind):
    draw = {"subsample": 2, "shots": 2, "test": "rest", "domain": "notes", "out": tmp_path / "o"}
    if kind == "text":
        rows = ["text,label", "one,flu", "two,flu", *(f"{n},gout" for n in range(5))]
        private, asked = tmp_path / "t.csv", {"dialect": "chat"}
        private.write_text("\n".join(rows))
    else:
        private, asked = tmp_path / "private", {}
        for label, count in (("flu", 2), ("gout", 5)):
            (private / label).mkdir(parents=True)
            for number in range(count):
                (private / label / f"{number}.png").write_bytes(png(number + 10 * count))
    settings = RunConfig.of({"private": str(private), **draw, **asked})
    with pytest.raises(DataError, match=f"--test rest: every {kind} of one class was drawn") as refusal:
        read_run(settings)
    assert "flu" not in str(refusal.value)
