"""Several runs of the real command on the same people: what each must be told before the API hears of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pcevolve.auditing import audit
from pcevolve.cli import main as cli
from pcevolve.errors import BudgetError, LedgerError, ProviderError
from support import online
from support.provider import png
from support.typed import typed

pytestmark = pytest.mark.system

NUMBERS: dict[str, int] = {}


@pytest.fixture
def folder(tmp_path) -> Callable[..., Path]:
    """A folder of private images: keywords are classes, words name images; the same word, the same image."""

    def make(name: str, **classes: str) -> Path:
        for label, words in classes.items():
            (tmp_path / name / label).mkdir(parents=True)
            for word in words.split():
                number = NUMBERS.setdefault(word, len(NUMBERS))
                (tmp_path / name / label / f"{word}.png").write_bytes(png(number))
        return tmp_path / name

    return make


@pytest.fixture
def units(tmp_path) -> Callable[..., Path]:
    """A unit map: keywords are patients, words are their images' paths."""

    def make(name: str, kind: str = "patient", **of: str) -> Path:
        lines = [f"{file}.png,{patient}" for patient, files in of.items() for file in files.split()]
        (tmp_path / name).write_text("\n".join([f"file,{kind}", *lines]))
        return tmp_path / name

    return make


@pytest.fixture
def run(server, tmp_path, monkeypatch) -> Callable[..., Path]:
    """The command for one small run, at epsilon 3 of 6 for a lifetime; what is heard of it before it is forgotten."""
    monkeypatch.setenv("PCEVOLVE_API_KEY", online.LOGIN)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    given = typed(
        **{
            "domain": "scratch",
            "method": "pcevolve",
            "yes": True,
            "shots": 1,
            "epsilon": 3,
            "lifetime_epsilon": 6,
        },
        **{"api": server.address, "dialect": "a1111", "model": "v1-5", "patience": 0, "pad_selection": 0},
        **{"candidates": 2, "batch": 2, "size": 16, "iterations": 1, "ledger": "ledger.sqlite"},
    )

    def command(out: str, private: Path, *more: object) -> Path:
        server.heard.clear()
        options = ["run", *given, "--private", private, "--out", tmp_path / out, *more]
        cli.app([str(each) for each in options], standalone_mode=False)
        return tmp_path / out

    return command


def shown(capsys, *arguments: str) -> list[dict]:
    """What a budget command prints as JSON."""
    capsys.readouterr()
    cli.app(["budget", *arguments, "--ledger", "ledger.sqlite"], standalone_mode=False)
    return json.loads(capsys.readouterr().out)


def test_a_patient_whose_images_are_spent_one_by_one_is_not_lost_sight_of(run, folder, units, server, capsys):
    patient = units("units.csv", p="cut/a cut/b cut/c", q="good/x")
    run("patients", folder("all", cut="a b c", good="x"), "--unit-map", patient)
    run("first", folder("one", cut="a", good="x1"))
    capsys.readouterr()
    with pytest.raises(BudgetError, match=r"already spent epsilon=6 .* one patient .* would make it 9\."):
        run("second", folder("two", cut="b", good="x2"))
    assert server.heard == []
    rows = shown(capsys, "show", "--json")
    assert [(row["unit"], row["units"], row["images"]) for row in rows] == [
        ("patient", 2, 4),
        ("image", 2, 2),
    ]
    cli.app(["budget", "show", "--ledger", "ledger.sqlite"], standalone_mode=False)
    assert "2 by patient" in capsys.readouterr().out


def test_a_run_with_noise_does_not_follow_one_without(run, folder, server, capsys):
    private = folder("s", cut="j", good="k")
    seeded = run("seeded", private, "--set", "privacy.insecure_noise_seed=1")
    text = (seeded / "release" / "README.md").read_text()
    assert "There is none: the noise came from a seed" in text
    assert json.loads((seeded / "summary.json").read_text())["epsilon_spent"] is None
    page = (seeded / "report.html").read_text()
    assert "Nothing was promised" in page
    assert "no guarantee" in page
    assert ">Privacy loss ε, cumulative<" not in page
    with pytest.raises(BudgetError, match="an INSECURE run used these data"):
        run("honest", private)
    assert server.heard == []
    knowing = run("knowing", private, "--set", "privacy.forget_insecure=true")
    for name in ("release/README.md", "report.html", "summary.json"):
        assert "INSECURE runs on the same data are left out of the account" in (knowing / name).read_text(), (
            name
        )
    assert all(finding.holds for finding in audit(knowing))
    rows = shown(capsys, "show", "--json")
    assert [(row["noise"], row["epsilon"]) for row in rows] == [("INSECURE", None), ("os-csprng", 3.0)]
    cli.app(["budget", "show", "--ledger", "ledger.sqlite"], standalone_mode=False)
    assert "INSECURE" in capsys.readouterr().out


def test_a_run_that_goes_on_keeps_what_it_said_of_earlier_ones(run, folder, server, tmp_path):
    run("first", folder("g", cut="r", good="s"))
    private = folder("h", cut="t", good="tt")

    def failing(heard: online.Heard) -> online.Reply:
        if heard.path.endswith("img2img"):
            return online.said(500, {"error": "RuntimeError", "errors": "out of memory"})
        return online.a1111(heard)

    server.speak = failing
    with pytest.raises(ProviderError):
        run("cut off", private)
    server.speak = online.a1111
    run("between", folder("k", cut="ttt", good="tttt"))
    out = run("cut off", private, "--resume", tmp_path / "cut off")
    assert "knows 1 earlier release to" in (out / "release" / "README.md").read_text()
    assert all(finding.holds for finding in audit(out))


def test_a_container_without_a_volume_for_its_ledger_runs_nothing(run, folder, server, monkeypatch, tmp_path):
    private = folder("v", cut="va", good="vb")
    monkeypatch.setenv("PCEVOLVE_LEDGER_VOLUME", str(tmp_path))
    with pytest.raises(LedgerError, match="is no volume, so the ledger would be gone with this container"):
        run("gone", private)
    monkeypatch.setenv("PCEVOLVE_LEDGER_VOLUME", "/proc")
    with pytest.raises(LedgerError, match="is not on the volume /proc and may be gone"):
        run("elsewhere", private)
    monkeypatch.setenv("PCEVOLVE_LEDGER_VOLUME", "/")
    run("kept", private)
    assert not (tmp_path / "gone").exists() or not (tmp_path / "gone" / "release").exists()
