"""Find missing parts of a model's folder or file.

The libraries would silently fill missing parts at random, or leave them out.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from diffusers import DiffusionPipeline
from safetensors import SafetensorError, safe_open
from torch import nn

INDEX: Final = "model_index.json"
_AGAIN: Final = "download the complete model again"
LACKS_SOME: Final = f"it lacks weights of some layers: {_AGAIN}"
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
    """Return the names of the tensors in a file. The result is empty if the file is not a safetensors file."""
    try:
        with safe_open(file, "pt") as opened:
            return set(opened.keys())
    except (SafetensorError, OSError):
        return ()


def find_missing(folder: Path, index: Mapping[str, Any]) -> str | None:
    """Return a message that names a part of the index without a folder. None: all parts have folders."""
    for name, kind in index.items():
        is_part = not name.startswith("_") and isinstance(kind, list | tuple) and kind[-1] is not None
        if is_part and not any((folder / name).glob("*")):
            return f"its folder has no {name}: {_AGAIN}"
    return None


def find_fault(folder: Path, pipeline: DiffusionPipeline, said: Iterable[str]) -> str | None:
    """Return a message that names an incomplete part of a loaded model. None: all parts are complete.

    Args:
        folder: The folder of the model, or of its configuration.
        said: Messages that ``transformers.modeling_utils`` logged during loading. Only they report missing weights of
            transformers' networks.
    """
    for told in said:
        if lacking := _MISSING.search(told):
            return f"{Path(lacking[1]).name} lacks weights of some layers: {_AGAIN}"
    for name, network in pipeline.components.items():
        if isinstance(network, nn.Module) and any(each.is_meta for each in network.state_dict().values()):
            return f"{name} lacks weights of some layers: {_AGAIN}"
    for place in folder.glob("tokenizer*"):
        if not _WORDS & {each.name for each in place.glob("*")}:
            return f"{place.name} has no words: {_AGAIN}"
    return None


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(_COLOURS.sub("", record.getMessage()))


@contextmanager
def hear(name: str) -> Iterator[list[str]]:
    """Collect the warnings of a library's log, and pass them to no other handler."""
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
