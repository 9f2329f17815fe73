"""``pcevolve.extend`` and ``pcevolve extend``: more of what is released, nothing spent, and the audit covers it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import pcevolve
from client.interface.test_in_process import Noise
from pcevolve.config.config import RunConfig
from pcevolve.ledger.ledger import Ledger
from pcevolve.session.finished import extension
from pcevolve.session.folder import RunFolder
from pcevolve_shared import images
from support.folders import events, list_released
from support.killing import kill_at_call, until_it_survives

pytestmark = pytest.mark.system

STRIDE = 150
"""Of all steps at which an extension could be killed, every how manieth is tried; other ones each time."""
FRESH_EXPORT = ".release-webdataset.fresh"
SELECTED = {"method": "dp-means", "initial": 4, "iterations": None}


def stop_at(images: int) -> Callable[[pcevolve.Progress], None]:
    """Press Ctrl-C when so many images are there."""

    def stop(progress: pcevolve.Progress) -> None:
        if progress.images >= images:
            raise KeyboardInterrupt

    return stop


KINDS = [{}, {"method": "random"}, {"method": "t2i", "iterations": None}, SELECTED]


def sum_spent(tmp_path: Path) -> dict:
    with closing(Ledger(tmp_path / "ledger.sqlite", create=False)) as ledger:
        return ledger.export()


@pytest.mark.parametrize("kind", KINDS, ids=lambda each: each.get("method", "pcevolve"))
def test_the_dataset_grows_nothing_is_spent_and_the_audit_holds(evolved, native, private, tmp_path, kind):
    result = evolved(**kind)
    before, paid = list_released(result.folder), sum_spent(tmp_path)
    asked = len(native.asked)
    shutil.rmtree(private)  # nobody looks at it
    larger = pcevolve.extend(result.folder, more=3, quiet=True)
    assert len(larger.images) == 4 * len(before)
    after = list_released(result.folder)
    assert {path: after[path] for path in before} == before
    assert len(set(after.values())) == len(after)
    assert sum_spent(tmp_path) == paid
    assert larger.epsilon == result.epsilon
    sent = [json.loads(each.body) for each in native.asked[asked:]]
    assert sum(each.get("n", 1) for each in sent) == 3 * len(before)
    returned = {images.from_base64(each["image"]) for each in sent}
    received = {path.read_bytes() for path in (result.folder / "transcript" / "bodies").iterdir()}
    assert returned < received
    assert len(returned) == len(before)
    found = larger.audit()
    assert found, found.faults


def test_card_report_summary_and_manifest_count_what_was_added(evolved, tmp_path, capsys):
    evolved().audit(html=True)
    larger = pcevolve.extend(tmp_path / "run", more=2, strength=0.25)
    said = " ".join(capsys.readouterr().err.split())
    assert re.search("removed .*run/audit, pages of an audit of the run as it was", said)
    assert (larger.summary["images_released"], larger.summary["images_added"]) == (12, 8)
    manifest = json.loads((larger.dataset / "manifest.json").read_text())
    assert manifest["plan"]["extended"] == [{"more": 2, "strength": 0.25}]
    assert len(manifest["files"]) == 12
    card = (larger.dataset / "README.md").read_text()
    assert "12 synthetic images" in card
    assert "later, at strength 0.25, 2 more variations of each image of the last round" in card
    assert "that more was asked for later" in card
    assert larger.report.read_text().count("Added later") == 2


@pytest.fixture
def cut_off(evolved, tmp_path: Path) -> Path:
    """A run whose extension was cut off after the first of its answers."""
    evolved(at_once=1)
    before = len(events(tmp_path / "run"))

    with pytest.raises(pcevolve.StoppedError, match=r"to go on where it was: pcevolve extend .* --more 2"):
        pcevolve.extend(tmp_path / "run", more=2, quiet=True, progress=stop_at(9))
    assert len(events(tmp_path / "run")) > before
    return tmp_path / "run"


def test_an_extension_that_was_cut_off_goes_on_and_asks_nothing_twice(cut_off, native):
    asked = len(native.asked)
    larger = pcevolve.extend(cut_off, more=2, quiet=True)
    assert len(native.asked) == asked + 3
    assert len(larger.images) == 12
    assert larger.audit()


def test_while_it_is_cut_off_it_is_unfinished_and_nothing_else_is_done_to_the_run(
    cut_off, evolved, native, command
):
    (pending,) = pcevolve.audit(cut_off).faults
    assert "an extension is under way; continue it with pcevolve extend" in pending
    assert command("audit", cut_off).code == 9
    with pytest.raises(pcevolve.UsageError, match="go on with it first, with --more 2 --strength"):
        pcevolve.extend(cut_off, more=3, quiet=True)
    asked = len(native.asked)
    with pytest.raises(pcevolve.UsageError, match="was extended after it was finished: pcevolve extend goes"):
        evolved(resume=True)
    assert len(native.asked) == asked
    with pytest.raises(pcevolve.UsageError, match="is being extended: continue it with pcevolve extend"):
        pcevolve.load(cut_off)
    assert "is being extended" in command("report", cut_off).said


@pytest.mark.parametrize("step", ["publish", ".release.fresh", "write_summary", FRESH_EXPORT, "write_report"])
def test_what_was_cut_off_while_it_was_published_is_published_and_not_asked_for_again(
    evolved, native, command, tmp_path, monkeypatch, step
):
    export = evolved().export("webdataset")
    replace: Callable[[Path, Path], Path] = Path.replace

    def die(*arguments: object, **keywords: object) -> None:
        raise KeyboardInterrupt

    def die_between(path: Path, target: Path) -> Path | None:
        return die() if path.name == step else replace(path, target)

    between = step.endswith("fresh")
    with monkeypatch.context() as broken:
        broken.setattr(*((Path, "replace", die_between) if between else (extension, step, die)))
        with pytest.raises(pcevolve.StoppedError):
            pcevolve.extend(tmp_path / "run", more=1, quiet=True)
    assert (tmp_path / "run" / "release").exists() == (step != ".release.fresh")
    assert export.exists() == (step != FRESH_EXPORT)
    if step in ("publish", ".release.fresh"):
        if step != "publish":  # what is made of a release does not stand without it
            shutil.rmtree(export)
        assert command("audit", tmp_path / "run").code == 9
        again = f"to go on: pcevolve extend {tmp_path / 'run'} --more 1"
        assert again in command("status", "--ledger", tmp_path / "ledger.sqlite").out
    asked = len(native.heard)
    larger = pcevolve.extend(tmp_path / "run", more=1, quiet=True)
    assert len(native.heard) == asked
    assert (len(larger.images), larger.summary["images_added"]) == (8, 4)
    assert export.exists() == (step != ".release.fresh")
    assert larger.audit()


@pytest.mark.system
def test_killed_at_any_step_it_goes_on_to_the_same_dataset(evolved, tmp_path):
    base = evolved(provider=Noise(), method="random").folder

    def extend(name: str) -> dict[str, bytes]:
        larger = pcevolve.extend(tmp_path / name, more=1, generator=Noise(), quiet=True)
        assert [fault[:10] for fault in larger.audit().faults] == ["a boundary"]
        return list_released(tmp_path / name)

    def prepare(step: int) -> Callable[[], object]:
        shutil.copytree(base, tmp_path / str(step))
        return lambda: pcevolve.extend(tmp_path / str(step), more=1, generator=Noise(), quiet=True)

    shutil.copytree(base, tmp_path / "whole")
    whole, killed = extend("whole"), 0
    for step in until_it_survives(kill_at_call, prepare, stride=STRIDE):
        if not (tmp_path / str(step) / "release" / "manifest.json").is_file() or len(
            list_released(tmp_path / str(step))
        ) < len(whole):
            killed += 1
            assert extend(str(step)) == whole, step
    assert killed >= 5


def test_while_another_process_is_at_work_nothing_is_written_beside_the_record(evolved, command, tmp_path):
    result, busy = evolved(method="t2i"), "another process is at work in"
    before = {path: path.stat().st_mtime_ns for path in result.folder.rglob("*")}
    with RunFolder(result.folder).hold():
        for words in ("report", "export --format webdataset", "audit --html", f"evaluate --test {tmp_path}"):
            name, *rest = words.split()
            told = command(name, result.folder, *rest)
            assert (told.code, busy in told.said) == (2, True), words
        for write in (lambda: result.export("webdataset"), lambda: result.audit(html=True)):
            with pytest.raises(pcevolve.UsageError, match=busy):
                write()
        assert command("audit", result.folder).code == 0
    assert {path: path.stat().st_mtime_ns for path in result.folder.rglob("*")} == before


def test_what_somebody_put_into_the_release_is_not_thrown_away(evolved, native, tmp_path):
    result = evolved(method="t2i")
    for name in ("notes.txt", "what is missing.txt"):
        (result.dataset / name).write_text("mine")
        asked = len(native.heard)
        with pytest.raises(pcevolve.UsageError, match=f"{name} is not the run's: the release is made anew"):
            pcevolve.extend(result.folder, more=1, quiet=True)
        assert len(native.heard) == asked
        assert (result.dataset / name).read_text() == "mine"
        (result.dataset / name).unlink()


def test_a_run_that_is_unfinished_is_not_extended(evolved, tmp_path):
    with pytest.raises(pcevolve.StoppedError):
        evolved(progress=stop_at(0))
    with pytest.raises(
        pcevolve.UsageError, match="holds an unfinished run: continue it with pcevolve run --resume"
    ):
        pcevolve.extend(tmp_path / "run", more=1, quiet=True)
    with pytest.raises(pcevolve.UsageError, match="is not the folder of a run"):
        pcevolve.extend(tmp_path / "nowhere", more=1, quiet=True)
    assert not (tmp_path / "nowhere").exists()


def test_who_said_yes_to_a_run_has_not_said_yes_to_more(evolved, tmp_path):
    root = evolved(method="t2i").folder
    assert RunConfig.load(root / "config.toml").provider.yes
    assert not extension.Asked.of(root, 1, None, {}).settings.provider.yes
    assert extension.Asked.of(root, 1, None, {"yes": True}).settings.provider.yes


def test_without_the_ledger_that_paid_nothing_is_sent(evolved, native, tmp_path):
    evolved()
    (tmp_path / "ledger.sqlite").rename(tmp_path / "away.sqlite")
    with pytest.raises(pcevolve.LedgerError, match="the ledger of this run is gone"):
        pcevolve.extend(tmp_path / "run", more=1, quiet=True)
    for suffix in ("", ".key"):
        (tmp_path / f"ledger.sqlite{suffix}").unlink(missing_ok=True)
    other = evolved(out=tmp_path / "other", ledger=tmp_path / "new" / "ledger.sqlite", method="random")
    assert other
    asked = len(native.heard)
    with pytest.raises(pcevolve.EgressError, match="the ledger knows no receipt for iteration 1"):
        pcevolve.extend(tmp_path / "run", more=1, quiet=True, ledger=str(tmp_path / "new" / "ledger.sqlite"))
    assert len(native.heard) == asked


def test_limits_on_cost_and_number_hold_and_leave_the_run_as_it_was(evolved, native, tmp_path, monkeypatch):
    evolved(method="t2i")
    asked = len(native.heard)
    with pytest.raises(pcevolve.UsageError, match="would cost 8 USD, more than --max-cost 7"):
        pcevolve.extend(tmp_path / "run", more=2, quiet=True, price=1, max_cost=7)
    assert len(native.heard) == asked
    assert pcevolve.load(tmp_path / "run").audit()
    pcevolve.extend(tmp_path / "run", more=1, quiet=True)
    monkeypatch.setattr(extension, "MOST_EXTENSIONS", 1)
    with pytest.raises(pcevolve.UsageError, match="has been extended 1 times, which is all it can be"):
        pcevolve.extend(tmp_path / "run", more=1, quiet=True)
    assert pcevolve.load(tmp_path / "run").audit()


def test_a_run_of_an_object_in_the_process_is_extended_by_that_object_alone(evolved, native, tmp_path):
    result = evolved(provider=Noise(), method="t2i")
    with pytest.raises(pcevolve.UsageError, match="give that object to pcevolve"):
        pcevolve.extend(result.folder, more=1, quiet=True)
    larger = pcevolve.extend(result.folder, more=1, generator=Noise(), quiet=True)
    assert len(larger.images) == 8
    assert not larger.audit()
    other = evolved(method="t2i", out=tmp_path / "other")
    with pytest.raises(pcevolve.UsageError, match="were made by an API"):
        pcevolve.extend(other.folder, more=1, generator=Noise(), quiet=True)
