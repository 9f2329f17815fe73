"""Texts between real processes: the bundled language model behind the API, and private texts in a table."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import datasets
import pytest
from safetensors.numpy import load

from pcevolve.app.cli.main import main
from pcevolve.app.first import demo, local_server
from pcevolve.auditing import Audit
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.public.run.folder import NO_TIME, RunFolder
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.transcript.reader import RunReader
from support.forkserver import ForkServer
from support.processes import Client, ServerProcess
from support.tiny_writer import save_encoder
from support.traces import find_traces
from support.typed import spell_words

CANARY = "Jane Canary-Doe"
TEXTS = {
    "ill": (
        "fever and chills of the lungs",
        "an acute inflammation of the skin",
        "pain in the chest",
        "a viral infection",
    ),
    "well": ("a loaf of white bread", "a dish of rice and fish", "sweet cake with fruit", "a soup of beans"),
}


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory, forks: ForkServer) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("writer") / "log", forks, models=("text:bundled",)) as process:
        yield process


@pytest.fixture
def client(tmp_path: Path, writer: ServerProcess, forks: ForkServer) -> Client:
    return Client(tmp_path, writer.address, forks)


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("private") / "notes.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["patient", "text", "label"])
        for label, texts in TEXTS.items():
            rows.writerows(
                [f"{CANARY} {label} {n}", f"{text} of {CANARY}", label] for n, text in enumerate(texts)
            )
    return path


def ask(client: Client, private: Path, out: Path, **changes: object) -> list[object]:
    """A small run with texts; the client's own options of images are left out."""
    # The small writer often fills a few blanks with the words that stood there, which is no variation.
    blanks = {"strength_start": 0.9, "strength_end": 0.7}
    of_texts = {"dialect": "chat", "domain": "note", "method": "pe", "steps": None} | blanks
    return client.run_options(private, out, **of_texts | changes)


