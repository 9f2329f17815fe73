"""Texts as one kind of data: how they are read, what of them is released, and which of their words become blanks.

A text is a string in one normal form: see ``normalise``.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pcevolve.public.media import (
    FROM_PARQUET,
    CandidateCheck,
    Item,
    Look,
    RenderedImages,
    UnreadableError,
)
from pcevolve.public.modality import Kind
from pcevolve.public.plan import PublicPlan
from pcevolve.public.sources import TABLES
from pcevolve_shared.blanks import BLANK

Text: TypeAlias = str
"""A text in its normal form. Outside ``modality`` and ``encoders`` it is opaque: carried, never looked into."""

MOST_BYTES: Final = 2**17
"""Of one text, as it comes: 128 KiB, some twenty thousand words."""
TOKEN_BYTES: Final = 64
"""Of UTF-8, more than a token of any common vocabulary has."""
MIN_BYTES: Final = 4096
"""So long a text may always be, for an API that counts other tokens."""
_BLANKS: Final = re.compile(r"\s+")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
"""Unicode's categories of what does not show: controls of terminals and of direction, halves of pairs, nothing."""
_JOINERS: Final = "\u200c\u200d"
"""Which some scripts need to spell their words; at the ends of a text they join nothing."""

_IDS: Final = re.compile(r"(?<!\S)(?=\S*\d)[!-~]{8,}(?!\S)")
"""Words of eight characters or more with a digit among them, in ASCII: some scripts put no blanks between words."""

_APOLOGY: Final = (
    r"(?:i['’ ]?a?m (?:very |so |really |deeply )?sorry|sorry|(?:i|we) (?:must )?apologi[sz]e|my apologies"
    r"|unfortunately|i (?:understand|appreciate) (?:your|that you))\b"
)
_UNABLE: Final = (
    r"(?:i|we)(?:['’]m|['’]re| am| are)? ?(?:can(?:no| no|['’]?)t|could(?:n['’]?| no)t|wo(?:n['’]?)t|will not"
    r"|unable to|not (?:able|allowed|permitted) to|(?:must|have to) (?:respectfully )?decline to)"
)
_TASK: Final = (
    r"(?:help (?:with|you)|assist|comply|fulfil|provide|create|generate|write|produce|engage|discuss|answer"
    r"|respond|process|fabricate|simulate|continue|do (?:that|this|so))"
)
_POLICY: Final = (
    r"(?:your|this|the) (?:request|prompt|content|response|message)\b.{0,60}?"
    r"\b(?:violat|against|blocked|flagged|filtered|rejected by|not (?:allowed|permitted))"
    r".{0,80}?\b(?:polic|guideline|filter|safety|moderation|terms)"
)
_REFUSAL: Final = re.compile(
    rf"\W*(?:{_APOLOGY}.{{0,80}}?\b{_UNABLE} (?:{_TASK}|help\b)|{_UNABLE} {_TASK}|{_POLICY}"
    r"|i must (?:respectfully )?decline\b"
    r"|(?:i['’]m|i am) not comfortable (?:with )?(?:writ|creat|generat|provid|produc)"
    r"|as an? (?:responsible )?(?:ai|artificial intelligence|(?:large )?language model)\b)",
    re.IGNORECASE,
)
"""How a language model begins, in English, that does not write what it was asked for; APIs say it otherwise too."""


def normalise(text: str) -> Text:
    """A text as it is embedded, fingerprinted and released: NFC, one line, nothing that does not show."""
    shown = (
        each
        for each in _BLANKS.sub(" ", text)
        if each in _JOINERS or unicodedata.category(each) not in _UNSEEN
    )
    return _BLANKS.sub(" ", unicodedata.normalize("NFC", "".join(shown))).strip(f" {_JOINERS}")


def read_text(data: bytes) -> Text | None:
    """A text that a provider sent; None for what is none: too long, not UTF-8, or nothing that shows."""
    if len(data) > MOST_BYTES:
        return None
    try:
        return normalise(data.decode("utf-8")) or None
    except UnicodeDecodeError:
        return None


def drop_ids(text: Text) -> Text:
    """A text without what looks like an id or a moment, which a provider may add to the same words; never empty."""
    return _IDS.sub(" ", text).strip() or text


def is_refusal(text: Text) -> bool:
    """True if a language model says in a text that it does not write what it was asked for."""
    return _REFUSAL.match(text) is not None


def blank_out(text: Text, degree: float, seed: int) -> str:
    """A text with blanks in place of some of its words.

    Args:
        degree: Which share of the words, in [0, 1]; at least one where it is above 0.
    """
    found = text.split(" ")
    count = min(len(found), max(int(degree > 0), round(Fraction(degree) * len(found))))
    order = sorted(range(len(found)), key=lambda place: _turn(seed, place))
    gone = set(order[:count])
    return " ".join(BLANK if place in gone else word for place, word in enumerate(found))


