"""``import pcevolve``: the command line's run as a value, in the forms that it is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pcevolve
from client.conftest import SMALL
from pcevolve.app.cli.commands import app
from pcevolve.keeper.ledger.history import LedgerBook
from support.folders import events
from support.typed import spell_words


def planned(run: Path) -> dict:
    return next(each["plan"] for each in events(run) if each["kind"] == "planned")


def test_a_run_is_paid_for_recorded_and_passes_the_audit(evolved, tmp_path):
    result = evolved(epsilon=4)
    assert result.folder == tmp_path / "run"
    assert 0 < result.epsilon <= 4
    assert result.delta == 0.0
    assert result.report.is_file()
    ledger = LedgerBook(tmp_path / "ledger" / "ledger.sqlite", create=False)
    assert [row.epsilon for row in ledger.runs()] == [result.epsilon]
    ledger.close()
    audited = pcevolve.verify(result.folder)
    assert audited, audited.faults
    assert result.verify() == audited


def test_the_command_line_continues_and_reads_what_the_library_began(evolved, native, private, tmp_path):
    """No second road: with the same seed both send the same bytes, and each takes over the other's run."""
    evolved(method="random", out=tmp_path / "one")
    given = spell_words(
        **{"private": private, "domain": "scan", "api": native.address, "out": tmp_path / "two", **SMALL},
        **{"ledger": tmp_path / "ledger" / "ledger.sqlite", "method": "random", "epsilon": 10},
    )
    app([str(each) for each in ("run", *given)], standalone_mode=False)
    plans = [planned(tmp_path / name) for name in ("one", "two")]
    assert {**plans[0], "run_id": ""} == {**plans[1], "run_id": ""}
    again = pcevolve.load(tmp_path / "two")
    assert len(again.images) == 4


def test_what_progress_raises_ends_the_run_and_the_run_goes_on_from_there(evolved, native):
    def stop(progress: pcevolve.Progress) -> None:
        if progress.images >= 4:
            raise KeyboardInterrupt

    with pytest.raises(pcevolve.StoppedError, match="to continue, without paying twice"):
        evolved(progress=stop)
    asked = len(native.asked)
    result = evolved(resume=True)
    assert len(result.images) == 4
    assert len(native.asked) == asked + 2, "what was answered was not asked again"
    assert result.verify()


def test_a_model_as_an_object_is_told_that_a_server_is_its_way(evolved):
    with pytest.raises(
        pcevolve.UsageError, match="not a object: a model of your own is reached through a server"
    ):
        evolved(provider=object())


def test_an_option_that_there_is_not_is_refused_by_name(evolved, tmp_path):
    with pytest.raises(pcevolve.UsageError, match=r"^shot: there is no such option"):
        evolved(shot=3)
    with pytest.raises(pcevolve.UsageError, match="epsilon must be a finite number above 0"):
        evolved(epsilon=0)
    with pytest.raises(pcevolve.UsageError, match="model belongs to the provider"):
        evolved(model="sdxl")
    assert not (tmp_path / "run").exists()


def test_an_error_calls_options_by_their_keywords(evolved, private, tmp_path):
    def refusal(**changed: object) -> str:
        with pytest.raises(pcevolve.ClientError) as found:
            evolved(**changed)
        return str(found.value)

    assert refusal(private=tmp_path / "none").startswith(f"private {tmp_path / 'none'}: no such folder")
    assert refusal(test=tmp_path / "none").startswith(f"test {tmp_path / 'none'}: no such folder")
    assert refusal(epsilon=-1) == "epsilon must be a finite number above 0, not -1: try epsilon=10"
    assert refusal(lifetime_epsilon="x").endswith("try lifetime_epsilon=10")
    assert refusal(shots=30).startswith("the class sizes are too far from shots 30")
    evolved()
    assert "for all runs with pcevolve budget cap" in refusal(out=tmp_path / "two")
    assert refusal(out=tmp_path / "two", lifetime_epsilon=99).startswith(
        "privacy.lifetime_epsilon 99 is more than"
    )
    assert refusal().endswith("is a finished run: choose another out; nothing was overwritten")


HEAVY = ("numpy", "pydantic", "rich", "torch", "scipy", "httpx", "importlib.metadata")


def test_the_library_shows_its_functions_results_and_errors_and_nothing_else():
    functions = "check classify compare evaluate evolve export load pack plan preview vary verify"
    shown = {each for each in dir(pcevolve) if each[0].islower()}
    assert shown == {*functions.split()}
    kinds = [getattr(pcevolve, each) for each in dir(pcevolve) if each[0].isupper()]
    assert all(isinstance(each, type) for each in kinds)
    assert sorted(pcevolve.__all__) == dir(pcevolve)


def test_a_preview_shows_what_the_provider_draws_and_the_run_goes_on_from_there(
    evolved, native, private, tmp_path
):
    given = {
        "private": private,
        "domain": "scan",
        "provider": native.address,
        "out": tmp_path / "run",
        **SMALL,
    }
    given |= {
        "method": "pcevolve",
        "yes": True,
        "quiet": True,
        "ledger": tmp_path / "ledger" / "ledger.sqlite",
    }
    found = pcevolve.preview(**given)
    assert [each.label for each in found.images] == ["type A"] * 2 + ["type B"] * 2
    assert {each.open().size for each in found.images} == {(16, 16)}
    assert found.page.is_file()
    page = found._repr_html_()
    assert page.count("<img ") == 4
    assert page.index("type A") < page.index("type B")
    ledger = LedgerBook(tmp_path / "ledger" / "ledger.sqlite", create=False)
    assert [row.epsilon for row in ledger.runs()] == [0.0]
    ledger.close()
    asked = len(native.asked)
    again = pcevolve.preview(**given)
    assert (again.images, len(native.asked)) == (found.images, asked)
    assert evolved(resume=True).verify()


@pytest.mark.system
def test_the_import_alone_loads_nothing():
    code = f"import sys, pcevolve; print([each for each in {HEAVY!r} if each in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert told.stdout.strip() == "[]", told.stderr


def test_a_run_that_starts_from_a_release_states_what_the_release_cost_a_unit_of_the_whole_folder(
    evolved, tmp_path
):
    evolved(subsample=3, epsilon=4)
    result = pcevolve.vary(tmp_path / "run", candidates=1, out=tmp_path / "more", quiet=True, yes=True)
    said = "8 for one image of the whole folder (4"
    assert (result.epsilon, result.delta) == (8.0, 0.0)
    assert f"epsilon {said} for one that was drawn)" in repr(result)
    report = " ".join(result.report.read_text().split())
    assert f"{said} of 4 for one that was drawn)" in report
    assert "Nothing in this dataset depends on the private data" not in report
    assert "Nothing. No private image was looked at" not in report
    assert f"{said} of 4 for one that was drawn)" in (result.folder / "live.html").read_text()
    assert f"epsilon = {said} for one that was drawn)" in (result.dataset / "README.md").read_text()
    assert result.verify(sources=[tmp_path / "run"])
