"""``pcevolve.extend``: more of a dataset that is finished."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from rich.console import Console

from pcevolve.interface.result import Result
from pcevolve.public.options import typed_as
from pcevolve.session.components import Generator
from pcevolve.session.finished.extension import Asked
from pcevolve.session.finished.extension import extend as extended
from pcevolve.session.progress import Audience, Tell, error_console, nobody


def extend(
    run: str | os.PathLike[str],
    *,
    more: int,
    strength: float | None = None,
    key: str | None = None,
    generator: Generator | None = None,
    progress: Tell = nobody,
    quiet: bool = False,
    **options: Any,  # noqa: ANN401 - what RunConfig declares
) -> Result:
    """Ask the provider for more variations of what a run released: ``pcevolve extend`` as a function.

    No private image is read and nothing is paid: what is sent back was released before.

    Args:
        run: The run's folder.
        more: Variations of each image, from 1 to 1000.
        strength: Image-to-image strength in [0, 1]; the run's last if None.
        key: What opens the API; as for the run if None.
        generator: The object that made the run's images, if one in this process did.
        progress: Is called with a ``Progress`` whenever the run has come further.
        quiet: Print nothing on stderr.
        options: How the API is reached: ``max_cost``, ``price``, ``patience``.

    Returns:
        The run with its larger dataset. The same call goes on with an extension that was cut off.

    Raises:
        UsageError: It is no finished run, or its release folder holds what is not the run's.
        ClientError: Any other reason.
    """
    with typed_as(str):
        asked = Asked.of(Path(run), more, strength, options, key, generator)
        summary = extended(asked, Audience(Console(quiet=True) if quiet else error_console(), progress))
    return Result.of(Path(run), summary)
