"""Find what a model's folder or file lacks, where the libraries fill it by chance, or with nothing, and say nothing."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from diffusers import DiffusionPipeline
from safetensors import SafetensorError, safe_open
from torch import nn

INDEX: Final = "model_index.json"
LACKS_SOME: Final = "it lacks weights of some layers: download the model again, whole"
_MISSING: Final = re.compile(r"LOAD REPORT from: (\S+).*\| *MISSING\b", re.DOTALL)
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
_WORDS: Final = {
    "tokenizer.json",
    "vocab.json",
    "vocab.txt",
    "spiece.model",
    "tokenizer.model",
    "sentencepiece.model",
}


def names_in(file: Path) -> Collection[str]:
    """Names of the tensors in a file; none of one that is no safetensors file."""
    try:
        with safe_open(file, "pt") as opened:
            return set(opened.keys())
    except (SafetensorError, OSError):
        return ()


def find_fault(folder: Path, pipeline: DiffusionPipeline, said: Iterable[str]) -> str | None:
    """Say which part of a model that was read is not whole; None where all are.

    Args:
        folder: Of the model, or of its configuration.
        said: What ``transformers.modeling_utils`` did meanwhile, which is all that tells of its networks.
    """
    for told in said:
        if lacking := _MISSING.search(told):
            return f"{Path(lacking[1]).name} lacks weights of some layers: download the model again, whole"
    for name, network in pipeline.components.items():
        if isinstance(network, nn.Module) and any(each.is_meta for each in network.state_dict().values()):
            return f"{name} lacks weights of some layers: download the model again, whole"
    for place in folder.glob("tokenizer*"):
        there = {each.name for each in place.glob("*")}
        # A tokenizer without words is made up empty; without rules it cuts words into letters.
        if not there & _WORDS or ("vocab.json" in there and not there & {"merges.txt", "tokenizer.json"}):
            return f"{place.name} has no words, or no rules to cut them by: download the model again, whole"
    return None


class _Collector(logging.Handler):
    """Keeps what is said."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.said.append(_COLOURS.sub("", record.getMessage()))


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
