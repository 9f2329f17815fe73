"""Measure what decoding in tiles saves in memory, and costs in time and in likeness."""

from __future__ import annotations

import math
import multiprocessing
import resource
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from diffusers import AutoencoderKL
from PIL import Image

from pcevolve_server import sources

SIDE: Final = 768
_FACTOR = 8
_PHOTOGRAPH = 128
_COUNT = 48
# Stable Diffusion 1.5's; what weights are in it makes no difference to time and memory.
_SD15: Final = {
    "block_out_channels": (128, 256, 512, 512),
    "down_block_types": ("DownEncoderBlock2D",) * 4,
    "up_block_types": ("UpDecoderBlock2D",) * 4,
    "layers_per_block": 2,
    "latent_channels": 4,
    "sample_size": 512,
}


def measure(public: Path) -> dict[str, Any]:
    """Memory and time of Stable Diffusion 1.5's decoder, and the bundled autoencoder's likeness, whole and in tiles.

    Args:
        public: Folder of photographs.
    """
    files = sorted(public.rglob("*.jpg"))
    chosen = files[:: max(1, len(files) // _COUNT)][:_COUNT]
    return {
        "side": SIDE,
        "photographs": len(chosen),
        "rows": [
            {"tiles": tiled, **_cost_apart(tiled), "psnr": _likeness(chosen, tiled)}
            for tiled in (False, True)
        ],
    }


def _cost_apart(tiled: bool) -> dict[str, float]:
    """In a process of its own, whose peak is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_cost, (tiled,))


def _cost(tiled: bool) -> dict[str, float]:
    torch.set_num_threads(1)
    autoencoder = AutoencoderKL(**_SD15).eval()
    if tiled:
        autoencoder.enable_tiling()
    latents = torch.randn(1, 4, SIDE // _FACTOR, SIDE // _FACTOR)
    started = time.process_time()
    with torch.inference_mode():
        autoencoder.decode(latents)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"mib": peak, "seconds": time.process_time() - started}


def _likeness(files: list[Path], tiled: bool) -> float:
    """Mean of the photographs' peak signal-to-noise ratios through the bundled autoencoder, dB."""
    autoencoder = AutoencoderKL.from_pretrained(sources.locate(sources.BUNDLED), subfolder="vae").eval()
    if tiled:
        autoencoder.enable_tiling()  # of 64 pixels, for which it was made
    return float(np.mean([_psnr(autoencoder, file) for file in files]))


def _psnr(autoencoder: AutoencoderKL, file: Path) -> float:
    image = Image.open(file).convert("RGB").resize((_PHOTOGRAPH, _PHOTOGRAPH), Image.Resampling.LANCZOS)
    pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1)[None].float() / 127.5 - 1
    with torch.inference_mode():
        made = autoencoder.decode(autoencoder.encode(pixels).latent_dist.mode()).sample.clamp(-1, 1)
    return 10 * math.log10(4 / float(((made - pixels) ** 2).mean()))
