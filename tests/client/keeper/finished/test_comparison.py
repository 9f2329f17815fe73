"""Finished runs side by side, and curves through those that differ in one setting."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from pcevolve.app.cli.commands import app
from pcevolve.errors import ProviderRefusedError, UsageError
from pcevolve.keeper.evaluation.labelled import Labelled
from pcevolve.keeper.finished import comparison
from pcevolve.keeper.finished.comparison import PICTURES, Point, draw_curves, read_runs, write_page
from pcevolve.public.durable import write_private
from pcevolve.public.pages.report.charts import Chart, FigureOverSeeds
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire.egress.transport import Incoming
from support.judged import ACCURACY, finish_run, judge
from support.provider import FakeProvider
from support.runs import SmallRun, small_plan


def test_the_page_shows_facts_figures_and_pictures_and_is_for_the_owner_alone_where_a_judge_was_asked(
    tmp_path: Path,
):
    roots = [finish_run(tmp_path / name) for name in ("one", "<b>other")]
    judge(roots[0])
    write_page(read_runs(roots), roots, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o600
    assert "Do not share this page" in page
    assert "50.0 ± 1.0 %" in page
    assert "50.0 % (voted)" in page  # nothing was trained, so no seed could make it vary
    assert "not measured" in page
    assert "<b>other" not in page
    assert page.count("<img") == 2 * 2 * 2 * min(PICTURES, 3)  # runs, classes, first images and dataset
    write_page(read_runs(roots[1:]), roots[1:], tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o644
    assert "Do not share this page" not in (tmp_path / "page.html").read_text()


def test_runs_of_one_name_are_told_apart_by_their_folders(tmp_path: Path):
    one = finish_run(tmp_path / "mine" / "run")
    other = shutil.copytree(one, tmp_path / "yours" / "run")
    assert [each.name for each in read_runs([one, other])] == ["mine/run", "yours/run"]
    assert [each.name for each in read_runs([one, one])] == ["run", "run"]


def test_what_run_test_found_stands_in_until_evaluate_is_asked(tmp_path: Path):
    root = finish_run(tmp_path / "one")
    row = {"judge": "cnn", "voted": False, "initial": ACCURACY, "final": {**ACCURACY, "mean": 0.75}}
    write_private(OwnerFolder.of(root).evaluation, {"accuracy": [row], "test": "ab"})
    (found,) = read_runs([root])
    shown = {name: figures["mean"] for name, figures in found.judges.items()}
    assert (shown, found.test) == ({"cnn (run --test)": 0.75}, "ab")
    judge(root, test="cd")
    (found,) = read_runs([root])
    assert ([*found.judges], found.test) == (["cnn", "means"], "cd")


def test_the_page_answers_of_each_measured_run_whether_it_is_useful_with_every_yardstick(tmp_path: Path):
    roots = [finish_run(tmp_path / name) for name in ("one", "other")]
    measured = {
        "word": "useful",
        "sentence": "it goes 72 % (60 to 84) of the way",
        "advice": "",
        "share": [0.72, 0.6, 0.84],
        "accuracies": {
            "words alone": [0.52, 0.45, 0.6],
            "dataset": [0.8, 0.74, 0.86],
            "private images": [0.9, 0.86, 0.94],
        },
    }
    row = {"judge": "cnn", "voted": False, "final": ACCURACY}
    write_private(
        OwnerFolder.of(roots[0]).evaluation, {"accuracy": [row], "test": "ab", "measured": measured}
    )
    found = read_runs(roots)
    write_page(found, roots, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "one: useful" in page
    assert "It goes 72 % (60 to 84) of the way." in page
    for name, told in (
        ("chance", "50 %"),
        ("words alone", "52 % (45 to 60)"),
        ("dataset", "80 % (74 to 86)"),
    ):
        assert page.index(f">{name}</text>") < page.index(f">{told}</text>")
    order = [page.index(f">{name}</text>") for name in ("chance", "words alone", "dataset", "private images")]
    assert order == sorted(order), "as kept they are in the order of letters"
    covered = "72 % (60 to 84) of the distance from chance to the private data's accuracy"
    assert comparison.list_facts(found[0])["useful?"] == f"useful, measured: {covered}"
    assert "other: useful" not in page


def test_figures_on_different_test_sets_are_marked_and_are_no_line(tmp_path: Path):
    roots = [finish_run(tmp_path / name, epsilon=epsilon) for name, epsilon in (("one", "4"), ("other", "8"))]
    for tests, marked in ((("a", "a"), False), (("a", "b"), True)):
        for root, test in zip(roots, tests, strict=True):
            judge(root, test)
        write_page(read_runs(roots), roots, tmp_path / "page.html")
        shown = CliRunner().invoke(app, ["compare", *map(str, roots)]).output
        for told in ((tmp_path / "page.html").read_text(), shown):
            assert ("were evaluated on different test sets" in told) == marked


def test_a_run_that_has_not_ended_is_neither_compared_nor_measured(tmp_path: Path):
    SmallRun.open(tmp_path / "begun").close()
    shutil.rmtree(finish_run(tmp_path / "closed") / "release")
    for root in (tmp_path / "begun", tmp_path / "closed"):
        for read in (lambda root: read_runs([root]), lambda root: Labelled.released(root, ["a", "b"])):
            with pytest.raises(UsageError, match="an unfinished run: continue it with pcevolve run --resume"):
                read(root)


def test_a_run_without_a_plan_is_begun_again_for_there_is_nothing_to_continue(tmp_path: Path):
    root = tmp_path / "refused"
    with pytest.raises(ProviderRefusedError, match="HTTP 401"):
        SmallRun.open(root, provider=FakeProvider(lambda request: Incoming(401, (), b"{}")))
    for command in (
        lambda: read_runs([root]),
        lambda: Labelled.released(root, ["a", "b"]),
        lambda: RunReader.strict(root).manifest(),
    ):
        with pytest.raises(UsageError, match="nothing was spent: begin again with the same command"):
            command()


def point(accuracy: float, epsilon: str = "4", spent: float | None = 4.0, **changes: object) -> Point:
    return Point(comparison.choose_settings(small_plan(epsilon=epsilon, **changes), spent), accuracy)


def list_titles(chart: Chart) -> list[str]:
    return [mark.text for line in chart.series for mark in chart.marks(line)]


def test_runs_of_two_providers_are_two_lines_and_told_apart_by_what_differs():
    apis = ("https://one.example", "https://other.example")
    points = [point(0.5, each, api=api) for each in ("4", "8") for api in apis]
    (curve,) = draw_curves(points)
    assert {each.name for each in curve.series} == {f"random, API = getimg, {api[8:]}" for api in apis}
    assert len(list_titles(curve)) == 4


def test_runs_of_other_rounds_are_no_runs_of_equal_settings():
    rounds = ({"iterations": 1, "strengths": (0.5,)}, {"iterations": 2, "strengths": (0.5, 0.5)})
    (curve,) = draw_curves([point(0.5, each, **own) for each in ("4", "8") for own in rounds])
    told = ("T = 1, strengths = 0.5", "T = 2, strengths = 0.5 0.5")
    assert {each.name for each in curve.series} == {f"random, {each}" for each in told}


def test_only_from_three_runs_of_equal_settings_on_a_point_has_an_interval():
    repeated = [0.4, 0.5, 0.6]
    points = [*(point(each, "4") for each in repeated), point(0.5, "8"), point(0.7, "8")]
    (curve,) = draw_curves(points)
    first, second = list_titles(curve)
    assert (first.partition(" ± ")[0], second) == ("random, ε 4: 50.0%", "random, ε 8: 60.0%")
    assert [each.low != each.high for each in curve.marks(curve.series[0])] == [True, False]
    assert FigureOverSeeds.of(repeated).half is not None
