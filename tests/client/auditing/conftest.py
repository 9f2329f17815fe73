"""Records that are honest."""

from __future__ import annotations

import pytest

from client.auditing.mutated import BEFORE, FOLLOWING, TEXTS, TOGETHER, WORDED, Honest


@pytest.fixture(
    scope="module",
    params=[BEFORE, WORDED, TOGETHER, TEXTS, FOLLOWING],
    ids=["images", "prompts", "together", "texts", "release"],
)
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Honest:
    return Honest.at(tmp_path_factory.mktemp("honest") / "run", request.param)
