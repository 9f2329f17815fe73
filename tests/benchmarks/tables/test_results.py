"""From figures to a table: intervals, judges that voted last, pages that say what was measured."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student

from pcevolve.evaluation.intervals import Value
from pcevolve.pages.drawing import svg
from pcevolve_benchmarks.tables.catalogue import table
from pcevolve_benchmarks.tables.cells import Cell, Place
from pcevolve_benchmarks.tables.pages import as_json, bars, chart, markdown
from pcevolve_benchmarks.tables.results import Figure, Store, judged
from pcevolve_benchmarks.tables.sizes import FULL


def cell(method: str, seed: int, yardstick: str = "") -> Cell:
    return Cell("digits", f'{{"method": "{method}"}}', seed, yardstick, FULL.tested, FULL.heads)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    kept = Store(tmp_path / "figures.sqlite")
    for seed, value in enumerate((0.5, 0.6, 0.7)):
        figures = [Figure("bundled", True, "accuracy", value + 0.1), Figure("cnn", False, "accuracy", value)]
        one = cell("pe", seed)
        kept.keep(one.key, (one.run, one.data, one.options, one.seed, one.yardstick), figures)
    return kept


PLACES = [Place("PE", "ε = 4", cell("pe", seed)) for seed in range(3)] + [
    Place("random", "ε = 4", cell("random", 0))
]


def test_intervals_are_those_of_student_s_t_over_the_seeds():
    values = [0.5, 0.6, 0.7]
    low, high = student.interval(0.95, 2, np.mean(values), np.std(values, ddof=1) / np.sqrt(3))
    found = Value.of(values)
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high))
    assert Value.of(values[:2]).half is None


def test_judges_that_did_not_vote_come_first_and_who_voted_is_said(store: Store):
    tables = judged(PLACES, store, ("accuracy",), ("bundled", "cnn", "clip"))
    assert [(each.judge, each.voted) for each in tables] == [("cnn", False), ("bundled", True)]
    assert tables[0].values["PE", "ε = 4"].mean == pytest.approx(0.6)
    assert ("random", "ε = 4") not in tables[0].values
    page = markdown(table("table6"), tables, ["Facts."], [])
    assert page.index("Judge: cnn") < page.index("Judge: bundled (**voted**")
    assert "| PE | 60.0 ± 24.8 |" in page
    assert "| random | – |" in page
    assert as_json(tables)["cnn"]["rows"]["random"] == {}


def test_a_classifier_without_images_is_in_every_judge_s_table(store: Store):
    one = cell("dp-means", 0, "classifier")
    store.keep(
        one.key,
        (one.run, one.data, one.options, 0, "classifier"),
        [Figure("nearest mean", True, "accuracy", 0.9)],
    )
    tables = judged([*PLACES, Place("none", "ε = 4", one)], store, ("accuracy",), ("cnn", "bundled"))
    assert [each.values["none", "ε = 4"].mean for each in tables] == [0.9, 0.9]
    assert not tables[0].voted


@pytest.mark.parametrize(
    ("measure", "figures", "columns"),
    [
        ("mixed", {"accuracy": 0.5, "mixed": 0.7}, {"ε = 4, alone": 0.5, "ε = 4, with the shots": 0.7}),
        (
            "by iteration",
            {"accuracy": 0.5, "accuracy@0": 0.3, "accuracy@1": 0.5},
            {"ε = 4, 0": 0.3, "ε = 4, 1": 0.5},
        ),
        ("best", {"last": 0.5, "best": 0.7}, {"ε = 4, last": 0.5, "ε = 4, best on the test images": 0.7}),
        (
            "loss",
            {"accuracy": 0.5, "loss@0": 1.1, "loss@1": 0.2, "accuracy@1": 0.4},
            {"ε = 4, 0": 1.1, "ε = 4, 1": 0.2},
        ),
        (
            "noise",
            {"accuracy": 0.5, "votes cast": 10.0, "noise cast": 400.0},
            {"ε = 4, votes": 10.0, "ε = 4, noise": 400.0},
        ),
        ("fid", {"accuracy": 0.5, "fid": 12.0}, {"ε = 4": 12.0}),
        ("dimension", {"accuracy": 0.5, "dimension": 12.0}, {"ε = 4": 12.0}),
        ("votes", {"accuracy": 0.5, "votes@1": 2.0, "accuracy@1": 0.4}, {"ε = 4, 1": 2.0}),
    ],
)
def test_each_measure_has_its_own_columns(tmp_path: Path, measure: str, figures: dict, columns: dict):
    store, one = Store(tmp_path / "figures.sqlite"), cell("pe", 0)
    store.keep(one.key, ("", "", "", 0, ""), [Figure("bundled", True, *each) for each in figures.items()])
    (found,) = judged([Place("PE", "ε = 4", one)], store, (measure,), ("bundled",))
    assert {column: value.mean for (_, column), value in found.values.items()} == columns


def test_a_figure_has_a_line_for_each_row_and_its_names_cannot_be_markup(store: Store):
    (first, _) = judged([Place("<b>PE", "ε = 4", PLACES[0].cell)], store, ("accuracy",), ("cnn", "bundled"))
    drawn = ET.fromstring(svg(chart(table("table6"), first), first.columns))
    assert [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")][-1] == "<b>PE"
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}polyline"))) == 1


def test_figures_of_one_cell_are_kept_whole_and_replaced_by_newer_ones(store: Store):
    one = cell("pe", 0)
    store.keep(one.key, (one.run, one.data, one.options, 0, ""), [Figure("cnn", False, "accuracy", 0.9)])
    assert {(each.judge, each.value) for each in store.figures(one.key)} == {("bundled", 0.6), ("cnn", 0.9)}


def test_a_table_without_an_axis_is_drawn_as_a_bar_for_each_figure_from_zero(store: Store):
    (first, _) = judged(PLACES, store, ("accuracy",), ("cnn", "bundled"))
    drawn = ET.fromstring(bars("Accuracy", first))
    name = "{http://www.w3.org/2000/svg}"
    (bar,) = list(drawn.iter(f"{name}rect"))[1:]
    texts = [each.text for each in drawn.iter(f"{name}text")]
    assert {"PE", "random", "60.0 ± 24.8", "ε = 4"} <= set(texts)
    ticks = {
        each.text: float(each.get("x")) for each in drawn.iter(f"{name}text") if each.text in {"0%", "100%"}
    }
    assert float(bar.get("x")) == ticks["0%"]
    assert float(bar.get("width")) == pytest.approx(0.6 * (ticks["100%"] - ticks["0%"]), abs=0.2)


def test_a_table_of_two_measures_tells_each_with_its_own_unit(tmp_path: Path):
    store, one = Store(tmp_path / "figures.sqlite"), cell("pe", 0)
    figures = [Figure("bundled", True, "fid", 12.0), Figure("bundled", True, "accuracy", 0.5)]
    store.keep(one.key, ("", "", "", 0, ""), figures)
    tables = judged([Place("PE", "ε = 4", one)], store, ("fid", "accuracy"), ("bundled",))
    page = markdown(table("pe-fid"), tables, [], [])
    assert page.index("Fréchet distance") < page.index("accuracy, %")
    assert "| PE | 12.0 |" in page
    assert "| PE | 50.0 |" in page
