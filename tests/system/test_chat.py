"""A language model of one's own writes prompts: between real processes, beside the model of images."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcevolve.app.cli.main import main
from support.forkserver import ForkServer
from support.processes import MODEL, ServerProcess
from support.tiny_writer import save_writer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, forks: ForkServer) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("chat")
    writer = save_writer(folder / "writer")
    arguments, models = ("--threads", "1", "--api-key-file", key(folder)), (MODEL, f"text:{writer}")
    with ServerProcess(folder / "log", forks, arguments=arguments, models=models) as process:
        yield process


def key(folder: Path) -> Path:
    path = folder / "key"
    path.write_text("sixteen-characters-or-more\n")
    path.chmod(0o600)
    return path


def test_prompts_are_written_by_a_language_model_on_the_api_server(tmp_path: Path, server: ServerProcess):
    out = tmp_path / "prompts.json"
    arguments = [
        "prompts",
        "--domain",
        "leather texture",
        "--labels",
        "cut,good",
        "--count",
        "2",
        "--out",
        out,
    ]
    asked = ["--api", f"{server.address}/v1", "--model", "writer", "--api-key-file", key(tmp_path)]
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in (*arguments, *asked)])
    assert ended.value.code == 0
    written = json.loads(out.read_text())
    assert [(label, len(set(own))) for label, own in written.items()] == [("cut", 2), ("good", 2)]
    log = server.log.read_text()
    assert '"route": "/v1/chat/completions"' in log
    assert not any(prompt in log for own in written.values() for prompt in own)
    assert "leather" not in log
