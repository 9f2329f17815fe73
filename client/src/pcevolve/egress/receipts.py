"""The gate's own copies of receipts that were paid for: each is looked through once, however many requests it allows.

A receipt of thousands of prototypes is handed in with each of their requests. To look through it every time would take
a round quadratic time, and whoever holds it could change it in between. So what counts is the copy.
"""

from __future__ import annotations

from collections.abc import Callable

from pcevolve.egress.own_types import require_own_type
from pcevolve.public.release import Receipt


class Receipts:
    """Receipts that were handed in and that the ledger has committed."""

    def __init__(self) -> None:
        self._committed: Callable[[Receipt], bool] = lambda _: False
        self._by_content: dict[str, Receipt] = {}
        self._by_object: dict[int, tuple[Receipt, Receipt]] = {}

    def fix(self, committed: Callable[[Receipt], bool]) -> None:
        """Say who knows what was paid for.

        Args:
            committed: Asks the ledger whether it has committed exactly this receipt.
        """
        self._committed = committed

    def __contains__(self, handed_in: object) -> bool:
        """Whether a copy of this very object was taken; what it says by now does not matter."""
        return id(handed_in) in self._by_object

    def own(self, receipt: Receipt) -> Receipt | None:
        """The copy that was taken when this receipt was handed in first; None if nobody paid for it.

        The ledger is asked once for each: how long it takes to answer depends on what others spend meanwhile, and
        shall not show between two requests of a round.

        Raises:
            EgressError: It is not made of plain values.
        """
        if receipt in self:
            return self._by_object[id(receipt)][1]
        own = self._paid(receipt)
        if own is not None:  # kept with the object, so that no other gets its identity
            self._by_object[id(receipt)] = receipt, own
        return own

    def _paid(self, receipt: Receipt) -> Receipt | None:
        require_own_type(receipt, Receipt)
        copy = Receipt.from_dict(receipt.as_dict())
        if copy.id not in self._by_content:
            if not self._committed(copy):
                return None
            self._by_content[copy.id] = copy
        return self._by_content[copy.id]
