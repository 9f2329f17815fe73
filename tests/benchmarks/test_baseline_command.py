"""``pcevolve-bench baseline``: the list, and what is refused before anything is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcevolve_benchmarks.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pe", "--public-data", "--data", "x", "--out", "y"], "there is no baseline 'pe'"),
        (["rf", "--public-data", "--data", "x"], "--out where the dataset goes: give both"),
        (["rf", "--data", "x", "--out", "y"], "say --public-data if the images are public"),
    ],
)
def test_what_cannot_be_is_refused(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["baseline", *arguments])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
