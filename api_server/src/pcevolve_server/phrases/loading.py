"""From a folder of counts to the bundled language model."""

from __future__ import annotations

from pathlib import Path

from safetensors import SafetensorError

from pcevolve_server import sources
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.phrases.counts import Counts
from pcevolve_server.phrases.model import Phrases
from pcevolve_server.settings import ModelSettings
from pcevolve_shared import limits
from pcevolve_shared.wire import ModelInfo


def load(settings: ModelSettings) -> Phrases:
    """Load the counts that came with the server.

    Raises:
        ModelLoadError: The server was installed without them.
    """
    identity = sources.model_id(settings)
    try:
        counts = Counts(Path(sources.locate(sources.BUNDLED_TEXT)))
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise ModelLoadError(sources.advice(sources.BUNDLED, "language model", error)) from error
    info = ModelInfo(
        id=identity, name=identity, family="phrases", pipelines=("chat",), negative_prompts=False
    )
    return Phrases(info, counts, limits.MAX_COMPLETIONS)
