"""Build the small CLIP tokenizer from the prompts of the training material, or teach it more words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
from transformers import CLIPTokenizer

START, END = "<|startoftext|>", "<|endoftext|>"
LEAST_USES = 20  # a rarer pair is not worth a token
MAX_TOKENS = 24  # longer padding would dilute six-word prompts
_PIECES = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def build_tokenizer(prompts: Iterable[str], vocabulary: int = 800) -> CLIPTokenizer:
    """Train byte-pair merges on the prompts; every other word falls apart into letters."""
    trained = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    trained.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), behavior="removed", invert=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[START, END],
        initial_alphabet=alphabet,
        end_of_word_suffix="</w>",
        show_progress=False,
    )
    # A single letter or figure must be one token also where it ends a word.
    singles = [c for c in "abcdefghijklmnopqrstuvwxyz0123456789" for _ in range(50)]
    trained.train_from_iterator([*(p.lower() for p in prompts), *singles], trainer)
    with TemporaryDirectory() as folder:
        trained.model.save(folder)
        return _load(Path(folder))


def extend_tokenizer(known: CLIPTokenizer, prompts: Iterable[str], vocabulary: int) -> CLIPTokenizer:
    """Return a tokenizer with further merges, learnt from new prompts.

    New merges rank below all known ones and new tokens follow the known ids, so a word that was one token
    stays that token: what an encoder learnt about it stays true.
    """
    model = json.loads(known.backend_tokenizer.to_str())["model"]
    ids: dict[str, int] = dict(model["vocab"])
    merges: list[tuple[str, str]] = [(left, right) for left, right in model["merges"]]
    counts = Counter(word for prompt in prompts for word in prompt.lower().split())
    pieces = {word: known.tokenize(word) for word in counts}
    while len(ids) < vocabulary:
        pairs = Counter[tuple[str, str]]()
        for word, parts in pieces.items():
            for pair in pairwise(parts):
                # CLIP ends every word with a mark; a pair across two words of a hyphenated one is no merge.
                pairs[pair] += counts[word] * (not pair[0].endswith("</w>"))
        best = max(pairs, key=lambda pair: (pairs[pair], pair), default=None)
        if best is None or pairs[best] < LEAST_USES:
            break
        merges.append(best)
        ids.setdefault("".join(best), len(ids))
        pieces = {word: _merge(parts, best) for word, parts in pieces.items()}
    return _from_parts(ids, merges)


def _merge(parts: list[str], pair: tuple[str, str]) -> list[str]:
    """Join every adjacent occurrence of a pair."""
    found: list[str] = []
    for part in parts:
        if found and (found[-1], part) == pair:
            found[-1] += part
        else:
            found.append(part)
    return found


def _from_parts(ids: dict[str, int], merges: list[tuple[str, str]]) -> CLIPTokenizer:
    with TemporaryDirectory() as folder:
        files = Path(folder)
        (files / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
        lines = ["#version: 0.2", *(f"{left} {right}" for left, right in merges)]
        (files / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return _load(files)


def _load(folder: Path) -> CLIPTokenizer:
    """Return the tokenizer whose vocabulary and merges were saved in a folder."""
    return CLIPTokenizer(
        vocab=str(folder / "vocab.json"),
        merges=str(folder / "merges.txt"),
        model_max_length=MAX_TOKENS,
    )
