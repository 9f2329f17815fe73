"""Declared secrets of private texts, and the part of a vote that they leave each text."""

from __future__ import annotations

from typing import Any

from pcevolve.errors import UsageError
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private.secrets import Sources, cap_weights, read_secrets
from pcevolve.public.config.config import RunConfig
from pcevolve.public.declared import validate
from pcevolve.public.dp.attacks import secret_budget, secret_share
from pcevolve.public.dp.mechanisms import FloatArray
from pcevolve.public.methods import USUAL_BOUND, USUAL_PRIOR, USUAL_SIZE, SecretEvolution
from pcevolve.public.parts import Secrecy
from pcevolve.public.privacy import Event, Relation


def find_secrets(settings: RunConfig) -> SecretEvolution | None:
    """Return the method's settings about secrets; None if no secrets are declared."""
    own, data = settings.method, settings.data
    return own if isinstance(own, SecretEvolution) and (data.secrets or data.secret_columns) else None


def make_promise(prior: float | None, bound: float | None, most: int | None) -> Secrecy:
    """Return the promise to secrets, with defaults (``UsageError`` for impossible numbers)."""
    values: dict[str, Any] = {
        "prior": prior or USUAL_PRIOR,
        "bound": bound or USUAL_BOUND,
        "most": most or USUAL_SIZE,
    }
    return validate(Secrecy, values)


def read_declared(settings: RunConfig, promise: Secrecy) -> Sources:
    """Read the declared secrets.

    Raises:
        DataError: The list is unusable.
        UsageError: A column is named twice, or is missing.
    """
    budget = secret_budget(promise.prior, promise.bound)
    columns = settings.data.secret_columns
    if len(set(columns)) < len(columns) or not all(columns):
        raise UsageError("data.secret_columns names a column twice, or one without a name")
    listed = () if settings.data.secrets is None else read_secrets(settings.data.secrets, budget)
    return Sources(listed, columns, budget)


def compute_least_share(promise: Secrecy, event: Event, relation: Relation) -> float:
    """Return the part of a vote that is left to a text with a secret at the default budget, in [0, 1]; public."""
    budget = secret_budget(promise.prior, promise.bound)
    return secret_share(budget, promise.most, float(event.value), relation)


def compute_caps(
    sources: Sources, data: PrivateDataset, promise: Secrecy, event: Event, relation: Relation
) -> FloatArray:
    """Return the part of a vote that secrets leave each private text, float64 ``(texts,)``.

    Errors as in ``cap_weights``.
    """
    multiplier = float(event.value)
    return cap_weights(
        sources, data, promise.most, lambda budget: secret_share(budget, promise.most, multiplier, relation)
    )
