"""How much a batch of each model may hold."""

from __future__ import annotations

from dataclasses import dataclass

from pcevolve_server.settings import Batching, Settings
from pcevolve_server.shelf import Offer, Served, offer, offers
from pcevolve_server.work import AnyRecipe


@dataclass(frozen=True)
class Room:
    """In a batch of one model; as of ``Waiting.take``.

    Attributes:
        most: Images.
        merges: Whether requests of equal recipes may share a batch.
        least: Images that a batch costs at least.
    """

    most: int
    merges: bool
    least: int = 1

    @property
    def chunk(self) -> int:
        """Images of one request that always run together."""
        return 1 if self.merges else self.most

    @property
    def padded(self) -> bool:
        """Whether a batch costs the same with one image as when it is full."""
        return self.least > 1


class Rooms:
    """The room of each model that an engine has."""

    def __init__(self, engine: Served, settings: Settings) -> None:
        self._rooms = {each.info.id: _room(each, settings) for each in offers(engine)}
        self._first = _room(offer(engine), settings)

    def of(self, recipe: AnyRecipe) -> Room:
        """In a batch of a recipe."""
        return self._rooms.get(recipe.model, self._first)


def _room(model: Offer, settings: Settings) -> Room:
    if settings.model.batching is Batching.MERGE:
        return Room(settings.max_batch, merges=True)
    if model.companions == 1:
        return Room(settings.max_batch, merges=False)
    return Room(model.companions, merges=True, least=model.companions if model.padded else 1)
