"""Make a run and make more of one: a provider and options in, a finished run out."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Unpack

from rich.console import Console

from pcevolve.config.config import RunConfig
from pcevolve.errors import UsageError
from pcevolve.interface.options import RunOptions
from pcevolve.interface.result import Result
from pcevolve.public.fields import IN_PROCESS
from pcevolve.public.options import AS_KEYWORDS, spell_as
from pcevolve.session.components import Generator
from pcevolve.session.finished.extension import Asked
from pcevolve.session.finished.extension import extend as extended
from pcevolve.session.finished.whole import carry_out
from pcevolve.session.preflight import check_run
from pcevolve.session.progress import Audience, Tell, error_console, tell_nobody

LOCAL = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Provider:
    """An image API that is not trusted.

    Attributes:
        url: Scheme, host, port and path; ``pcevolve-server serve`` listens at the default.
        dialect: How it speaks: ``getimg`` for ``pcevolve-server``, ``openai``, ``chat`` for texts, or another one; a
            name that there is not is answered with all that there are.
        key: What opens it; ``PCEVOLVE_API_KEY`` in the environment if None. It is never written down.
        model: Which of its models is asked.
    """

    url: str = LOCAL
    dialect: str = "getimg"
    key: str | None = field(default=None, repr=False)
    model: str = "bundled"

    @property
    def settings(self) -> dict[str, str]:
        """The run's options that say where it goes and how it is spoken to; not the key."""
        return {"api": self.url, "dialect": self.dialect, "model": self.model}


RUNS = Path("runs")


def evolve(
    *,
    private: str | os.PathLike[str],
    domain: str,
    provider: Provider | Generator | str = LOCAL,
    epsilon: float | str | Fraction = 10,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Tell = tell_nobody,
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
    where, key, generator = _split_address(asked)
    if twice := sorted({"api", "dialect", "model", "api_key_file"} & options.keys()):
        raise UsageError(
            f"{twice[0]} is said by the provider: give provider=Provider(url, dialect, key, model)"
        )
    console = Console(quiet=True) if quiet else error_console()
    with spell_as(AS_KEYWORDS):
        run = check_run(RunConfig.of({**options, **values, **where}), resume, key, generator)
        outcome = carry_out(run, Audience(console, progress))
    return Result.of(outcome.folder.root, outcome.summary)


def _split_address(asked: Provider | Generator) -> tuple[dict[str, Any], str | None, Generator | None]:
    """Options that say where requests go, the key for it, and the object that they go to instead, if there is one."""
    if isinstance(asked, Provider):
        return asked.settings, asked.key, None
    # Nobody is on the other side who could measure how long private work takes, so none of it is padded.
    where = {"api": IN_PROCESS, "dialect": "getimg", "model": type(asked).__name__, "pad_selection": 0.0}
    return where, None, asked


def _new_folder() -> Path:
    """A folder that is named after this second, and not there yet."""
    return RUNS / f"{datetime.now():%Y-%m-%d-%H%M%S}"


def extend(
    run: str | os.PathLike[str],
    *,
    more: int,
    strength: float | None = None,
    key: str | None = None,
    generator: Generator | None = None,
    progress: Tell = tell_nobody,
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
    with spell_as(AS_KEYWORDS):
        asked = Asked.of(Path(run), more, strength, options, key, generator)
        summary = extended(asked, Audience(Console(quiet=True) if quiet else error_console(), progress))
    return Result.of(Path(run), summary)
