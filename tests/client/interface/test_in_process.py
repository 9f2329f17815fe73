"""A generator in the client's own process: every output says that there was no boundary, and every audit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from PIL import Image

import pcevolve
from pcevolve.public.fields import IN_PROCESS
from support.folders import events
from support.provider import png

LOUD = "NO BOUNDARY"
PAGES = (
    *("preview.html", "report.html", "audit/wire.html", "summary.json"),
    *("release/README.md", "release/manifest.json"),
)


class Noise:
    """Makes noise, as PIL images first and as files later."""

    size = (16, 16)

    def __init__(self) -> None:
        self.varied: list[tuple[int, int]] = []

    def create(self, prompt: str, seeds: Sequence[int]) -> list[Image.Image]:
        return [
            Image.fromarray(np.random.default_rng(seed).integers(0, 256, (16, 16, 3), np.uint8))
            for seed in seeds
        ]

    def vary(self, image: Image.Image, prompt: str, strength: float, seeds: Sequence[int]) -> list[bytes]:
        self.varied.append(image.size)
        return [png(seed) for seed in seeds]


def test_the_run_is_paid_for_and_recorded_like_any_other(evolved, tmp_path):
    generator = Noise()
    result = evolved(provider=generator, epsilon=4)
    assert generator.varied == [(16, 16)] * 2
    assert 0 < result.epsilon <= 4
    assert len(result.images) == 4
    plan = next(each["plan"] for each in events(result.folder) if each["kind"] == "planned")
    assert (plan["api"], plan["model"]) == (IN_PROCESS, "Noise")
    with pytest.raises(pcevolve.BudgetError, match="earlier runs already spent"):
        evolved(provider=generator, out=tmp_path / "again")


def test_an_array_is_no_image_and_never_a_black_one(evolved):
    class Arrays(Noise):
        def create(self, prompt: str, seeds: Sequence[int]) -> list[np.ndarray]:
            return [np.full((16, 16, 3), np.nan) for _ in seeds]

    with pytest.raises(pcevolve.UsageError, match=r"made a ndarray where a PIL image .* without NaN"):
        evolved(provider=Arrays())


def test_every_output_says_that_there_was_no_boundary(evolved, capfd):
    result = evolved(provider=Noise(), quiet=False)
    assert LOUD in capfd.readouterr().err
    result.audit(html=True)
    for page in PAGES:
        assert LOUD in (result.folder / page).read_text(), page
    assert "none was sent" not in (result.folder / "preview.html").read_text()
    assert LOUD in repr(result)
    assert LOUD in result._repr_html_()
    card = (result.dataset / "README.md").read_text()
    assert "none was sent" not in card
    assert "proves what was sent" not in card
    assert "only if the generator looked at nothing but what it was asked" in card
    report = (result.folder / "report.html").read_text()
    assert "were not sent" not in report
    assert "There was no boundary." in report


def test_its_audit_never_holds_finds_nothing_else_and_misses_no_mark_that_is_taken_off(evolved, command):
    result = evolved(provider=Noise())
    found = result.audit()
    assert not found
    assert [LOUD in fault for fault in found.faults] == [True]
    assert LOUD in found.marks[0]
    for options in ([], ["--allow-insecure"]):
        told = command("audit", result.folder, *options)
        assert (told.code, told.out.startswith(LOUD)) == (1, True)
        assert "a boundary stood between the private images and the generator: NO" in told.said
    for page in ("summary.json", "report.html", "release/README.md"):
        path = result.folder / page
        path.write_text(path.read_text().replace(LOUD, "BOUNDARY"))
    found = result.audit(html=True)
    assert {"summary.json", "report.html", "release/README.md"} <= set(found.unverified)
    assert LOUD in " ".join(found.marks)


def test_an_address_cannot_be_mistaken_for_a_generator_nor_a_generator_for_an_address(
    evolved, tmp_path, command
):
    with pytest.raises(pcevolve.UsageError, match="is what a run has for an address whose generator"):
        evolved(provider=IN_PROCESS)
    with pytest.raises(pcevolve.UsageError, match="an object with size, create and vary, not a int"):
        evolved(provider=8000)
    evolved(provider=Noise(), method="t2i")
    assert "is what a run has for an address" in command("run", "--resume", tmp_path / "run").said


def test_a_generator_that_fails_ends_a_run_that_can_be_resumed(evolved):
    class Failing(Noise):
        def vary(self, *arguments: object) -> list[bytes]:
            raise RuntimeError("out of memory")

    Failing.__name__ = "Noise"
    with pytest.raises(RuntimeError, match="out of memory"):
        evolved(provider=Failing())
    result = evolved(provider=Noise(), resume=True)
    assert len(result.images) == 4
    assert len(result.audit().faults) == 1
