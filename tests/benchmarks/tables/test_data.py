"""A person's inputs to a table: folders by words, digits that are written once, prompts for the row LE."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pcevolve.errors import UsageError
from pcevolve_benchmarks.providers import by_flags
from pcevolve_benchmarks.tables.catalogue import table
from pcevolve_benchmarks.tables.data import attach_prompts, describe_data, digits
from pcevolve_benchmarks.tables.making import Wanted, make_table
from pcevolve_benchmarks.tables.sizes import Sizes
from support.folders import class_folders

LABELS = ("cut", "good")


def test_digits_are_written_once_and_no_image_is_in_both_parts(tmp_path: Path):
    found = digits(tmp_path)
    assert describe_data([found])[0][:3] == ("digits", 3, 270)
    parts = [{path.read_bytes() for path in part.rglob("*.png")} for part in (found.train, found.test)]
    assert not parts[0] & parts[1]
    marker = next(found.train.rglob("*.png"))
    marker.unlink()
    assert digits(tmp_path) == found
    assert not marker.exists()


PROMPTS = {label: [f"A leather texture image with {label}", f"Worn leather with {label}"] for label in LABELS}


def written(folder: Path, prompts: dict[str, list[str]] = PROMPTS) -> Path:
    path = folder / "mine.json"
    path.write_text(json.dumps(prompts))
    return path


def wanted(folder: Path, workers: object = None, data: int = 1, **changes: object) -> Wanted:
    sources = [folder / f"data {number}" for number in range(data)]
    for root in sources:
        for part in ("train", "test"):
            class_folders(root / part, 0, LABELS, shots=2)
    values = {
        "name": "table1",
        "size": "smoke",
        "data": tuple(f"leather {number}={root}" for number, root in enumerate(sources)),
        "providers": by_flags("http://127.0.0.1:9", ("bundled",), "getimg", None),
        "encoders": (),
        "judges": ("cnn",),
        "seeds": 1,
        "workers": workers,
        "out": folder / "out",
        "sizes": Sizes(subsample=2),
        "le_prompts": written(folder),
    }
    return Wanted(**{**values, **changes})


def test_a_cell_depends_on_what_the_file_says_and_not_on_where_it_lies(tmp_path: Path):
    first = attach_prompts(table("table1"), written(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    assert attach_prompts(table("table1"), written(tmp_path / "elsewhere")) == first
    other = {label: each[:1] for label, each in PROMPTS.items()}
    assert attach_prompts(table("table1"), written(tmp_path, other)) != first


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"name": "table6"}, "--le-prompts: the table 'table6' has no row LE: leave it out"),
        ({"data": 2}, "--le-prompts names the classes of one data set"),
        ({"le_prompts": Path("nowhere.json")}, "--le-prompts nowhere.json: No such file"),
    ],
)
def test_prompts_that_a_table_has_no_use_for_are_refused(tmp_path: Path, changes: dict, complaint: str):
    with pytest.raises(UsageError, match=complaint):
        make_table(wanted(tmp_path, **changes), lambda done, total: None, print)
