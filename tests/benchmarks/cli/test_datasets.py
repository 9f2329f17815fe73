"""``pcevolve-bench datasets`` and ``baseline``: folders, the commands that come next, what is refused."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image

from pcevolve_benchmarks.cli.main import app, main


def show(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["datasets", *map(str, arguments)], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def cats(tmp_path: Path) -> Path:
    for name in ("cookie", "doudou"):
        (tmp_path / "cats" / name).mkdir(parents=True)
        for number in range(4):
            Image.new("RGB", (8, 8), (10 * number, 0, 0)).save(tmp_path / "cats" / name / f"{number}.png")
    return tmp_path / "cats"


def test_folders_are_made_and_the_commands_that_come_next_are_told(cats: Path, tmp_path: Path):
    page = show("cats", "--from", cats, "--out", tmp_path / "out", "--held-out", 1)
    assert "6 images in train, 2 in test" in page
    (run,) = [line for line in page.splitlines() if line.startswith("pcevolve run ")]
    words = shlex.split(run)
    assert words[words.index("--private") + 1] == str(tmp_path / "out" / "train")
    assert words[words.index("--domain") + 1] == "ragdoll cat"
    assert words[words.index("--set") + 1] == "data.subsample=3", "no more than can be drawn"
    assert f"--data 'ragdoll cat={tmp_path / 'out'}'" in page


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("datasets dogs", 2, "there is no dataset 'dogs': choose one of covidx"),
        ("datasets cats --from x", 2, "--from says where the dataset lies and --out where its folders go"),
        ("datasets cats --from nowhere --out out", 3, "nowhere"),
        ("baseline pe --public-data --data x --out y", 2, "there is no baseline 'pe'"),
        ("baseline rf --public-data --data x", 2, "--out where the dataset goes: give both"),
        ("baseline rf --data x --out y", 2, "say --public-data if the images are public"),
    ],
)
def test_what_cannot_be_is_refused(
    arguments: str, code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(arguments.split())
    assert ended.value.code == code
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
