"""Every layout on a generated tree: which image goes where, under which label, and of whom it is."""

from __future__ import annotations

import csv
import gzip
import json
import pickle
import re
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pcevolve.errors import ClientError, DataError
from pcevolve_benchmarks.datasets.catalogue import dataset
from pcevolve_benchmarks.datasets.class_folders import KVASIR
from pcevolve_benchmarks.datasets.writing import WantedSplit, Written, write


def picture(path: Path, tone: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8), (tone % 256, tone // 256, 7)).save(path)
    return path


def covidx(root: Path) -> None:
    for split, patients in (("train", "abc"), ("val", "fg"), ("test", "de")):
        lines = []
        for place, patient in enumerate(patients):
            for number, label in enumerate(("negative", "positive")):
                name = picture(root / split / f"{patient}-{number}.png", tone=place).name
                lines.append(f"{patient} {name} {label} rsna")
        (root / f"{split}.txt").write_text("\n".join(lines) + "\n")


def camelyon17(root: Path) -> None:
    rows = [
        ("004", "4", "0", "0"),
        ("009", "4", "0", "0"),
        ("020", "4", "1", "0"),
        ("012", "4", "2", "0"),
        ("015", "4", "0", "1"),
    ]
    with (root / "metadata.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["", "patient", "node", "x_coord", "y_coord", "tumor", "slide", "center", "split"])
        for number, (patient, node, center, split) in enumerate(rows):
            for tumor in (0, 1):
                name = f"patch_patient_{patient}_node_{node}_x_{number}_y_{tumor}.png"
                picture(root / "patches" / f"patient_{patient}_node_{node}" / name)
                table.writerow([0, int(patient), node, number, tumor, tumor, 0, center, split])


def kvasir(root: Path) -> None:
    for label in KVASIR:
        for number in range(5):
            picture(root / label / f"{number}.jpg")


def cifar10(root: Path) -> None:
    random = np.random.default_rng(0)
    for name in (*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"):
        records = random.integers(0, 256, (20, 3073), dtype=np.uint8)
        records[:, 0] = np.arange(20) % 10
        records.tofile(root / name)


def cifar10_python(root: Path) -> None:
    random = np.random.default_rng(0)
    for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
        data = random.integers(0, 256, (20, 3072), dtype=np.uint8)
        batch = {b"data": data, b"labels": [number % 10 for number in range(20)], b"batch_label": b"a batch"}
        (root / name).write_bytes(pickle.dumps(batch, protocol=2))


def mnist(root: Path) -> None:
    random = np.random.default_rng(0)
    for prefix, count, packed in (("train", 6, True), ("t10k", 4, False)):
        pixels = random.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        parts = {
            "images-idx3-ubyte": struct.pack(">HBBIII", 0, 8, 3, count, 28, 28) + pixels.tobytes(),
            "labels-idx1-ubyte": struct.pack(">HBBI", 0, 8, 1, count) + bytes(k % 2 for k in range(count)),
        }
        for part, data in parts.items():
            name = f"{prefix}-{part}{'.gz' if packed else ''}"
            (root / name).write_bytes(gzip.compress(data) if packed else data)


def hugging_face(root: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    for split, count in (("train", 4), ("test", 2)):
        folder = root / split
        folder.mkdir()
        data = picture(folder / "one.png").read_bytes()
        table = arrow.table(
            {
                "image": [{"bytes": data, "path": "x.png"}] * count,
                "label": [number % 2 for number in range(count)],
            }
        )
        path = str(folder / "data-00000-of-00001.arrow")
        with arrow.OSFile(path, "wb") as sink, arrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        features = {"image": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": ["ham", "spam"]}}
        (folder / "dataset_info.json").write_text(json.dumps({"features": features}))


def make_dataset(name: str, tree: Callable[[Path], None], tmp_path: Path, **options: object) -> Written:
    source = tmp_path / "source"
    source.mkdir()
    tree(source)
    return write(dataset(name), source, tmp_path / "out", WantedSplit(**options), lambda done, of: None)


def images(written: Written, part: str) -> dict[str, list[str]]:
    return {
        folder.name: sorted(each.name for each in folder.iterdir())
        for folder in sorted((written.out / part).iterdir())
    }


CIFAR = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
LAYOUTS = {
    "covidx": (covidx, {}, {"COVID-19 pneumonia": (3, 2), "no finding": (3, 2)}, {"a", "b", "c"}),
    "camelyon17": (
        camelyon17,
        {},
        {"breast cancer with a tumor tissue": (2, 1), "no tumor": (2, 1)},
        {"004", "009"},
    ),
    "kvasir-f": (
        kvasir,
        {"held_out": 2},
        dict.fromkeys(("esophagitis", "polyps", "ulcerative-colitis"), (3, 2)),
        None,
    ),
    "cifar-10": (cifar10, {}, dict.fromkeys(CIFAR, (10, 2)), None),
    "hugging-face": (hugging_face, {}, {"ham": (2, 1), "spam": (2, 1)}, None),
}
"""Tree, options, images of each label in both parts, and of whom those of the training part are."""


@pytest.mark.parametrize("name", LAYOUTS)
def test_images_are_in_the_part_under_the_label_and_of_the_patient_that_the_layout_says(
    tmp_path: Path, name: str
):
    tree, options, counts, owners = LAYOUTS[name]
    written = make_dataset(name, tree, tmp_path, **options)
    parts = [images(written, part) for part in ("train", "test")]
    assert {label: tuple(len(part[label]) for part in parts) for label in parts[0]} == counts
    units = written.out / "units.csv"
    named = (
        {line.rpartition(",")[2] for line in units.read_text().splitlines()[1:]} if units.exists() else None
    )
    assert named == owners


class Evil:
    """Runs something when it is unpickled as usual."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return (Path.touch, (self.marker,))


def test_a_pickle_that_would_run_something_is_refused_before_it_does(tmp_path: Path):
    cifar10_python(tmp_path)
    marker = tmp_path / "ran"
    evil = pickle.dumps({"data": Evil(marker), "labels": []})
    (tmp_path / "data_batch_1").write_bytes(evil)
    with pytest.raises(DataError, match="no pickle of arrays alone: it names"):
        dataset("cifar-10").read(tmp_path)
    assert not marker.exists()
    pickle.loads(evil)
    assert marker.exists(), "read as usual it runs"


def test_mnist_is_read_packed_or_not_and_damage_is_said(tmp_path: Path):
    written = make_dataset("mnist", mnist, tmp_path, labels=("even", "odd"))
    assert images(written, "train")["odd"] == ["000001.png", "000003.png", "000005.png"]
    assert written.counts == {"train": 6, "test": 4}
    path = tmp_path / "source" / "t10k-images-idx3-ubyte"
    shown = np.asarray(Image.open(written.out / "test" / "even" / "000000.png"))
    assert np.array_equal(shown.reshape(-1), np.frombuffer(path.read_bytes()[16:], np.uint8)[: 28 * 28])
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match="no whole idx file"):
        dataset("mnist").read(tmp_path / "source")


def test_what_the_datasets_package_itself_saved_is_read(tmp_path: Path):
    package = pytest.importorskip("datasets")
    features = package.Features(
        {"image": package.Image(), "label": package.ClassLabel(names=["ham", "spam"])}
    )
    tones = [Image.new("RGB", (8, 8), (40 * number, 0, 0)) for number in range(6)]
    parts = {
        part: package.Dataset.from_dict({"image": own, "label": [k % 2 for k in range(len(own))]}, features)
        for part, own in (("train", tones[:4]), ("test", tones[4:]))
    }
    package.DatasetDict(parts).save_to_disk(tmp_path / "saved")
    written = write(
        dataset("hugging-face"), tmp_path / "saved", tmp_path / "out", WantedSplit(), lambda done, of: None
    )
    assert written.counts == {"train": 4, "test": 2}
    shown = Image.open(next((written.out / "test" / "spam").iterdir()))
    assert shown.getpixel((0, 0)) == (200, 0, 0)


@pytest.mark.parametrize("shape", [(28, 28), (28, 28, 3)])
def test_medmnist_is_read_without_pickles_and_its_classes_can_be_named(
    tmp_path: Path, shape: tuple[int, ...]
):
    pixels = np.random.default_rng(0).integers(0, 256, (6, *shape), dtype=np.uint8)
    arrays = {"images": pixels, "labels": np.array([[0], [1], [0], [1], [0], [1]])}
    path = tmp_path / "blood.npz"
    np.savez(
        path, **{f"{split}_{name}": each for split in ("train", "test") for name, each in arrays.items()}
    )
    wanted = WantedSplit(labels=("basophil", "eosinophil"))
    written = write(dataset("medmnist"), path, tmp_path / "out", wanted, lambda done, of: None)
    assert images(written, "train")["eosinophil"] == ["000001.png", "000003.png", "000005.png"]
    assert np.array_equal(
        np.asarray(Image.open(written.out / "train" / "basophil" / "000000.png")), pixels[0]
    )


def broken_list(root: Path) -> None:
    covidx(root)
    (root / "train.txt").write_text("patient one.png pneumonia rsna\n")


def missing_file(root: Path) -> None:
    covidx(root)
    (root / "train" / "a-0.png").unlink()


def no_column(root: Path) -> None:
    (root / "metadata.csv").write_text("patient,tumor\n1,0\n")


def not_text(root: Path) -> None:
    covidx(root)
    (root / "train.txt").write_bytes(b"\xff\xfe\x00")


def not_json(root: Path) -> None:
    hugging_face(root)
    (root / "train" / "dataset_info.json").write_text("{")


def other_class(root: Path) -> None:
    camelyon17(root)
    listing = root / "metadata.csv"
    listing.write_text(re.sub(r"(?m)^((?:\d+,){5})\d", r"\g<1>7", listing.read_text()))


def write_torn(root: Path) -> None:
    cifar10(root)
    (root / "test_batch.bin").write_bytes(b"\x00" * 100)


@pytest.mark.parametrize(
    ("name", "tree", "options", "said"),
    [
        ("covidx", lambda root: None, {}, "train.txt is missing"),
        ("covidx", broken_list, {}, "train.txt, line 1"),
        ("covidx", missing_file, {}, "a-0.png is missing"),
        ("covidx", covidx, {"held_out": 3}, "has a split of its own"),
        ("camelyon17", no_column, {}, "has no column center"),
        ("kvasir-f", lambda root: None, {}, "esophagitis is missing"),
        ("kvasir-f", kvasir, {"held_out": 5}, "5 are to be held out"),
        ("kvasir-f", kvasir, {"held_out": 2, "labels": ("a", "b")}, "names 2 classes, and there are 3"),
        ("kvasir-f", kvasir, {"held_out": 2, "labels": ("a", "b", "../c")}, "--labels"),
        ("covidx", not_text, {}, "not covidx as it was downloaded .UnicodeDecodeError"),
        ("hugging-face", not_json, {}, "not hugging-face as it was downloaded .JSONDecodeError"),
        ("camelyon17", other_class, {}, "not camelyon17 as it was downloaded .KeyError: '7'"),
        ("cifar-10", write_torn, {}, "not of whole records"),
        ("folder", lambda root: None, {}, "no class folders with images"),
        ("hugging-face", lambda root: None, {}, "dataset_info.json is missing"),
        ("medmnist", lambda root: None, {}, "not a file such as"),
    ],
)
def test_what_is_not_as_it_should_be_is_said_and_nothing_is_left_behind(
    tmp_path: Path, name: str, tree: Callable[[Path], None], options: dict, said: str
):
    with pytest.raises(ClientError, match=said):
        make_dataset(name, tree, tmp_path, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_cifar_10_as_torchvision_keeps_it_is_read_without_running_anything(tmp_path: Path):
    written = make_dataset("cifar-10", cifar10_python, tmp_path)
    assert written.counts == {"train": 100, "test": 20}
    batch = pickle.loads((tmp_path / "source" / "test_batch").read_bytes(), encoding="bytes")
    shown = np.asarray(Image.open(written.out / "test" / "airplane" / "test_batch-00000.png"))
    assert np.array_equal(shown.transpose(2, 0, 1).reshape(-1), batch[b"data"][0])
