"""Every published accuracy says whether its judge voted, and the tables are by the judges that one asks for."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import demo_seeds
from benchmarks.membership.__main__ import joined
from benchmarks.rows import accuracy
from benchmarks.selectors.__main__ import _heads
from benchmarks.selectors.tables import strangers, write

ROOT = Path(__file__).parents[1]
JUDGES = {"cnn", "mobilenet", "squeezenet", "bundled", "resnet18", "clip", "ngrams", "words"}
RESULTS = sorted((ROOT / "docs" / "results").glob("*.json"))


def objects(found: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON document, however deep."""
    if isinstance(found, dict):
        yield found
    for each in found.values() if isinstance(found, dict) else found if isinstance(found, list) else ():
        yield from objects(each)


def silent(found: Any) -> list[dict[str, Any]]:
    """Objects with an accuracy, under that name or a judge's, that do not say whether the judge voted."""
    telling = [each for each in objects(found) if isinstance(each.get("voted"), bool)]
    return [
        each
        for each in objects(found)
        if each not in telling and any(isinstance(each.get(name), float) for name in {"accuracy", *JUDGES})
    ]


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.name)
def test_every_accuracy_says_whether_its_judge_voted(path: Path):
    assert silent(json.loads(path.read_text()))[:1] == []


@pytest.mark.parametrize(
    "found", [[{"seed": 0, "bundled": 0.9}], {"rows": [{"judge": "cnn", "accuracy": 0.9}]}]
)
def test_a_figure_that_does_not_say_it_is_found(found):
    assert len(silent(found)) == 1


def test_a_row_without_a_judge_has_no_accuracy_of_it():
    row = {"verdicts": [{"judge": "cnn", "voted": False, "accuracy": 0.4}]}
    assert (accuracy(row, "cnn"), accuracy(row, "clip")) == (0.4, None)


@pytest.fixture(scope="module")
def published() -> list[dict[str, Any]]:
    return json.loads((ROOT / "docs" / "results" / "selectors.json").read_text())


def test_a_named_judge_alone_is_in_every_table_beside_the_voter(tmp_path: Path, published):
    write(tmp_path, published, ["cnn"])
    page = (tmp_path / "selectors.md").read_text()
    heads = [line for line in page.splitlines() if line.startswith(("| method |", "| CNN from scratch, % |"))]
    assert len(heads) > 10
    assert all("CNN from scratch, %" in line for line in heads)
    assert not any(name in page for name in ("MobileNet", "SqueezeNet"))
    assert "bundled, %: **voted**" in page


def test_the_overview_is_the_mean_of_the_judges_that_are_shown(tmp_path: Path, published):
    means = []
    for name, heads in (("one", ["cnn"]), ("all", strangers(published))):
        write(tmp_path / name, published, heads)
        lines = (tmp_path / name / "selectors.md").read_text().splitlines()
        means.append(next(line for line in lines if line.startswith("| MNIST 3, 5, 8")).split(" | ")[6])
    assert means[0] != means[1]


def test_the_published_table_is_what_the_published_rows_give(tmp_path: Path, published):
    write(tmp_path, published, strangers(published))
    overview = (tmp_path / "selectors.md").read_text().split("## In short")[1].split("\n## ")[0]
    table = "\n".join(line for line in overview.splitlines() if line.startswith("|"))
    assert table.count("\n") > 10
    assert table in (ROOT / "docs/results/worth.md").read_text()


def test_a_judge_that_voted_or_measured_nothing_is_refused():
    assert _heads(None, ["cnn", "mobilenet"]) == ["cnn", "mobilenet"]
    with pytest.raises(SystemExit, match=r"bundled voted or measured nothing; there are cnn, mobilenet"):
        _heads("cnn,bundled", ["cnn", "mobilenet"])


def test_make_passes_the_judges_and_other_options_on():
    done = subprocess.run(
        ["make", "-n", "bench-selectors", "JUDGE=cnn", "ARGS=--seeds 3"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "-m benchmarks.selectors --judge cnn --seeds 3" in done.stdout


def row_of_the_demonstration(seed: int, cnn: float) -> dict[str, Any]:
    said = {"cnn": (False, cnn), "bundled": (True, 0.97)}
    verdicts = [{"judge": name, "voted": voted, "accuracy": share} for name, (voted, share) in said.items()]
    return {"seed": seed, "way": "the demonstration", "candidates": 60, "verdicts": verdicts}


def test_the_demonstrations_page_shows_its_spread_and_the_voter_last_and_marked():
    page = demo_seeds.page([row_of_the_demonstration(0, 0.6), row_of_the_demonstration(1, 0.8)])
    assert "| the demonstration | 2 | 70.0 ± 10.0 | 14.1 | 60 to 80 |" in page
    assert page.index("60 images per class, CNN") < page.index("60 images per class, bundled: **voted**")
    assert "MobileNet" not in page


def test_the_demonstrations_rows_are_measured_once():
    left = list(demo_seeds._missing([row_of_the_demonstration(0, 0.6)], 1, [60], list(demo_seeds.WAYS)))
    assert (0, "the demonstration", 60) not in left
    assert len(left) == len(demo_seeds.WAYS) - 1


def test_attacks_on_one_method_leave_the_rows_of_the_others():
    known = [{"method": name, "epsilon": 1, "advantage": 0.1} for name in ("pe", "dp-means")]
    fresh = [{"method": "dp-means", "epsilon": 1, "advantage": 0.2}]
    assert joined(known, fresh) == [known[0], fresh[0]]
