"""Chooses the engine that the settings ask for."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from pcevolve_server import models, sources
from pcevolve_server.engines import Opening, cluster, processes, thread
from pcevolve_server.settings import EngineKind, Settings
from pcevolve_shared.processors import count_cores

_MOST_UNASKED = 4  # replicas: each has the weights and the libraries in memory


def choose_replicas(cores: int) -> tuple[int, int]:
    """Replicas, where nobody says how many, and the threads of each."""
    count = min(cores, _MOST_UNASKED)
    return count, max(1, cores // count)


def opening(settings: Settings, stopping: Callable[[], bool]) -> Opening:
    """Return what opens the engine that ``settings`` ask for.

    Raises:
        SettingsError: Two models would be called alike.
        ModelLoadError: There is no such directory.
    """
    sources.check_names(settings.models)
    if settings.engine is EngineKind.THREAD:
        load = partial(models.load_models, settings.models, settings.model_memory_mib, stopping)
        return thread.opening(load, settings.stall_seconds)
    if settings.ray_address:
        return cluster.opening(settings)
    available = count_cores()
    count = settings.replicas or choose_replicas(available)[0]
    # By the most replicas that there may be, or those that come later would share cores with the first.
    threads = settings.model.threads or max(1, available // max(count, settings.max_replicas))
    each = [replace(model, threads=threads) for model in settings.models]
    if settings.engine is EngineKind.RAY:
        return cluster.opening(replace(settings, replicas=count, model=each[0], others=tuple(each[1:])))
    load = partial(models.load_models, each, settings.model_memory_mib)
    return processes.opening([load] * count, settings.stall_seconds)
