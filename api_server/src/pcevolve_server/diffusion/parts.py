"""Find missing parts of a model's folder in the layout of diffusers, by names, sizes and headers, before it is read.

The libraries tell of a missing network by the name of a file, and of some lacks not at all: without a tokenizer a
model loads, and fails when it draws.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from diffusers import DiffusionPipeline
from torch import nn

INDEX: Final = "model_index.json"
_LENGTH_BYTES: Final = 8
_LONGEST_HEADER: Final = 10**8
"""Bytes, as the library that reads these files has it."""
_AGAIN: Final = "download the model again, whole"
NO_MODEL: Final = (
    f"it has no {INDEX}: give a folder in the layout of diffusers, or one file with all weights of a model"
)
LACKS_SOME: Final = f"it lacks weights of some layers: {_AGAIN}"


def names_in(file: Path) -> Collection[str]:
    """Names of the tensors in a file; none of one that is no safetensors file."""
    return _header(file).keys() if file.suffix == ".safetensors" else ()


def find_fault(folder: Path, index: Mapping[str, Any]) -> str | None:
    """Say which of a model's parts is not in its folder, or has no words; None where nothing is missing."""
    missing = next((name for name in _parts(index) if not any((folder / name).glob("*"))), None)
    return find_wordless(folder, index) if missing is None else f"its folder has no {missing}: {_AGAIN}"


_WORDS: Final = (
    "tokenizer.json",
    "vocab.json",
    "vocab.txt",
    "spiece.model",
    "tokenizer.model",
    "sentencepiece.model",
)
"""Files of which one has the words of a tokenizer."""


def find_wordless(folder: Path, index: Mapping[str, Any]) -> str | None:
    """Say which tokenizer has no words, or no rules by which they are cut; None where none is so.

    The library makes up an empty one, or cuts words into letters, and says nothing.
    """
    for place in (folder / name for name in _parts(index) if name.startswith("tokenizer")):
        there = {each.name for each in place.glob("*") if each.is_file()}
        if there and not there & {*_WORDS}:
            return f"{place.name} has no file of words, such as {_WORDS[0]}: {_AGAIN}"
        if "vocab.json" in there and not there & {"merges.txt", "tokenizer.json"}:
            return f"{place.name} has words and no merges.txt, by which they are cut: {_AGAIN}"
    return None


def find_unfilled(pipeline: DiffusionPipeline) -> str | None:
    """Say which network did not find all of its weights; None where each did.

    diffusers leaves those without memory; transformers fills its own by chance, see :func:`find_lacking`.
    """
    for name, network in pipeline.components.items():
        weights = network.state_dict().values() if isinstance(network, nn.Module) else ()
        if lacking := sum(each.is_meta for each in weights):
            return f"{name} has {len(weights) - lacking} of its {len(weights)} weights: {_AGAIN}"
    return None


class _Collector(logging.Handler):
    """Keeps what is said."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.said.append(_COLOURS.sub("", record.getMessage()))


_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
_REPORT: Final = re.compile(r"LOAD REPORT from: (.+)")
_MISSING: Final = re.compile(r"^(\S.*?) *\| *MISSING\b", re.MULTILINE)


def find_lacking(said: Iterable[str]) -> str | None:
    """Say which network of transformers lacks weights: it fills them by chance, and goes on.

    diffusers reads them and passes on no report, so its log is all that tells.

    Args:
        said: What ``transformers.modeling_utils`` did: tables of names and what is wrong with each.
    """
    for told in said:
        lacking = _MISSING.findall(told)
        if lacking and (place := _REPORT.search(told)):
            return f"{Path(place[1]).name} has no weights for {lacking[0]}: {_AGAIN}"
    return None


@contextmanager
def hear(name: str) -> Iterator[list[str]]:
    """Collect the warnings of a library's log, which nobody else is told."""
    log, kept = logging.getLogger(name), _Collector()
    before = log.level, log.propagate
    log.addHandler(kept)
    log.setLevel(logging.WARNING)
    log.propagate = False
    try:
        yield kept.said
    finally:
        log.removeHandler(kept)
        log.setLevel(before[0])
        log.propagate = before[1]


def _parts(index: Mapping[str, Any]) -> Iterator[str]:
    """Names of the parts that a model has."""
    for name, kind in index.items():
        if not name.startswith("_") and isinstance(kind, list | tuple) and len(kind) > 1 and kind[1]:
            yield name


def _header_length(file: Path) -> int:
    with file.open("rb") as opened:
        return int.from_bytes(opened.read(_LENGTH_BYTES), "little")


def _header(file: Path) -> dict[str, Any]:
    """The header of a file of weights; empty where it is none, which its reader will tell."""
    length = _header_length(file)
    # The length is the file's own word; a wrong one would have the whole of it read as JSON.
    if length > min(_LONGEST_HEADER, file.stat().st_size):
        return {}
    with file.open("rb") as opened:
        opened.seek(_LENGTH_BYTES)
        try:
            found = json.loads(opened.read(length))
        except (ValueError, RecursionError):
            return {}
    return found if isinstance(found, dict) else {}
