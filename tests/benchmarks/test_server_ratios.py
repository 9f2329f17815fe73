"""The last line of ``benchmarks.server``: what a load costs beside the pipeline, from rounds of known seconds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.server import __main__ as command
from benchmarks.server.rounds import SHORT, Journal, Round, code, machine

RAW = {1: 0.4, 16: 0.15, 32: 0.1, 64: 0.12}
"""Processor seconds of an image by the images in a batch: 32 is the best."""
COST = {1: 0.5, 8: 0.125, 32: 0.2}
"""Of an image by clients."""


def rounds(slower: float) -> Round:
    cells = {clients: {"wall": 2 * cost, "processor": slower * cost} for clients, cost in COST.items()}
    return Round(1, "exact", {"t2i": RAW, "i2i": RAW}, {"t2i": cells, "i2i": cells})


@pytest.mark.parametrize("slower", [1.0, 2.0])
def test_the_last_line_has_one_number_for_each_load_and_task(
    slower: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    kept = tmp_path / "rounds.jsonl"
    Journal(kept, machine(), code())._keep(rounds(slower), SHORT)
    monkeypatch.setattr("benchmarks.server.rounds.measure", lambda *_: pytest.fail("all of it is on file"))
    command.main(["--short", "--rounds", str(kept)])
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    # One client beside one image at a time, the others beside the best batch.
    sought = {"single": 0.8 / slower, "eight": 0.8 / slower, "thirty_two": 0.5 / slower}
    assert last["by_prompt"] == last["by_image"] == pytest.approx(sought)
    assert not kept.exists()
