"""The options of ``pcevolve-server serve``: their types, bounds, variables and help."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Option

from pcevolve_server.settings import Batching, EngineKind
from pcevolve_server.settings import Precision as PrecisionChoice
from pcevolve_shared import limits

# A PNG of that many incompressible pixels still fits the contract's bound on one image.
_MOST_PIXELS = limits.MAX_IMAGE_BYTES // 3 - 2**16
PREFIX = "PCEVOLVE_SERVER_"


class LogLevel(StrEnum):
    """The least severe kind of message that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


# What to load.
Device = Annotated[str, Option(envvar=PREFIX + "DEVICE", help="auto, cpu, cuda, cuda:1, mps.")]
Precision = Annotated[
    PrecisionChoice,
    Option(
        envvar=PREFIX + "PRECISION",
        help="auto: float16 on CUDA; bfloat16 on processors with matrix units for it; else float32.",
    ),
]
Threads = Annotated[
    int,
    Option(
        envvar=PREFIX + "THREADS",
        min=0,
        max=1024,
        help="CPU threads; 0: one for small models, all cores, among replicas, for others.",
    ),
]
Engine = Annotated[
    EngineKind,
    Option(
        envvar=PREFIX + "ENGINE",
        help="Where the model runs: on a thread of the server, in several processes that share the work, or on Ray"
        " (pip install 'pcevolve-server[ray]').",
    ),
]
Replicas = Annotated[
    int,
    Option(
        envvar=PREFIX + "REPLICAS",
        min=0,
        max=1024,
        help="Processes with a model each; 0: one a core, up to 4.",
    ),
]
MaxReplicas = Annotated[
    int,
    Option(
        envvar=PREFIX + "MAX_REPLICAS",
        min=0,
        max=1024,
        help="On Ray: --replicas grow to so many while images wait; 0: they do not.",
    ),
]
RayAddress = Annotated[
    str,
    Option(
        envvar=PREFIX + "RAY_ADDRESS",
        help="HOST:PORT of a Ray cluster, or auto; default: one of the server's own, on loopback.",
    ),
]
Compile = Annotated[
    bool,
    Option(
        "--compile",
        envvar=PREFIX + "COMPILE",
        help="Compile a small model before it is ready: a minute the first time, seconds later; needs a C++ compiler.",
    ),
]

# How to generate.
DefaultSteps = Annotated[
    int | None,
    Option(
        envvar=PREFIX + "DEFAULT_STEPS",
        min=1,
        max=limits.MAX_STEPS,
        help="Where a request names none; default: 50, and of few-step models their own.",
    ),
]
DefaultGuidance = Annotated[
    float | None,
    Option(
        envvar=PREFIX + "DEFAULT_GUIDANCE",
        min=0,
        max=limits.MAX_GUIDANCE,
        help="Where a request names none; default: 7.5, and of few-step models their own.",
    ),
]

# Whom to answer and how much at once.
Host = Annotated[
    str, Option(envvar=PREFIX + "HOST", help="Address to bind; a key is required unless loopback.")
]
Port = Annotated[
    int, Option(envvar=PREFIX + "PORT", min=0, max=65535, help="0 picks a free one and logs it.")
]
ApiKeyFile = Annotated[
    Path | None,
    Option(
        envvar=PREFIX + "API_KEY_FILE", help="File with a key, or names and keys, one in a line; mode 0600."
    ),
]
MaxBatch = Annotated[
    int, Option(envvar=PREFIX + "MAX_BATCH", min=1, max=limits.MAX_BATCH, help="Images per model run.")
]
BatchingMode = Annotated[
    Batching,
    Option(
        envvar=PREFIX + "BATCHING",
        help="exact: the same request gives the same bytes, whoever else asks; small models on a processor share"
        " runs all the same, others run each request alone; merge: requests share runs, equal up to rounding.",
    ),
]
QueueSteps = Annotated[
    int,
    Option(envvar=PREFIX + "QUEUE_STEPS", min=1, max=10**9, help="Images times steps that wait, then 429."),
]
KeySteps = Annotated[int, Option(envvar=PREFIX + "KEY_STEPS", min=1, max=10**9, help="The same of one key.")]
DeadlineSeconds = Annotated[
    float,
    Option(
        envvar=PREFIX + "DEADLINE_SECONDS", min=0, max=10**6, help="For an answer, then 503; 0: no limit."
    ),
]
MaxPixels = Annotated[
    int, Option(envvar=PREFIX + "MAX_PIXELS", min=64, max=_MOST_PIXELS, help="Of one image.")
]
MaxConnections = Annotated[
    int,
    Option(envvar=PREFIX + "MAX_CONNECTIONS", min=1, max=10_000, help="Open at a time, then 503."),
]
HeaderSeconds = Annotated[
    float,
    Option(
        envvar=PREFIX + "HEADER_SECONDS", min=0.1, max=600, help="For a request's head, then it is closed."
    ),
]
BodySeconds = Annotated[
    float,
    Option(
        envvar=PREFIX + "BODY_SECONDS",
        min=0.1,
        max=600,
        help="For a request's body, and one more for each 64 KiB of it, then 408.",
    ),
]
MaxBufferedMib = Annotated[
    int,
    Option(
        envvar=PREFIX + "MAX_BUFFERED_MIB",
        min=-(-limits.MAX_REQUEST_BYTES // 2**20),
        max=2**20,
        help="Bodies of all requests together, then 429.",
    ),
]
AllowedHosts = Annotated[
    list[str],
    Option(
        "--allowed-host",
        envvar=PREFIX + "ALLOWED_HOSTS",
        help="Name that a Host header may hold besides localhost, where there is no key; may be repeated.",
    ),
]
ShutdownSeconds = Annotated[
    int, Option(envvar=PREFIX + "SHUTDOWN_SECONDS", min=1, max=3600, help="Grace after SIGTERM.")
]
MinLogLevel = Annotated[LogLevel, Option(envvar=PREFIX + "LOG_LEVEL", help="JSON lines on stderr.")]

# Of ``pcevolve-server bench``.
Compare = Annotated[
    bool,
    Option(
        "--compare",
        help="Try one thread, all cores on one model, and a model in each of several processes, and say which flags"
        " to serve with.",
    ),
]
AsJson = Annotated[bool, Option("--json", help="Print JSON instead of a table.")]
