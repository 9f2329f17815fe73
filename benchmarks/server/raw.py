"""The pipeline itself, without a server: what diffusers takes for an image at its best batch, and one at a time."""

from __future__ import annotations

import time
from functools import cache

import torch
from PIL import Image

from benchmarks.server.served import GUIDANCE, PROMPT, SIDE, STEPS, STRENGTH
from pcevolve_server.diffusion.generator import DiffusionGenerator
from pcevolve_server.diffusion.generator_loading import load
from pcevolve_server.diffusion.schedulers import run_steps
from pcevolve_server.model_settings import Batching, ModelSettings

_IMAGES = 64  # that a figure is taken of; fewer one at a time, which takes long
_ALONE = 4
_VARIED_STEPS = run_steps(STRENGTH, STEPS)


@cache
def model() -> DiffusionGenerator:
    """The bundled model as the server loads it, for diffusers' pipelines, which batch as they are told."""
    settings = ModelSettings(device="cpu", offline=True, batching=Batching.MERGE)
    found = load(settings)
    assert isinstance(found, DiffusionGenerator)
    return found


def measure(verb: str, batch: int, threads: int = 1) -> float:
    """Seconds of the processor per image in batches of one size."""
    model()  # loading chooses threads, too
    torch.set_num_threads(threads)
    run_batch(verb, batch)
    runs = max(1, (_ALONE if batch == 1 else _IMAGES) // batch)
    started = time.process_time()
    for _ in range(runs):
        run_batch(verb, batch)
    return (time.process_time() - started) / (runs * batch)


def run_batch(verb: str, batch: int) -> None:
    """One call of the pipeline, with as many steps as the server makes."""
    generators = [torch.Generator().manual_seed(seed) for seed in range(batch)]
    common = {"prompt": [PROMPT] * batch, "guidance_scale": GUIDANCE, "generator": generators}
    if verb == "t2i":
        model().text_to_image(**common, num_inference_steps=STEPS, width=SIDE, height=SIDE)
        return
    image = Image.linear_gradient("L").resize((SIDE, SIDE)).convert("RGB")
    # diffusers rounds strength * steps down, the server up: this share of the steps is a whole number of them.
    share = _VARIED_STEPS / STEPS
    model().image_to_image(**common, image=[image] * batch, strength=share, num_inference_steps=STEPS)
