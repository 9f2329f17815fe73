"""Several models behind one server, between real processes: the client is advised about the one that it asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.collections import library
from support.folders import class_folders
from support.forkserver import ForkServer
from support.model_zoo import latent_consistency
from support.processes import Client, ServerProcess
from support.tiny_model import tiny_pipeline


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, forks: ForkServer) -> Iterator[ServerProcess]:
    """A server of a library, which is what callers get who name nothing, and of two tiny distilled models."""
    folder = tmp_path_factory.mktemp("served")
    tiny_pipeline().save_pretrained(folder / "tiny-turbo", safe_serialization=True)
    latent_consistency().save_pretrained(folder / "tiny-lcm", safe_serialization=True)
    tiles = library(folder / "tiles", images=8)
    arguments = (
        "--model-id",
        "library:tiles",
        "--library-cache",
        folder / "cache",
        "--offline",
        "--threads",
        1,
    )
    models = (f"library:{tiles}", folder / "tiny-turbo", folder / "tiny-lcm")
    process = ServerProcess(folder / "log", forks, arguments=arguments, models=models)
    process.start()
    yield process
    process.kill()


@pytest.fixture
def client(tmp_path: Path, served: ServerProcess, forks: ForkServer) -> Client:
    return Client(tmp_path, served.address, forks)


def test_each_run_gets_the_model_that_it_asks_for_and_what_that_is_best_asked_with(
    client: Client, tmp_path: Path
):
    private = class_folders(tmp_path / "private", seed=1)
    plans, said = {}, {}
    for name in ("tiny-turbo", "library:tiles"):
        out = tmp_path / name.removeprefix("library:")
        done = client(*client.run_options(private, out, model=name, steps=None))
        assert done.returncode == 0, done.stderr
        assert json.loads(client("audit", out, "--json").stdout)["holds"]
        plans[name] = json.loads((out / "release" / "manifest.json").read_text())["plan"]
        said[name] = " ".join(done.stderr.split())
    assert [plans[name]["model"] for name in plans] == ["tiny-turbo", "library:tiles"]
    turbo, tiles = (plan["modality"] for plan in plans.values())
    assert (turbo["steps"], turbo["guidance"], turbo["width"]) == (4, 0.0, 32)
    assert tiles["width"] == 24
    assert "they are real public ones" in said["library:tiles"]
    assert "they are real public ones" not in said["tiny-turbo"]


def test_a_negative_prompt_is_refused_before_anything_is_spent_where_the_model_reads_none(
    client: Client, tmp_path: Path
):
    private = class_folders(tmp_path / "private", seed=1)
    options = client.run_options(private, tmp_path / "run", model="tiny-lcm", negative_prompt="text")
    done = client(*options)
    assert done.returncode == 2
    assert "the API's model reads no negative prompts: leave provider.negative_prompt out" in " ".join(
        done.stderr.split()
    )
