"""A small run of the real command, against an API on loopback that speaks ``a1111``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pcevolve.cli import commands as cli
from support import online
from support.provider import png
from support.typed import spell_words


@pytest.fixture
def given(server, tmp_path, monkeypatch) -> dict[str, object]:
    """Its options: two classes of one image, two rounds; paths are relative to the working directory."""
    for seed, label in enumerate(("cut", "good")):
        (tmp_path / "private" / label).mkdir(parents=True)
        (tmp_path / "private" / label / "a.png").write_bytes(png(seed))
    monkeypatch.setenv("PCEVOLVE_API_KEY", online.LOGIN)
    monkeypatch.chdir(tmp_path)
    return {
        **{
            "private": "private",
            "domain": "scratch",
            "shots": 1,
            "out": "run",
            "ledger": "ledger/ledger.sqlite",
        },
        **{"method": "pcevolve", "candidates": 2, "iterations": 2, "yes": True, "pad_selection": 0.01},
        **{"api": server.address, "dialect": "a1111", "model": "v1-5", "patience": 0, "batch": 2, "size": 16},
    }


@pytest.fixture
def words(given) -> Callable[..., list[str]]:
    """The words of its command line; keywords change options (None: left out), words go behind them."""

    def spell(*more: object, **changes: object) -> list[str]:
        return ["run", *(str(each) for each in (*spell_words(**{**given, **changes}), *more))]

    return spell


@pytest.fixture
def run(words) -> Callable[..., Path]:
    """The command, which raises what it would print; its run's folder."""

    def command(*more: object, **changes: object) -> Path:
        cli.app(words(*more, **changes), standalone_mode=False)
        return Path(str(changes.get("out", "run"))).absolute()

    return command


@pytest.fixture
def broken_img2img(server) -> None:
    """The API has no memory for variations until somebody gives it some (``server.speak = online.a1111``)."""
    failure = online.answer_json(500, {"error": "RuntimeError", "errors": "out of memory"})
    server.speak = lambda heard: failure if heard.path.endswith("img2img") else online.a1111(heard)
