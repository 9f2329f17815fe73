"""What a batch of each kind of model may hold, and what it costs at least."""

from __future__ import annotations

import pytest

from pcevolve_server.models import Offer
from pcevolve_server.queue.gathering import Room, Rooms
from pcevolve_server.settings import Batching, ModelSettings, Settings
from pcevolve_server.work import Recipe
from support.served import FakeGenerator

EXACT = Settings(max_batch=4)
MERGE = Settings(max_batch=4, model=ModelSettings(batching=Batching.MERGE))


@pytest.mark.parametrize(
    ("settings", "companions", "padded", "room"),
    [
        (EXACT, 1, False, Room(4, merges=False)),
        (EXACT, 16, True, Room(16, merges=True, least=16)),
        (EXACT, 64, False, Room(64, merges=True)),  # each for itself: a lone one costs what it costs
        (MERGE, 1, False, Room(4, merges=True)),
    ],
)
def test_only_a_model_that_pads_is_worth_waiting_for_company(settings, companions, padded, room):
    found = Rooms((Offer(FakeGenerator().info, companions, padded),), settings).of(Recipe(8, 8))
    assert found == room
    assert found.padded == padded
