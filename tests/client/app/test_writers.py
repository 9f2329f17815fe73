"""A language model on this machine writes prompts."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from pcevolve.app.first.prompts import ask_chat, open_chat
from pcevolve.public.config.files import read_prompts
from support.online import LocalServer


def prompts(server: LocalServer, count: int, key: str | None = None, labels: tuple[str, ...] = ("cut",)):
    chat = open_chat(f"{server.address}/v1", "tiny", key)
    return ask_chat(chat, "leather texture", labels, count, lambda done, total: None)


@pytest.fixture
def tiny_writer() -> ModuleType:
    """Maker of language models; its libraries take seconds to load."""
    from support import tiny_writer

    return tiny_writer


@pytest.mark.models
def test_the_command_has_a_local_model_refine_prompts_that_a_run_takes(command, tmp_path: Path, tiny_writer):
    folder, out = tiny_writer.save_writer(tmp_path / "tiny", context=256), tmp_path / "p.json"
    options = ["--domain", "x", "--labels", "a,b", "--count", "2", "--refine", "--local", str(folder)]
    assert command("prompts", *options, "--out", out).code == 0
    assert [len(each) for each in read_prompts(out, 0, "x", ("a", "b"))] == [2, 2]
