"""Datasets that are folders of class folders, with or without folders of splits around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from pcevolve.errors import DataError
from pcevolve.public.media.images.kinds import SUFFIXES
from pcevolve_benchmarks.datasets.items import Dataset, Item, Split, require

SPLITS: Mapping[Split, Sequence[str]] = {
    "train": ("train", "training"),
    "test": ("test", "testing", "val"),
}
KVASIR = ("esophagitis", "polyps", "ulcerative-colitis")
LEATHER = {"good": "no defect", "cut": "cut defect", "glue": "droplet defect"}
CATS = ("cookie", "doudou")


def classes(root: Path, folders: Mapping[str, str], layout: str) -> list[Item]:
    """Images of some class folders, without a split.

    Args:
        root: Where the folders lie.
        folders: Labels by the folder's path.
        layout: What has to be there, for the error.

    Raises:
        DataError: A folder is missing.
    """
    return [
        item
        for path, label in folders.items()
        for item in _images("", label, require(root / path, layout), path.replace("/", "-"))
    ]


def split_or_not(root: Path) -> list[Item]:
    """Images of any class folders: those of ``train`` and ``test`` where they are there, else all without a split.

    Raises:
        DataError: There are no class folders with images.
    """
    named: dict[Split, Path] = {
        split: path
        for split, names in SPLITS.items()
        for path in [next((root / name for name in names if (root / name).is_dir()), None)]
        if path is not None
    }
    whole: dict[Split, Path] = named if len(named) == len(SPLITS) else {"": root}
    found = [
        item
        for split, path in whole.items()
        for folder in sorted(each for each in path.iterdir() if each.is_dir())
        for item in _images(split, folder.name, folder, "")
    ]
    if not found:
        raise DataError(f"{root} has no class folders with images, nor train and test with such folders")
    return found


def surfaces(root: Path) -> list[Item]:
    """Images of any category of MVTec AD: the good ones of both folders, and each defect of ``test``, without a split.

    Raises:
        DataError: A folder is missing.
    """
    defects = [each.name for each in sorted(require(root / "test", MVTEC_LAYOUT).iterdir()) if each.is_dir()]
    folders = {f"test/{name}": LEATHER["good"] if name == "good" else name for name in defects}
    return classes(root, {"train/good": LEATHER["good"], **folders}, MVTEC_LAYOUT)


def _images(split: Split, label: str, folder: Path, prefix: str) -> Iterator[Item]:
    """Images of a folder; names are told apart where several folders become one class."""
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in SUFFIXES:
            yield Item(split, label, f"{prefix}-{path.name}" if prefix else path.name, path)


def _name_labels(labels: Sequence[str]) -> dict[str, str]:
    return {label: label for label in labels}


KVASIR_LAYOUT = f"the folders {', '.join(KVASIR)} of kvasir-dataset-v2"
LEATHER_LAYOUT = "the folders train/good, test/good, test/cut and test/glue of leather"
MVTEC_LAYOUT = "a category's folders train/good and test, which has good and one folder for each defect"
CATS_LAYOUT = f"the folders {' and '.join(CATS)}"
FOLDER_LAYOUT = "one subfolder per class; or train and test (or val), each with one subfolder per class"

KVASIR_DATASET = Dataset(
    name="kvasir-f",
    title="KVASIR, its three pathological findings: endoscopic images",
    words="pathological damage in mucosa of gastrointestinal tract",
    read=partial(classes, folders=_name_labels(KVASIR), layout=KVASIR_LAYOUT),
    layout=KVASIR_LAYOUT,
    where="datasets.simula.no/kvasir",
    terms="research and education; ask the authors for anything else",
    sizes="PCEvolve: 10 shots per class, 600 test images, 256 x 256",
    held_out=200,
)
LEATHER_DATASET = Dataset(
    name="mvtec-leather",
    title="MVTec AD, leather: surfaces without and with two defects",
    words="leather texture",
    read=partial(
        classes,
        folders={"train/good": LEATHER["good"], **{f"test/{name}": label for name, label in LEATHER.items()}},
        layout=LEATHER_LAYOUT,
    ),
    layout=LEATHER_LAYOUT,
    where="mvtec.com/company/research/datasets/mvtec-ad",
    terms="CC BY-NC-SA 4.0: not for commercial use",
    sizes="PCEvolve: 19 images per class, 10 shots and 9 for the test; its 'droplet defect' is the folder "
    "glue; its prompt for 'no defect' has no label",
    held_out=9,
)
MVTEC_DATASET = Dataset(
    name="mvtec",
    title="MVTec AD, any category: surfaces and things without and with each of their defects",
    words="",
    read=surfaces,
    layout=MVTEC_LAYOUT,
    where=LEATHER_DATASET.where,
    terms=LEATHER_DATASET.terms,
    sizes="PCEvolve has leather alone, see mvtec-leather; others have 3 to 26 images of a defect, so choose --held-out",
    held_out=9,
)
CATS_DATASET = Dataset(
    name="cats",
    title="Cat Cookie and Cat Doudou of the Private Evolution paper",
    words="ragdoll cat",
    read=partial(classes, folders=_name_labels(CATS), layout=CATS_LAYOUT),
    layout=CATS_LAYOUT,
    where="with the paper's code: github.com/microsoft/DPSDA",
    terms="as its repository says",
    sizes="Private Evolution: 100 images of each cat, 512 x 512, no test set, prompt 'A photo of ragdoll cat' "
    "(provider.prompt_template)",
    held_out=20,
)
FOLDER_DATASET = Dataset(
    name="folder",
    title="Any folder of class folders, as torchvision's ImageFolder reads it",
    words="",
    read=split_or_not,
    layout=FOLDER_LAYOUT,
    where="yours",
    terms="yours",
    sizes="any; without a split, 20 images per class are held out unless --held-out says otherwise",
    held_out=20,
)
