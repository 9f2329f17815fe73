"""Build the small CLIP tokenizer from the prompts of the training material."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
from transformers import CLIPTokenizer

START, END = "<|startoftext|>", "<|endoftext|>"
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
        files = Path(folder)
        return CLIPTokenizer(
            vocab=str(files / "vocab.json"),
            merges=str(files / "merges.txt"),
            model_max_length=MAX_TOKENS,
        )
