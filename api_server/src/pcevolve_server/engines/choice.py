"""Chooses the engine that the settings ask for."""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from pcevolve_server import models, sources
from pcevolve_server.engines import Opening, cluster, processes, thread
from pcevolve_server.settings import EngineKind, Settings

_MOST_UNASKED = 4  # replicas: each has the weights and the libraries in memory


def unasked(cores: int) -> tuple[int, int]:
    """Replicas, where nobody says how many, and the threads of each."""
    count = min(cores, _MOST_UNASKED)
    return count, max(1, cores // count)


def opening(settings: Settings, stopping: Callable[[], bool]) -> Opening:
    """Return what opens the engine that ``settings`` ask for.

    Args:
        settings: Kind, replicas and models.
        stopping: Asked now and then whether to give up loading.

    Raises:
        SettingsError: Two models would be called alike.
        ModelLoadError: There is no such directory.
    """
    sources.check_names(settings.models)
    if settings.engine is EngineKind.THREAD:
        return thread.opening(partial(models.shelve, settings.models, settings.model_memory_mib, stopping))
    if settings.ray_address:
        return cluster.opening(settings)
    available = cores()
    count = settings.replicas or unasked(available)[0]
    threads = settings.model.threads or max(1, available // max(count, settings.max_replicas))
    each = [replace(model, threads=threads) for model in settings.models]
    if settings.engine is EngineKind.RAY:
        return cluster.opening(replace(settings, replicas=count, model=each[0], others=tuple(each[1:])))
    return processes.opening(partial(models.shelve, each, settings.model_memory_mib), count)


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
