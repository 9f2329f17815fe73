"""Warm up the text encoder and the pooled text embedding before the UNet has to listen to them.

Every fact that prompts speak about gets a fixed random code; the pooled embedding learns to be the sum of
the codes of what the prompt says, the label's being the largest. Without this, the label explained under
2 % of the embedding's variance and the UNet ignored it for thousands of steps.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from material import Facts
from runs import learning_rate, load_material, parse
from torch import Tensor
from torch.nn import functional as tf
from train_unet import build_text_encoder, build_unet
from transformers import CLIPTokenizer

_LOUDNESS = {"label": 2.0, "kind": 0.7, "ink": 0.6, "ground": 0.6, "coarse": 0.6, "bold": 0.4}


def codes(facts: list[Facts], width: int) -> Tensor:
    """Return the embedding that each image's prompts should have, float32 ``(images, width)``."""
    columns = {
        "label": [f"{f.family} {f.label}" for f in facts],
        "kind": [f.kind for f in facts],
        "ink": [f.ink for f in facts],
        "ground": [f.ground for f in facts],
        "coarse": [str(f.cells < 64) for f in facts],
        "bold": [str(f.bold) for f in facts],
    }
    total = torch.zeros(len(facts), width)
    for name, values in columns.items():
        places = torch.from_numpy(np.unique(values, return_inverse=True)[1])
        total += _LOUDNESS[name] * torch.randn(int(places.max()) + 1, width)[places]
    return total


def train(args: argparse.Namespace) -> dict[str, dict[str, Tensor]]:
    """Train on random prompts for a fixed number of steps."""
    _, facts = load_material(args.data)
    tokens = np.load(args.cache / "tokens.npy")
    text = build_text_encoder(CLIPTokenizer.from_pretrained(args.cache / "tokenizer"))
    if args.start:
        text.load_state_dict(torch.load(args.start, weights_only=True))
    pool = build_unet().add_embedding
    torch.nn.init.constant_(pool.norm2.weight, 2.4)  # the codes' own standard deviation
    wanted = codes(facts, pool.norm2.weight.shape[0])
    parameters = [*text.parameters(), *pool.parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=args.lr, weight_decay=0.01)
    rng = np.random.default_rng(args.seed)
    for step in range(args.steps):
        optimiser.param_groups[0]["lr"] = learning_rate(args.lr, step / args.steps)
        rows = rng.integers(len(facts), size=args.batch)
        ids = torch.from_numpy(tokens[rows, rng.integers(tokens.shape[1], size=args.batch)].astype(np.int64))
        loss = tf.mse_loss(pool(text(ids).last_hidden_state), wanted[rows])
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        optimiser.step()
        if step % 50 == 0:
            print(f"step {step} / {args.steps} unexplained {(loss / wanted.var()).item():.3f}", flush=True)
    return {"text_encoder": text.state_dict(), "add_embedding": pool.state_dict()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder written by render.py")
    parser.add_argument("--cache", type=Path, required=True, help="folder written by cache_latents.py")
    parser.add_argument("--out", type=Path, required=True, help="the .pt file to write")
    parser.add_argument("--start", type=Path, help="text encoder weights to start from")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=192)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parse(parser)
    torch.save(train(args), args.out)


if __name__ == "__main__":
    main()
