"""What runs on the cluster: replicas of one generator, as a Ray Serve deployment."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pydantic import TypeAdapter
from ray import serve

from pcevolve_server import logs, models
from pcevolve_server.engines.thread import ThreadEngine
from pcevolve_server.errors import GenerationError, RequestError
from pcevolve_server.generator import Generator, Picture, Recipe, Task, generate
from pcevolve_server.settings import ModelSettings
from pcevolve_shared.wire import ModelInfo

logger = logging.getLogger(__name__)

DEPLOYMENT = "generator"
_DRAIN_SECONDS = 600
"""For the batch that runs on a replica which an update or fewer replicas take away."""
_TRIES = 2
"""To load the model on a replica before the deployment is given up."""


@dataclass(frozen=True)
class Description:
    """What a replica says of its generator; as of the engine."""

    info: ModelInfo
    companions: int


@dataclass(frozen=True)
class Scale:
    """How many replicas.

    Attributes:
        least: Always there.
        most: As many as there are batches to run, up to this; equal to ``least``: no autoscaling.
        processors: Of each replica, in Ray's books.
        gpus: Of each replica, or a share of one.
    """

    least: int = 1
    most: int = 1
    processors: int = 1
    gpus: float = 0.0


class Replica:
    """A generator in a process of its own.

    Nothing is raised to Ray, which would write it to its logs, and what a library raises may quote a prompt.
    """

    def __init__(
        self, settings: ModelSettings, load: Callable[[ModelSettings], Generator] | None = None
    ) -> None:
        """Load the model; Serve sends nothing before that.

        Args:
            settings: What to load.
            load: How, on the model's thread; by default with a first image, which takes longer than others.
        """
        executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")
        self._engine = ThreadEngine(executor.submit(load or _warm, settings).result(), executor)

    async def describe(self) -> Description:
        """What the model can do."""
        return Description(self._engine.info, self._engine.companions)

    async def run(self, tasks: Sequence[Task]) -> list[Picture] | RequestError:
        """Return the pictures of tasks that share one recipe, or why there are none.

        Serve cancels it when the caller does; it ends after the model's current step.
        """
        (outcome,) = await asyncio.gather(self._engine.run(tasks), return_exceptions=True)
        if isinstance(outcome, list | RequestError):
            return outcome
        logger.error("a batch failed", exc_info=outcome)
        return GenerationError("the model failed on this request")


def _warm(settings: ModelSettings) -> Generator:
    logs.configure("info")
    generator = models.load(settings)
    size = generator.info.base_resolution
    generate(generator, [Task(Recipe(size.width, size.height, steps=1), "", "", 0)])
    return generator


def application(settings: ModelSettings, scale: Scale) -> serve.Application:
    """The application whose only deployment is the generator.

    Args:
        settings: What each replica loads.
        scale: How many replicas, with what.
    """
    return serve.deployment(Replica, **options(scale)).bind(settings)


def options(scale: Scale) -> dict[str, object]:
    """The deployment's, as Ray Serve names them."""
    return {
        "name": DEPLOYMENT,
        "max_ongoing_requests": 1,
        "max_constructor_retry_count": _TRIES,
        "graceful_shutdown_timeout_s": _DRAIN_SECONDS,
        "graceful_shutdown_wait_loop_s": 0.1,
        "logging_config": {"enable_access_log": False, "log_level": "WARNING"},
        "ray_actor_options": {"num_cpus": scale.processors, "num_gpus": scale.gpus},
        **(
            {"autoscaling_config": _auto(scale)}
            if scale.most > scale.least
            else {"num_replicas": scale.least}
        ),
    }


def _auto(scale: Scale) -> dict[str, float]:
    """A replica for each batch that runs or waits; fewer after minutes, for a model takes long to load."""
    return {
        "min_replicas": scale.least,
        "max_replicas": scale.most,
        "target_ongoing_requests": 1,
        "metrics_interval_s": 2,
        "look_back_period_s": 5,
        "upscale_delay_s": 5,
        "downscale_delay_s": 300,
    }


def build(args: dict[str, object]) -> serve.Application:
    """The application of a Serve config: ``import_path`` names this function, ``args`` are fields of ``ModelSettings``.

    How many replicas and what each may use stands in the config's ``deployments``.

    Raises:
        ValueError: An unknown field, or a value of another type.
    """
    settings = settings_of(args)
    return application(settings, Scale(processors=max(1, settings.threads)))


def settings_of(args: Mapping[str, object]) -> ModelSettings:
    """Return the settings that a config spells.

    Raises:
        ValueError: An unknown field, or a value of another type.
    """
    if unknown := set(args) - set(ModelSettings.__dataclass_fields__):
        raise ValueError(f"args: unknown {', '.join(sorted(unknown))}; see ModelSettings")
    return TypeAdapter(ModelSettings).validate_python(dict(args))
