"""The released means as a classifier: it is the nearest released mean, and the audit holds it to the record."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file, save

from pcevolve.auditing import audit
from pcevolve.errors import DataError, UsageError
from pcevolve.keeper.finished.classification import NearestMean, score_nearest
from pcevolve.public.media.images.appearance import Appearance
from pcevolve.public.transcript.layout import RunLayout
from pcevolve.public.transcript.reader import RunReader
from support.paid import LOOK, MEANS, encoder, make_paid_run
from support.runs import rng, small_plan


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_paid_run(tmp_path_factory.mktemp("means"), small_plan(**MEANS))


def load_classifier(root: Path) -> NearestMean:
    return NearestMean.of(root, lambda plan: encoder())


def picture(seed: int) -> Image.Image:
    return Image.fromarray(rng(seed).integers(0, 256, (24, 24, 3)).astype(np.uint8))


def test_it_says_the_class_of_the_nearest_released_mean(run: Path, tmp_path: Path):
    reader = RunReader.strict(run)
    measured = load_file(run / "transcript" / "bodies" / reader.receipts[0].measured)
    labels, said, nearest = reader.require_plan().labels, [], []
    for seed in range(30):
        path = tmp_path / f"{seed}.png"
        picture(seed).save(path)
        said.append(load_classifier(run).classify(path).label)
        point = (encoder().embed([picture(seed)])[0] - measured["centre"]) @ measured["axes"]
        released = measured["middle"] + measured["deviations"]
        nearest.append(labels[np.linalg.norm(released - point, axis=1).argmin()])
    assert said == nearest


@pytest.mark.parametrize(
    ("distances", "score"),
    [([1.0, 1.0], 0.0), ([3.0, 0.0], 1.0), ([4.0, 1.0, 2.0], 0.5), ([0.0, 0.0], 0.0), ([7.0], 1.0)],
)
def test_a_score_says_how_much_nearer_the_nearest_mean_is_than_the_next(distances: list[float], score: float):
    assert score_nearest(np.array(distances)) == score


def test_the_command_names_each_image_and_its_class(run: Path, tmp_path: Path, command):
    paths = [tmp_path / "one.png", tmp_path / "more" / "two.png"]
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / ".DS_Store").touch()
    (tmp_path / "more" / ".ipynb_checkpoints").mkdir()
    picture(2).save(tmp_path / "more" / ".ipynb_checkpoints" / "two.png")
    (tmp_path / "more" / "README.md").write_text("Two pictures.")
    for seed, path in enumerate(paths):
        picture(seed).save(path)
    told = command("classify", run, paths[0], tmp_path / "more")
    lines = [line.split("\t") for line in told.out.splitlines()]
    due = [load_classifier(run).classify(path) for path in paths]
    assert lines == [[str(each.path), each.label, f"{each.score:.2f}"] for each in due]
    assert all(0 <= float(score) <= 1 for _, _, score in lines)


def test_a_table_is_no_text_to_be_classified(run: Path, tmp_path: Path):
    of_texts = replace(load_classifier(run), plan=small_plan(dialect="chat"))
    with pytest.raises(DataError, match=r"notes\.CSV is a table: give files of one text each, or a folder"):
        of_texts.classify(tmp_path / "notes.CSV")


def test_the_folder_of_a_release_stands_for_its_images_and_is_no_run(run: Path, command):
    release = RunLayout(run).release
    told = command("classify", run, release)
    assert [line.split("\t")[0] for line in told.out.splitlines()] == sorted(
        map(str, release.glob("*/*.png"))
    )
    with pytest.raises(UsageError, match=rf"it has no transcript; {re.escape(str(run))} is$"):
        load_classifier(release)


def test_the_audit_compares_it_byte_for_byte(tmp_path: Path):
    root = make_paid_run(tmp_path, small_plan(**MEANS))
    assert not [fault for each in audit(root) for fault in each.faults]
    path = RunLayout(root).classifier
    honest = path.read_bytes()
    for forged in (save({**load_file(path), "note": np.arange(9.0)}), honest + b" "):
        path.write_bytes(forged)
        faults = [fault for each in audit(root) for fault in each.faults]
        assert "release/classifier.safetensors is not what the record gives" in faults
    path.unlink()
    assert any("classifier.safetensors is missing" in fault for each in audit(root) for fault in each.faults)


def test_where_private_images_were_measured_in_a_released_look_images_are_given_it_first(tmp_path: Path):
    plan = small_plan(**MEANS, appearance="matched")
    root = make_paid_run(tmp_path, plan)
    arrays = load_file(RunLayout(root).classifier)
    assert arrays["appearance"].tolist() == list(LOOK)
    path = tmp_path / "image.png"
    picture(3).save(path)
    shown = Appearance.released(LOOK).apply_to(picture(3))
    expected = load_classifier(root).nearest(encoder().embed([shown]))
    assert load_classifier(root).classify(path).label == load_classifier(root).labels[int(expected[0])]
