"""Encode rendered images to latents and their prompts to tokens, once, before the UNet is trained.

Writes into ``OUT``: ``latents.npy`` (float16 ``(count, 4, 16, 16)``), ``tokens.npy`` (uint16
``(count, variants, 24)``), ``families.json`` and the ``tokenizer`` folder.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL
from material import describe
from runs import load_material
from tokenizer import MAX_TOKENS, build_tokenizer

VARIANTS = 4
BATCH = 250


@torch.inference_mode()
def encode(vae: AutoencoderKL, images: np.ndarray, out: Path) -> None:
    """Write the posterior means of all images."""
    latents = np.lib.format.open_memmap(
        out / "latents.npy", mode="w+", dtype=np.float16, shape=(len(images), 4, 16, 16)
    )
    for start in range(0, len(images), BATCH):
        batch = torch.from_numpy(images[start : start + BATCH]).permute(0, 3, 1, 2).contiguous()
        with torch.autocast("cpu", torch.bfloat16):
            mean = vae.encode(batch.float() / 127.5 - 1).latent_dist.mean
        latents[start : start + BATCH] = mean.float().numpy()
        if start % 10_000 == 0:
            print(f"{start} / {len(images)}", flush=True)
    latents.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder written by render.py")
    parser.add_argument("--vae", type=Path, help="folder written by train_vae.py; omit for tokens only")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    args.out.mkdir(parents=True, exist_ok=True)
    images, facts = load_material(args.data)
    rng = np.random.default_rng(args.seed)
    prompts = [describe(entry, rng) for entry in facts for _ in range(VARIANTS)]
    tokenizer = build_tokenizer(prompts)
    tokenizer.save_pretrained(args.out / "tokenizer")
    tokens = tokenizer(prompts, padding="max_length", max_length=MAX_TOKENS, truncation=True)
    table = np.asarray(tokens.input_ids, np.uint16).reshape(len(facts), VARIANTS, MAX_TOKENS)
    np.save(args.out / "tokens.npy", table)
    (args.out / "families.json").write_text(json.dumps([entry.family for entry in facts]))
    print(f"{len(tokenizer)} tokens", flush=True)
    if args.vae:
        encode(AutoencoderKL.from_pretrained(args.vae).eval(), images, args.out)


if __name__ == "__main__":
    main()
