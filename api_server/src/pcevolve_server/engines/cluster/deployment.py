"""The deployment on Ray Serve: replicas of one generator."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pydantic import NonNegativeFloat, NonNegativeInt, TypeAdapter
from ray import serve

from pcevolve_server import logs, models
from pcevolve_server.engines.thread import ThreadEngine
from pcevolve_server.errors import GenerationError, RequestError
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.models import ModelCache, ModelDescription
from pcevolve_server.work import Made, Work
from pcevolve_shared.quiet import keep_quiet

logger = logging.getLogger(__name__)

APPLICATION = "pcevolve"
DEPLOYMENT = "generator"
_DRAIN_SECONDS = 600
"""Longest time for the last batch of a replica that an update or downscaling removes."""
_TRIES = 2
"""Number of attempts to load the model on a replica before the deployment fails."""


Answer = tuple[list[Made] | RequestError, tuple[ModelDescription, ...]]


@dataclass(frozen=True)
class Wanted:
    """The models of each replica.

    Attributes:
        models: Settings of the models. The first model is the default.
        memory_mib: Largest memory of all loaded models together, in MiB. 0: no limit.
        stall_seconds: If a run gives no sign of life for this long, its device is considered hung. 0: never.
    """

    models: tuple[ModelSettings, ...]
    memory_mib: int = 0
    stall_seconds: float = 600.0


@dataclass(frozen=True)
class Scale:
    """Numbers of replicas, and the resources of each replica.

    Attributes:
        least: Number of replicas that always run.
        most: Largest number of replicas. If it equals ``least``, there is no autoscaling.
        processors: Number of processors of each replica, in Ray's accounting.
        gpus: Number of GPUs of each replica, or its share of one GPU.
    """

    least: int = 1
    most: int = 1
    processors: int = 1
    gpus: float = 0.0


class ServedReplica:
    """One or more models in a process of their own.

    No error is raised to Ray, because Ray would log the error, and a library's error may quote a prompt.
    """

    def __init__(self, wanted: Wanted, load: Callable[[Wanted], ModelCache] | None = None) -> None:
        """Load the models. Serve sends no batch before they are loaded.

        Args:
            load: Loads the models, on their thread. The default also configures logs and warnings.
        """
        executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")
        cache = executor.submit(load or _warm, wanted).result()
        self._engine = ThreadEngine(cache, executor, wanted.stall_seconds)

    async def describe(self) -> tuple[ModelDescription, ...]:
        return self._engine.descriptions

    def check_health(self) -> None:
        """Let Serve replace the replica if its device has failed or hangs.

        Raises:
            EngineLostError: The device has failed or hangs.
        """
        if self._engine.lost is not None:
            raise self._engine.lost

    async def run(self, tasks: Sequence[Work]) -> Answer:
        """Return the results of tasks that share one recipe, or an error, and the models' descriptions.

        If the caller cancels, Serve cancels this call. The run then ends after the model's current step.
        """
        # The error is returned, because Ray writes raised errors to logs that others can read.
        (outcome,) = await asyncio.gather(self._engine.run(tasks), return_exceptions=True)
        if not isinstance(outcome, list | RequestError):
            logger.error("a batch failed", exc_info=outcome)
            outcome = GenerationError("the model failed on this request")
        return outcome, self._engine.descriptions


def _warm(wanted: Wanted) -> ModelCache:
    logs.configure("info")
    keep_quiet()
    return models.load_models(wanted.models, wanted.memory_mib)


def application(wanted: Wanted, scale: Scale) -> serve.Application:
    """Return the application, which has the generator as its only deployment."""
    return serve.deployment(ServedReplica, **options(scale)).bind(wanted)


def options(scale: Scale) -> dict[str, object]:
    """Return the deployment's options under Ray Serve's names."""
    return {
        "name": DEPLOYMENT,
        # One batch at a time: a second batch would wait on this replica while another replica is free.
        "max_ongoing_requests": 1,
        "max_constructor_retry_count": _TRIES,
        "graceful_shutdown_timeout_s": _DRAIN_SECONDS,
        "graceful_shutdown_wait_loop_s": 0.1,
        "health_check_period_s": 5,
        "logging_config": {"enable_access_log": False, "log_level": "WARNING"},
        "ray_actor_options": {"num_cpus": scale.processors, "num_gpus": scale.gpus},
        **(
            {"autoscaling_config": _auto(scale)}
            if scale.most > scale.least
            else {"num_replicas": scale.least}
        ),
    }


def _auto(scale: Scale) -> dict[str, float]:
    """Return the scaling rule: one replica for each batch that runs or waits.

    Replicas are removed only after minutes, because loading takes long.
    """
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
    """Return the application of a Serve config, whose ``import_path`` names this function.

    The config's ``deployments`` set the number of replicas and the resources of each.

    Args:
        args: See ``read_wanted``.

    Raises:
        ValueError: A field is unknown, or its value has another type.
    """
    wanted = read_wanted(args)
    return application(wanted, Scale(processors=max(1, wanted.models[0].threads)))


def read_wanted(args: Mapping[str, object]) -> Wanted:
    """Return the models of a config.

    Args:
        args: Fields of ``ModelSettings``; ``others``, names of more models; ``model_memory_mib``;
            ``stall_seconds``.

    Raises:
        ValueError: A field is unknown, or its value has another type.
    """
    known = {*ModelSettings.__dataclass_fields__, "others", "model_memory_mib", "stall_seconds"}
    if unknown := set(args) - known:
        raise ValueError(f"args: unknown {', '.join(sorted(unknown))}; see ModelSettings")
    own = {name: value for name, value in args.items() if name in ModelSettings.__dataclass_fields__}
    first = TypeAdapter(ModelSettings).validate_python(own)
    others = TypeAdapter(tuple[str, ...]).validate_python(args.get("others", ()))
    memory_mib = TypeAdapter(NonNegativeInt).validate_python(args.get("model_memory_mib", 0))
    stall_seconds = TypeAdapter(NonNegativeFloat).validate_python(args.get("stall_seconds", 600.0))
    return Wanted((first, *first.others(others)), memory_mib, stall_seconds)
