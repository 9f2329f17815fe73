"""Choose the engine that the settings name."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from pcevolve_server import models, sources
from pcevolve_server.engines import Engine, Opening, cluster, processes, thread
from pcevolve_server.engines.replica import Load
from pcevolve_server.settings import EngineKind, Settings
from pcevolve_shared.processors import count_cores

_MOST_UNASKED = 4  # replicas: each has the weights and the libraries in memory


def opening(settings: Settings, stopping: Callable[[], bool]) -> Opening:
    """Return a function that opens the engine of ``settings``.

    Raises:
        SettingsError: Two models would have the same name.
        ModelLoadError: A model's directory does not exist.
    """
    sources.check_names(settings.models)
    if settings.engine is EngineKind.THREAD:
        load = partial(models.load_models, settings.models, settings.model_memory_mib, stopping)
        return thread.opening(load, settings.stall_seconds)
    if settings.engine is EngineKind.RAY:
        return cluster.opening(settings if settings.ray_address else share_cores(settings))

    async def open_processes() -> Engine:
        devices = settings.device_names or await asyncio.to_thread(models.find_gpus, settings.model)
        return await processes.opening(list_loads(settings, devices), settings.stall_seconds)()

    return open_processes


def share_cores(settings: Settings, replicas: int = 0) -> Settings:
    """Set the number of replicas and the threads of each if the settings leave them open."""
    cores = count_cores()
    count = settings.replicas or replicas or min(cores, _MOST_UNASKED)
    # Threads are divided by the largest number of replicas. Later replicas would otherwise share cores with the
    # first.
    threads = settings.model.threads or max(1, cores // max(count, settings.max_replicas))
    first, *others = (replace(model, threads=threads) for model in settings.models)
    return replace(settings, replicas=count, model=first, others=tuple(others))


def list_loads(settings: Settings, devices: Sequence[str]) -> list[Load]:
    """Return a loader of the models for each replica.

    The devices are assigned to the replicas in turn. Without devices, the device of the settings is used.
    """
    shared = share_cores(settings, len(devices))
    loads: list[Load] = []
    for number in range(shared.replicas):
        each = [
            replace(model, device=devices[number % len(devices)] if devices else model.device)
            for model in shared.models
        ]
        loads.append(partial(models.load_models, each, settings.model_memory_mib))
    return loads
