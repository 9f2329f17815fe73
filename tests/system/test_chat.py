"""A language model of one's own writes prompts, or rewords them: between real processes, beside the model of images."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcevolve.cli.main import main
from support.folders import class_folders, events
from support.forkserver import ForkServer
from support.processes import MODEL, Client, ServerProcess
from support.tiny_writer import save_writer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, forks: ForkServer) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("chat")
    writer = save_writer(folder / "writer")
    processes = ("--engine", "processes", "--replicas", "1", "--threads", "1")
    arguments, models = (*processes, "--api-key-file", key(folder)), (MODEL, f"text:{writer}")
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


def test_one_server_draws_images_and_rewords_their_prompts(
    tmp_path: Path, server: ServerProcess, forks: ForkServer
):
    client, run, own = Client(tmp_path, server.address, forks), tmp_path / "run", key(tmp_path)
    writer = {"rewriter_api": f"{server.address}/v1", "rewriter_model": "writer", "rewriter_key_file": own}
    writer |= {"rewriter_question": "Reword: {prompt}", "rewriter_tokens": 12, "vary_by": "rewording"}
    private = class_folders(tmp_path / "private", seed=1)
    options = {"method": "random", "iterations": 1, "api_key_file": own, **writer}
    client.succeed(*client.run_options(private, run, **options))
    client.succeed("audit", run)
    answers = [each for each in events(run) if each["kind"] == "answered" and each["slot"][0] == "w"]
    assert len(answers) > 2
    assert {each["status"] for each in answers} == {200}
