"""The options of ``pcevolve-server serve`` about its models: their types, bounds, variables and help."""

import os
from pathlib import Path
from typing import Annotated

from typer import BadParameter, Option

from pcevolve_server.options import PREFIX
from pcevolve_server.settings import SafetyPolicy


def named_models(names: list[str]) -> list[str]:
    """The models' names; blanks stand between them in the environment, unless all of it is one directory's path."""
    whole = os.environ.get(PREFIX + "MODEL", "").strip()
    if (
        names == whole.split()
        and Path(whole.removeprefix("library:").removeprefix("text:")).expanduser().is_dir()
    ):
        return [whole]
    return names


def ordered(interval: tuple[float, float]) -> tuple[float, float]:
    """An interval whose ends are in order.

    Raises:
        BadParameter: They are not, or are no shares.
    """
    low, high = interval
    if not 0 <= low < high <= 1:
        raise BadParameter("give two shares between 0 and 1, the smaller one first")
    return interval


# Which models.
Models = Annotated[
    list[str],
    Option(
        "--model",
        envvar=PREFIX + "MODEL",
        callback=named_models,
        help="'bundled', a diffusers directory, a hub id, library:DIR for a folder of public images, or text: and a"
        " directory or hub id of a language model. May be repeated: requests that name no model get the first, to which"
        " --model-id, --compile, --lora, --scheduler, --guidance-interval and --ip-adapter belong.",
    ),
]
Model = Annotated[
    str,
    Option(
        envvar=PREFIX + "MODEL",
        help="'bundled', a diffusers directory, a hub id, library:DIR for a folder of public images, or text: and a"
        " directory or hub id of a language model.",
    ),
]
ModelId = Annotated[
    str, Option(envvar=PREFIX + "MODEL_ID", help="Name that callers use; default: the model's.")
]
ModelMemoryMib = Annotated[
    int,
    Option(
        envvar=PREFIX + "MODEL_MEMORY_MIB",
        min=0,
        max=2**24,
        help="Weights of the models in memory at a time; others are loaded when they are asked for. 0: all of them.",
    ),
]
Offline = Annotated[bool, Option("--offline", envvar=PREFIX + "OFFLINE", help="Never ask the hub.")]
AllowPickle = Annotated[
    bool,
    Option(
        "--allow-pickle",
        envvar=PREFIX + "ALLOW_PICKLE",
        help="Also load weights that are not safetensors; they can run code.",
    ),
]
LibraryClip = Annotated[
    str,
    Option(
        envvar=PREFIX + "LIBRARY_CLIP",
        help="Directory or hub id of an open_clip model: libraries of images are drawn from by what it sees in them,"
        " where the prompt's words leave that open (pip install 'pcevolve-server[clip]').",
    ),
]
LibraryCache = Annotated[
    str,
    Option(envvar=PREFIX + "LIBRARY_CACHE", help="Where indexes of libraries are kept; default: ~/.cache."),
]

# How they draw.
GuidanceInterval = Annotated[
    tuple[float, float],
    Option(
        envvar=PREFIX + "GUIDANCE_INTERVAL",
        metavar="LOW HIGH",
        callback=ordered,
        help="Guidance tells between these shares of the noise levels alone, 1 being pure noise; elsewhere a step costs"
        " half. Stable Diffusion 1 and 2.",
    ),
]
Tiling = Annotated[
    bool,
    Option(
        "--vae-tiling",
        envvar=PREFIX + "VAE_TILING",
        help="Decode images larger than a large model was made for in tiles that overlap: less memory, more time.",
    ),
]

# What is added to them, and what watches them.
Loras = Annotated[
    list[str],
    Option(
        "--lora",
        envvar=PREFIX + "LORAS",
        help="Weight file, directory or hub id of a LoRA, and =SCALE if not 1; may be repeated.",
    ),
]
Scheduler = Annotated[
    str | None,
    Option(
        envvar=PREFIX + "SCHEDULER",
        help="ddim, euler, dpmpp_2m, ..., or own: the one that the model brought along; default: by its family.",
    ),
]
IpAdapter = Annotated[
    str, Option(envvar=PREFIX + "IP_ADAPTER", help="Weight file, directory or hub id of an IP-Adapter.")
]
IpAdapterScale = Annotated[
    float, Option(envvar=PREFIX + "IP_ADAPTER_SCALE", min=0, max=1, help="Weight of the image.")
]
SafetyChecker = Annotated[
    SafetyPolicy, Option(envvar=PREFIX + "SAFETY_CHECKER", help="auto: use the model's if it has one.")
]
SafetyRetries = Annotated[
    int,
    Option(envvar=PREFIX + "SAFETY_RETRIES", min=0, max=20, help="New tries for a refused image, then 422."),
]
