"""A dataset in other forms: opened by the libraries that people use, the same bytes each time, and audited."""

from __future__ import annotations

import io
import tarfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pyarrow import parquet

from pcevolve.app.cli.main import main
from pcevolve.errors import UsageError
from pcevolve.public.publish import exports as writing
from pcevolve.public.publish.exports import export_run
from pcevolve.public.transcript.reader import RunReader
from support.forge import faults_of
from support.paid import make_paid_run
from support.runs import small_plan

pytestmark = pytest.mark.system

LABELS = ("cut", "good")
PER_CLASS = 3
IMAGE_FORMS = ("parquet", "webdataset")


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

    export_run(run, IMAGE_FORMS)  # what lies beside does not disturb
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


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return make_paid_run(tmp_path / "texts", small_plan(dialect="chat", labels=("good", "cut")))


@pytest.mark.parametrize("form", ["parquet", "jsonl", "csv"])
def test_texts_open_in_datasets_and_pandas_with_the_names_of_their_classes(texts, offline, tmp_path, form):
    import pandas
    from datasets import load_dataset

    released = {
        (path.read_text().removesuffix("\n"), path.parent.name)
        for path in (texts / "release").glob("*/*.txt")
    }
    (folder,) = export_run(texts, [form])
    rows = load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))["train"]
    assert rows.features["label"].names == ["good", "cut"], "in the plan's order, not the alphabet's"
    assert {(row["text"], rows.features["label"].int2str(row["label"])) for row in rows} == released
    if form != "parquet":
        (file,) = (folder / "data").iterdir()
        read = {"jsonl": lambda: pandas.read_json(file, lines=True), "csv": lambda: pandas.read_csv(file)}[
            form
        ]()
        assert {*zip(read["text"], read["label"], strict=True)} == released
    assert faults_of(texts) == []
    (file,) = (folder / "data").iterdir()
    _append(file)
    assert faults_of(texts) != []


def test_a_text_with_quotes_commas_and_line_ends_is_the_same_behind_csv_and_json_lines(texts):
    import pandas

    odd = 'He said: "no", twice,\nand left; \u2028=1+1, é'
    plan, images = RunReader.strict(texts).require_plan(), RunReader.strict(texts).manifest().files[:1]
    for form, read in (("csv", pandas.read_csv), ("jsonl", partial(pandas.read_json, lines=True))):
        written = writing._WRITERS[form](plan, images, lambda path: f"{odd}\n".encode())
        assert read(io.BytesIO(written))["text"].tolist() == [odd]


def test_a_form_of_texts_beside_images_is_a_fault(run):
    (run / "release-csv").mkdir()
    assert any("release-csv is no form of a dataset of images" in each for each in faults_of(run))


@pytest.mark.parametrize("form", [None, "parquet"])
def test_a_card_tells_hubs_the_columns_that_datasets_loads(run, offline, form):
    from datasets import ClassLabel, Features, Image
    from huggingface_hub import DatasetCard

    folder = run / "release" if form is None else export_run(run, [form])[0]
    data = DatasetCard.load(folder / "README.md").data.to_dict()
    features = Features._from_yaml_list(data["dataset_info"]["features"])
    assert features == Features({"image": Image(), "label": ClassLabel(names=["cut", "good"])})
    assert (data["license"], data["size_categories"]) == ("cc0-1.0", ["n<1K"])
    assert data["tags"] == ["pcevolve", "synthetic", "differential-privacy"]
    assert data["task_categories"] == ["image-classification"]
    if form == "parquet":
        assert data["dataset_info"]["splits"] == [{"name": "train", "num_examples": 2 * PER_CLASS}]


def test_a_tar_says_nothing_of_the_machine_that_wrote_it_and_classes_are_mixed_in_it(run):
    (folder,) = export_run(run, ["webdataset"])
    with tarfile.open(folder / "data" / "train-00000.tar") as shard:
        told = {(each.mtime, each.uid, each.gid, each.uname, each.gname, each.mode) for each in shard}
        order = [shard.extractfile(each).read().decode() for each in shard if each.name.endswith(".cls")]
    assert told == {(0, 0, 0, "", "", 0o644)}
    assert sorted(order) == ["0"] * PER_CLASS + ["1"] * PER_CLASS
    assert order != sorted(order)


def test_only_a_finished_run_is_exported_and_parquet_holds_neither_statistics_nor_dictionaries(tmp_path):
    root = make_paid_run(tmp_path / "run", small_plan())
    assert export_run(root, []) == []
    (folder,) = export_run(root, ["parquet", "parquet"])
    pages = parquet.ParquetFile(next(folder.rglob("*.parquet"))).metadata.row_group(0)
    columns = [pages.column(number) for number in range(pages.num_columns)]
    assert not any(each.has_dictionary_page or each.statistics for each in columns)
    with pytest.raises(UsageError, match="nowhere"):
        export_run(tmp_path / "nowhere", ["parquet"])
    log = root / "transcript" / "log.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(UsageError, match=r"unfinished|not finished"):
        export_run(root, ["parquet"])


def test_large_datasets_are_written_in_several_files(run, monkeypatch, offline, tmp_path):
    from datasets import load_dataset

    monkeypatch.setattr(writing, "PER_FILE", 4)
    folders = export_run(run, IMAGE_FORMS)
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
    export_run(run, IMAGE_FORMS)
    CHANGES[name](run)
    assert faults_of(run) != []


def test_the_command_exports_and_refuses_what_there_is_not(run, capsys):
    with pytest.raises(SystemExit):
        main(["export", str(run), "--format", "webdataset", "--format", "parquet"])
    assert capsys.readouterr().out.split() == [str(run / "release-webdataset"), str(run / "release-parquet")]
    with pytest.raises(UsageError, match="format csv: images can be written as parquet or webdataset"):
        export_run(run, ["csv"])
    with pytest.raises(UsageError, match="is not the folder of a run"):
        export_run(run / "release", ["parquet"])
