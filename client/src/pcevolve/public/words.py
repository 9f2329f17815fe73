"""Public words: valid names of classes, and prompts made from class names and the domain.

A label is public text in prompts, and the name of a folder in the release. Releases are copied to other
machines. A label must therefore be a distinct, valid folder name on Linux, macOS and Windows, and differ from
the names of the release's own files. All code that accepts labels calls these pure functions before any budget
is spent.

A template makes one prompt for a class; a small grammar makes several. The grammar replaces the language model
in the baseline LE of the PCEvolve paper (section 5.1). Its prompts paraphrase the same class with other
viewpoints and other light, so that a generator draws more varied images of the class.

Sources: Microsoft, "Naming Files, Paths, and Namespaces"; Unicode, section 3.13 (compatibility caseless
matching).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import islice, product
from typing import Final

RELEASE_FILES = frozenset({"manifest.json", "readme.md", "classifier.safetensors"})
"""Files in a release next to the class folders, in lower case."""
SYSTEM_FILES = frozenset(
    {".ds_store", "thumbs.db", "desktop.ini", "__macosx", "@eadir", "#recycle", "$recycle.bin", "lost+found"}
    | {"system volume information"}
)
"""Files that operating systems create unasked, in lower case; the loader skips them."""
MAX_CHARS = 100
MAX_BYTES = 200  # in UTF-8; file names may have 255, which leaves room for the suffixes of copies
_FORBIDDEN = '/\\<>:"|?*'  # separators, and characters that Windows reserves
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in range(10)}
)

TEMPLATE = "A {domain} image with {label}"
_CONSONANT_SOUNDS = ("eu", "one", "uniform", "unique", "univers", "us", "uter", "ureter", "urin")
USUAL = 10
"""Default number of prompts per class."""

_SENTENCES = (
    TEMPLATE,
    "{label}, {domain}",
    "A typical {domain} picture that shows {label}",
    "{domain} with {label} in the centre",
    "A photograph of {domain}, class {label}",
    "An example of {label} in a {domain} data set",
    "A close-up of {label}, {domain}",
    "A {domain} image of another kind of {label}",
)
_WAYS = (
    "",
    ", sharp and evenly lit",
    ", seen from a little further away",
    ", in soft light",
    ", with strong contrast",
    ", slightly rotated",
    ", on a plain background",
    ", faint and small",
)
_CONTEXTS = (
    "",
    ", by daylight from a window",
    ", under a lamp from the left",
    ", under a lamp from the right",
    ", taken with a hand-held camera",
    ", taken with a fixed camera from above",
    ", with a shallow depth of field",
    ", with everything in focus",
    ", slightly overexposed",
    ", slightly underexposed",
    ", in cool colours",
    ", in warm colours",
    ", in muted colours",
    ", with a little motion blur",
    ", with visible grain",
    ", as part of a long series",
)
MOST = len(_SENTENCES) * len(_WAYS) * len(_CONTEXTS)
"""Number of prompts per class that the grammar can make."""
IMAGE: Final = "image"
"""Name of the privacy unit if units are single images."""


def find_label_faults(labels: Iterable[str]) -> list[str]:
    """Return one line for each invalid label, and for each label that some machine cannot tell from an earlier one."""
    faults: list[str] = []
    first: dict[str, str] = {}
    for label in labels:
        fault = find_label_fault(label)
        if fault is not None:
            faults.append(f"class name {label!r} cannot be used as a label: {fault}")
        elif _key(label) in first:
            faults.append(
                f"class names {first[_key(label)]!r} and {label!r} are the same name on some machines"
            )
        else:
            first[_key(label)] = label
    return faults


def choose_labels(words: Sequence[str]) -> tuple[str, ...]:
    """Return public names of classes, which depend only on the words that prompts use for them.

    Returns:
        The words, if together they are valid labels; otherwise ``class 1``, ``class 2`` by position.
    """
    names = tuple(each if find_label_fault(each) is None else f"class {k}" for k, each in enumerate(words, 1))
    return names if not find_label_faults(names) else tuple(f"class {k}" for k in range(1, len(words) + 1))


def find_label_fault(label: str) -> str | None:
    """Return why a single label is invalid; None if it is valid."""
    return _text_fault(label) or _name_fault(label)


def _text_fault(label: str) -> str | None:
    """Return why a label cannot be part of a prompt or of a file name; None if it can."""
    if not label.isprintable():
        return "it has characters that cannot be seen"
    if not 0 < len(label) <= MAX_CHARS or len(label.encode()) > MAX_BYTES:
        return f"it must have 1 to {MAX_CHARS} characters and at most {MAX_BYTES} bytes"
    if label != label.strip() or label.startswith(".") or label.endswith("."):
        return "it begins or ends with a blank or a dot"
    return None


def _name_fault(label: str) -> str | None:
    """Return why some machine cannot have a folder with this name in a release; None if every machine can."""
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
    """Return the form in which file systems that ignore case and normalise Unicode compare a name."""
    # Convert to upper case first, as Windows does. This also joins names that case folding keeps apart, such as
    # i with and without a dot.
    folded = unicodedata.normalize("NFKC", label).upper().casefold()
    return unicodedata.normalize("NFKC", folded)


def fill(template: str, domain: str, label: str) -> str:
    """Replace ``{domain}`` and ``{label}`` in a template. The inserted words are not searched for placeholders."""
    # An article before a placeholder is replaced too, because its form depends on the inserted words.
    words = {"domain": domain, "label": label}
    return re.sub(
        r"(?:\b([Aa]) )?\{(domain|label)\}",
        lambda match: (f"{match[1]}{_end_article(words[match[2]])} " if match[1] else "") + words[match[2]],
        template,
    )


def _end_article(words: str) -> str:
    """Return the "n" of an article before words, by the usual pronunciation: an MRI, an X-ray, an organ, a uterus."""
    first = re.split(r"[\s-]", words, maxsplit=1)[0]
    if first.isupper():
        return "n" if first[0] in "AEFHILMNORSX" else ""
    return (
        "n" if first[:1].lower() in set("aeiou") and not first.lower().startswith(_CONSONANT_SOUNDS) else ""
    )


def nfc(text: str) -> str:
    """Normalise a text to NFC for comparison, because some file systems decompose names (NFD)."""
    return unicodedata.normalize("NFC", text)


def put_in_one_line(text: str) -> str:
    """Return foreign text as one line, with a single space for each sequence of invisible characters."""
    return " ".join("".join(" " if unicodedata.category(each)[0] in "CZ" else each for each in text).split())


def summarise_prompts(prompts: Sequence[str]) -> str:
    """Summarise the prompts of a class in one line: the first prompt, and the number of others."""
    others = len(prompts) - 1
    return prompts[0] + (f" (and {others} other prompt{'s' if others > 1 else ''})" if others else "")


def make_prompts(domain: str, label: str, count: int = USUAL) -> tuple[str, ...]:
    """Return distinct prompts for a class. The first is the default; consecutive prompts differ in sentence and style.

    Context is added once sentences and styles are used up.

    Raises:
        ValueError: The grammar has fewer prompts.
    """
    if not 1 <= count <= MOST:
        raise ValueError(f"there are 1 to {MOST} prompts for a class, not {count}")
    places = product(range(len(_CONTEXTS)), range(len(_WAYS)), range(len(_SENTENCES)))
    return tuple(fill(_word(*place), domain, label) for place in islice(places, count))


def _word(context: int, turn: int, sentence: int) -> str:
    """Return one prompt of the grammar with its placeholders; each triple of indices gives another prompt."""
    others = len(_CONTEXTS) - 1
    # The context depends on sentence and style, so that consecutive prompts do not share one.
    behind = _CONTEXTS[1 + (context - 1 + sentence + turn) % others] if context else ""
    return _SENTENCES[sentence] + _WAYS[(sentence + turn) % len(_WAYS)] + behind
