"""Measure schedulers, and decoding in tiles."""

from __future__ import annotations

import math
import multiprocessing
import resource
import sys
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from diffusers import AutoencoderKL
from PIL import Image

from benchmarks.solvers.teacher import draw, load_teacher
from pcevolve_server import sources
from pcevolve_server.model_settings import Precision
from pcevolve_server.work import Recipe

_TRAINING = Path(__file__).parents[2] / "api_server" / "training"
RECIPE: Final = Recipe(64, 64, 10, 5.0)


GUIDANCE: Final = 5.0
REFERENCE: Final = ("ddim", 400)
"""Of first order; by steps of an eighth its error is about an eighth of that of 50.

Heun's method is no reference here: its images were 104 levels away from those of DDIM. This model's schedule ends at
noise of 20,000 times the signal, from where a trapezoid leads astray.
"""
WAYS: Final = (
    ("ddim", 50),
    ("euler", 50),
    ("pndm", 50),
    ("ddim", 20),
    ("euler", 20),
    ("dpmpp_2m", 15),
    ("dpmpp_2m", 20),
    ("dpmpp_2m", 25),
)
PROMPTS: Final = (
    "A printed glyph image with digit 3",
    "A handwritten mark image with letter K",
    "A blood smear image with white blood cell",
    "A chest x-ray image with pneumonia",
    "A leather texture image with scratch defect",
    "A drawn clothing image with sneaker",
)


def measure_schedules(folder: Path, count: int) -> dict[str, Any]:
    """For each way: time, its ratio to 50 steps of DDIM, and the distance in levels of 255, root mean square.

    Args:
        folder: Of the model.
        count: Images of each way, under the same prompts and seeds.
    """
    model = load_teacher(folder, Precision.FLOAT32)
    prompts = [PROMPTS[place % len(PROMPTS)] for place in range(count)]

    def of(scheduler: str, steps: int, seed: int = 0) -> tuple[np.ndarray, float]:
        found, seconds = draw(model, Recipe(64, 64, steps, GUIDANCE, scheduler), prompts, seed)
        return found.astype(np.int64), seconds

    truth, _ = of(*REFERENCE)
    others, _ = of("dpmpp_2m", 20, seed=10_000)
    rows = [_row(scheduler, steps, *of(scheduler, steps), truth) for scheduler, steps in WAYS]
    for row in rows:
        row["times_as_fast"] = rows[0]["seconds"] / row["seconds"]
    rows.append({"scheduler": "dpmpp_2m, another seed", "steps": 20} | _distance(others, truth))
    return {"images": count, "rows": rows}


def _row(scheduler: str, steps: int, images: np.ndarray, seconds: float, truth: np.ndarray) -> dict[str, Any]:
    row = {"scheduler": scheduler, "steps": steps, "seconds": seconds} | _distance(images, truth)
    print(row, file=sys.stderr, flush=True)
    return row


def _distance(images: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Mean over images, and its standard error."""
    each = np.sqrt(((images - truth) ** 2).mean(axis=(1, 2, 3)))
    return {"levels": float(each.mean()), "error": float(each.std(ddof=1) / np.sqrt(len(each)))}


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


def measure_tiles(public: Path) -> dict[str, Any]:
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
