"""What is done with texts and not with images."""

from __future__ import annotations

import pytest

from pcevolve.errors import DataError
from pcevolve.keeper.kind import read_run
from pcevolve.public.config.config import RunConfig

pytestmark = pytest.mark.system


@pytest.mark.parametrize("seed", [1, 2])
def test_texts_that_stand_there_twice_are_refused_whichever_are_drawn(tmp_path, seed):
    """One of two would be refused in some draws alone, and its owner would draw again."""
    rows = [f"{label} {n},{label}" for n in range(9) for label in ("flu", "gout")]
    (tmp_path / "t.csv").write_text("\n".join(["text,label", "one,flu", "one,flu", *rows]))
    draw = {"subsample": 1, "shots": 1, "subsample_seed": seed, "domain": "notes", "out": tmp_path / "o"}
    with pytest.raises(DataError, match="row 2 has the text of row 1; remove one"):
        read_run(RunConfig.of({"private": str(tmp_path / "t.csv"), "dialect": "chat", **draw}))
