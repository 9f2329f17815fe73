"""``pcevolve.evolve`` and what it gives back: the command line's run, as a value."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import pcevolve
from pcevolve.cli.main import app
from pcevolve.ledger.ledger import Ledger
from support.folders import events


def planned(run: Path) -> dict:
    return next(each["plan"] for each in events(run) if each["kind"] == "planned")


def test_a_run_is_paid_for_recorded_and_passes_the_audit(evolved, tmp_path):
    result = evolved(epsilon=4)
    assert result.folder == tmp_path / "run"
    assert 0 < result.epsilon <= 4
    assert result.delta == 0.0
    assert result.report.is_file()
    ledger = Ledger(tmp_path / "ledger.sqlite", create=False)
    assert [row.epsilon for row in ledger.runs()] == [result.epsilon]
    ledger.close()
    audited = pcevolve.audit(result.folder)
    assert audited, audited.faults
    assert result.audit() == audited


def test_the_images_are_the_released_ones_and_open_as_pixels(evolved):
    result = evolved(method="t2i")
    assert result.labels == ("type A", "type B")
    assert [each.label for each in result.images] == ["type A"] * 2 + ["type B"] * 2
    assert all(
        each.data == (result.dataset / each.label / f"{each.id}.png").read_bytes() for each in result.images
    )
    assert result.images[0].open().size == (16, 16)
    result.images[0].path.write_bytes(b"no image")
    with pytest.raises(pcevolve.TranscriptError, match="is not the image that was released"):
        result.images[0].open()


def test_the_command_line_continues_and_reads_what_the_library_began(evolved, native, private, tmp_path):
    """No second road: with the same seed both send the same bytes, and each takes over the other's run."""
    evolved(method="random", out=tmp_path / "one")
    given = ["--private", private, "--domain", "scan", "--api", native.address, "--out", tmp_path / "two"]
    given += [
        "--set",
        f"privacy.ledger={tmp_path / 'ledger.sqlite'}",
        "--method",
        "random",
        "--candidates",
        2,
        "--set",
        "provider.batch=2",
    ]
    given += [
        "--iterations",
        1,
        "--set",
        "privacy.pad_selection=0.01",
        "--shots",
        3,
        "--set",
        "provider.seed=7",
        "--epsilon",
        10,
    ]
    app([str(each) for each in ("run", *given)], standalone_mode=False)
    plans = [
        next(each["plan"] for each in events(tmp_path / name) if each["kind"] == "planned")
        for name in ("one", "two")
    ]
    assert {**plans[0], "run_id": ""} == {**plans[1], "run_id": ""}
    again = pcevolve.load(tmp_path / "two")
    assert len(again.images) == 4


def test_what_progress_raises_ends_the_run_and_the_run_goes_on_from_there(evolved, native):
    def stop(progress: pcevolve.Progress) -> None:
        if progress.images >= 4:
            raise KeyboardInterrupt

    with pytest.raises(pcevolve.StoppedError, match="to go on, without paying again"):
        evolved(progress=stop)
    asked = len(native.asked)
    result = evolved(resume=True)
    assert len(result.images) == 4
    assert len(native.asked) == asked + 2, "what was answered was not asked again"
    assert result.audit()


def test_a_key_opens_the_api_and_is_written_nowhere(evolved, native, tmp_path):
    key = "sk-5ecret-0123456789"
    provider = pcevolve.Provider(native.address, key=key)
    assert key not in repr(provider)
    evolved(provider=provider, method="t2i")
    assert {each.headers["authorization"] for each in native.heard} == {f"Bearer {key}"}
    found = subprocess.run(["grep", "-r", key, tmp_path], capture_output=True, text=True)
    assert found.stdout == ""


def test_an_option_that_there_is_not_is_refused_by_name(evolved, tmp_path):
    with pytest.raises(pcevolve.UsageError, match=r"^shot: there is no such option"):
        evolved(shot=3)
    with pytest.raises(pcevolve.UsageError, match="epsilon must be a finite number above 0"):
        evolved(epsilon=0)
    with pytest.raises(pcevolve.UsageError, match="model is said by the provider"):
        evolved(model="sdxl")
    assert not (tmp_path / "run").exists()


def test_a_notebook_shows_marks_promise_and_pictures(evolved, tmp_path):
    page = evolved(domain="<scan>")._repr_html_()
    assert "&lt;scan&gt;" in page
    assert "<scan>" not in page
    assert page.count("<img ") == 4
    assert "ε = " in page
    assert 'role="alert"' not in page
    marked = evolved(
        insecure_noise_seed=1,
        lifetime_epsilon="99",
        out=tmp_path / "marked",
        ledger=tmp_path / "other.sqlite",
    )
    assert 'role="alert"' in marked._repr_html_()
    assert "No guarantee" in marked._repr_html_()
    assert repr(marked).startswith("<Result: INSECURE: noise came from a seed")
    assert not marked.audit().holds


def test_an_audit_that_finds_something_is_false_and_says_what(evolved):
    result = evolved(method="t2i")
    (result.dataset / "note.txt").write_text("patient 17")
    found = result.audit()
    assert not found
    assert any("note.txt" in fault for fault in found.faults)
    page = found._repr_html_()
    assert page.index("Does NOT hold") < page.index("note.txt") < page.index("<table>")


def test_a_plan_prices_a_run_and_spends_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("PCEVOLVE_LEDGER", str(tmp_path / "ledger.sqlite"))
    planned = pcevolve.plan(epsilon=10, classes=2, shots=10)
    assert planned.method == "dp-means"
    assert planned.reason
    assert planned.epsilon_total <= 10
    assert planned.verdict in planned._repr_html_()
    assert pcevolve.plan("random").reason == ""
    with pytest.raises(pcevolve.UsageError, match="unknown method 'luck'"):
        pcevolve.plan("luck")
    with pytest.raises(pcevolve.UsageError, match=r"^shots: "):
        pcevolve.plan(shots=0)
    assert not (tmp_path / "ledger.sqlite").exists()
