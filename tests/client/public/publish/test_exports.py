"""A dataset in other forms: opened by the libraries that people use, the same bytes each time, and audited."""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pcevolve.app.cli.main import main
from pcevolve.errors import UsageError
from pcevolve.public.publish import dataset as writing
from pcevolve.public.publish.dataset import export_run
from pcevolve.public.transcript.layout import EXPORTS
from support.forge import faults_of
from support.paid import make_paid_run
from support.runs import small_plan

pytestmark = pytest.mark.system

LABELS = ("cut", "good")
PER_CLASS = 3


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_paid_run(tmp_path / "run", small_plan(licence="cc0-1.0"))


def release(run: Path) -> dict[bytes, int]:
    """The pixels of all released images, with the number of their class."""
    paths = (run / "release").glob("*/*.png")
    return {pixels(Image.open(path)): LABELS.index(path.parent.name) for path in paths}


def pixels(image: Image.Image) -> bytes:
    return np.asarray(image.convert("RGB")).tobytes()


@pytest.fixture
def offline(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def test_class_folders_open_in_torchvision_and_datasets(run, offline, tmp_path):
    import torchvision
    from datasets import load_dataset

    for name in EXPORTS:  # what lies beside does not disturb
        export_run(run, [name])
    folder = torchvision.datasets.ImageFolder(run / "release")
    assert folder.classes == list(LABELS)
    assert {pixels(image): label for image, label in folder} == release(run)
    rows = load_dataset("imagefolder", data_dir=str(run / "release"), cache_dir=str(tmp_path / "cache"))[
        "train"
    ]
    assert {pixels(row["image"]): row["label"] for row in rows} == release(run)


@pytest.mark.parametrize(
    ("form", "image", "label"), [("parquet", "image", "label"), ("webdataset", "png", "cls")]
)
def test_other_forms_open_in_datasets_with_labels(run, offline, tmp_path, form, image, label):
    from datasets import load_dataset

    (folder,) = export_run(run, [form])
    rows = load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))["train"]
    assert form != "parquet" or rows.features["label"].names == list(LABELS)
    assert {pixels(row[image]): int(row[label]) for row in rows} == release(run)


def test_a_tar_says_nothing_of_the_machine_that_wrote_it(run):
    (folder,) = export_run(run, ["webdataset"])
    with tarfile.open(folder / "data" / "train-00000.tar") as shard:
        told = {(each.mtime, each.uid, each.gid, each.uname, each.gname, each.mode) for each in shard}
    assert told == {(0, 0, 0, "", "", 0o644)}


def test_classes_are_mixed(run):
    (folder,) = export_run(run, ["webdataset"])
    with tarfile.open(folder / "data" / "train-00000.tar") as shard:
        order = [shard.extractfile(each).read().decode() for each in shard if each.name.endswith(".cls")]
    assert sorted(order) == ["0"] * PER_CLASS + ["1"] * PER_CLASS
    assert order != sorted(order)


def test_large_datasets_are_written_in_several_files(run, monkeypatch, offline, tmp_path):
    from datasets import load_dataset

    monkeypatch.setattr(writing, "PER_FILE", 4)
    folders = export_run(run, EXPORTS)
    names = [sorted(each.name for each in (folder / "data").iterdir()) for folder in folders]
    assert names == [
        ["train-00000-of-00002.parquet", "train-00001-of-00002.parquet"],
        ["train-00000.tar", "train-00001.tar"],
    ]
    rows = load_dataset(str(folders[0]), cache_dir=str(tmp_path / "cache"))["train"]
    assert len(rows) == 2 * PER_CLASS
    assert faults_of(run) == []


def _append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"patient 17")


CHANGES = {
    "parquet": lambda run: _append(run / "release-parquet" / "data" / "train-00000-of-00001.parquet"),
    "tar": lambda run: _append(run / "release-webdataset" / "data" / "train-00000.tar"),
    "another file": lambda run: (run / "release-parquet" / "note.txt").write_text("patient 17"),
    "a file in data": lambda run: (run / "release-webdataset" / "data" / "more.tar").write_text("patient 17"),
    "a missing file": lambda run: (run / "release-webdataset" / "data" / "train-00000.tar").unlink(),
    "a link": lambda run: (run / "release-parquet" / "data" / "link").symlink_to("/etc/hostname"),
    "a folder": lambda run: (run / "release-parquet" / "patient 17").mkdir(),
    "an image of the release": lambda run: _append(next((run / "release").glob("cut/*.png"))),
}


@pytest.mark.parametrize("name", CHANGES)
def test_nothing_can_be_put_into_them(run, name):
    export_run(run, EXPORTS)
    CHANGES[name](run)
    assert faults_of(run) != []


def test_the_command_exports_and_refuses_what_there_is_not(run, capsys):
    with pytest.raises(SystemExit):
        main(["export", str(run), "--format", "webdataset", "--format", "parquet"])
    assert capsys.readouterr().out.split() == [str(run / "release-webdataset"), str(run / "release-parquet")]
    with pytest.raises(UsageError, match="format csv: there is parquet and webdataset"):
        export_run(run, ["csv"])
    with pytest.raises(UsageError, match="is not the folder of a run"):
        export_run(run / "release", ["parquet"])
