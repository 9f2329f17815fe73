"""``pcevolve.evolve``: options in, a finished run out."""

from __future__ import annotations

import os
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Unpack

from rich.console import Console

from pcevolve.config.config import RunConfig
from pcevolve.errors import UsageError
from pcevolve.interface.options import RunOptions
from pcevolve.interface.provider import LOCAL, Provider
from pcevolve.interface.result import Result
from pcevolve.public.fields import IN_PROCESS
from pcevolve.public.options import typed_as
from pcevolve.session.components import Generator
from pcevolve.session.finished.whole import carried_out
from pcevolve.session.preflight import checked
from pcevolve.session.progress import Audience, Tell, error_console, nobody

RUNS = Path("runs")


def evolve(
    *,
    private: str | os.PathLike[str],
    domain: str,
    provider: Provider | Generator | str = LOCAL,
    epsilon: float | str | Fraction = 10,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Tell = nobody,
    quiet: bool = False,
    **options: Unpack[RunOptions],
) -> Result:
    """Evolve a synthetic dataset under differential privacy: ``pcevolve run`` as a function.

    Args:
        private: Folder of class folders, or ``digits`` for scikit-learn's handwritten digits. No image of it leaves.
        domain: Public words for what the images show.
        provider: Who makes images, or the address alone. Or, for research, an object that makes them in this process:
            then there is no boundary, everything that is made of the run says so, and its audit fails.
        epsilon: Total privacy budget of the run, > 0. A text or a fraction is taken exactly.
        out: Folder of the run; a new one under ``runs`` if None. Nothing in it is ever overwritten.
        resume: Continue the run that is in ``out`` where it was cut off.
        progress: Is called with a ``Progress`` whenever the run has come further. What it raises ends the run, which
            can be resumed.
        quiet: Print nothing on stderr. What the run costs and warns of is in the result and in what it writes.
        options: All other options of a run (``shots=10``, ``method="pe"``), which editors complete; see ``RunOptions``.

    Returns:
        The finished run.

    Raises:
        UsageError: An option is unknown or out of bounds, or the folder holds something else.
        DataError: The private images cannot be used; nothing was spent.
        BudgetError: Not enough is left; nothing was drawn.
        ProviderError: The API failed; what was paid for is on record, ``resume=True`` goes on from there.
        ClientError: Any other reason; all of these are of this kind.
    """
    asked = Provider(provider) if isinstance(provider, str) else provider
    folder = _new_folder() if out is None else Path(out)
    values = {"private": os.fspath(private), "domain": domain, "epsilon": epsilon, "out": folder}
    where, key, generator = _spoken_to(asked)
    if twice := sorted({"api", "dialect", "model", "api_key_file"} & options.keys()):
        raise UsageError(
            f"{twice[0]} is said by the provider: give provider=Provider(url, dialect, key, model)"
        )
    console = Console(quiet=True) if quiet else error_console()
    with typed_as(str):
        run = checked(RunConfig.of({**options, **values, **where}), resume, key, generator)
        outcome = carried_out(run, Audience(console, progress))
    return Result.of(outcome.folder.root, outcome.summary)


def _spoken_to(asked: Provider | Generator) -> tuple[dict[str, Any], str | None, Generator | None]:
    """Options that say where requests go, the key for it, and the object that they go to instead, if there is one."""
    if isinstance(asked, Provider):
        return asked.settings, asked.key, None
    # Nobody is on the other side who could measure how long private work takes, so none of it is padded.
    where = {"api": IN_PROCESS, "dialect": "getimg", "model": type(asked).__name__, "pad_selection": 0.0}
    return where, None, asked


def _new_folder() -> Path:
    """A folder that is named after this second, and not there yet."""
    return RUNS / f"{datetime.now():%Y-%m-%d-%H%M%S}"
