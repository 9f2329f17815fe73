"""Rules for the names of classes: a label is public text in prompts and the name of a folder in the release.

Others copy a release to machines of their own, so a label has to name a folder of its own on Linux, macOS and Windows,
and beside the release's own files. Pure functions, called by all that take labels in: before anything is spent.

Sources: Microsoft, "Naming Files, Paths, and Namespaces"; Unicode, section 3.13 (compatibility caseless matching).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

RELEASE_FILES = frozenset({"manifest.json", "readme.md", "classifier.safetensors"})
"""Files that lie beside the class folders of a release, in lower case."""
SYSTEM_FILES = frozenset({"thumbs.db", "desktop.ini", "__macosx"})
"""Files that systems put into folders unasked, in lower case; the loader passes over them."""
MAX_CHARS = 100
MAX_BYTES = 200  # in UTF-8; a file name may have 255, and copies get suffixes
_FORBIDDEN = '/\\<>:"|?*'  # separators, and what Windows keeps for itself
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in range(10)}
)


def label_faults(labels: Iterable[str]) -> list[str]:
    """Return a line for each label that cannot be used, and for each that some machine takes for an earlier one.

    Args:
        labels: Of one dataset.

    Returns:
        Nothing if all can be used together.
    """
    faults: list[str] = []
    first: dict[str, str] = {}
    for label in labels:
        fault = label_fault(label)
        if fault is not None:
            faults.append(f"class name {label!r} cannot be used as a label: {fault}")
        elif _key(label) in first:
            faults.append(
                f"class names {first[_key(label)]!r} and {label!r} are the same name on some machines"
            )
        else:
            first[_key(label)] = label
    return faults


def labels_for(words: Sequence[str]) -> tuple[str, ...]:
    """Return public names for classes that follow from what prompts say of them, and from nothing else.

    Args:
        words: Of each class; may be empty, alike, or no names for folders.

    Returns:
        The words where they can be used as labels together, and ``class 1``, ``class 2`` by place where not.
    """
    names = tuple(each if label_fault(each) is None else f"class {k}" for k, each in enumerate(words, 1))
    return names if not label_faults(names) else tuple(f"class {k}" for k in range(1, len(words) + 1))


def label_fault(label: str) -> str | None:
    """Return why a label cannot be used, whatever the others are; None if it can."""
    return _text_fault(label) or _name_fault(label)


def _text_fault(label: str) -> str | None:
    """Say why a label cannot stand in a prompt or be any file's name."""
    if not label.isprintable():
        return "it has characters that cannot be seen"
    if not 0 < len(label) <= MAX_CHARS or len(label.encode()) > MAX_BYTES:
        return f"it must have 1 to {MAX_CHARS} characters and at most {MAX_BYTES} bytes"
    if label != label.strip() or label.startswith(".") or label.endswith("."):
        return "it begins or ends with a blank or a dot"
    return None


def _name_fault(label: str) -> str | None:
    """Say why a label cannot name a folder of the release on every machine."""
    if taken := sorted(set(_FORBIDDEN) & set(label)):
        return f"a folder's name cannot have {' '.join(taken)} on every machine"
    if _key(label) in RELEASE_FILES:
        return "the release has a file of that name"
    if _key(label) in SYSTEM_FILES:
        return "systems put files of that name into folders"
    if _key(label).split(".")[0].rstrip() in _DEVICES:
        return "Windows keeps that name for a device"
    return None


def _key(label: str) -> str:
    """Return a name as file systems see it that ignore case or spelling."""
    # Upper case first, as Windows compares: it also joins what folding keeps apart, such as i with and without dot.
    folded = unicodedata.normalize("NFKC", label).upper().casefold()
    return unicodedata.normalize("NFKC", folded)
