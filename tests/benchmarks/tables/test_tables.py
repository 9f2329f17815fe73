"""The declarations of tables, and the cells that follow from them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from pcevolve.config.config import RunConfig
from pcevolve.errors import UsageError
from pcevolve.privacy import Budget
from pcevolve.public.options import options_of
from pcevolve.selectors import Scope
from pcevolve_benchmarks.baselines.catalogue import BASELINES
from pcevolve_benchmarks.runner import settings_of
from pcevolve_benchmarks.tables.catalogue import TABLES, table
from pcevolve_benchmarks.tables.cells import columns_of, places
from pcevolve_benchmarks.tables.data import BenchData
from pcevolve_benchmarks.tables.sizes import FULL, SMOKE, Facts, Scale, Sizes
from pcevolve_benchmarks.tables.table import CONTROLS, OURS, PE, Table, Variant

DATA = (BenchData("digits", "handwritten mark", Path("train"), Path("test")),)
OTHER = BenchData("cells", "blood smear", Path("a"), Path("b"))
COMMON = {"model": "bundled", "dialect": "getimg", "encoder": "bundled"}


def placed(of: Table, scale: Scale = FULL, data: tuple[BenchData, ...] = DATA) -> list:
    return list(places(of, data, scale, columns_of(of, scale, ("bundled",), ("bundled", "clip")), COMMON))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("scale", [SMOKE, FULL], ids=lambda scale: scale.name)
def test_every_cell_is_a_run_that_its_options_allow(name: str, scale: Scale):
    known = {each.name for each in options_of(RunConfig)}
    for place in placed(table(name), scale):
        options = place.cell.settings()
        assert options.keys() <= known
        settings = (
            settings_of
            if options["method"] in BASELINES
            else lambda given, out: RunConfig.of(given | {"out": out})
        )
        settings(options | {"private": "train"}, Path("run"))
        assert not Facts.of(options["method"]).foreign & options.keys()


@pytest.mark.parametrize("name", TABLES)
def test_every_table_has_the_controls_beside_each_column(name: str):
    found = placed(table(name), SMOKE)
    rows = {place.row for place in found}
    if name not in {"figure1", "table5"}:  # one is about votes, the other about data sets
        assert {each.name for each in CONTROLS} <= rows
    assert len(found) == len(rows) * len({place.column for place in found}) * SMOKE.seeds


def test_a_control_that_does_not_depend_on_a_column_is_one_run_in_all_of_them():
    by_epsilon = [place.cell.run for place in placed(table("table6")) if place.row == "random"]
    assert len(set(by_epsilon)) == FULL.seeds
    by_count = [place.cell.run for place in placed(table("figure4")) if place.row == "random"]
    assert len(set(by_count)) == FULL.seeds * 5


def test_tables_share_the_runs_that_they_have_in_common():
    first = {place.cell.run for place in placed(table("table1"))}
    ablations = [place for place in placed(table("table3")) if place.row == "u = h∘g"]
    assert {place.cell.run for place in ablations} <= first


def test_the_classifier_without_images_is_of_the_same_run_as_the_images():
    found = placed(table("table1"))
    images, none = (
        [place.cell for place in found if place.row == row]
        for row in ("dp-means (ours)", "dp-means, no images")
    )
    assert [each.run for each in images] == [each.run for each in none]
    assert not {each.key for each in images} & {each.key for each in none}


def test_the_shots_follow_the_column_that_says_how_many():
    options = [
        json.loads(place.cell.options)
        for place in placed(table("figure3"))
        if place.row == "private shots (no guarantee)"
    ]
    assert sorted({each["subsample"] for each in options}) == [1, 5, 10, 25, 50]


def test_all_methods_get_the_same_shots_of_a_seed():
    seeds = {(place.cell.seed, place.cell.settings()["subsample_seed"]) for place in placed(table("table1"))}
    assert seeds == {(seed, seed) for seed in range(FULL.seeds)}


def test_columns_say_which_data_and_which_value_where_there_are_several_of_both():
    several = {place.column for place in placed(table("table6"), SMOKE, (*DATA, OTHER))}
    assert several == {"digits, ε = 4", "digits, ε = 10", "cells, ε = 4", "cells, ε = 10"}
    assert {place.column for place in placed(table("table1"), SMOKE, (*DATA, OTHER))} == {"digits", "cells"}


@pytest.mark.parametrize(
    ("name", "rounds"), [("rf", 0), ("le", 0), ("gcap", 1), ("dpimg", 1), ("pcevolve-gm", 20), ("pe", 3)]
)
def test_a_page_says_how_many_rounds_a_row_makes(name: str, rounds: int):
    budget, scope = Budget(Fraction(10), 1e-5), Scope("replace-one", 1, 3, 10, 100)
    assert Facts.of(name).iterations(None, budget, scope) == rounds


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("figure1", {"K = 1", "K = 10"}),
        ("table4", {"τ = 1", "τ = 10"}),
        ("table6", {"ε = 4", "ε = 10"}),
        ("figure3", {"K = 1", "K = 10"}),
        ("figure4", {"N = 50", "N = 100"}),
        ("pe-lookahead", {"k = 0", "k = 8"}),
        ("pe-threshold", {"H = 0", "H = 4"}),
        ("pe-votes", {"q = 1", "q = 2"}),
        ("pe-fid", {"ε = 0.67", "ε = 1"}),
    ],
)
def test_the_smallest_size_shows_the_paper_s_own_setting(name: str, shown: set[str]):
    assert {each.column for each in placed(table(name), SMOKE)} == shown


def test_columns_of_the_table_about_apis_are_the_models_that_were_named():
    found = columns_of(table("table2"), FULL, ("sd", "sd+ip"), ("bundled",))
    assert [dict(each.options) for each in found] == [{"model": "sd"}, {"model": "sd", "adapter": "ip"}]


def test_private_evolution_s_tables_have_its_own_columns_at_its_own_sizes():
    paper = FULL.of_paper(table("pe-private").original)
    counts = {
        (place.cell.settings()["subsample"], place.cell.settings()["candidates"])
        for place in placed(table("pe-private"), paper)
        if place.row == "PE"
    }
    assert counts == {(count, count) for count in (5000, 2000, 1000, 500)}
    found = {
        (place.row, place.cell.settings()["epsilon"]): place.cell.settings()
        for place in placed(table("pe-accuracy"), paper)
        if "epsilon" in place.cell.settings()
    }
    rounds = [found["PE", epsilon]["iterations"] for epsilon in ("1.36", "1.99", "2.50", "2.94", "3.34")]
    assert rounds == [1, 2, 3, 4, 5]
    assert found["PE", "1.36"]["threshold"] == 4
    assert not {"iterations", "threshold"} & found["dp-means (ours)", "1.36"].keys()


@pytest.mark.parametrize("scale", [SMOKE, FULL], ids=lambda scale: scale.name)
def test_a_column_of_rounds_counts_wherever_the_last_round_is_the_dataset_at_every_size(scale: Scale):
    rounds = Table("t", "", "", rows=(PE, OURS), columns=(Variant("T = 7", {"iterations": 7}),))
    found = {place.row: place.cell.settings() for place in placed(rounds, scale)}
    assert [found[row]["iterations"] for row in ("PE", "random")] == [7, 7]
    assert not any("iterations" in found[row] for row in ("dp-means (ours)", "B (t2i)"))


def test_a_table_that_is_not_there_is_refused_with_where_to_look():
    with pytest.raises(UsageError, match="--list names them"):
        table("table9")
    with pytest.raises(UsageError, match="name a table or figure"):
        table("")


def test_what_a_person_says_about_sizes_goes_before_the_size_and_after_the_columns():
    said = Sizes(candidates=40, subsample=7, iterations=6, tested=300)
    scale = said.scaled(FULL)
    assert (scale.candidates, scale.shots, scale.rounds, scale.tested) == (40, 7, 6, 300)
    options = {place.row: place.cell.settings() for place in placed(table("table1"), scale)}
    assert options["PCEvolve"]["iterations"] == 6
    assert options["PE"]["candidates"] == 40
    assert "iterations" not in options["dp-means (ours)"], "its dataset is no last generation"
    rows = [place for place in placed(table("figure3"), scale) if place.row == "PE"]
    shots = {place.cell.settings()["subsample"] for place in rows}
    assert shots == {1, 5, 10, 25, 50}


def test_what_prices_a_selection_is_said_to_methods_that_select_alone():
    common = {**COMMON, **Sizes(epsilon="4", delta=1e-6, lookahead=2).selecting}
    found = list(places(table("table1"), DATA, FULL, table("table1").columns, common))
    options = {place.row: place.cell.settings() for place in found}
    assert (options["PE"]["epsilon"], options["PE"]["lookahead"]) == ("4", 2)
    assert not {"epsilon", "delta", "lookahead"} & options["random"].keys()
    assert "lookahead" not in options["dp-means (ours)"], "it has no variations to look at"


def test_what_may_be_spent_is_no_part_of_a_cell():
    said = Sizes(max_cost=2.0, price=0.01)
    assert said.spending == {"max_cost": 2.0, "price": 0.01}
    assert not said.selecting


@pytest.mark.parametrize("name", TABLES)
def test_every_table_says_what_sizes_its_paper_had(name: str):
    original = table(name).original
    scale = FULL.of_paper(original)
    assert (scale.name, scale.candidates) == ("paper", 5000 if name.startswith("pe-") else 100)
    assert f"N = {original.candidates}, K = {original.shots}, T = 20" in original.spelled
    RunConfig.of({**original.options, "domain": "x", "private": "train", "out": "run"})


def test_columns_of_the_tables_about_encoders_are_those_that_were_named():
    for name in ("figure8", "pe-encoder"):
        found = columns_of(table(name), FULL, ("sd",), ("clip", "resnet18"))
        assert [dict(each.options) for each in found] == [{"encoder": "clip"}, {"encoder": "resnet18"}]


def test_the_tables_about_methods_have_every_row_of_the_paper():
    rows = {
        "Init (untrained head)",
        "RF (not private)",
        "GCap (not private)",
        "LE (grammar)",
        "DPImg",
        "B (t2i)",
    }
    for name in ("table1", "table2", "table7", "figure3", "figure5"):
        assert rows <= {place.row for place in placed(table(name), SMOKE)}, name
    assert "Init (untrained head)" in {place.row for place in placed(table("table3"), SMOKE)}


def test_rows_without_a_guarantee_say_so_and_run_without_a_gate():
    found = {place.row: place.cell.settings() for place in placed(table("table1"), SMOKE)}
    for row, method in (("RF (not private)", "rf"), ("GCap (not private)", "gcap")):
        assert found[row]["method"] == method
        assert method in BASELINES


def test_what_private_images_themselves_give_is_varied_once_whatever_the_rounds_of_others():
    found = {place.row: place.cell.settings() for place in placed(table("table1"), SMOKE)}
    assert found["PE"]["iterations"] == 2
    assert not any("iterations" in found[row] for row in ("DPImg", "GCap (not private)"))


def test_a_captioner_is_said_to_gcap_alone():
    said = Sizes(captioner="attributes", epsilon="4", lookahead=2)
    found = list(places(table("table1"), DATA, FULL, table("table1").columns, {**COMMON, **said.selecting}))
    options = {place.row: place.cell.settings() for place in found}
    assert options["GCap (not private)"]["captioner"] == "attributes"
    assert [row for row, each in options.items() if "captioner" in each] == ["GCap (not private)"]
    assert "epsilon" not in options["GCap (not private)"], "no budget bounds it"
    assert "lookahead" not in options["DPImg"], "it has no candidates to look ahead on"
