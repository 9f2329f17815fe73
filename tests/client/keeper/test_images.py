"""What is done with images and not with texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pcevolve.errors import DataError
from pcevolve.keeper import images
from support.runs import small_plan

LABELS, SIDE, TONES = ("cut", "good"), 32, {"cut": 0, "good": 130}


def test_held_out_files_are_shown_by_the_window_of_the_run(tmp_path: Path):
    for place, label in enumerate(LABELS):
        (tmp_path / "test" / label).mkdir(parents=True)
        for number in range(3):
            values = np.random.default_rng(10 * place + number).integers(31768, 32828, (SIDE, SIDE))
            Image.fromarray(values.astype(np.uint16)).save(tmp_path / "test" / label / f"{number}.png")
    plan = small_plan(window="31768,32828")
    data = images.read_others(tmp_path / "test", plan, None)
    assert all(np.ptp(np.asarray(each)) > 200 for each in data.items)
    with pytest.raises(DataError, match="next to no contrast"):
        images.read_others(tmp_path / "test", small_plan(), None)
