"""The API server on one GPU: what it makes under load of what the pipeline itself makes at its best batch.

    make bench-gpu                                   tiny and full-size Stable Diffusion 1.5 and SDXL, at most 8 minutes
    .venv/bin/python -m benchmarks.gpu --tiny --device cpu       whether it runs at all

Weights are random: speed and memory do not depend on them. Pipelines are made in a temporary folder, 9 GB of it. Writes
``gpu.json`` and the table between the marks in ``speed.md``.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import shutil
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import diffusers
import httpx
import torch
import transformers

from benchmarks.rows import parser_of, table
from pcevolve_shared import wire

STEPS, GUIDANCE, PROMPT = 20, 5.0, "a photograph of a leaf"
CLIENTS: Final = (1, 8, 32)
BATCHES: Final = (1, 2, 4, 8, 16)
BEGIN, END = "<!-- gpu: written by benchmarks/gpu.py -->\n", "<!-- /gpu -->\n"


@dataclass(frozen=True)
class Size:
    """Of a pipeline's networks.

    Attributes:
        side: Pixels on a side of its images.
        unet: Changes to diffusers' own configuration of a UNet.
        vae: Channels of the autoencoder's blocks.
        width: Of the hidden states of each text encoder, one or two.
        layers: Of each text encoder.
    """

    side: int
    unet: Mapping[str, Any]
    vae: tuple[int, ...]
    width: tuple[int, ...]
    layers: tuple[int, ...]


_CROSS, _PLAIN = "CrossAttnDownBlock2D", "DownBlock2D"
_XL: Final = {
    "down_block_types": (_PLAIN, _CROSS, _CROSS),
    "up_block_types": ("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
    "addition_embed_type": "text_time",
    "use_linear_projection": True,
}
_TINY: Final = {
    "block_out_channels": (8, 16),
    "norm_num_groups": 4,
    "layers_per_block": 1,
    "attention_head_dim": 8,
}
_TWO: Final = {"down_block_types": (_PLAIN, _CROSS), "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D")}
SIZES: Final = {
    "tiny SD 1.5": Size(64, _TINY | _TWO | {"cross_attention_dim": 32}, (8, 8, 8), (32,), (1,)),
    "tiny SDXL": Size(
        64,
        _XL | _TINY | _TWO | {
            "cross_attention_dim": 64, "addition_time_embed_dim": 8, "projection_class_embeddings_input_dim": 80,
        },
        (8, 8, 8), (32, 32), (1, 1),
    ),
    "SD 1.5": Size(512, {"cross_attention_dim": 768}, (128, 256, 512, 512), (768,), (12,)),
    "SDXL": Size(
        1024,
        _XL | {
            "block_out_channels": (320, 640, 1280), "attention_head_dim": (5, 10, 20), "cross_attention_dim": 2048,
            "transformer_layers_per_block": (1, 2, 10), "addition_time_embed_dim": 256,
            "projection_class_embeddings_input_dim": 2816,
        },
        (128, 256, 512, 512), (768, 1280), (12, 32),
    ),
}  # fmt: skip


def save_pipeline(size: Size, folder: Path, device: str) -> None:
    """Write a pipeline of random weights, in half precision where it is for a GPU."""
    factor = 2 ** (len(size.vae) - 1)
    vae: dict[str, Any] = {
        "down_block_types": ("DownEncoderBlock2D",) * len(size.vae),
        "up_block_types": ("UpDecoderBlock2D",) * len(size.vae),
        "norm_num_groups": min(32, size.vae[0] // 2),
    }
    with torch.device(device):
        parts: dict[str, Any] = {
            "vae": diffusers.AutoencoderKL(block_out_channels=size.vae, sample_size=size.side, **vae),
            "unet": diffusers.UNet2DConditionModel(sample_size=size.side // factor, **size.unet),
        }
        for place, (width, layers) in enumerate(zip(size.width, size.layers, strict=True)):
            end = f"_{place + 1}" if place else ""
            parts[f"tokenizer{end}"] = _tokenizer()
            parts[f"text_encoder{end}"] = _text_encoder(width, layers, projects=bool(place))
    scheduler = diffusers.EulerDiscreteScheduler(
        beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear"
    )
    if len(size.width) == 2:
        made = diffusers.StableDiffusionXLPipeline(scheduler=scheduler, add_watermarker=False, **parts)
    else:
        made = diffusers.StableDiffusionPipeline(
            scheduler=scheduler,
            safety_checker=None,
            feature_extractor=None,
            requires_safety_checker=False,
            **parts,
        )
    (made if device == "cpu" else made.to(dtype=torch.float16)).save_pretrained(
        folder, safe_serialization=True
    )


def _tokenizer() -> Any:  # noqa: ANN401 - the library has no types
    letters = string.ascii_lowercase + string.digits
    words = ["<|startoftext|>", "<|endoftext|>", *letters, *(letter + "</w>" for letter in letters)]
    vocabulary = {word: index for index, word in enumerate(words)}
    return transformers.CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=77)


def _text_encoder(width: int, layers: int, projects: bool) -> Any:  # noqa: ANN401
    config = transformers.CLIPTextConfig(
        vocab_size=len(_tokenizer()), hidden_size=width, intermediate_size=4 * width, num_hidden_layers=layers,
        num_attention_heads=max(4, width // 64), projection_dim=width, bos_token_id=0, eos_token_id=1, pad_token_id=1,
    )  # fmt: skip
    return (transformers.CLIPTextModelWithProjection if projects else transformers.CLIPTextModel)(config)


def measure_pipeline(folder: Path, size: Size, device: str, seconds: float) -> dict[int, float]:
    """Images per second of diffusers alone, by images in a batch, up to the last that fits."""
    dtype = torch.float32 if device == "cpu" else torch.float16
    pipeline = diffusers.DiffusionPipeline.from_pretrained(folder, dtype=dtype).to(device)
    pipeline.set_progress_bar_config(disable=True)
    found: dict[int, float] = {}
    for batch in BATCHES:
        try:
            _run(pipeline, size, batch)
            begun, runs = time.perf_counter(), 0
            while not runs or time.perf_counter() - begun < seconds:
                _run(pipeline, size, batch)
                runs += 1
        except torch.OutOfMemoryError:
            break
        found[batch] = runs * batch / (time.perf_counter() - begun)
    del pipeline
    if device != "cpu":
        torch.cuda.empty_cache()
    return found


def _run(pipeline: Any, size: Size, batch: int) -> None:  # noqa: ANN401
    generators = [torch.Generator().manual_seed(seed) for seed in range(batch)]
    pipeline(
        prompt=[PROMPT] * batch, num_inference_steps=STEPS, guidance_scale=GUIDANCE, generator=generators,
        width=size.side, height=size.side, output_type="np",
    )  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What a server of one pipeline was measured to do.

    Attributes:
        pipeline: Images per second without it, by images in a batch.
        ready: Seconds from the start of the process until it is ready, and until it has answered with an image.
        served: Images per second by clients, each of whom asks for one image at a time.
        share: The same as shares of the pipeline's best.
        exact: As of ``/v1/models``.
        batch_pixels: As of the same.
        mib: Of the GPU, or of the process on a processor, under load.
    """

    pipeline: dict[int, float]
    ready: tuple[float, float]
    served: dict[int, float]
    share: dict[int, float]
    exact: str
    batch_pixels: int
    mib: int


