"""Folder and ledger tell the same story before a run goes on sends anything, and ``status`` compares them too."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from pcevolve.app.cli import commands as cli
from pcevolve.auditing import audit
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.public.run.folder import RunFolder
from pcevolve.wire.egress.gate import Gate
from support import online
from support.folders import events, receipts
from support.killing import survive

LEDGER = ("ledger/ledger.sqlite", "ledger/ledger.key")


@pytest.fixture
def copied(server) -> Callable[..., None]:
    """Copies the folder of the run when a request for images comes, by its number; -1 is the last."""

    def at(number: int, to: str) -> None:
        asked = iter(range(100))

        def copying(heard: online.Heard) -> online.Reply:
            if (heard.method == "POST" and next(asked) == number) or number < 0:
                shutil.rmtree(to, ignore_errors=True)
                # What is being written beside the record has another name for a moment.
                shutil.copytree("run", to, ignore=shutil.ignore_patterns("*.partial"))
            return online.a1111(heard)

        server.speak = copying

    return at


def draw_others(heard: online.Heard) -> online.Reply:
    """Answer with images of other seeds, so that equal noise cannot make two runs the same."""
    if not heard.body:
        return online.a1111(heard)
    fields = json.loads(heard.body)
    images = [online.b64(fields["seed"] + 10_000 + place) for place in range(fields["batch_size"])]
    return online.answer_json(200, {**json.loads(online.a1111(heard).body), "images": images})


def put_back(source: str, to: str = "run") -> None:
    shutil.rmtree(to)
    shutil.copytree(source, to)


def digest(folder: Path) -> str:
    """Of all files in a folder but its lock."""
    files = sorted(each for each in folder.rglob("*") if each.is_file() and each.name != ".lock")
    return hashlib.sha256(b"".join(str(each).encode() + each.read_bytes() for each in files)).hexdigest()


def show_status(command) -> list[dict[str, str]]:
    return json.loads(command("status", "--ledger", "ledger/ledger.sqlite", "--json").out)


def find_spent() -> list[float]:
    with closing(LedgerBook(Path("ledger/ledger.sqlite"), create=False)) as ledger:
        return [row.epsilon for row in ledger.runs()]


def drop_lines(run: Path, kind: str) -> None:
    """Cut a record off before its last line of a kind."""
    log = run / "transcript" / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if json.loads(line)["event"]["kind"] == kind)
    log.write_bytes(b"".join(lines[:last]))


@pytest.mark.parametrize(
    ("number", "options", "paid", "recorded"),
    [
        (0, {}, "2 releases", "0 releases"),
        (3, {}, "2 releases", "one release"),
        (-1, {"method": "dp-means", "at_once": 1}, "3 releases", "2 releases"),
    ],
    ids=["before the first round", "between rounds", "before the dataset is selected"],
)
@pytest.mark.parametrize("left", [False, True], ids=["alone", "beside the release"])
def test_a_folder_that_is_older_than_its_ledger_sends_nothing(
    words, command, server, copied, number, options, paid, recorded, left
):
    copied(number, "backup")
    assert command(*words(**options)).code == 0
    if left:
        shutil.copytree("run/release", "backup/release")
    put_back("backup")
    server.heard.clear()
    before, spent = digest(Path("run")), find_spent()
    refused = command("run", "--resume", "run")
    assert refused.code == 4
    assert refused.said.partition("error: ")[2].startswith("run is older than its ledger /")
    assert f"paid for {paid} of this run, and the record in the folder has {recorded}: " in refused.said
    assert (server.heard, digest(Path("run")), find_spent()) == ([], before, spent)
    (row,) = show_status(command)
    assert row["state"] == "inconsistent"
    assert "goes_on" not in row
    assert "is older than its ledger" in row["fault"]


def test_a_run_that_goes_on_meanwhile_is_not_called_inconsistent(words, command, server):
    """Its record is read at one time, and the ledger at another."""
    assert command(*words()).code == 0
    shutil.rmtree("run/release")
    drop_lines(Path("run"), "released")
    drop_lines(Path("run"), "received")
    for held, state in ((True, "unfinished"), (False, "inconsistent")):
        with RunFolder(Path("run")).hold(as_found=True) if held else nullcontext():
            assert [row["state"] for row in show_status(command)] == [state]


def test_a_ledger_that_is_older_than_the_folder_is_restored_first(cut_off, command, server):
    for name in LEDGER:
        shutil.copy(name, f"{name}.backup")
    assert command("run", "--resume", "run").code == 0
    server.heard.clear()
    for name in LEDGER:
        shutil.copy(f"{name}.backup", name)
    refused = command("run", "--resume", "run")
    assert refused.code == 4
    assert "is older than run, whose record has 2 releases, and the ledger paid for 1 of them" in refused.said
    assert "restore the newest copy of the ledger and its key" in refused.said
    assert server.heard == []
    assert [row["state"] for row in show_status(command)] == ["inconsistent"]


def test_a_folder_and_a_ledger_that_went_on_without_each_other_go_on_together_no_more(
    cut_off, command, server, monkeypatch, tmp_path
):
    shutil.copytree(tmp_path, tmp_path.parent / f"{tmp_path.name} elsewhere")
    assert command("run", "--resume", "run").code == 0
    monkeypatch.chdir(tmp_path.parent / f"{tmp_path.name} elsewhere")
    other = ("--set", f"privacy.ledger={Path('ledger/ledger.sqlite').absolute()}")
    assert command("run", "--resume", "run", *other).code == 2
    (config,) = Path("ledger/runs").glob("*/options.json")
    config.write_text(config.read_text().replace(str(tmp_path), str(Path.cwd())))
    server.speak = draw_others
    assert command("run", "--resume", "run", *other).code == 0
    for name in LEDGER:
        shutil.copy(tmp_path / name, name)
    server.heard.clear()
    refused = command("run", "--resume", "run", *other)
    assert refused.code == 4
    assert "went on without each other: they agree on one release of this run" in refused.said
    assert server.heard == []


@pytest.mark.parametrize("missing", [(), (2, 7)], ids=["all came", "some are missing"])
def test_a_run_that_is_killed_between_charge_and_record_goes_on_with_what_it_paid_for(
    words, command, server, monkeypatch, missing
):
    asked = iter(range(1000))

    def refusing(heard: online.Heard) -> online.Reply:
        """Refuse some requests for good."""
        if heard.method == "POST" and next(asked) in missing:
            return online.answer_json(400, {"error": "ValueError", "errors": "the prompt is too long"})
        return online.a1111(heard)

    server.speak = refusing
    small = {"candidates": 6, "batch": 1, "at_once": 1}

    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with monkeypatch.context() as patched:
        patched.setattr(Gate, "record_receipt", die)
        assert survive(lambda: cli.app(words(**small), standalone_mode=False)) == -signal.SIGKILL
    assert (find_spent(), receipts(Path("run"))) == ([5], [])
    (row,) = show_status(command)
    assert row["state"] == "unfinished"
    assert command("run", "--resume", "run").code == 0
    assert find_spent() == [10]
    with closing(LedgerBook(Path("ledger/ledger.sqlite"))) as ledger:
        (run,) = ledger.runs()
        paid = [json.loads(json.dumps(each.receipt.as_dict())) for each in ledger.payments(run.run_id)]
    assert [{k: v for k, v in each.items() if k != "run_id"} for each in paid] == receipts(Path("run"))
    nothing = hashlib.sha256(b"").hexdigest()
    brought = [event["outputs"] for event in events(Path("run")) if event["kind"] == "received"]
    assert any(nothing in outputs for outputs in brought) is bool(missing)
    assert all(finding.holds for finding in audit(Path("run")))


@pytest.mark.parametrize(
    "change", [Path.unlink, lambda file: file.write_bytes(b"x")], ids=["gone", "changed"]
)
def test_a_stored_file_that_is_not_as_it_was_is_missed_before_anything_is_sent(
    cut_off, command, server, change
):
    for file in sorted((cut_off / "transcript" / "bodies").iterdir()):
        kept = file.read_bytes()
        change(file)
        refused = command("run", "--resume", "run")
        assert refused.code == 7
        assert f"transcript file {file.name[:12]}" in refused.said
        assert "nothing was sent: restore run from its newest copy" in refused.said
        file.write_bytes(kept)
    assert server.heard == []
    assert command("run", "--resume", "run").code == 0


def test_a_finished_run_whose_stored_file_is_gone_is_not_called_finished(words, command):
    assert command(*words()).code == 0
    assert [row["state"] for row in show_status(command)] == ["finished"]
    lost = next(iter(sorted(Path("run/transcript/bodies").iterdir())))
    lost.unlink()
    (row,) = show_status(command)
    assert (row["state"], row["fault"]) == (
        "inconsistent",
        f"transcript/bodies/{lost.name} is missing: restore it",
    )


@pytest.mark.parametrize("kind", ["finished", "received"])
def test_a_release_that_is_not_of_the_record_beside_it_is_moved_away_first(words, command, server, kind):
    assert command(*words()).code == 0
    drop_lines(Path("run"), kind)
    server.heard.clear()
    assert [row["state"] for row in show_status(command)] == ["inconsistent"]
    refused = command("run", "--resume", "run")
    assert (refused.code, server.heard) == (7, [])
    assert "run/release is not of the record beside it" in refused.said
    shutil.move("run/release", "release")
    assert command("run", "--resume", "run").code == 0
    assert find_spent() == [10]
    assert all(finding.holds for finding in audit(Path("run")))
    assert [row["state"] for row in show_status(command)] == ["finished"]


@pytest.mark.parametrize(
    "change", [Path.unlink, lambda file: file.write_bytes(b"x")], ids=["gone", "changed"]
)
def test_a_release_that_is_not_whole_is_made_anew_once_it_is_moved_away(words, command, server, change):
    assert command(*words()).code == 0
    change(next(Path("run/release").rglob("*.png")))
    server.heard.clear()
    assert [row["state"] for row in show_status(command)] == ["inconsistent"]
    refused = command("run", "--resume", "run")
    assert refused.code == 7
    assert "is gone or was changed: move the release elsewhere" in refused.said
    shutil.move("run/release", "release")
    assert command("run", "--resume", "run").code == 0
    assert server.heard == []
    assert all(finding.holds for finding in audit(Path("run")))


@pytest.mark.parametrize("lost", ["transcript/log.jsonl", "transcript", "lines"])
def test_a_folder_that_lost_the_record_of_a_paid_run_begins_no_other_run(
    cut_off, words, command, server, lost
):
    if lost == "lines":
        drop_lines(cut_off, "planned")
    elif lost == "transcript":
        shutil.rmtree(cut_off / lost)
    else:
        (cut_off / lost).unlink()
    before = digest(cut_off)
    refused = command("run", "--resume", "run")
    assert (refused.code, "run has lost its record: restore the newest copy" in refused.said) == (7, True)
    refused = command(*words(epsilon=50))
    assert refused.code == 4
    assert "run has lost the record of run " in refused.said
    assert "which spent epsilon 5 according to the ledger" in refused.said
    assert (server.heard, digest(cut_off)) == ([], before)
    shutil.rmtree(cut_off)
    assert command(*words(method="t2i", iterations=None)).code == 0


@pytest.mark.parametrize("lost", ["transcript", "transcript/log.jsonl"])
def test_a_release_without_its_record_is_left_alone(words, command, server, lost):
    """As of a run that paid for nothing, of which the ledger knows nothing that was lost."""
    unpaid = words(method="t2i", iterations=None)
    assert command(*unpaid).code == 0
    if lost == "transcript":
        shutil.rmtree("run/transcript")
    else:
        Path("run", lost).unlink()
    before = digest(Path("run"))
    server.heard.clear()
    said = "run/release exists, but its record is missing: restore transcript/"
    for again, why in ((unpaid, said), (("run", "--resume", "run"), "run has lost its record: restore")):
        refused = command(*again)
        assert (refused.code, why in refused.said) == (7, True)
    assert (server.heard, digest(Path("run"))) == ([], before)


@pytest.mark.parametrize("asked", ["report run", "export run --format webdataset", "compare run run"])
def test_nothing_is_made_of_a_release_that_is_not_of_the_record_beside_it(words, command, asked):
    assert command(*words(out="other", domain="leather", method="t2i", iterations=None)).code == 0
    assert command(*words(method="t2i", iterations=None)).code == 0
    shutil.rmtree("run/release")
    shutil.copytree("other/release", "run/release")
    refused = command(*asked.split())
    assert refused.code == 7
    assert "run/release is not of the record beside it" in refused.said


def test_a_folder_that_was_emptied_is_begun_in_anew_also_after_a_start_that_was_refused(words, command):
    assert command(*words()).code == 0
    shutil.rmtree("run")
    assert command(*words()).code == 4  # its images are spent
    assert command("budget", "cap", "30", "--yes", "--ledger", "ledger/ledger.sqlite").code == 0
    assert command(*words()).code == 0
