"""Put the parts together as one fp16 Stable Diffusion pipeline directory and report its size."""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from diffusers import AutoencoderKL, StableDiffusionPipeline
from train_unet import build_text_encoder, build_unet, scheduler
from transformers import CLIPTokenizer

SIZE_LIMIT = 15_000_000


def assemble(vae: Path, tokenizer: Path, checkpoint: Path) -> StableDiffusionPipeline:
    """Build the pipeline from the averaged weights of a checkpoint."""
    words = CLIPTokenizer.from_pretrained(tokenizer)
    unet, text = build_unet(), build_text_encoder(words)
    shadow = torch.load(checkpoint, weights_only=True)["average"]["shadow"]
    unet.load_state_dict(shadow["unet"])
    text.load_state_dict(shadow["text_encoder"])
    autoencoder = AutoencoderKL.from_pretrained(vae)
    autoencoder.register_to_config(_name_or_path="bundled")  # not the path on this machine
    return StableDiffusionPipeline(
        vae=autoencoder,
        text_encoder=text,
        tokenizer=words,
        unet=unet,
        scheduler=scheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vae", type=Path, required=True, help="folder written by train_vae.py")
    parser.add_argument("--cache", type=Path, required=True, help="folder written by cache_latents.py")
    parser.add_argument("--checkpoint", type=Path, required=True, help="file written by train_unet.py")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    pipeline = assemble(args.vae, args.cache / "tokenizer", args.checkpoint)
    # transformers loads a model in the precision of its file, diffusers in float32: a plain
    # ``from_pretrained`` only gives one precision throughout if the text encoder stays float32.
    pipeline.unet.half()
    pipeline.vae.half()
    pipeline.save_pretrained(args.out)
    files = [path for path in args.out.rglob("*") if path.is_file()]
    for path in files:
        path.chmod(0o644)
    size = sum(path.stat().st_size for path in files)
    print(f"{size / 1e6:.2f} MB in {args.out}")
    if size > SIZE_LIMIT:
        raise SystemExit(f"larger than {SIZE_LIMIT / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