def measure_server(
    folder: Path, pipeline: dict[int, float], device: str, options: list[str], seconds: float
) -> Found:
    """Start a server of a folder, and put it under load."""
    begun = time.perf_counter()
    with _serving(folder, device, options) as (client, process):
        ready = time.perf_counter() - begun
        _ask(client, 0)
        first = time.perf_counter() - begun
        (info,) = client.get(wire.MODELS).json()["data"]
        served = {clients: asyncio.run(_load(str(client.base_url), clients, seconds)) for clients in CLIENTS}
        mib = _memory(process)
    best = max(pipeline.values())
    share = {clients: round(speed / best, 3) for clients, speed in served.items()}
    return Found(pipeline, (ready, first), served, share, info["exact"], info["batch_pixels"], mib)


@contextmanager
def _serving(
    folder: Path, device: str, options: list[str]
) -> Iterator[tuple[httpx.Client, subprocess.Popen[bytes]]]:
    command = [str(Path(sys.executable).with_name("pcevolve-server")), "serve", "--port", "0", "--offline"]
    command += ["--model", str(folder), "--device", device, "--scheduler", "own", *options]
    with tempfile.NamedTemporaryFile("w+") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            while process.poll() is None:
                lines = [line for line in Path(log.name).read_text().splitlines() if line.endswith("}")]
                if found := [said["url"] for said in map(json.loads, lines) if "url" in said]:
                    with httpx.Client(base_url=found[0], timeout=600) as client:
                        yield client, process
                    return
                time.sleep(0.05)
            raise RuntimeError(Path(log.name).read_text())
        finally:
            process.terminate()


