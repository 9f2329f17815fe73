"""Secrets in a run's options: what is promised of them, where they are, and what they leave a text."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pcevolve.config.config import RunConfig
from pcevolve.dp.accountants import epsilon
from pcevolve.dp.mechanisms import FloatArray
from pcevolve.dp.secrecy import secret_budget, secret_share
from pcevolve.errors import UsageError
from pcevolve.privacy import Event, Relation
from pcevolve.private.dataset import PrivateDataset
from pcevolve.private.secrets import Sources, cap_weights, read_secrets
from pcevolve.public.options import validate
from pcevolve.public.parts import Secrecy
from pcevolve.public.settings import USUAL_BOUND, USUAL_PRIOR, USUAL_SIZE
from pcevolve.selectors.cells import SecretEvolution


def secrets_of(settings: RunConfig) -> SecretEvolution | None:
    """Return a run's options about secrets; None where nothing is declared secret."""
    own = settings.method
    if not isinstance(own, SecretEvolution) or not (own.secrets or own.secret_columns or own.detect_secrets):
        return None
    return own


def promised(prior: float | None, bound: float | None, most: int | None) -> Secrecy:
    """Return the promise about secrets, of a run or of one that is planned; the default where nobody says.

    Raises:
        UsageError: The numbers do not go together.
    """
    values: dict[str, Any] = {
        "prior": prior or USUAL_PRIOR,
        "bound": bound or USUAL_BOUND,
        "most": most or USUAL_SIZE,
    }
    return validate(Secrecy, values)


def declared(settings: RunConfig, promise: Secrecy) -> Sources:
    """Return what is declared secret.

    Raises:
        DataError: The list cannot be used.
        UsageError: A column is named twice, or not at all.
    """
    budget = secret_budget(promise.prior, promise.bound)
    if (own := secrets_of(settings)) is None:
        return Sources((), (), False, budget)
    columns = own.secret_columns
    if len(set(columns)) < len(columns) or not all(columns):
        raise UsageError("method.secret_columns names a column twice, or one without a name")
    listed = () if own.secrets is None else read_secrets(own.secrets, budget)
    return Sources(listed, columns, own.detect_secrets, budget)


def equal_epsilon(prior: float, bound: float, most: int, delta: float) -> str:
    """ε at which a run without declared secrets keeps ``bound`` for any secret, by group privacy, as options take it.

    Under replace-one, where ``most`` texts change together.
    """
    budget = Fraction(secret_budget(prior, bound))
    return f"{epsilon([Event('gaussian', str(most / budget))], delta):.6f}"


def least_share(promise: Secrecy, event: Event, relation: Relation) -> float:
    """Return what is left of the vote of a text with a secret that has no budget of its own, in [0, 1]; public.

    Args:
        promise: What is promised of secrets.
        event: What pays for the release.
        relation: Neighbour relation of the event.
    """
    budget = secret_budget(promise.prior, promise.bound)
    return secret_share(budget, promise.most, float(event.value), relation)


def caps(
    sources: Sources, data: PrivateDataset, promise: Secrecy, event: Event, relation: Relation
) -> FloatArray:
    """Return what secrets leave each private text of a vote, float64 ``(texts,)``.

    Args:
        sources: What is declared secret.
        data: The private texts.
        promise: What is promised of secrets.
        event: What pays for the release.
        relation: Neighbour relation of the event.

    Raises:
        DataError: A secret stands in more texts than the promise says.
    """
    multiplier = float(event.value)
    return cap_weights(
        sources, data, promise.most, lambda budget: secret_share(budget, promise.most, multiplier, relation)
    )
