"""The text medium: how texts are read and released, and which of their words become blanks.

A text is a string in a normal form, which ``normalise`` defines.
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

from pcevolve.public.config.data_source import TABLES
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
from pcevolve_shared.blanks import BLANK

Text: TypeAlias = str
"""A text in its normal form. It is opaque outside ``media`` and ``encoders``."""

MOST_BYTES: Final = 2**17
"""Largest number of bytes of one text as received: 128 KiB, about twenty thousand words."""
TOKEN_BYTES: Final = 64
"""Largest number of UTF-8 bytes in one token. Tokens of common vocabularies have fewer."""
MIN_BYTES: Final = 4096
"""A text may always have this many bytes, because some APIs count tokens differently."""
_BLANKS: Final = re.compile(r"\s+")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
"""Unicode categories of invisible characters: terminal and direction controls, surrogates, unassigned characters."""
_JOINERS: Final = "\u200c\u200d"
"""Invisible characters that some scripts need inside words; they are stripped at the ends of a text."""

_IDS: Final = re.compile(r"(?<!\S)(?=\S*\d)[!-~]{8,}(?!\S)")
"""ASCII words of eight or more characters that contain a digit.

The pattern covers only ASCII, because some scripts do not separate words by blanks.
"""

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
"""Beginnings of language models' refusals in English. APIs also refuse in other ways."""


def normalise(text: str) -> Text:
    """Return a text as it is embedded, fingerprinted and released: NFC, one line, no invisible characters."""
    shown = (
        each
        for each in _BLANKS.sub(" ", text)
        if each in _JOINERS or unicodedata.category(each) not in _UNSEEN
    )
    return _BLANKS.sub(" ", unicodedata.normalize("NFC", "".join(shown))).strip(f" {_JOINERS}")


def read_text(data: bytes) -> Text | None:
    """Decode a provider's text; None if it is too long, not UTF-8, or has no visible characters."""
    if len(data) > MOST_BYTES:
        return None
    try:
        return normalise(data.decode("utf-8")) or None
    except UnicodeDecodeError:
        return None


def drop_ids(text: Text) -> Text:
    """Remove words that look like ids or times, which a provider may add to equal texts. The result is never empty."""
    return _IDS.sub(" ", text).strip() or text


def is_refusal(text: Text) -> bool:
    """True if a language model refuses in its text to write the requested text."""
    return _REFUSAL.match(text) is not None


def blank_out(text: Text, degree: float, seed: int) -> str:
    """Replace some words of a text by blanks.

    Args:
        degree: Share of the words, in [0, 1]. If it is above 0, at least one word is replaced.
    """
    found = text.split(" ")
    count = min(len(found), max(int(degree > 0), round(Fraction(degree) * len(found))))
    # A hash instead of a random generator: an audit must find the same blanks with any version of Python.
    order = sorted(range(len(found)), key=lambda place: _turn(seed, place))
    gone = set(order[:count])
    return " ".join(BLANK if place in gone else word for place, word in enumerate(found))


def _turn(seed: int, place: int) -> bytes:
    return hashlib.sha256(f"blank/{seed}/{place}".encode()).digest()


def digest_text(text: str) -> bytes:
    """Return the SHA-256 by which the ledger identifies a text. The prefix keeps it distinct from images' digests."""
    return hashlib.sha256(b"text\n" + text.encode()).digest()


class TextMedium:
    """The text medium.

    A file of a release is a text in its normal form and a newline, in UTF-8; see ``ImageMedium``.
    """

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
        """Return Arrow's string type."""
        import pyarrow as pa

        return pa.string()

    def make_cell(self, name: str, released: bytes) -> object:
        """Return the text without its newline."""
        return released.decode().removesuffix("\n")

    def describe_oversize(self, data: bytes, plan: PublicPlan) -> str:
        """Return what is wrong with a text's length, to follow "the API sent"; empty if nothing is."""
        tokens = plan.texts.tokens
        if len(data) <= max(tokens * TOKEN_BYTES, MIN_BYTES):
            return ""
        return f"a text of {len(data)} bytes where {tokens} tokens were asked for"

    def check(self, data: bytes) -> CandidateCheck:
        """Check a text, and compute its signature, which ignores capitals and ids.

        A refusal cannot be used.
        """
        text = read_text(data)
        if text is None:
            return CandidateCheck("empty, withheld or no text", np.empty(0, dtype=np.uint8))
        named = hashlib.sha256(drop_ids(text).casefold().encode()).digest()
        fault = "refusals" if is_refusal(text) else ""
        shows = "" if fault else hashlib.sha256(text.encode()).hexdigest()
        return CandidateCheck(fault, np.frombuffer(named, dtype=np.uint8), shows=shows)

    def mark_alike(self, kept: NDArray[np.int16], signature: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Mark candidates with the same signature, which is a digest."""
        same: NDArray[np.bool_] = (kept == signature).all(axis=1)
        return same

    def show(self, data: bytes, wanted: Look | None = None) -> RenderedImages:
        return RenderedImages(text=read_text(data) or "")

    def blank(self, received: bytes, share: float, seed: int) -> str | None:
        """Return the text with blanks; None for an undecodable text, which the caller replaces by a new request."""
        text = read_text(received)
        return None if text is None else blank_out(text, share, seed)

    def show_decoded(self, item: Item) -> RenderedImages:
        return RenderedImages(text=item)

    def open(
        self, path: Path, wanted: Look | None = None, window: tuple[float, float] | None = None
    ) -> tuple[Item | None, bytes]:
        """Return the text of a UTF-8 file (None if it is empty) with its digest; see ``ImageMedium.open``."""
        if path.suffix.lower() in TABLES:
            raise UnreadableError("is a table: give files of one text each, or a folder of them")
        try:
            text = read_text(path.read_bytes())
        except OSError as error:
            raise UnreadableError(f"cannot be read: {error.strerror}") from None
        return text, digest_text(text or "")

    def decode(self, data: bytes, wanted: Look | None = None) -> Item | None:
        """Decode a text; None for a refusal. The appearance is ignored, because texts have none."""
        text = read_text(data)
        return None if text is None or is_refusal(text) else text

    def encode_release(self, data: bytes, wanted: Look | None = None) -> bytes:
        """Return the text with a newline; see ``ImageMedium.encode_release``."""
        text = self.decode(data)
        if text is None:
            raise UnreadableError
        return f"{text}\n".encode()

    def decode_release(self, released: bytes) -> Item | None:
        return read_text(released)


TEXTS: Final = TextMedium()