@pytest.fixture(scope="module")
def finished(
    writer: ServerProcess, forks: ForkServer, private: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    """A whole run, and what it told."""
    root = tmp_path_factory.mktemp("finished")
    client = Client(root, writer.address, forks)
    done = client.succeed(*ask(client, private, root / "run", unit_column="patient"))
    return root / "run", done.stderr


def test_a_run_with_texts_sends_no_private_word_and_holds(client: Client, finished: tuple[Path, str]):
    out, told = finished
    plan = RunReader.strict(out).require_plan()
    assert (plan.modality.kind, plan.unit, plan.encoder.name) == ("text", "patient", "words")
    files = [path for path in out.rglob("*") if path.is_file()]
    assert len(files) > 20
    assert {path.stat().st_mtime for path in files} == {NO_TIME}  # none tells how long private work took
    # Whole sentences, for the provider may write such a word by itself.
    words = ("Canary", "Jane", TEXTS["ill"][0], TEXTS["well"][0], "notes.csv")
    assert find_traces(out, (*words, str(out.parent))) == []
    assert [word for word in words if word in told] == []
    texts = sorted((out / "release").rglob("*.txt"))
    assert len(texts) == 8
    assert all(path.read_text("utf-8").strip() for path in texts)
    card = (out / "release" / "README.md").read_text()
    assert "8 synthetic texts in 2 classes" in card
    assert "text-classification" in card
    assert "The dataset contains no private text" in card
    assert json.loads(client.succeed("audit", out, "--json").stdout)["holds"]
    client.succeed("audit", out, "--html")
    page = (out / "audit" / "wire.html").read_text()
    assert "Texts sent back" in page
    assert "image-to-image" not in page


def test_the_dataset_is_exported_and_loaded_as_texts(
    client: Client, finished: tuple[Path, str], tmp_path: Path
):
    out = Path(shutil.copytree(finished[0], tmp_path / "run"))
    for form in ("parquet", "webdataset"):
        client.succeed("export", out, "--format", form)
    cache = str(tmp_path / "cache")
    table = datasets.load_dataset(str(out / "release-parquet"), cache_dir=cache, split="train")
    released = {path.read_text("utf-8").strip() for path in (out / "release").rglob("*.txt")}
    assert set(table["text"]) == released
    assert table.features["label"].names == ["ill", "well"]
    assert json.loads(client.succeed("audit", out, "--json").stdout)["holds"]


def test_what_a_dataset_of_texts_is_worth_is_measured_by_a_judge_that_did_not_vote(
    client: Client, private: Path, finished: tuple[Path, str], tmp_path: Path
):
    out, test = Path(shutil.copytree(finished[0], tmp_path / "run")), tmp_path / "held-out.csv"
    test.write_text(
        private.read_text().replace(f"of {CANARY}", f"OF {CANARY}")
    )  # other texts, the same words
    owner = Client(finished[0].parent, client.address, client.forks)
    done = owner.succeed("evaluate", out, "--test", test, "--private", private, "--mix", "--json")
    found = json.loads(done.stdout)
    assert "not_checked" not in found
    refused = owner("evaluate", out, "--test", private)
    assert refused.returncode != 0
    assert "part of these data are private data of the run" in refused.stderr
    assert [(row["judge"], row["voted"]) for row in found["judges"]] == [("ngrams", False), ("words", True)]
    assert found["test_texts"] == 8
    assert 0 <= found["longest_copied_words"] < 9
    assert all(row["private"]["accuracy"]["mean"] > 0.8 for row in found["judges"])


def test_the_released_means_classify_texts(client: Client, private: Path, tmp_path: Path):
    out = tmp_path / "run"
    client.succeed(*ask(client, private, out, method="dp-means", iterations=1))
    for name, text in (("ill", "an infection of the chest"), ("well", "white bread with fruit")):
        (tmp_path / f"{name}.txt").write_text(text)
    done = client.succeed("classify", out, tmp_path / "ill.txt", tmp_path / "well.txt")
    assert all(line.split("\t")[1] in ("ill", "well") for line in done.stdout.splitlines())
    (tmp_path / "none.txt").write_bytes(b"\xff")
    for path, complaint in (
        (tmp_path / "none.txt", "has no embedding"),
        (tmp_path / "gone.txt", "cannot be read"),
    ):
        done = client("classify", out, path)
        assert done.returncode == 3
        assert complaint in done.stderr


def test_secrets_of_which_nothing_may_be_learned_take_no_part(client: Client, private: Path, tmp_path: Path):
    listed = tmp_path / "list.txt"
    listed.write_text(f"{CANARY}\t1e-4\t2e-4\nchills\n")
    own = {"method": "secpe", "secrets": listed, "secret_size": 8, "secret_prior": 1e-3, "secret_bound": 1e-3}
    words = ask(client, private, tmp_path / "run", **own)
    refused = client(*words)
    assert refused.returncode == 3
    assert "line 1 gives weaker limits than method.secret_prior" in " ".join(refused.stderr.split())
    listed.write_text(f"{CANARY}\nchills\n")
    done = client.succeed(*words)
    assert "0.001 where it was 1e-3" in " ".join(done.stderr.split())
    assert [row.secret_mu for row in LedgerBook(tmp_path / "run-ledger" / "ledger.sqlite").runs()] == [0.0]
    assert json.loads(client("audit", tmp_path / "run", "--json").stdout)["holds"]


def test_a_run_that_goes_on_keeps_what_it_promised_of_each_secret(
    client: Client, private: Path, tmp_path: Path
):
    listed = tmp_path / "list.txt"
    listed.write_text("chills\n")
    words = ask(client, private, tmp_path / "run", method="secpe", secrets=listed, secret_size=8)
    client.succeed("preview", *words[1:])
    listed.write_text("chills\t1e-4\t2e-4\n")
    refused = client("run", "--resume", tmp_path / "run")
    assert refused.returncode == 4
    assert "a declared secret has changed: restore the original data, or begin a new run" in " ".join(
        refused.stderr.split()
    )


@pytest.mark.parametrize(
    ("listed", "own", "counted"),
    [
        (CANARY, {"secret_size": 8}, 0),
        ("chills", {"secret_size": 1}, 7),
        ("nobody", {"secret_columns": "patient"}, 0),
    ],
)
def test_texts_with_secrets_of_which_nothing_may_be_learned_are_not_counted(
    client: Client, private: Path, tmp_path: Path, listed: str, own: dict[str, object], counted: int
):
    (tmp_path / "list.txt").write_text(f"{listed}\n")
    own = own | {
        "method": "secpe",
        "secrets": tmp_path / "list.txt",
        "secret_prior": 1e-3,
        "secret_bound": 1e-3,
    }
    out = tmp_path / "run"
    client.succeed(*ask(client, private, out, **own, epsilon=20_000))
    record = RunReader.strict(out)
    measured = load(record.bodies.file(next(each.measured for each in record.receipts if each.measured)))
    assert abs(measured["cells"].sum() - counted) < 0.5  # more than ten deviations of the noise of 24 cells


def test_a_published_encoder_from_a_directory_votes_and_the_audit_asks_for_it(
    client: Client, private: Path, tmp_path: Path
):
    out, weights = tmp_path / "run", save_encoder(tmp_path / "encoder")
    own = {"encoder": "transformer:somebody/tiny", "encoder_weights": weights}
    client.succeed(*ask(client, private, out, **own))
    without = json.loads(client("audit", out, "--json").stdout)
    assert any("encoder-weights" in each["unchecked"] for each in without["findings"] if each["unchecked"])
    assert json.loads(client("audit", out, "--encoder-weights", weights, "--json").stdout)["holds"]
    assert str(weights).encode() not in (out / "transcript" / "log.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"steps": 4}, "lacks steps"),
        ({"encoder": "bundled"}, "does not embed texts"),
        ({"private": "digits:3,5"}, "these are images, but this run makes texts"),
        ({"text_column": "body"}, "no column 'body'"),
        ({"model": "gpt"}, "no model 'gpt': it offers bundled"),
        ({"appearance": "matched"}, "method.appearance has no effect in a run of method pe over"),
        ({"unit_map": "units.csv"}, "--unit-map is about images"),
        ({"dialect": "getimg", "private": "terms"}, "these are texts, but this run makes images"),
        (
            {"dialect": "getimg", "unit_column": "patient", "private": "digits"},
            "data.unit_column is about texts",
        ),
        ({"shots": 40}, "the class sizes are too far from --shots 40"),
        ({"method": "secpe"}, "list them in a file (data.secrets)"),
        ({"method": "secpe", "secrets": "/dev/null"}, "data.secrets /dev/null cannot be read"),
        ({"method": "secpe", "secret_columns": "ward"}, "no column 'ward'"),
        ({"method": "dp-means", "secret_columns": "patient"}, "data.secret_columns: only for secpe"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_is_spent(
    client: Client, private: Path, tmp_path: Path, changes: dict[str, object], complaint: str
):
    out = tmp_path / "run"
    words = ask(client, private, out)
    done = client(*words, *spell_words(**changes))
    assert done.returncode in (2, 3), done.stderr
    assert complaint in " ".join(done.stderr.split())
    assert not (out.with_name("run-ledger") / "ledger.sqlite").exists()


def test_the_demonstration_with_texts_shows_what_evolution_adds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    small = {"candidates": 5, "initial": 20, "iterations": 1}
    usual = demo.OF_TEXTS
    changed = replace(usual, options={**usual.options, **small})
    monkeypatch.setitem(demo.DEMONSTRATIONS, "text", changed)
    monkeypatch.setattr(local_server, "_replicas", lambda: 1)
    monkeypatch.setattr("pcevolve.keeper.evaluation.heads.STEPS", 20)
    with pytest.raises(SystemExit) as ended:
        main(["demo", "--text", "--out", str(tmp_path / "demo"), "--json"])
    assert ended.value.code == 0
    summary = json.loads(OwnerFolder.of(tmp_path / "demo").result.read_text())
    assert [(row["judge"], row["voted"]) for row in summary["accuracy"]] == [
        ("ngrams", False),
        ("words", True),
    ]
    assert all(set(row) >= {"initial", "final", "random"} for row in summary["accuracy"])
    assert len(list((tmp_path / "demo" / "release").rglob("*.txt"))) == 15
    page = (tmp_path / "demo-private" / "report.html").read_text("utf-8")
    assert "Comparison with the control" in page
    for name in ("this run", "random control", "secpe"):
        assert page.count(f"<strong>{name}</strong>") == 3  # a row for each class
    assert "This section is about another run, secpe" in page
    assert "promised: 0.001 where it was 0.0001" in page
    shared = RunFolder(tmp_path / "demo").report.read_text("utf-8")
    assert (
        "Comparison with the control" not in shared
    )  # it is of the run's own record, as the audit makes it again
    assert all(Audit.of(tmp_path / name).holds for name in ("demo", "demo-random", "demo-secpe"))
