"""Recognise by name the files and folders that accompany pictures: masks, labels, resized copies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

MOST_FILES = 100_000
"""Largest number of files that are searched for companions; the search then takes some seconds."""
_PIECES = re.compile(r"\d+|[^\W\d_]+")
_LAST_PART = re.compile(r"[\s._()\[\]-]+[^\s._()\[\]-]*[)\]]?$")
_OF_COMPANIONS = frozenset({
    "mask", "masks", "seg", "segm", "segs", "segmentation", "segmentations", "label", "labels",
    "labelled", "gt", "groundtruth", "truth", "annotation", "annotations", "annot", "annotated",
    "contour", "contours", "overlay", "overlays", "heatmap", "heatmaps", "saliency", "cam", "gradcam",
    "depth", "matte", "trimap", "roi", "rois", "bbox", "bboxes", "edges", "pred", "preds", "prediction",
    "predictions", "prob", "probs", "thumb", "thumbs", "thumbnail", "thumbnails", "preview", "previews",
    "copy", "kopie", "copie", "copia", "flip", "flipped", "hflip", "vflip", "mirror", "mirrored", "rot",
    "rotated", "rot90", "rot180", "rot270", "crop", "cropped", "resized", "aug", "augmented",
})  # fmt: skip
"""Words in names of files and folders that accompany a picture."""
_OF_PICTURES = frozenset(
    {"image", "images", "img", "imgs", "picture", "photo", "rgb", "raw", "orig", "original", "of"}
)


def names_companions(folder: str) -> bool:
    """True for a folder named after companions of pictures elsewhere, such as ``ground_truth``."""
    return bool(_split_words(folder)) and _split_words(folder) <= _OF_COMPANIONS | {"ground"}


def names_pictures(folder: str) -> bool:
    """True for a folder named after pictures alone, such as ``images``, which cannot be a patient's folder."""
    return bool(_split_words(folder)) and _split_words(folder) <= _OF_PICTURES


def _split_words(name: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", name.casefold()))


def find_companions(names: Sequence[str]) -> list[tuple[int, int]]:
    """Find files that are named after another picture, such as masks and copies.

    Args:
        names: Paths inside the folder, with slashes.

    Returns:
        Pairs of indices: the picture, and its companion.
    """
    names = names[:MOST_FILES]
    # Reversed, so that of equal names the first file stays in the dictionary.
    exact = {
        (PurePosixPath(name).parent.parts, _stem(name)): place
        for place, name in reversed([*enumerate(names)])
    }
    by_base: dict[tuple[object, str], list[int]] = {}
    found: dict[int, int] = {}
    for place, name in enumerate(names):
        folder, stem = PurePosixPath(name).parent.parts, _stem(name)
        # Compared across folders too, because images/7.png and masks/7.png belong together.
        own = tuple(each for each in folder if not names_companions(each) and not names_pictures(each))
        by_base.setdefault((own, _strip(stem)), []).append(place)
        others = (exact.get((folder, each), place) for each in _shorten(stem))
        if (first := next((other for other in others if other != place), None)) is not None:
            found[place] = first
    for places in by_base.values():
        companions = [place for place in places if _is_companion(names[place])]
        first = next((place for place in places if place not in companions), places[0])
        found |= {place: first for place in companions if place != first and place not in found}
    return sorted((first, place) for place, first in found.items())


def _stem(name: str) -> str:
    return PurePosixPath(name).stem.casefold()


def _shorten(stem: str) -> Iterator[str]:
    """Yield the names of possible pictures for a file: its own, and the name without its last parts."""
    yield stem
    while (shorter := _LAST_PART.sub("", stem)) not in ("", stem):
        yield (stem := shorter)


def _strip(stem: str) -> str:
    """Return a name without the words for companions and pictures."""
    words = _PIECES.findall(stem)
    own = [word for word in words if word not in _OF_COMPANIONS | _OF_PICTURES]
    return " ".join(own or words)


def _is_companion(name: str) -> bool:
    path = PurePosixPath(name)
    return bool({*_PIECES.findall(path.stem.casefold())} & _OF_COMPANIONS) or any(
        map(names_companions, path.parent.parts)
    )
