"""Move the words of one domain, so that a label that means nothing gives a rare label nearly as often as others.

Only the embeddings of words that no prompt of another domain has are moved, so all others are drawn as before, bit by
bit. Prompts that name a label keep what they meant: their hidden states and pooled embeddings are held where they were.
README.md has the command.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from diffusers import StableDiffusionPipeline
from material import draw
from material.captions import KEPT, caption
from material.prompts import describe
from runs import parse
from torch import Tensor, nn
from torch.nn import functional as tf
from transformers import CLIPTextModel, CLIPTokenizer

CAPTIONS = 256  # of each kind in the domain's prompts
HOLD = 1.0  # weight of the pooled embeddings of prompts that name a label, in variances
HOLD_HIDDEN = 0.3


def find_rows(tokenizer: CLIPTokenizer, words: Sequence[str], others: Sequence[str]) -> list[int]:
    """Return the embeddings' rows of words.

    Raises:
        ValueError: A word is no token of its own, or a prompt of another domain has it.
    """
    split = [tokenizer(word, add_special_tokens=False).input_ids for word in words]
    if torn := [word for word, ids in zip(words, split, strict=True) if len(ids) > 1]:
        raise ValueError(f"not a token of its own: {', '.join(torn)}")
    taken = {token for each in others for token in tokenizer(each).input_ids}
    if shared := [word for word, (row,) in zip(words, split, strict=True) if row in taken]:
        raise ValueError(f"also in prompts of other domains: {', '.join(shared)}")
    return [row for (row,) in split]


def list_captions(domain: str, labels: Sequence[str], named: bool, seed: int) -> list[str]:
    """Return prompts of a domain that name one of some labels, or that name none; ``CAPTIONS`` for each label."""
    rng = np.random.default_rng(seed)
    found: list[str] = []
    while len(found) < CAPTIONS * len(labels):
        made = caption(domain, labels[len(found) % len(labels)], rng)
        found += [made.text] if made.names_label is named else []
    return found


class Reading:
    """Prompts, and what the UNet gets of them: hidden states and their pooled embedding."""

    def __init__(self, text: CLIPTextModel, pool: nn.Module, tokens: Tensor) -> None:
        self._text, self._pool, self._tokens = text, pool, tokens
        with torch.no_grad():
            self.hidden_before, self.pooled_before = self.read()

    def read(self) -> tuple[Tensor, Tensor]:
        """Return hidden states ``(prompts, tokens, width)`` and pooled embeddings as they are now."""
        hidden = self._text(self._tokens).last_hidden_state
        return hidden, self._pool(hidden)


def balance(
    pipeline: StableDiffusionPipeline,
    rows: Sequence[int],
    prompts: dict[str, list[str]],
    args: argparse.Namespace,
) -> float:
    """Move the rows in place; return which share of the way is left, in the square.

    Args:
        pipeline: Whose words are moved.
        rows: Of the token embedding that may move.
        prompts: By ``rare``, ``named`` and ``unnamed``: those of the rare label, of all, and of none.
        args: ``toward``, ``steps`` and ``lr``.
    """
    text, tokenizer = pipeline.text_encoder, pipeline.tokenizer
    pool = pipeline.unet.add_embedding.requires_grad_(False)
    weight = text.requires_grad_(False).get_input_embeddings().weight.requires_grad_(True)
    may_move = torch.zeros_like(weight).index_fill_(0, torch.tensor(rows), 1)
    length = tokenizer.model_max_length
    read = {
        kind: Reading(
            text,
            pool,
            tokenizer(some, padding="max_length", max_length=length, return_tensors="pt").input_ids,
        )
        for kind, some in prompts.items()
    }
    unnamed, named = read["unnamed"], read["named"]
    away = read["rare"].pooled_before.mean(0) - unnamed.pooled_before.mean(0)
    wanted, variance = unnamed.pooled_before + args.toward * away, unnamed.pooled_before.var(0).mean()
    optimiser = torch.optim.Adam([weight], lr=args.lr)
    for step in range(args.steps):
        hidden, pooled = named.read()
        held = HOLD * tf.mse_loss(pooled, named.pooled_before) / variance
        held = held + HOLD_HIDDEN * tf.mse_loss(hidden, named.hidden_before)
        left = tf.mse_loss(unnamed.read()[1], wanted) / variance
        optimiser.zero_grad()
        torch.autograd.backward(left + held)
        assert weight.grad is not None
        weight.grad *= may_move
        optimiser.step()
        if step % 50 == 0:
            print(f"step {step} / {args.steps} left {left.item():.3f} moved {held.item():.3f}", flush=True)
    return float(left.detach() / (tf.mse_loss(unnamed.pooled_before, wanted) / variance))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--start", type=Path, required=True, help="pipeline folder")
    parser.add_argument("--domain", choices=KEPT, required=True)
    parser.add_argument("--labels", nargs="+", required=True, help="the domain's")
    parser.add_argument("--rare", required=True, help="the label that names without meaning give too rarely")
    parser.add_argument("--words", nargs="+", required=True, help="of the domain's names, which no other has")
    parser.add_argument("--toward", type=float, default=0.5, help="share of the way to the rare label")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--out", type=Path, required=True)
    args = parse(parser)
    pipeline = StableDiffusionPipeline.from_pretrained(args.start, local_files_only=True)
    others = [
        text for domain in KEPT if domain != args.domain for text in list_captions(domain, [domain], False, 5)
    ]
    rng = np.random.default_rng(args.seed)
    others += [describe(draw(rng).facts, rng).text for _ in range(CAPTIONS)]
    rows = find_rows(pipeline.tokenizer, args.words, others)
    prompts = {
        "rare": list_captions(args.domain, [args.rare], True, args.seed),
        "named": list_captions(args.domain, args.labels, True, args.seed + 1),
        "unnamed": list_captions(args.domain, args.labels, False, args.seed + 2),
    }
    left = balance(pipeline, rows, prompts, args)
    shutil.copytree(args.start, args.out, dirs_exist_ok=True)
    pipeline.text_encoder.save_pretrained(args.out / "text_encoder")
    print(f"{1 - left**0.5:.0%} of the way gone; written to {args.out}")


if __name__ == "__main__":
    main()
