"""What a person gives to a table: folders by words, digits that are written once, prompts for the row LE."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pcevolve.errors import ClientError, EngineError, UsageError
from pcevolve_benchmarks.tables.catalogue import table
from pcevolve_benchmarks.tables.data import data_table, described, digits, given, saturated, with_prompts
from pcevolve_benchmarks.tables.making import Wanted, made
from pcevolve_benchmarks.tables.sizes import Sizes
from support.folders import class_folders
from support.shots import LABELS, shots


def test_words_and_a_folder_with_train_and_test(tmp_path: Path):
    class_folders(tmp_path / "train", seed=1)
    class_folders(tmp_path / "test", seed=2, shots=2)
    found = given(f"chest x-ray={tmp_path}")
    assert (found.words, found.train) == ("chest x-ray", tmp_path / "train")
    assert described([found]) == [("chest x-ray", 2, 6, 4)]


@pytest.mark.parametrize("text", ["xray", "=here", "x-ray=", "x-ray=nowhere"])
def test_what_says_neither_or_is_not_there_is_refused(text: str):
    with pytest.raises(ClientError):
        given(text)


def test_two_parts_with_other_classes_are_refused(tmp_path: Path):
    class_folders(tmp_path / "train", seed=1)
    class_folders(tmp_path / "test", seed=2, labels=("type A", "type C"))
    with pytest.raises(ClientError, match="same class folders"):
        given(f"x={tmp_path}")


def test_digits_are_written_once_and_no_image_is_in_both_parts(tmp_path: Path):
    found = digits(tmp_path)
    assert described([found])[0][:3] == ("digits", 3, 270)
    parts = [{path.read_bytes() for path in part.rglob("*.png")} for part in (found.train, found.test)]
    assert not parts[0] & parts[1]
    marker = next(found.train.rglob("*.png"))
    marker.unlink()
    assert digits(tmp_path) == found
    assert not marker.exists()


def test_the_table_of_data_sets_says_size_counts_words_and_labels(tmp_path: Path):
    class_folders(tmp_path / "train", seed=1)
    class_folders(tmp_path / "test", seed=2, shots=2)
    line = data_table([given(f"chest x-ray={tmp_path}")])[2]
    assert line.startswith("| chest x-ray | ")
    assert line.endswith("x40 | 6 | 4 | chest x-ray | type A, type B |")


def test_a_saturation_moves_every_colour_from_grey_by_its_factor(tmp_path: Path):
    data = digits(tmp_path, painted=True)
    half = saturated(data, 0.5, tmp_path)
    assert (half.name, half.words) == ("painted digits, saturation 0.5", data.words)
    assert described([half])[0][1:] == described([data])[0][1:]
    for path in sorted(data.train.rglob("*.png"))[:3]:
        before, after = (
            np.asarray(Image.open(part / path.relative_to(data.train)), dtype=int)
            for part in (data.train, half.train)
        )
        grey = np.asarray(Image.open(path).convert("L"), dtype=int)[..., None]
        assert np.abs(after - (grey + (before - grey) / 2)).max() <= 1
    assert saturated(data, 1, tmp_path).train == data.train


def test_grey_images_have_no_saturation_to_change(tmp_path: Path):
    with pytest.raises(ClientError, match="grey"):
        saturated(digits(tmp_path), 0.5, tmp_path)


PROMPTS = {label: [f"A leather texture image with {label}", f"Worn leather with {label}"] for label in LABELS}
ROW = "LE (prompts of mine.json)"


class Dying:
    """Workers whose every process dies; they keep the options of the runs that they were given."""

    def __init__(self) -> None:
        self.settings = {}

    def each_done(self, work, jobs, begun):
        for job in jobs:
            self.settings[job.options["method"]] = job.settings
            yield job, EngineError("it died")


def written(folder: Path, prompts: dict[str, list[str]] = PROMPTS) -> Path:
    path = folder / "mine.json"
    path.write_text(json.dumps(prompts))
    return path


def wanted(folder: Path, workers: object = None, data: int = 1, **changes: object) -> Wanted:
    sources = [folder / f"data {number}" for number in range(data)]
    for root in sources:
        for part in ("train", "test"):
            shots(root / part)
    values = {
        "name": "table1",
        "size": "smoke",
        "data": tuple(f"leather {number}={root}" for number, root in enumerate(sources)),
        "api": "http://127.0.0.1:9",
        "models": ("bundled",),
        "dialect": "getimg",
        "api_key_file": None,
        "encoders": (),
        "judges": ("cnn",),
        "seeds": 1,
        "workers": workers,
        "out": folder / "out",
        "sizes": Sizes(subsample=2),
        "le_prompts": written(folder),
    }
    return Wanted(**{**values, **changes})


def test_the_row_has_the_prompts_that_were_given_and_they_are_kept_with_the_runs(tmp_path: Path):
    workers = Dying()
    found = made(wanted(tmp_path, workers), lambda done, total: None, print)
    rows = [row.name for row in found.table.rows]
    assert ROW in rows
    assert "LE (grammar)" not in rows
    given = Path(workers.settings["le"].provider.prompts)
    assert given.parent == tmp_path / "out" / "prompts"
    assert json.loads(given.read_text()) == PROMPTS
    assert workers.settings["t2i"].provider.prompts is None


def test_a_cell_depends_on_what_the_file_says_and_not_on_where_it_lies(tmp_path: Path):
    first = with_prompts(table("table1"), written(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    assert with_prompts(table("table1"), written(tmp_path / "elsewhere")) == first
    other = {label: each[:1] for label, each in PROMPTS.items()}
    assert with_prompts(table("table1"), written(tmp_path, other)) != first


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
        made(wanted(tmp_path, **changes), lambda done, total: None, print)


def test_prompts_of_other_classes_are_refused_by_the_option_that_was_typed(tmp_path: Path):
    path = written(tmp_path, {"cut": ["A cut"]})
    asked = wanted(tmp_path, le_prompts=path)
    path.write_text(json.dumps({"cut": ["A cut"]}))
    with pytest.raises(UsageError, match=f"--le-prompts {path}: no prompt for 'good'"):
        made(asked, lambda done, total: None, print)
    assert not (tmp_path / "out").exists()
