"""Curves through finished runs: which runs a line goes through, and what a point is worth."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pcevolve.evaluation.intervals import Value
from pcevolve.session.finished.comparison import Point, compared, drawn, settings_of, write_page
from pcevolve.session.folder import RunFolder
from support.paid import paid_run
from support.runs import small_plan

SVG = "{http://www.w3.org/2000/svg}"


def point(accuracy: float, epsilon: str = "4", spent: float | None = 4.0, **changes: object) -> Point:
    return Point(settings_of(small_plan(epsilon=epsilon, **changes), spent), accuracy)


def lines(picture: bytes) -> list[str]:
    """Names of the lines, as the legend has them after the axes' labels."""
    root = ET.fromstring(picture)
    return [each.text or "" for each in root.iter(f"{SVG}text")][-len(list(root.iter(f"{SVG}polyline"))) :]


def told(picture: bytes) -> list[str]:
    """What the points say."""
    return [title.text or "" for each in ET.fromstring(picture).iter(f"{SVG}circle") for title in each]


def test_a_method_at_several_epsilons_is_a_line_over_them():
    (curve,) = drawn([point(0.5, "10"), point(0.4, "4"), point(0.3, method="pe", delta=1e-5)], "cnn")
    picture = curve.picture
    assert curve.title == "Accuracy over ε"
    assert lines(picture) == ["random"]
    assert told(picture) == ["random, 4: 40.0%", "random, 10: 50.0%"]


def test_runs_that_differ_in_anything_else_are_on_lines_of_their_own():
    points = [point(0.5, epsilon, shots=shots) for epsilon in ("4", "8") for shots in (5, 10)]
    (curve,) = drawn(points, "cnn")
    picture = curve.picture
    assert lines(picture) == ["random, K = 5", "random, K = 10"]


def test_runs_without_a_place_over_epsilon_are_drawn_over_the_number_of_images_alone():
    points = [point(0.5, str(n), spent=None, candidates=n) for n in (2, 4)]
    (curve,) = drawn(points, "cnn")
    picture = curve.picture
    assert curve.title == "Accuracy over N, images per class"
    assert told(picture) == ["random, 2: 50.0%", "random, 4: 50.0%"]


def test_only_from_three_runs_of_equal_settings_on_a_point_has_an_interval():
    repeated = [0.4, 0.5, 0.6]
    (curve,) = drawn([*(point(each, "4") for each in repeated), point(0.5, "8"), point(0.7, "8")], "cnn")
    picture = curve.picture
    assert told(picture) == ["random, 4: 50.0%", "random, 8: 60.0%"]
    bars = [each.attrib for each in ET.fromstring(picture).iter(f"{SVG}line") if each.get("stroke") != "#ddd"]
    lengths = [abs(float(each["y1"]) - float(each["y2"])) for each in bars]
    assert (lengths[0] > 0, lengths[1]) == (True, 0)
    assert Value.of(repeated).half is not None


@pytest.mark.parametrize("points", [[], [point(0.5)], [point(0.5), point(0.6)]])
def test_without_a_second_value_there_is_nothing_to_draw(points):
    assert drawn(points, "cnn") == []


def judged(root: Path, accuracy: float, **changes: object) -> Path:
    paid_run(root, small_plan(**changes))
    RunFolder(root).private.mkdir(exist_ok=True)
    row = {"judge": "cnn", "voted": False, "dataset": {"accuracy": {"mean": accuracy, "sem": 0.01}}}
    RunFolder(root).judgement.write_text(json.dumps({"judges": [row]}))
    return root


def test_the_page_has_the_curve_below_the_bars_of_its_judge(tmp_path: Path):
    roots = [judged(tmp_path / f"n{n}", n / 10, candidates=n, domain="a <b> c") for n in (2, 3)]
    write_page(compared(roots), roots, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<figcaption>Accuracy over N, images per class</figcaption>" in page
    assert "random, 3: 30.0%" in page
    assert page.index("30.0 ± 1.0 %") < page.index("random, 3: 30.0%")
    write_page(compared(roots[:1]), roots[:1], tmp_path / "page.html")
    assert "Accuracy over" not in (tmp_path / "page.html").read_text()
