"""Private data as a run takes them, or refuses to."""

from __future__ import annotations

import pytest

from pcevolve.app.first import local_server
from pcevolve.errors import DataError
from pcevolve.keeper.private_data import require_shots
from pcevolve.public.config.config import RunConfig


def test_a_refusal_of_shots_names_the_check_as_it_is_typed(tmp_path):
    (tmp_path / "my texts").mkdir()
    given = {"private": str(tmp_path / "my texts"), "domain": "notes", "out": "x", "dialect": "chat"}
    counts = {"a": 2, "b": 2}
    with pytest.raises(DataError, match=r"; pcevolve check '/.*/my texts' --dialect chat tells more"):
        require_shots(RunConfig.of(given), counts, "texts", lambda: counts)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_server, "POLL_SECONDS", 0)
