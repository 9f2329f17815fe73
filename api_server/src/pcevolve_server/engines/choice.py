"""Which engine the settings ask for."""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from pcevolve_server import models
from pcevolve_server.engines import cluster, processes, thread
from pcevolve_server.engines.engine import Opening
from pcevolve_server.settings import EngineKind, Settings

_MOST_UNASKED = 4  # replicas: each has the weights and the libraries in memory


def opening(settings: Settings, stopping: Callable[[], bool]) -> Opening:
    """How to open the engine that ``settings`` ask for.

    Args:
        settings: Kind, replicas and model.
        stopping: Asked now and then whether to give up loading.
    """
    if settings.engine is EngineKind.THREAD:
        return thread.opening(lambda: models.load(settings.model, stopping))
    if settings.ray_address:
        return cluster.opening(settings)
    cores = _cores()
    count = settings.replicas or min(cores, _MOST_UNASKED)
    each = settings.model.threads or max(1, cores // max(count, settings.max_replicas))
    model = replace(settings.model, threads=each)
    if settings.engine is EngineKind.RAY:
        return cluster.opening(replace(settings, replicas=count, model=model))
    return processes.opening(partial(models.load, model), count)


def _cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
