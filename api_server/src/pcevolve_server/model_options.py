"""The options of ``pcevolve-server serve`` about its models: their types, bounds, variables and help."""

import os
from pathlib import Path
from typing import Annotated

from typer import Option

from pcevolve_server.options import PREFIX
from pcevolve_server.settings import SafetyPolicy


def named_models(names: list[str]) -> list[str]:
    """The models' names; blanks stand between them in the environment, unless all of it is one directory's path."""
    whole = os.environ.get(PREFIX + "MODEL", "").strip()
    if names == whole.split() and Path(whole.removeprefix("library:")).expanduser().is_dir():
        return [whole]
    return names


# Which models.
Models = Annotated[
    list[str],
    Option(
        "--model",
        envvar=PREFIX + "MODEL",
        callback=named_models,
        help="'bundled', a diffusers directory, a hub id, or library:DIR for a folder of public images. May be"
        " repeated: requests that name no model get the first, to which --model-id, --compile, --lora, --scheduler and"
        " --ip-adapter belong.",
    ),
]
Model = Annotated[
    str,
    Option(
        envvar=PREFIX + "MODEL",
        help="'bundled', a diffusers directory, a hub id, or library:DIR for a folder of public images.",
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
LibraryCache = Annotated[
    str,
    Option(envvar=PREFIX + "LIBRARY_CACHE", help="Where indexes of libraries are kept; default: ~/.cache."),
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
    str | None, Option(envvar=PREFIX + "SCHEDULER", help="ddim, euler, dpmpp_2m, ...; default: the model's.")
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