def _turn(seed: int, place: int) -> bytes:
    return hashlib.sha256(f"blank/{seed}/{place}".encode()).digest()


def digest_text(text: str) -> bytes:
    """SHA-256 by which the ledger knows a text; with the kind before it: no image's pixels have the same."""
    return hashlib.sha256(b"text\n" + text.encode()).digest()


class TextMedium:
    """A file of a release is a text in its normal form and a line's end, in UTF-8; see ``ImageMedium`` for the rest."""

    kind: Kind = "text"
    suffix: str = ".txt"
    loaders: Mapping[str | None, str] = {
        None: 'sklearn.datasets.load_files(DIR, encoding="utf-8")',
        "parquet": FROM_PARQUET,
        "jsonl": 'datasets.load_dataset(DIR)\npandas.read_json(DIR + "/data/train-00000.jsonl", lines=True)',
        "csv": 'datasets.load_dataset(DIR)\npandas.read_csv(DIR + "/data/train-00000.csv")',
        "webdataset": 'datasets.load_dataset("webdataset", data_dir=DIR)\n'
        'webdataset.WebDataset(sorted(glob.glob(DIR + "/data/*.tar"))).decode().to_tuple("txt", "cls")',
    }
    feature: Mapping[str, str] = {"dtype": "string", "_type": "Value"}
    card_type: str = "string"
    has_folder_features: bool = False

    def arrow_type(self) -> Any:  # noqa: ANN401 - pyarrow has no types
        """A string."""
        import pyarrow as pa

        return pa.string()

    def make_cell(self, name: str, released: bytes) -> object:
        """The text without its line's end."""
        return released.decode().removesuffix("\n")

    def describe_oversize(self, data: bytes, plan: PublicPlan) -> str:
        """Tokens may be long ones."""
        tokens = plan.texts.tokens
        if len(data) <= max(tokens * TOKEN_BYTES, MIN_BYTES):
            return ""
        return f"a text of {len(data)} bytes where {tokens} tokens were asked for"

    def check(self, data: bytes) -> CandidateCheck:
        """Two texts are the same that differ in capitals and ids at most; a refusal cannot be used."""
        text = read_text(data)
        if text is None:
            return CandidateCheck("empty, withheld or no text", np.empty(0, dtype=np.uint8))
        named = hashlib.sha256(drop_ids(text).casefold().encode()).digest()
        fault = "refusals" if is_refusal(text) else ""
        shows = "" if fault else hashlib.sha256(text.encode()).hexdigest()
        return CandidateCheck(fault, np.frombuffer(named, dtype=np.uint8), shows=shows)

    def mark_alike(self, kept: NDArray[np.int16], signature: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Signatures are digests."""
        same: NDArray[np.bool_] = (kept == signature).all(axis=1)
        return same

    def show(self, data: bytes, wanted: Look | None = None) -> RenderedImages:
        """The text."""
        return RenderedImages(text=read_text(data) or "")

    def blank(self, received: bytes, share: float, seed: int) -> str | None:
        """The text with blanks; None for what is no text, which is varied by asking anew."""
        text = read_text(received)
        return None if text is None else blank_out(text, share, seed)

    def show_decoded(self, item: Item) -> RenderedImages:
        """The text itself."""
        return RenderedImages(text=item)

    def open(
        self, path: Path, wanted: Look | None = None, window: tuple[float, float] | None = None
    ) -> tuple[Item | None, bytes]:
        """The text of a file in UTF-8, None for an empty one; see ``ImageMedium.open``."""
        if path.suffix.lower() in TABLES:
            raise UnreadableError("is a table: give files of one text each, or a folder of them")
        try:
            text = read_text(path.read_bytes())
        except OSError as error:
            raise UnreadableError(f"cannot be read: {error.strerror}") from None
        return text, digest_text(text or "")

    def decode(self, data: bytes, wanted: Look | None = None) -> Item | None:
        """A text has no appearance."""
        text = read_text(data)
        return None if text is None or is_refusal(text) else text

    def encode_release(self, data: bytes, wanted: Look | None = None) -> bytes:
        """The text and a line's end; see ``ImageMedium.encode_release``."""
        text = self.decode(data)
        if text is None:
            raise UnreadableError
        return f"{text}\n".encode()

    def decode_release(self, released: bytes) -> Item | None:
        """The text of a released file."""
        return read_text(released)


TEXTS: Final = TextMedium()