def _body(seed: int) -> dict[str, object]:
    return {"prompt": PROMPT, "steps": STEPS, "guidance": GUIDANCE, "seed": seed}


def _ask(client: httpx.Client, seed: int) -> None:
    client.post(wire.TEXT_TO_IMAGE, json=_body(seed)).raise_for_status()


async def _load(url: str, clients: int, seconds: float) -> float:
    """Images per second that clients get who ask one after the other; the first of each is not counted."""
    counted, begun, until = 0, 0.0, 0.0
    async with httpx.AsyncClient(
        base_url=url, timeout=600, limits=httpx.Limits(max_connections=clients)
    ) as client:

        async def ask(number: int) -> None:
            nonlocal counted
            while time.perf_counter() < until:
                (await client.post(wire.TEXT_TO_IMAGE, json=_body(number))).raise_for_status()
                counted += 1

        until = time.perf_counter() + 0.1
        await asyncio.gather(*map(ask, range(clients)))
        counted, begun = 0, time.perf_counter()
        until = begun + seconds
        await asyncio.gather(*map(ask, range(clients)))
    return counted / (time.perf_counter() - begun)


def _memory(process: subprocess.Popen[bytes]) -> int:
    """MiB in use on the GPU, or by the process where there is none."""
    if smi := shutil.which("nvidia-smi"):
        asked = [smi, "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        said = subprocess.run(asked, capture_output=True, text=True, check=True)
        return max(map(int, said.stdout.split()))
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * 4096 // 2**20


def write(out: Path, machine: str, found: Mapping[str, Found]) -> None:
    """Write ``gpu.json``, and the table in ``speed.md``."""
    rows = {name: asdict(each) for name, each in found.items()}
    (out / "gpu.json").write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
    heads = (
        "pipeline",
        "its best, images/s",
        *(f"{each} clients" for each in CLIENTS),
        "first image, s",
        "MiB",
        "exact",
    )
    page = (out / "speed.md").read_text()
    before, rest = page.split(BEGIN)
    told = f"{machine}, {STEPS} steps; of clients the share of the pipeline's best batch.\n\n"
    (out / "speed.md").write_text(
        before
        + BEGIN
        + told
        + table(heads, (_cells(*each) for each in found.items()))
        + END
        + rest.split(END)[1]
    )


def _cells(name: str, found: Found) -> tuple[str, ...]:
    shares = (f"{found.share[clients]:.2f}" for clients in CLIENTS)
    return (
        name,
        f"{max(found.pipeline.values()):.2f}",
        *shares,
        f"{found.ready[1]:.0f}",
        str(found.mib),
        found.exact,
    )


def main() -> None:
    """Measure one pipeline after the other, and write what was found."""
    parser = parser_of(__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="tiny pipelines alone")
    parser.add_argument("--seconds", type=float, default=8.0, help="that a figure is measured for")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    parser.add_argument("options", nargs="*", help="of the server, behind --: -- --compile --attention flash")
    given = parser.parse_args()
    if given.device == "cpu":
        torch.set_num_threads(1)  # as the server has for small models
    on = platform.machine() if given.device == "cpu" else torch.cuda.get_device_name(given.device)
    found: dict[str, Found] = {}
    for name, size in SIZES.items():
        if given.tiny and not name.startswith("tiny"):
            continue
        with tempfile.TemporaryDirectory(prefix="gpu") as place:
            torch.manual_seed(0)
            save_pipeline(size, folder := Path(place) / "model", given.device)
            pipeline = measure_pipeline(folder, size, given.device, given.seconds)
            found[name] = measure_server(folder, pipeline, given.device, given.options, given.seconds)
        print(name, json.dumps(asdict(found[name])), flush=True)
        write(given.out, f"{on}, torch {torch.__version__}", found)


if __name__ == "__main__":
    main()
