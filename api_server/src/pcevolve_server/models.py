"""From settings to a generator, in whatever process it runs."""

from collections.abc import Callable

from pcevolve_server import sources
from pcevolve_server.generator import Generator
from pcevolve_server.settings import ModelSettings


def load(settings: ModelSettings, stopping: Callable[[], bool] = lambda: False) -> Generator:
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
    from pcevolve_server.diffusion import loading

    return loading.load(settings)
