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
from itertools import islice
from pathlib import Path
from typing import Any, Final

from diffusers import DiffusionPipeline
from torch import nn

from pcevolve_shared.reading import FETCH_LFS, LFS_POINTER

INDEX: Final = "model_index.json"
_LORA: Final = "pytorch_lora_weights.safetensors"
_READ: Final = frozenset({".json", ".safetensors", ".txt", ".model"})
_LENGTH_BYTES: Final = 8
_LONGEST_HEADER: Final = 10**8
"""Bytes, as the library that reads these files has it."""
_AGAIN: Final = "download the model again, whole"
LACKS_SOME: Final = f"it lacks weights of some layers: {_AGAIN}"


def describe_other(folder: Path) -> str:
    """Say what a folder without an index seems to be, and what to give instead."""
    config = _read(folder / "config.json")
    inner = sorted(path.parent for path in islice(folder.glob("*/" + INDEX), 9))
    cached = sorted(path.parent for path in islice(folder.glob("snapshots/*/" + INDEX), 9))
    files = sorted(path for path in folder.glob("*.safetensors"))
    if cached:
        return f"it is a folder of the hub's cache: give {cached[-1]}"
    if len(inner) == 1:
        return f"the model lies one folder deeper: give {inner[0]}"
    if (folder / _LORA).is_file():
        return f"{_IS_LORA} {folder / _LORA}"
    if "model_type" in config:
        return f"it is a model of transformers; one that writes texts is served as --model text:{folder}"
    if guide := next((each for each in _GUIDES if each in str(config.get("_class_name"))), None):
        return f"it is a {guide}, {_GUIDES[guide]}"
    if "_class_name" in config:
        return f"it is one part of a model ({config['_class_name']}): give the folder with {INDEX}"
    if len(files) == 1 and (addition := describe_addition(_header(files[0]), str(files[0]))):
        return addition
    if len(files) == 1 and not config:
        return f"it has no {INDEX}, but one file with weights: give {files[0]}"
    return f"it has no {INDEX}: it is no folder in the layout of diffusers, or not all of it was downloaded"


_IS_LORA: Final = "it is a LoRA, which changes a model: --model MODEL --lora"
_GUIDES: Final = {
    "ControlNet": "which guides a model by a picture of edges, poses or depths, and this server serves none",
    "T2IAdapter": "which guides a model by a picture of edges, poses or depths, and this server serves none",
    "MotionAdapter": "which makes a model draw films, and this server serves none",
}
_LORA_NAMES: Final = re.compile(r"lora_|\.lora[._]|\.(?:hada|lokr)_")
_CONTROL_NAMES: Final = re.compile(r"control_model\.|controlnet_|zero_convs\.|input_hint_block\.")
_ADAPTER_NAMES: Final = re.compile(r"image_proj\.|ip_adapter\.")
_WORD_NAMES: Final = re.compile(r"(?:emb_params|clip_[lg]|<.*>|\*)$")


def describe_addition(names: Collection[str], file: str) -> str | None:
    """Say what a file of weights is that only adds to a model, and how it is given; None for any other."""
    if any(map(_LORA_NAMES.search, names)):
        return f"{_IS_LORA} {file}"
    if any(map(_CONTROL_NAMES.match, names)):
        return f"it is a ControlNet, {_GUIDES['ControlNet']}"
    if any(map(_ADAPTER_NAMES.match, names)):
        return f"it is an IP-Adapter, which lets a model draw by an image: --model MODEL --ip-adapter {file}"
    if names and all(map(_WORD_NAMES.match, names)):
        return f"it is an embedding, a word for a model: --model MODEL --embedding {file}"
    return None


def names_in(file: Path) -> Collection[str]:
    """Names of the tensors in a file; none of one that is no safetensors file."""
    return _header(file).keys() if file.suffix == ".safetensors" else ()


def find_fault(folder: Path, index: Mapping[str, Any]) -> str | None:
    """Say what of a model's parts lacks or is damaged, as far as files tell; None where nothing is."""
    if fault := find_wordless(folder, index):
        return fault
    for name in _parts(index):
        if not any((folder / name).glob("*")):
            return f"its folder has no {name}: {_AGAIN}"
        for file in _files_read(folder / name):
            if fault := _fault_of(file):
                return f"{name}/{file.name} {fault}"
    return None


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


def _files_read(folder: Path) -> list[Path]:
    """Files of a part that may be read: of weights the plain ones where there are any, else those of variants."""
    files = [each for each in sorted(folder.glob("*")) if each.suffix in _READ and not each.is_dir()]
    weights = [each for each in files if each.suffix == ".safetensors"]
    plain = [each for each in weights if each.name.count(".") == 1]
    return [each for each in files if each not in weights or each in (plain or weights)]


def _fault_of(file: Path) -> str:
    """Say why a file cannot be read; empty where nothing speaks against it."""
    if not file.exists():
        return f"is a link to a file that is not there: {_AGAIN}, or copy it with its links' files (cp -L)"
    size = file.stat().st_size
    with file.open("rb") as opened:
        head = opened.read(len(LFS_POINTER))
    # A checkout without Git LFS: each large file is some lines of text about it.
    if head == LFS_POINTER:
        return FETCH_LFS
    if not size:
        return f"is empty (0 bytes): {_AGAIN}"
    if file.name.endswith(".index.json"):
        shards = _read(file).get("weight_map")
        needed = {str(each) for each in shards.values()} if isinstance(shards, dict) else set()
        lacking = sorted(each for each in needed if not (file.parent / each).is_file())
        some = 0 < len(lacking) < len(needed)  # where none is there, another variant may be
        return f"names files that are not there, such as {lacking[0]}: {_AGAIN}" if some else ""
    if file.suffix == ".safetensors" and size < (whole := _whole_size(file)):
        return f"is cut off, with {size:,} of {whole:,} bytes: {_AGAIN}"
    return ""


def _whole_size(file: Path) -> int:
    """Return the bytes that a file of weights has by its own header; as many as it has where that is none."""
    try:
        ends = [each["data_offsets"][1] for name, each in _header(file).items() if name != "__metadata__"]
        return _LENGTH_BYTES + _header_length(file) + max(ends) if ends else file.stat().st_size
    except (LookupError, TypeError):
        return file.stat().st_size


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


def _read(file: Path) -> dict[str, Any]:
    """A file of JSON; empty where there is none."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
