"""The pictures of README and docs can be drawn again from what lies beside them, or from any run."""

from __future__ import annotations

import json
from pathlib import Path

from PIL import Image

from benchmarks.library.chart import BARS, JUDGES, accuracies
from benchmarks.library.chart import SHOWN as SETS
from benchmarks.strip import SHOWN, SIDE, strip
from pcevolve.transcript import RunReader
from support.runs import SmallRun, small_plan

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def test_the_chart_has_a_bar_with_an_error_for_every_set_judge_and_method():
    rows = json.loads((RESULTS / "library.json").read_text())
    for name in SETS:
        for judge in JUDGES:
            found = [accuracies(rows, name, method, judge) for method in BARS]
            assert {len(each) for each in found} == {10}
            assert found[0].mean() < found[1].mean()


def test_a_strip_has_two_rows_of_every_class_the_provider_s_first_images_above(tmp_path: Path):
    plan = small_plan(candidates=SHOWN, initial=SHOWN, batch=SHOWN)
    run = SmallRun.open(tmp_path / "run", plan)
    run.finish()
    drawn = strip(tmp_path / "run")
    assert drawn.height == 2 * SIDE + 3
    first = RunReader.strict(tmp_path / "run")
    digest = first.outputs[plan.opening[0].slot][0]
    path = tmp_path / "first.png"
    path.write_bytes(first.bodies.file(digest))
    expected = Image.open(path).convert("RGB").resize((SIDE, SIDE), Image.Resampling.LANCZOS)
    assert drawn.crop((0, 0, SIDE, SIDE)).tobytes() == expected.tobytes()
    assert drawn.crop((0, SIDE + 3, SIDE, 2 * SIDE + 3)).getextrema() != ((255, 255),) * 3
