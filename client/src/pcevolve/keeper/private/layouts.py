"""Advise on folders with other layouts than one folder per class: splits, patients, an outer folder."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

from pcevolve.keeper.private.companions import names_companions, names_pictures
from pcevolve.keeper.private.listing import Folders, is_folder, list_some, shorten

_TRAINING = frozenset({"train", "training"})
_HELD_OUT = ("test", "testing", "val", "valid", "validation", "dev", "eval", "holdout")
"""Names of split folders, see ``_split_name``; the likeliest test set comes first."""


def find_inner_root(path: Path, folders: Sequence[Path]) -> tuple[Path, str] | None:
    """Find the folder with the class folders if it is inside another one; None if ``folders`` are the classes.

    Returns:
        The inner folder, and advice on what to give instead.
    """
    named = {folder: _split_name(folder.name) for folder in folders if not names_companions(folder.name)}
    apart = list_some([folder.name for folder in folders if folder not in named])
    unread = (
        f"; the folder {apart} beside them is not read, because by its name it holds no images"
        if apart
        else ""
    )
    training = [folder for folder, name in named.items() if name in _TRAINING]
    held_out = [folder for wanted in _HELD_OUT for folder, name in named.items() if name == wanted]
    if training and set(named.values()) <= _TRAINING | set(_HELD_OUT):
        given = f"--private {quote(str(training[0]))}"
        given += f" --test {quote(str(held_out[0]))}" if held_out else ""
        if len(training) > 1:
            several = list_some([folder.name for folder in training])
            given = f"one folder that combines the class folders of {several}, or one of them: {given}"
        return training[0], f"{path} contains splits with class folders: give {given}{unread}"
    if len(named) == 1:
        (inner,) = named
        return inner, f"the class folders of {path} are one level deeper: give {quote(str(inner))}{unread}"
    return None


def _split_name(folder: str) -> str:
    """Return the name of the split that a folder contains, such as ``train`` for ``Train_Images-2017``."""
    letters = re.sub(r"[\W\d_]+", " ", folder.casefold()).strip()
    return re.sub(r"[ ]?(set|data|images?|imgs?|split)$", "", letters)


def _names_split(folder: str) -> bool:
    return _split_name(folder) in _TRAINING | set(_HELD_OUT)


def names_nobody(folder: str) -> bool:
    """True for a name that cannot be a patient's.

    The folder is named after a split (``train``), after pictures (``images``), or after files that accompany pictures
    (``ground_truth``).
    """
    return _names_split(folder) or names_pictures(folder) or names_companions(folder)


def describe_patients(path: Path, deep: Mapping[Path, Sequence[Path]]) -> str:
    """Advise on class folders with subfolders of images, such as one per patient."""
    inner = [entry.name for entries in deep.values() for entry in entries if is_folder(entry)]
    first = next(entry for entry in next(iter(deep.values())) if is_folder(entry))
    if all(_names_split(name) or names_companions(name) for name in inner):
        return (
            f"each folder in {path} contains splits, such as {shorten(first)}: give one of these folders, "
            f"{first.parent}"
        )
    if len(set(inner)) < len(deep) and len(inner) > len(set(inner)):
        return (
            f"{path} seems to contain one folder per patient, with class folders such as {min(inner)!r} in it: a run "
            "needs the order CLASS/PATIENT/image, and --unit-map"
        )
    if all(map(names_nobody, inner)):
        apart = next((each for each in sorted(set(inner)) if names_companions(each)), "")
        away = (
            f", and move the folder {apart!r} elsewhere, which by its name only accompanies images"
            if apart
            else ""
        )
        return f"the class folders contain folders, such as {shorten(first)}: move their images up{away}"
    example = next(Folders().files_below(first), first / "image.png")
    return (
        f"the class folders contain folders, such as {shorten(first)}: if each folder holds one patient's "
        "images, give --unit-map FILE, a CSV file with the lines 'file,patient' and, for each image, "
        f"such as '{example.relative_to(path).as_posix()},{first.name}' (pcevolve check "
        f"{quote(str(path))} --write-unit-map FILE writes it); otherwise move their images up"
    )
