"""A published dataset: images without metadata, a card that states the guarantee, facts that read in one way."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from pcevolve.app.cli.summary import detail_result
from pcevolve.public.media import find_medium
from pcevolve.public.publish.dataset import publish
from pcevolve.public.transcript.reader import RunReader
from pcevolve_shared import images
from support.paid import make_paid_run
from support.provider import FakeProvider
from support.releases import DIGESTS, SENT, release
from support.runs import small_plan

BYTES = {DIGESTS[name]: data for name, data in SENT.items()}


def test_metadata_that_the_provider_put_in_is_gone():
    assert b"tracking-id-77" in SENT["a"]
    cleaned = find_medium("image").encode_release(SENT["a"])
    assert b"tracking-id-77" not in cleaned
    assert images.decode(cleaned).getpixel((0, 0)) == (255, 0, 0)


def test_what_is_not_an_image_is_left_out_and_named(tmp_path):
    publish(tmp_path / "release", release(), BYTES.__getitem__)
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    assert manifest["unreadable"] == ["i002-c"]
    assert [each["candidate"] for each in manifest["files"]] == ["i002-a", "i002-b"]
    for each in manifest["files"]:
        written = (tmp_path / "release" / each["path"]).read_bytes()
        assert hashlib.sha256(written).hexdigest() == each["sha256"]


def test_an_insecure_run_is_marked_everywhere_and_promises_nothing(tmp_path):
    insecure = release(noise="INSECURE-seeded")
    publish(tmp_path / "release", insecure, BYTES.__getitem__)
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    written, text = manifest["guarantee"], (tmp_path / "release" / "README.md").read_text()
    assert "INSECURE" in text
    assert "INSECURE" in manifest["marks"][0]
    assert (insecure.guarantee.epsilon_spent, written["epsilon_spent"]) == (None, None)
    assert written["statement"].startswith("none: the noise came from a seed")
    assert "There is none: the noise came from a seed" in text
    assert "epsilon =" not in text
    assert "differential privacy" not in text


SELECTED = {
    "method": "dp-means", "delta": 1e-5, "pool": "all", "keep": "selected", "candidates": 2, "initial": 4,
    "prototypes": 2, "iterations": 1, "strengths": (0.8,), "centre_first": True,
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> RunReader:
    make_paid_run(tmp_path, small_plan(**SELECTED), FakeProvider())
    return RunReader.strict(tmp_path)


def test_everybody_is_told_the_same_word_and_the_numbers(run: RunReader):
    found = run.assessment
    assert found is not None
    summary = json.loads(run.layout.summary.read_text())
    assert summary["usefulness"] == {"word": found.word("image"), "by": "bundled", **found.model_dump()}
    card, report = run.layout.card.read_text(), run.layout.report.read_text()
    assert (
        f"**Estimated {found.word('image')}** according to the released numbers and to `bundled`, the encoder that "
        f"also selected the images. {found.reason('image')}" in card
    )
    assert "`classifier.safetensors` contains the released means of the 2 classes" in card
    assert (
        f"<strong>Estimated {found.word('image')}</strong> according to the released numbers and to bundled, the"
        in report
    )
    told = dict(detail_result({**summary, "wall_seconds": 1}))
    assert (
        told["useful?"]
        == f"ESTIMATED {found.word('image').upper()} (by bundled, the encoder that also selected): "
        f"{found.reason('image')}"
    )
