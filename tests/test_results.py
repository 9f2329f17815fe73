"""Every published accuracy says whether its judge voted, and the tables are by the judges that one asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.selectors.__main__ import _heads
from benchmarks.selectors.tables import strangers, write
from benchmarks.usefulness.cases import Verdict, table

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
    assert table.count("\n") == 7
    assert table in (ROOT / "docs/results/worth.md").read_text()


def test_a_judge_that_voted_or_measured_nothing_is_refused():
    assert _heads(None, ["cnn", "mobilenet"]) == ["cnn", "mobilenet"]
    with pytest.raises(SystemExit, match=r"bundled voted or measured nothing; there are cnn, mobilenet"):
        _heads("cnn,bundled", ["cnn", "mobilenet"])


def test_the_published_words_follow_from_the_bounds_and_make_the_published_table():
    rows = json.loads((ROOT / "docs/results/usefulness-texts.json").read_text())
    found = [Verdict.of_row(row) for row in rows]
    assert [each.word for each in found] == [row["word"] for row in rows]
    groups = {"all": lambda row: True, "real": lambda row: row["source"] == "real"}
    groups["of another set"] = lambda row: row["source"] == "other"
    for how in ("its own names", "names that say nothing"):
        groups[f"bundled language model, {how}"] = lambda row, how=how: (
            (row["source"], row["names"]) == ("bundled", how)
        )
    chosen = {
        name: [each for each, row in zip(found, rows, strict=True) if take(row)]
        for name, take in groups.items()
    }
    published = (ROOT / "docs/results/verdict.md").read_text().splitlines()
    assert {*table("candidates", chosen)} <= {*published}
