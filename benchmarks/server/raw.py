"""The pipeline itself, without a server: what diffusers takes for an image at its best batch, and one at a time."""

from __future__ import annotations

import time
from functools import cache

import torch
from PIL import Image

from benchmarks.server.served import GUIDANCE, PROMPT, SIDE, STEPS, STRENGTH
from pcevolve_server.diffusion.generator import DiffusionGenerator
from pcevolve_server.diffusion.loading import load
from pcevolve_server.settings import Batching, ModelSettings

BATCHES = (1, 8, 16, 32, 64)


@cache
def model() -> DiffusionGenerator:
    """The bundled model as diffusers runs it, in the precision that the server runs it in."""
    settings = ModelSettings(device="cpu", offline=True, batching=Batching.MERGE)
    found = load(settings)
    assert isinstance(found, DiffusionGenerator)
    return found


def taken(verb: str, batch: int, images: int) -> float:
    """Seconds of the processor per image in batches of one size."""
    run_batch(verb, batch)
    started = time.process_time()
    for _ in range(-(-images // batch)):
        run_batch(verb, batch)
    return (time.process_time() - started) / (-(-images // batch) * batch)


def run_batch(verb: str, batch: int) -> None:
    """One call of the pipeline."""
    generators = [torch.Generator().manual_seed(seed) for seed in range(batch)]
    common = {"prompt": [PROMPT] * batch, "guidance_scale": GUIDANCE, "generator": generators}
    if verb == "t2i":
        model().text_to_image(**common, num_inference_steps=STEPS, width=SIDE, height=SIDE)
        return
    image = Image.linear_gradient("L").resize((SIDE, SIDE)).convert("RGB")
    model().image_to_image(**common, image=[image] * batch, strength=STRENGTH, num_inference_steps=STEPS)
