"""``pcevolve doctor``: checks what a run would find on this machine, and lists what is missing.

Nothing private is read or sent.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from pcevolve import __version__
from pcevolve.app.session.access import find_nearest
from pcevolve.errors import ClientError
from pcevolve.keeper.ledger.creation import locate_key, require_volume
from pcevolve.public.answers import has_succeeded
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.files import find_ledger_volume
from pcevolve.public.encoders import has_torch, load_encoder
from pcevolve.public.encoders.published import resolve
from pcevolve.public.processes.confinement import find_enforcement
from pcevolve.public.processes.doorway import is_cut_off
from pcevolve.wire.egress.http_transport import HttpTransport
from pcevolve.wire.egress.transport import ADVICE, ConnectionTroubleError
from pcevolve.wire.providers import dialect
from pcevolve.wire.reaching import make_address

SECONDS = 5.0
"""Time limit for an API's answer, in seconds."""
FEW_BYTES = 2 * 2**30
"""Free space in bytes below which a run with many images may fail."""
ADVICE_BY_STATUS = {
    401: "check the API key",
    403: "check the API key",
    503: "the API is loading or busy: try again later",
}
EXTRAS = {"torch": "torch", "pyarrow": "parquet", "transformers": "text"}
"""Libraries of optional features, with the extra that installs each."""


@dataclass(frozen=True)
class Diagnosis:
    """One check; ``found`` describes the finding and its remedy."""

    what: str
    found: str
    fit: bool = True


def examine(settings: RunConfig) -> Iterator[Diagnosis]:
    """Yield a check of everything that a run with these options needs.

    The API receives the request for its list of models, which every run sends first and which is the same
    for everybody.
    """
    torch = f"torch {version('torch')}" if has_torch() else "without torch"
    yield Diagnosis("pcevolve", f"{__version__} on Python {sys.version.split()[0]}, {torch}")
    there = [extra for library, extra in EXTRAS.items() if find_spec(library)]
    lacking = [f"pcevolve[{extra}]" for library, extra in EXTRAS.items() if not find_spec(library)]
    yield Diagnosis(
        "extras",
        f"{', '.join(there) or 'none'}" + (f"; could be installed: {', '.join(lacking)}" if lacking else ""),
    )
    yield Diagnosis("confinement", _describe_confinement())
    yield _gpu()
    yield _encoder(settings)
    yield _ledger(settings.privacy.ledger)
    yield _disk(settings.output.folder)
    yield _api(settings)


def _describe_confinement() -> str:
    enforced = find_enforcement()
    contained = (
        "; enforced by containers for pcevolve keeper: only the loopback interface is up here"
        if is_cut_off()
        else ""
    )
    if enforced.is_whole:
        return f"{enforced}{contained}"
    advice = "Linux has both from version 5.13, if they are enabled and the container allows them"
    return f"{enforced}: {advice}{contained}"


def _gpu() -> Diagnosis:
    if not has_torch():
        return Diagnosis("GPU", "not needed: the bundled encoder works on the CPU")
    from pcevolve.public.encoders.loading import find_gpu  # torch takes seconds to load

    return Diagnosis(
        "GPU", find_gpu() or "none; encoders run on the CPU, which is enough for a few thousand images"
    )


def _encoder(settings: RunConfig) -> Diagnosis:
    api_dialect = dialect(settings.provider.dialect)
    try:
        name, reason = resolve(settings.encoder.name, api_dialect.abilities.makes)
        load_encoder(name, settings.encoder.weights, settings.encoder.device)
    except ClientError as error:
        return Diagnosis("encoder", str(error), fit=False)
    return Diagnosis("encoder", f"{name}; {reason}" if reason else name)


def _ledger(path: Path) -> Diagnosis:
    try:
        require_volume(path, find_ledger_volume())
        key = locate_key(path)
    except ClientError as error:
        return Diagnosis("ledger", str(error), fit=False)
    if path.exists() != key.exists():
        gone = key if path.exists() else path
        return Diagnosis("ledger", f"{gone} is missing: restore it beside the other file", fit=False)
    there = find_nearest(path.parent)
    if not there.is_dir() or not os.access(there, os.W_OK):
        text = f"{path}: {there} is not writable: give --set privacy.ledger=FILE"
        return Diagnosis("ledger", text, fit=False)
    return Diagnosis("ledger", f"{path}{'' if path.exists() else ', which the first run will create'}")


def _disk(folder: Path) -> Diagnosis:
    there = find_nearest(folder)
    free = shutil.disk_usage(there).free
    free_space = f"{free / 2**30:.1f} GiB free at {there}"
    return Diagnosis(
        "disk", free_space if free > FEW_BYTES else f"{free_space}: free some space", fit=free > FEW_BYTES
    )


def _api(settings: RunConfig) -> Diagnosis:
    """Greet the API once, without retries."""
    api_dialect = dialect(settings.provider.dialect)
    place = settings.provider.api
    if not settings.provider.greeting:
        return Diagnosis(
            "API",
            f"{place} was not contacted, because provider.greeting is false: pcevolve preview contacts it",
        )
    address = make_address(settings.provider, settings.key())
    transport = HttpTransport(SECONDS, address.route)
    try:
        answer = transport.send(address.outgoing(api_dialect.hello()))
        if has_succeeded(answer.status, answer.body):
            api_dialect.native_size(settings.provider.model, answer.body)
            found = (
                f"{place} answers in dialect {api_dialect.name} and offers model {settings.provider.model}"
            )
            return Diagnosis("API", f"{found}. {address.warning}" if address.warning else found)
        advice = ADVICE_BY_STATUS.get(answer.status, "check --api and --dialect")
        return Diagnosis("API", f"{place} answers HTTP {answer.status}: {advice}", fit=False)
    except ConnectionTroubleError as error:
        start = ADVICE.get(
            error.reason,
            "start a server with pcevolve-server serve, or give the address of your API with --api",
        )
        return Diagnosis("API", f"{place}: {error.reason}: {start}", fit=False)
    except ClientError as error:
        return Diagnosis("API", f"{place}: {error}", fit=False)
    finally:
        transport.close()
