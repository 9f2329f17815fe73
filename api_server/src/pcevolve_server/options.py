"""The options of ``pcevolve-server serve``: their types, bounds, variables and help."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Option

from pcevolve_server.settings import Batching, EngineKind, SafetyPolicy
from pcevolve_server.settings import Precision as PrecisionChoice
from pcevolve_shared import limits

# A PNG of that many incompressible pixels still fits the contract's bound on one image.
_MOST_PIXELS = limits.MAX_IMAGE_BYTES // 3 - 2**16
_PREFIX = "PCEVOLVE_SERVER_"


class LogLevel(StrEnum):
    """The least severe kind of message that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


# What to load.
Model = Annotated[
    str,
    Option(
        envvar=_PREFIX + "MODEL",
        help="'bundled', a diffusers directory, a hub id, or library:DIR for a folder of public images.",
    ),
]
ModelId = Annotated[
    str, Option(envvar=_PREFIX + "MODEL_ID", help="Name that callers use; default: the model's.")
]
Device = Annotated[str, Option(envvar=_PREFIX + "DEVICE", help="auto, cpu, cuda, cuda:1, mps.")]
Precision = Annotated[
    PrecisionChoice,
    Option(
        envvar=_PREFIX + "PRECISION",
        help="auto: float16 on CUDA; bfloat16 on processors with matrix units for it; else float32.",
    ),
]
Threads = Annotated[
    int,
    Option(
        envvar=_PREFIX + "THREADS",
        min=0,
        max=1024,
        help="CPU threads; 0: one for small models, all cores, among replicas, for others.",
    ),
]
Engine = Annotated[
    EngineKind,
    Option(
        envvar=_PREFIX + "ENGINE",
        help="Where the model runs: on a thread of the server, in several processes that share the work, or on Ray"
        " (pip install 'pcevolve-server[ray]').",
    ),
]
Replicas = Annotated[
    int,
    Option(
        envvar=_PREFIX + "REPLICAS",
        min=0,
        max=1024,
        help="Processes with a model each; 0: one a core, up to 4.",
    ),
]
MaxReplicas = Annotated[
    int,
    Option(
        envvar=_PREFIX + "MAX_REPLICAS",
        min=0,
        max=1024,
        help="On Ray: --replicas grow to so many while images wait; 0: they do not.",
    ),
]
RayAddress = Annotated[
    str,
    Option(
        envvar=_PREFIX + "RAY_ADDRESS",
        help="HOST:PORT of a Ray cluster, or auto; default: one of the server's own, on loopback.",
    ),
]
Compile = Annotated[
    bool,
    Option(
        "--compile",
        envvar=_PREFIX + "COMPILE",
        help="Compile a small model before it is ready: a minute the first time, seconds later; needs a C++ compiler.",
    ),
]
Offline = Annotated[bool, Option("--offline", envvar=_PREFIX + "OFFLINE", help="Never ask the hub.")]
AllowPickle = Annotated[
    bool,
    Option(
        "--allow-pickle",
        envvar=_PREFIX + "ALLOW_PICKLE",
        help="Also load weights that are not safetensors; they can run code.",
    ),
]
LibraryCache = Annotated[
    str,
    Option(envvar=_PREFIX + "LIBRARY_CACHE", help="Where indexes of libraries are kept; default: ~/.cache."),
]

# How to generate.
Scheduler = Annotated[
    str | None, Option(envvar=_PREFIX + "SCHEDULER", help="ddim, euler, dpmpp_2m, ...; default: the model's.")
]
DefaultSteps = Annotated[
    int | None,
    Option(
        envvar=_PREFIX + "DEFAULT_STEPS",
        min=1,
        max=limits.MAX_STEPS,
        help="Where a request names none; default: 50, and of few-step models their own.",
    ),
]
DefaultGuidance = Annotated[
    float | None,
    Option(
        envvar=_PREFIX + "DEFAULT_GUIDANCE",
        min=0,
        max=limits.MAX_GUIDANCE,
        help="Where a request names none; default: 7.5, and of few-step models their own.",
    ),
]
Loras = Annotated[
    list[str],
    Option(
        "--lora",
        envvar=_PREFIX + "LORAS",
        help="Weight file, directory or hub id of a LoRA, and =SCALE if not 1; may be repeated.",
    ),
]
IpAdapter = Annotated[
    str, Option(envvar=_PREFIX + "IP_ADAPTER", help="Weight file, directory or hub id of an IP-Adapter.")
]
IpAdapterScale = Annotated[
    float, Option(envvar=_PREFIX + "IP_ADAPTER_SCALE", min=0, max=1, help="Weight of the image.")
]
SafetyChecker = Annotated[
    SafetyPolicy, Option(envvar=_PREFIX + "SAFETY_CHECKER", help="auto: use the model's if it has one.")
]
SafetyRetries = Annotated[
    int,
    Option(envvar=_PREFIX + "SAFETY_RETRIES", min=0, max=20, help="New tries for a refused image, then 422."),
]

