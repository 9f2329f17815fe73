"""Every forgery that is held against the audit."""

from __future__ import annotations

from leaks.forgeries import figures, folders, jobs, order, papers, pixels, receipts, requests, spellings
from leaks.forgeries.forging import Forgery

FORGERIES: tuple[Forgery, ...] = tuple(
    forgery
    for part in (pixels, folders, papers, spellings, order, figures, requests, jobs, receipts)
    for forgery in part.FORGERIES
)
FAMILIES = tuple(dict.fromkeys(each.family for each in FORGERIES))


def first_of(family: str) -> Forgery:
    """A family's first forgery."""
    return next(each for each in FORGERIES if each.family == family)
