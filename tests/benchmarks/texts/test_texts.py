"""Tables of texts: columns are there where rows know them, and rows of earlier versions are shown as they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from pcevolve_benchmarks.texts import bench
from pcevolve_benchmarks.texts.page import as_json, tables
from pcevolve_benchmarks.texts.studies import STUDIES

STUDY = STUDIES["text"]
WORLD = next(iter(STUDY.worlds))
ATTACK = {"success": 0.098, "low": 0.09, "high": 0.11, "bound": 0.1}
NEW = {
    "Fréchet distance": 12.34, "MAUVE": None, "distinct pairs": 0.8, "distinct pairs private": 0.95, "copied words": 4,
}  # fmt: skip


def row(method: str, seed: int = 0, **more: object) -> dict[str, object]:
    judged = {
        f"{judge} {what}": 0.5 for judge in ("ngrams", "words") for what in ("dataset", "private", "both")
    }
    return {
        "world": WORLD, "seed": seed, "method": method, "requests": 9, "seconds": 2.0, "next word": 0.1,
        "next word private": 0.2, **judged, **more,
    }  # fmt: skip


def lines(*rows: dict[str, object]) -> list[list[str]]:
    table = tables(STUDY, rows).splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table if line.startswith("|")]


def test_what_rows_know_is_a_column_and_what_none_knows_is_not():
    heads, _, random, secpe, shots = lines(row("random", **NEW), row("secpe", **NEW, attack=ATTACK))
    assert heads[8:] == ["Fréchet distance", "distinct pairs", "copied words", "attack ≤ r"]
    assert random[8:] == ["12.3", "0.8", "4", "–"]
    assert secpe[-1] == "0.098 (0.090 … 0.110) of 0.100"
    assert shots[8:] == ["–", "0.95 ± 0", "–", "–"]


def test_rows_of_earlier_versions_have_no_column_that_they_do_not_know():
    heads, _, *rest = lines(row("random"), row("secpe"))
    assert heads[-1] == "next word"
    assert {len(each) for each in rest} == {8}


def test_the_line_for_programs_says_what_the_attack_found():
    assert as_json(STUDY, [row("random"), row("secpe", attack=ATTACK)])["attack"] == {"secpe": ATTACK}
    assert "attack" not in as_json(STUDY, [row("random")])


@pytest.mark.parametrize("name", ["secpe", "secpe, as noted"])
def test_whoever_protects_secrets_is_told_which(tmp_path: Path, name: str):
    options = STUDY.options_of(name, tmp_path)
    assert Path(options["secrets"]).read_text().splitlines() == ["lung", "wing", "wood"]
    assert "secrets" not in STUDY.options_of("pe", tmp_path)


def test_several_writers_have_a_table_each_and_figures_by_name():
    rows = [row("random"), row("random", writer="gpt2", **{"ngrams dataset": 0.75})]
    page = tables(STUDY, rows)
    assert [line for line in page.splitlines() if line.startswith("##")] == [
        "## Disease, drug, body part (33 % is luck), by `bundled-text`",
        "## Disease, drug, body part (33 % is luck), by `gpt2`",
    ]
    told = as_json(STUDY, rows)
    assert told["writers"] == {"bundled-text": {"random": 0.5}, "gpt2": {"random": 0.75}}
    assert "random" not in told
    assert as_json(STUDY, rows[:1])["random"] == 0.5


def test_each_writer_has_a_server_of_its_own_and_what_it_wrote_is_not_written_again(
    tmp_path: Path, monkeypatch
):
    served: list[str] = []

    @contextmanager
    def server(log: Path, model: str) -> Iterator[str]:
        served.append(model)
        yield model

    def measured(self, world: str, seed: int, name: str, writer: str, api: str) -> dict[str, object]:
        return row(name, seed, writer=writer, api=api)

    monkeypatch.setattr(bench, "local_server", server)
    monkeypatch.setattr(bench.TextBench, "_measured", measured)
    directory = tmp_path / "my-gpt2"
    directory.mkdir()
    small = bench.TextBench(STUDY, tmp_path / "out", small=True, seeds=1)
    assert len(small.made(lambda done, total: None)) == 3
    told: list[tuple[int, int]] = []
    rows = replace(small, writers=("bundled", str(directory))).made(lambda *each: told.append(each))
    assert served == ["text:bundled", f"text:{directory}"]
    assert [each["writer"] for each in rows] == ["bundled-text"] * 3 + ["my-gpt2"] * 3
    assert {each["api"] for each in rows if each["writer"] == "my-gpt2"} == {f"text:{directory}"}
    assert told == [(4, 6), (5, 6), (6, 6)]