# Whom to answer and how much at once.
Host = Annotated[
    str, Option(envvar=_PREFIX + "HOST", help="Address to bind; a key is required unless loopback.")
]
Port = Annotated[
    int, Option(envvar=_PREFIX + "PORT", min=0, max=65535, help="0 picks a free one and logs it.")
]
ApiKeyFile = Annotated[
    Path | None,
    Option(
        envvar=_PREFIX + "API_KEY_FILE", help="File with a key, or names and keys, one in a line; mode 0600."
    ),
]
MaxBatch = Annotated[
    int, Option(envvar=_PREFIX + "MAX_BATCH", min=1, max=limits.MAX_BATCH, help="Images per model run.")
]
BatchingMode = Annotated[
    Batching,
    Option(
        envvar=_PREFIX + "BATCHING",
        help="exact: the same request gives the same bytes, whoever else asks; small models on a processor share"
        " runs all the same, others run each request alone; merge: requests share runs, equal up to rounding.",
    ),
]
QueueSteps = Annotated[
    int,
    Option(envvar=_PREFIX + "QUEUE_STEPS", min=1, max=10**9, help="Images times steps that wait, then 429."),
]
KeySteps = Annotated[int, Option(envvar=_PREFIX + "KEY_STEPS", min=1, max=10**9, help="The same of one key.")]
DeadlineSeconds = Annotated[
    float,
    Option(
        envvar=_PREFIX + "DEADLINE_SECONDS", min=0, max=10**6, help="For an answer, then 503; 0: no limit."
    ),
]
MaxPixels = Annotated[
    int, Option(envvar=_PREFIX + "MAX_PIXELS", min=64, max=_MOST_PIXELS, help="Of one image.")
]
MaxConnections = Annotated[
    int,
    Option(envvar=_PREFIX + "MAX_CONNECTIONS", min=1, max=10_000, help="Open at a time, then 503."),
]
HeaderSeconds = Annotated[
    float,
    Option(
        envvar=_PREFIX + "HEADER_SECONDS", min=0.1, max=600, help="For a request's head, then it is closed."
    ),
]
BodySeconds = Annotated[
    float,
    Option(
        envvar=_PREFIX + "BODY_SECONDS",
        min=0.1,
        max=600,
        help="For a request's body, and one more for each 64 KiB of it, then 408.",
    ),
]
MaxBufferedMib = Annotated[
    int,
    Option(
        envvar=_PREFIX + "MAX_BUFFERED_MIB",
        min=-(-limits.MAX_REQUEST_BYTES // 2**20),
        max=2**20,
        help="Bodies of all requests together, then 429.",
    ),
]
AllowedHosts = Annotated[
    list[str],
    Option(
        "--allowed-host",
        envvar=_PREFIX + "ALLOWED_HOSTS",
        help="Name that a Host header may hold besides localhost, where there is no key; may be repeated.",
    ),
]
ShutdownSeconds = Annotated[
    int, Option(envvar=_PREFIX + "SHUTDOWN_SECONDS", min=1, max=3600, help="Grace after SIGTERM.")
]
MinLogLevel = Annotated[LogLevel, Option(envvar=_PREFIX + "LOG_LEVEL", help="JSON lines on stderr.")]

# Of ``pcevolve-server bench``.
AsJson = Annotated[bool, Option("--json", help="Print JSON instead of a table.")]
