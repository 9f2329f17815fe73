"""Public photographs as training material: which may be used, which are held back, and views of them.

The collection is a folder with a ``manifest.csv`` (columns ``file, domain, label, source, source_path,
licence``) and 64 to 128 pixel images. It is no part of the project; without it, nothing here is needed.
"""

from __future__ import annotations

import csv
import hashlib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from material.captions import WORDS
from material.facts import SIZE, Rng

# Private sets of development; no generator that ships may have seen them.
RESERVED_DOMAINS = frozenset({"household waste"})
RESERVED_THIRDS = frozenset({"chest x-ray", "blood smear"})
SHARE_ALIKE = "sa/"
HELD_BACK_SHARE = 0.1
# One sheet of a texture library holds many different materials; elsewhere "#" names a crop of one image.
_SHEETS = "previews/"


@dataclass(frozen=True)
class Photograph:
    """One image of the collection.

    Attributes:
        file: Path below the collection's folder.
        domain: What kind of image it is, e.g. ``flower``.
        label: What it shows, e.g. ``rose``.
        original: Name of the image that it was cut from; crops of one original share it.
        licence: Licence as the manifest has it.
    """

    file: str
    domain: str
    label: str
    original: str
    licence: str


def is_reserved(file: str, domain: str) -> bool:
    """Say whether an image is kept from everything that ships."""
    if file.startswith(SHARE_ALIKE) or domain in RESERVED_DOMAINS:
        return True
    return domain in RESERVED_THIRDS and int(Path(file).stem) % 3 == 0


def read_manifest(folder: Path) -> list[Photograph]:
    """Return what may be trained on, in the manifest's order; ``captions.KEPT`` says which domains the model keeps."""
    with (folder / "manifest.csv").open(newline="", encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if not is_reserved(row["file"], row["domain"])]
    return [
        Photograph(row["file"], row["domain"], row["label"], _original(row), row["licence"]) for row in rows
    ]


def _original(row: dict[str, str]) -> str:
    path = row["source_path"]
    return f"{row['source']}/{path if path.startswith(_SHEETS) else path.split('#')[0]}"


def split(photographs: list[Photograph]) -> tuple[list[Photograph], list[Photograph]]:
    """Hold back a tenth of each domain for evaluation; return ``(training, held back)``.

    Crops of one original are on one side. Which originals are held back depends on their names alone.
    """
    by_domain: dict[str, dict[str, list[Photograph]]] = defaultdict(lambda: defaultdict(list))
    for photograph in photographs:
        by_domain[photograph.domain][photograph.original].append(photograph)
    training: list[Photograph] = []
    held_back: list[Photograph] = []
    for originals in by_domain.values():
        wanted = HELD_BACK_SHARE * sum(map(len, originals.values()))
        taken = 0
        for name in sorted(originals, key=lambda o: hashlib.sha256(o.encode()).digest()):
            (held_back if taken < wanted else training).extend(originals[name])
            taken += len(originals[name])
    return training, held_back


def load(folder: Path, photograph: Photograph) -> Image.Image:
    """Return the decoded image, RGB."""
    return Image.open(folder / photograph.file).convert("RGB")


def plain_view(image: Image.Image) -> Image.Image:
    """Return the whole image at 64 x 64 pixels, as evaluation sees it."""
    return image.resize((SIZE, SIZE), Image.Resampling.LANCZOS)


def view(image: Image.Image, domain: str, rng: Rng) -> Image.Image:
    """Return a random 64 x 64 view: a crop, mirrored or turned where the domain allows it."""
    words = WORDS[domain]
    side = round(min(image.size) * rng.uniform(words.smallest_crop, 1.0))
    left, top = (int(rng.integers(room - side + 1)) for room in image.size)
    found = image.resize((SIZE, SIZE), Image.Resampling.LANCZOS, (left, top, left + side, top + side))
    if words.symmetry != "none" and rng.random() < 0.5:
        found = found.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if words.symmetry == "all":
        found = found.rotate(90 * int(rng.integers(4)))
    return found
