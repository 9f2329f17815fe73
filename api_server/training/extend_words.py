"""Teach the text encoder new words without changing what the old ones mean to the UNet.

Old prompts must give the hidden states and the pooled embedding that they gave before, so a trained UNet
keeps drawing them. Each new meaning (a domain, or a label in a domain) gets a fixed random code among the
pooled embeddings that the UNet already listens to: loud from the first step, like the old words.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from cache_latents import DRAWN
from diffusers import StableDiffusionPipeline
from runs import learning_rate, meaning_names, parse
from torch import Tensor, nn
from torch.nn import functional as tf
from train_unet import build_text_encoder
from transformers import CLIPTextModel, CLIPTokenizer

DOMAIN_SHARE = 0.5  # of a label's code, by variance, is the code of its domain
EMPTY_SHARE = 0.03  # of old prompts in a batch that are replaced by the empty prompt


@dataclass(frozen=True)
class Teacher:
    """The old words: what each prompt gave, and the frozen pooled embedding that the UNet has learnt."""

    text: CLIPTextModel
    pool: nn.Module

    @torch.no_grad()
    def hidden(self, tokens: Tensor) -> Tensor:
        """Return hidden states, float32 ``(prompts, 24, width)``."""
        found: Tensor = self.text(tokens).last_hidden_state
        return found

    @torch.no_grad()
    def inner(self, tokens: Tensor) -> Tensor:
        """Return what the pooling layer attends to before it is projected, ``(prompts, width)``."""
        found: Tensor = self.pool.pool(self.pool.norm1(self.hidden(tokens)))
        return found

    @torch.no_grad()
    def project(self, inner: Tensor) -> Tensor:
        """Return pooled embeddings, ``(prompts, time embedding width)``."""
        found: Tensor = self.pool.norm2(self.pool.proj(inner))
        return found


def codes(names: list[str], sample: Tensor, generator: torch.Generator) -> Tensor:
    """Return one inner code for each meaning, spread like the old prompts' own.

    Args:
        names: ``domain`` or ``domain|label``.
        sample: Inner embeddings of old prompts, ``(prompts, width)``.
        generator: Source of the codes.
    """
    centre = sample.mean(0)
    scale = torch.linalg.cholesky(torch.cov(sample.T) + 1e-4 * torch.eye(sample.shape[1]))
    domains = sorted({name.split("|")[0] for name in names})
    drawn = torch.randn(len(domains), sample.shape[1], generator=generator)
    own = torch.randn(len(names), sample.shape[1], generator=generator)
    rows = []
    for name, mark in zip(names, own, strict=True):
        place = drawn[domains.index(name.split("|")[0])]
        rows.append(
            place if "|" not in name else DOMAIN_SHARE**0.5 * place + (1 - DOMAIN_SHARE) ** 0.5 * mark
        )
    return centre + torch.stack(rows) @ scale.T


def widen(old: CLIPTextModel, tokenizer: CLIPTokenizer) -> CLIPTextModel:
    """Return the encoder with room for the new tokens; all else is the old one's."""
    text = build_text_encoder(tokenizer)
    state = old.state_dict()
    for name, value in text.state_dict().items():
        if name.endswith("token_embedding.weight"):
            # New words begin as loud as old ones are.
            value *= state[name].std() / value.std()
            value[: len(state[name])] = state[name]
            state[name] = value
    text.load_state_dict(state)
    return text


def train(args: argparse.Namespace) -> dict[str, dict[str, Tensor]]:
    """Train for a fixed number of steps."""
    pipeline = StableDiffusionPipeline.from_pretrained(args.start, local_files_only=True)
    teacher = Teacher(
        pipeline.text_encoder.eval().requires_grad_(False),
        pipeline.unet.add_embedding.eval().requires_grad_(False),
    )
    tokens = torch.from_numpy(np.load(args.cache / "tokens.npy").astype(np.int64))
    meanings = torch.from_numpy(np.load(args.cache / "meanings.npy").astype(np.int64))
    tokenizer = CLIPTokenizer.from_pretrained(args.cache / "tokenizer")
    # Old tokens alone: the teacher has no row for others.
    old = (meanings == DRAWN) & (tokens < pipeline.text_encoder.config.vocab_size).all(-1)
    old_rows, new_rows = old.nonzero(), (meanings != DRAWN).nonzero()
    generator = torch.Generator().manual_seed(args.seed)
    picked = old_rows[torch.randperm(len(old_rows), generator=generator)[:4096]]
    sample = teacher.inner(tokens[picked[:, 0], picked[:, 1]])
    wanted = teacher.project(codes(meaning_names(args.cache), sample, generator))
    empty = torch.tensor(tokenizer("", padding="max_length", max_length=tokens.shape[-1]).input_ids)
    text = widen(teacher.text, tokenizer)
    optimiser = torch.optim.AdamW(text.parameters(), lr=args.lr, weight_decay=0.0)
    for step in range(args.steps):
        optimiser.param_groups[0]["lr"] = learning_rate(args.lr, step / args.steps)
        rows = old_rows[torch.randint(len(old_rows), (args.batch,), generator=generator)]
        before = tokens[rows[:, 0], rows[:, 1]]
        before[torch.rand(args.batch, generator=generator) < EMPTY_SHARE] = empty
        same = tf.mse_loss(text(before).last_hidden_state, teacher.hidden(before))
        rows = new_rows[torch.randint(len(new_rows), (args.batch,), generator=generator)]
        pooled = teacher.pool(text(tokens[rows[:, 0], rows[:, 1]]).last_hidden_state)
        new = tf.mse_loss(pooled, wanted[meanings[rows[:, 0], rows[:, 1]]])
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(args.keep * same + new)
        optimiser.step()
        if step % 50 == 0:
            unexplained = (new / wanted.var()).item()
            print(
                f"step {step} / {args.steps} moved {same.item():.5f} unexplained {unexplained:.3f}",
                flush=True,
            )
    return {"text_encoder": text.state_dict(), "add_embedding": teacher.pool.state_dict()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--start", type=Path, required=True, help="pipeline folder with the old words")
    parser.add_argument(
        "--cache", type=Path, required=True, help="folder written by cache_latents.py --words"
    )
    parser.add_argument("--out", type=Path, required=True, help="the .pt file to write")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch", type=int, default=96)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--keep", type=float, default=20.0, help="weight of the old prompts' hidden states")
    args = parse(parser)
    torch.save(train(args), args.out)


if __name__ == "__main__":
    main()
