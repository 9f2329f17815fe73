"""The owner's part of a run lies beside the ledger; the run's folder has nothing of it, in whatever form."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import platform
import shutil
import socket
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from pcevolve.auditing import audit
from pcevolve.errors import TranscriptError, UsageError
from pcevolve.keeper.evaluation import heads
from pcevolve.public.config.config import RunConfig
from pcevolve.public.durable import write_private
from pcevolve.public.run.owner import OwnerFolder
from support import online
from support.folders import class_folders
from support.runs import SmallRun, small_plan
from support.traces import find_traces

pytestmark = pytest.mark.usefixtures("few_steps")
SEED = 8_124_577_193_062_244
USER, HOME, HOST = "quillfeather", "/home/quillfeather", "ward7-workstation"
CLASSES = ("naevus of Smith", "mole of Quill")
PRIVATE_WORDS = (
    *("zebra-scans", "kestrel-units", "otter-test", "heron-state", "heron.sqlite", "lynx-notes"),
    *("Smith", "Quill", "secret-1-", "patient-A17", "patient-B23", "St. Marrow", "Tamsin"),
    *(USER, HOST, str(SEED)),
)


@pytest.fixture
def world(tmp_path, monkeypatch) -> Path:
    """A machine whose names can be told apart from all else, with images, units, words and held-out images."""
    monkeypatch.chdir(tmp_path)
    for name in ("USER", "LOGNAME", "USERNAME"):
        monkeypatch.setenv(name, USER)
    monkeypatch.setenv("HOME", HOME)
    monkeypatch.setenv("HOSTNAME", HOST)
    monkeypatch.setattr(socket, "gethostname", lambda: HOST)
    monkeypatch.setattr(platform, "node", lambda: HOST)
    monkeypatch.setenv("PCEVOLVE_API_KEY", online.LOGIN)
    for name in ("STEPS", "QUICK_STEPS"):  # how well judges learn is asserted where they are tested
        monkeypatch.setattr(heads, name, 10)
    class_folders(tmp_path / "zebra-scans", 1, CLASSES, shots=6)
    class_folders(tmp_path / "otter-test", 9, CLASSES, shots=2)
    with Path("kestrel-units.csv").open("w") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "patient"])
        for path in sorted(Path("zebra-scans").rglob("*.png")):
            rows.writerow(
                [path.relative_to("zebra-scans"), f"patient-{'AB'[int(path.stem[-1]) % 2]}17-{path}"]
            )
    Path("lynx-notes.toml").write_text(f'"{CLASSES[0]}" = "pale"\n"{CLASSES[1]}" = ""\n')
    return tmp_path


@pytest.fixture
def begin(world, server, command) -> Callable[..., tuple[int, Path]]:
    """The command on the images; keywords change options."""

    def carry_out(*more: str, **changes: object) -> tuple[int, Path]:
        settings = {
            "data.words": "lynx-notes.toml",
            "data.unit_namespace": "St. Marrow",
            "data.subsample": 3,
            "data.subsample_seed": SEED,
            "privacy.ledger": "heron-state/heron.sqlite",
            "privacy.pad_selection": 0.01,
            "provider.patience": 0,
            "provider.batch": 2,
            "provider.size": 16,
            "output.formats": "parquet,webdataset",
            **changes,
        }
        words = ["run", "--private", "zebra-scans", "--unit-map", "kestrel-units.csv", "--out", "run"]
        words += ["--domain", "skin", "--shots", "3", "--candidates", "4", "--iterations", "1", "--yes"]
        words += ["--method", "dp-means", "--api", server.address, "--dialect", "a1111", "--model", "v1-5"]
        for name, value in settings.items():
            words += ["--set", f"{name}={value}"]
        return command(*words, *more).code, world / "run"

    return carry_out


def require_clean(root: Path, *more: str) -> None:
    # Dates are the provider's, in its answers; the owner's clock is in seconds.
    now = str(int(time.time()))[:7]
    assert find_traces(root, (*PRIVATE_WORDS, str(root.parent), "/tmp/", now, *more)) == []


def test_a_finished_run_of_everything_names_nothing_of_the_owner(begin, command, world):
    code, root = begin("--test", "otter-test")
    assert code == 0
    assert command("evaluate", root, "--test", "otter-test", "--judge", "bundled").code == 0
    for each in (("audit", root, "--html"), ("report", root), ("export", root, "--format", "parquet")):
        assert command(*each).code == 0
    assert len([path for path in root.rglob("*") if path.is_file()]) > 30
    require_clean(root)
    assert command("pack", root).code == 0
    (world / "given").mkdir()
    shutil.move("run.zip", world / "given")
    require_clean(world / "given")
    owner = OwnerFolder.of(root, Path("heron-state/heron.sqlite"))
    assert {path.name for path in owner.root.iterdir()} >= {"options.json", "result.json", "judgement.json"}
    told = {word for word, _ in find_traces(owner.root, PRIVATE_WORDS)}
    assert told >= {"zebra-scans", "kestrel-units", "Smith", str(SEED), "heron-state"}, "all of it lies here"


def test_a_run_that_failed_and_one_that_went_on_name_nothing_of_the_owner(begin, command, server):
    able = server.speak
    server.speak = lambda heard: (
        online.answer_json(500, {"error": "RuntimeError", "errors": "out of memory"})
        if heard.path.endswith("img2img")
        else able(heard)
    )
    changes = {"output.formats": "", "method.appearance": "as-is"}
    words = ("--method", "pcevolve")
    code, root = begin(*words, **changes)
    assert code == 6
    require_clean(root)
    server.speak = able
    assert command("run", "--resume", root).code == 0
    require_clean(root)
    assert all(finding.holds for finding in audit(root))


def test_a_run_that_was_stopped_names_nothing_of_the_owner(begin, server):
    asked = iter(range(100))
    able = server.speak

    def stop(heard: online.Heard) -> online.Reply:
        if heard.method == "POST" and next(asked) == 2:
            os.kill(os.getpid(), 2)
        return able(heard)

    server.speak = stop
    code, root = begin()
    assert code == 130
    require_clean(root)


def test_an_id_that_is_copied_leads_to_nobody_elses_figures(tmp_path):
    mine = SmallRun.open(tmp_path / "mine", small_plan(run_id="b" * 32))
    mine.close()
    ledger = tmp_path / "state" / "ledger.sqlite"
    owner = OwnerFolder.of(mine.root, ledger)
    with owner.hold():
        write_private(owner.judgement, {"judges": []})
    copy = shutil.copytree(mine.root, tmp_path / "copy")
    assert OwnerFolder.of(copy, ledger).root == owner.root, "a copy is the same run"
    SmallRun.open(tmp_path / "other", small_plan(run_id="b" * 32, domain="leather")).close()
    with pytest.raises(UsageError, match=r"of another run, whose id .*/other bears as well"):
        OwnerFolder.of(tmp_path / "other", ledger)


def test_what_a_run_left_is_forgotten_with_its_link_unless_its_plan_was_fixed(tmp_path, monkeypatch):
    monkeypatch.delenv("PCEVOLVE_LEDGER", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "usual"))
    SmallRun.open(tmp_path / "run").close()
    owner = OwnerFolder.of(tmp_path / "run", tmp_path / "state" / "ledger.sqlite")
    link = tmp_path / "usual" / "pcevolve" / "runs" / owner.root.name
    settings = RunConfig.of({"private": "digits", "domain": "scan", "out": "run"})
    owner.keep_options(settings)
    assert (owner.find_options(), link.resolve()) == (settings, owner.root.resolve())
    owner.forget()
    assert not owner.root.exists()
    assert not link.is_symlink()
    owner.keep_options(settings)
    owner.bind()
    owner.forget()
    assert owner.find_options() == settings


def test_a_record_without_a_plan_that_bears_another_runs_id_leads_to_nothing_of_that_run(tmp_path):
    mine = SmallRun.open(tmp_path / "mine", small_plan(run_id="b" * 32))
    mine.close()
    ledger = tmp_path / "state" / "ledger.sqlite"
    owner = OwnerFolder.of(mine.root, ledger)
    with owner.hold():
        owner.config.write_text("the options of mine")
    other = SmallRun.open(tmp_path / "other", small_plan(run_id="b" * 32))
    other.close()
    log = tmp_path / "other" / "transcript" / "log.jsonl"
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])  # as a runner can, who writes it
    with pytest.raises(UsageError, match="of another run"):
        OwnerFolder.of(tmp_path / "other", ledger)
    assert OwnerFolder.find(tmp_path / "other", ledger) is None
    assert owner.config.read_text() == "the options of mine"


def test_figures_are_written_by_one_process_and_then_by_the_next(tmp_path):
    SmallRun.open(tmp_path / "run").close()
    owner = OwnerFolder.of(tmp_path / "run", tmp_path / "state" / "ledger.sqlite")
    for _ in range(2):
        with owner.hold(), pytest.raises(UsageError, match="another process measures"), owner.hold():
            pass


def test_an_id_that_leads_out_of_the_folder_is_none(tmp_path):
    SmallRun.open(tmp_path / "run").close()
    log = tmp_path / "run" / "transcript" / "log.jsonl"
    first = log.read_bytes().splitlines(keepends=True)[0]
    log.write_bytes(first.replace(small_plan().run_id.encode(), b"../../../../../elsewhere"))
    with pytest.raises(TranscriptError, match="its record has no id"):
        OwnerFolder.of(tmp_path / "run")


def test_a_run_is_found_from_wherever_it_was_moved_and_with_a_ledger_that_was_moved(begin, command, world):
    assert begin()[0] == 0
    Path("run").rename("elsewhere")
    assert command("run", "--resume", "elsewhere").code == 0
    Path("heron-state").rename("new-state")
    refused = command("run", "--resume", "elsewhere")
    assert refused.code == 2
    assert "are not in" in refused.said
    assert "name that ledger with --ledger" in refused.said
    named = ("--set", f"privacy.ledger={world / 'new-state' / 'heron.sqlite'}")
    assert command("run", "--resume", "elsewhere", *named).code == 0


def test_without_the_ledger_a_run_is_still_audited_reported_and_exported(begin, command, world, monkeypatch):
    assert begin()[0] == 0
    shutil.rmtree("heron-state")
    monkeypatch.setenv("XDG_STATE_HOME", str(world / "nobodys"))
    for each in (
        ("audit", "run"),
        ("report", "run"),
        ("export", "run", "--format", "parquet"),
        ("plan", "run"),
    ):
        assert command(*each).code == 0
    refused = command("evaluate", "run", "--test", "otter-test", "--judge", "bundled")
    assert refused.code == 2
    assert f"are not in {world / 'nobodys' / 'pcevolve' / 'runs'}" in refused.said


@pytest.mark.parametrize("form", ["plain", "name", "json", "zip", "png", "parquet", "html", "link"])
def test_one_word_that_is_put_back_is_found_in_whatever_form(tmp_path, form):
    root, word = tmp_path / "run", "zebra-scans"
    root.mkdir()
    path, data = root / "x", io.BytesIO()
    if form == "name":
        path = root / f"{word}.txt"
    elif form == "zip":
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("inner", f"a line of {word}" * 9)
    elif form == "png":
        note = PngInfo()
        note.add_text("Source", word, zip=True)
        Image.new("L", (4, 4)).save(data, "png", pnginfo=note)
    elif form == "parquet":
        pyarrow.parquet.write_table(pyarrow.table({"image": [{"bytes": word.encode()}]}), data)
    elif form == "html":
        data.write(
            b"<img src='data:image/png;base64,"
            + base64.b64encode(f"a picture of {word}, its pixels".encode())
        )
    elif form == "json":
        data.write(json.dumps("z\u00e9bra").encode())
        word = "z\u00e9bra"
    elif form == "plain":
        data.write(word.upper().encode())
    if form == "link":
        path.symlink_to(f"/data/{word}")
    else:
        path.write_bytes(data.getvalue())
    assert {found for found, _ in find_traces(root, [word])} == {word}
