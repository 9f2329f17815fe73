"""Finished runs side by side, and curves through those that differ in one setting."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from pcevolve.cli.main import app
from pcevolve.errors import UsageError
from pcevolve.evaluation.intervals import Value
from pcevolve.session.finished.comparison import (
    PICTURES,
    SHOWN,
    Point,
    compared,
    drawn,
    facts,
    settings_of,
    write_page,
    write_sheet,
)
from pcevolve.session.folder import RunFolder
from support.paid import paid_run
from support.runs import SmallRun, small_plan

JUDGED = {
    "judge": "cnn",
    "voted": False,
    "dataset": {"accuracy": {"mean": 0.5, "sem": 0.01, "seeds": [0.5] * 3}},
}

VOTED = {**JUDGED, "judge": "bundled", "voted": True}


def finished(root: Path, **changes: object) -> Path:
    paid_run(root, small_plan(**changes))
    RunFolder(root).private.mkdir(exist_ok=True)
    return root


def test_runs_are_told_with_what_judges_left(tmp_path: Path):
    one, other = finished(tmp_path / "one"), finished(tmp_path / "other")
    RunFolder(one).judgement.write_text(json.dumps({"judges": [JUDGED]}))
    first, second = compared([one, other])
    assert first.judges == {"cnn": {"voted": False, "mean": 0.5, "sem": 0.01, "seeds": [0.5] * 3}}
    assert second.judges == {}


def test_a_judge_that_voted_comes_after_the_others(tmp_path: Path):
    one = finished(tmp_path / "one")
    RunFolder(one).judgement.write_text(json.dumps({"judges": [VOTED, JUDGED]}))
    assert list(compared([one])[0].judges) == ["cnn", "bundled"]


def test_a_run_s_facts_are_told_beside_its_judges(tmp_path: Path):
    one = finished(tmp_path / "one")
    (first,) = compared([one])
    assert first.to_json()["run"] == "one"
    assert first.to_json()["epsilon_spent"] == json.loads((one / "summary.json").read_text())["epsilon_spent"]


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        ("INSECURE: x", "no guarantee, INSECURE"),
        ("other", "no guarantee"),
    ],
)
def test_a_run_that_promises_nothing_says_why_beside_the_others(mark: str, told: str):
    summary = {"epsilon_spent": None, "method": "pe", "images_released": 1, "requests": 1, "marks": [mark]}
    assert facts(summary)["ε"] == told


def test_a_run_that_has_not_ended_is_named(tmp_path: Path):
    run = SmallRun.open(tmp_path / "begun", small_plan())
    run.close()
    with pytest.raises(UsageError, match="begun has not ended"):
        compared([finished(tmp_path / "one"), tmp_path / "begun"])


def test_a_sheet_has_a_row_for_each_run_and_a_few_images_of_each_class(tmp_path: Path):
    runs = [finished(tmp_path / name) for name in ("one", "other")]
    write_sheet(runs, tmp_path / "sheet.png")
    sheet = Image.open(tmp_path / "sheet.png")
    assert sheet.height == 2 * 66
    assert (sheet.width - 150) // 66 <= 2 * SHOWN


def test_the_page_shows_facts_figures_and_pictures_and_is_for_the_owner_alone(tmp_path: Path):
    roots = [finished(tmp_path / name) for name in ("one", "<b>other")]
    RunFolder(roots[0]).judgement.write_text(json.dumps({"judges": [JUDGED]}))
    write_page(compared(roots), roots, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o600
    assert "For you alone" in page
    assert "50.0 ± 1.0 %" in page
    assert "not asked" in page
    assert "<b>other" not in page
    assert page.count("<img") == 2 * 2 * 2 * min(PICTURES, 3)  # runs, classes, first images and dataset


@pytest.mark.parametrize(("count", "said"), [(2, "<h1>one, one</h1>"), (5, "<h1>5 runs</h1>")])
def test_the_page_is_headed_by_the_names_of_a_few_runs_and_the_number_of_many(
    tmp_path: Path, count: int, said: str
):
    roots = [finished(tmp_path / "one")] * count
    write_page(compared(roots), roots, tmp_path / "page.html")
    assert said in (tmp_path / "page.html").read_text()


def test_without_judges_the_page_holds_nothing_private(tmp_path: Path):
    roots = [finished(tmp_path / "one")]
    write_page(compared(roots), roots, tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o644
    assert "For you alone" not in (tmp_path / "page.html").read_text()


def test_a_sheet_of_texts_is_refused_with_where_they_are_shown(tmp_path: Path):
    texts = finished(tmp_path / "texts", dialect="chat", model="bundled-text")
    with pytest.raises(UsageError, match="--sheet draws images, and texts has texts: --html shows them"):
        write_sheet([texts], tmp_path / "sheet.png")
    assert not (tmp_path / "sheet.png").exists()


def test_the_command_prints_a_table_draws_and_writes_what_was_asked_for(tmp_path: Path):
    roots = [finished(tmp_path / name) for name in ("one", "other")]
    RunFolder(roots[0]).judgement.write_text(json.dumps({"judges": [JUDGED]}))
    asked = ["compare", *map(str, roots)]
    drawn = ["--sheet", str(tmp_path / "sheet.png"), "--html", str(tmp_path / "page.html")]
    shown = CliRunner().invoke(app, [*asked, *drawn], env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.output
    assert "50.0 ± 1.0" in shown.output
    assert "for you alone" in " ".join(shown.output.split())
    assert {each.name for each in tmp_path.iterdir()} == {"one", "other", "sheet.png", "page.html"}
    found = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)
    assert [each["run"] for each in found] == ["one", "other"]
    assert found[0]["judges"]["cnn"]["mean"] == 0.5


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
