"""From settings to a model, in whatever process it runs."""

import gc
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from pcevolve_server import sources
from pcevolve_server.settings import ModelSettings
from pcevolve_server.shelf import Shelf
from pcevolve_server.work import Model


def shelve(
    settings: Sequence[ModelSettings], memory_mib: int = 0, stopping: Callable[[], bool] = lambda: False
) -> Shelf:
    """Load several models.

    Args:
        settings: Of each.
        memory_mib: Of the models in memory at a time; 0: no bound.
        stopping: Asked now and then whether to give up.

    Raises:
        ModelLoadError: With the name of the model and what to do.
    """
    for each in settings:
        sources.check(each)
    if len(settings) > 1:  # PyTorch has one number of threads for all models of a process
        settings = [replace(each, threads=each.threads or os.cpu_count() or 1) for each in settings]
    loads = [partial(load, each, stopping) for each in settings]
    return Shelf(loads, memory_mib * 2**20, _give_back)


def _give_back() -> None:
    """Give back the memory of dropped models; of libraries of images where no other was loaded."""
    if "torch" not in sys.modules:
        gc.collect()
        return
    from pcevolve_server.networks import memory

    memory.give_back()


def on_processor(settings: ModelSettings) -> bool:
    """Whether a model's images are made by the processor's cores.

    Raises:
        ModelLoadError: There is no such device.
    """
    if sources.is_library(settings.model):
        return True
    from pcevolve_server.networks import devices

    return devices.found(settings.device).type == "cpu"


def load(settings: ModelSettings, stopping: Callable[[], bool] = lambda: False) -> Model:
    """Load the model that ``settings`` name, or index the images.

    Args:
        settings: What and how.
        stopping: Asked now and then whether to give up.

    Raises:
        ModelLoadError: With the name and what to do.
    """
    sources.check(settings)
    # torch takes seconds to import: not before the port is open, and never for --help.
    if sources.is_library(settings.model):
        from pcevolve_server.library import loading as libraries

        return libraries.load(settings, stopping)
    if sources.is_bundled_text(settings.model):
        from pcevolve_server.phrases import loading as phrases

        return phrases.load(settings)
    if sources.is_text(settings.model):
        from pcevolve_server.language import loading as languages

        return languages.load(settings)
    from pcevolve_server.diffusion import loading

    return loading.load(settings)
