"""Several models behind one server, between real processes: the client is advised about the one that it asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcevolve.auditing import audit
from pcevolve_shared import wire
from support.collections import library
from support.folders import class_folders, events
from support.forkserver import ForkServer
from support.model_zoo import latent_consistency
from support.processes import Client, ServerProcess
from support.tiny_model import save_adapter, tiny_pipeline

pytestmark = pytest.mark.models


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, forks: ForkServer) -> Iterator[ServerProcess]:
    """A server of a library, which is what callers get who name nothing, and of two tiny distilled models."""
    folder = tmp_path_factory.mktemp("served")
    tiny_pipeline().save_pretrained(folder / "tiny-turbo", safe_serialization=True)
    latent_consistency().save_pretrained(folder / "tiny-lcm", safe_serialization=True)
    tiles = library(folder / "tiles", images=8)
    cache = ("--library-cache", folder / "cache")
    arguments = ("--model-id", "library:tiles", *cache, "--offline", "--threads", 1)
    models = (f"library:{tiles}", folder / "tiny-turbo", folder / "tiny-lcm")
    with ServerProcess(folder / "log", forks, arguments=arguments, models=models) as process:
        yield process


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
        done = client.succeed(*client.run_options(private, out, model=name, steps=None))
        assert json.loads(client("audit", out, "--json").stdout)["holds"]
        plans[name] = json.loads((out / "release" / "manifest.json").read_text())["plan"]
        said[name] = " ".join(done.stderr.split())
    assert [plans[name]["provider"]["model"] for name in plans] == ["tiny-turbo", "library:tiles"]
    turbo, tiles = (plan["modality"] for plan in plans.values())
    assert (turbo["steps"], turbo["guidance"], turbo["width"]) == (4, 0.0, 32)
    assert tiles["width"] == 24
    assert "they are real public images" in said["library:tiles"]
    assert "they are real public images" not in said["tiny-turbo"]


def test_a_negative_prompt_is_refused_before_anything_is_spent_where_the_model_reads_none(
    client: Client, tmp_path: Path
):
    private = class_folders(tmp_path / "private", seed=1)
    options = client.run_options(private, tmp_path / "run", model="tiny-lcm", negative_prompt="text")
    done = client(*options)
    assert done.returncode == 2
    assert "the API's model does not use negative prompts" in " ".join(done.stderr.split())


@pytest.fixture(scope="module")
def adapted(tmp_path_factory: pytest.TempPathFactory, forks: ForkServer) -> Iterator[ServerProcess]:
    """A server of a tiny model with a tiny adapter."""
    folder = tmp_path_factory.mktemp("adapted")
    pipeline = tiny_pipeline()
    pipeline.save_pretrained(folder / "model", safe_serialization=True)
    adapter = save_adapter(folder, pipeline.unet)
    arguments = ("--ip-adapter", adapter, "--offline", "--threads", 1)
    with ServerProcess(folder / "log", forks, arguments=arguments, models=(folder / "model",)) as process:
        yield process


def test_a_run_varies_through_the_adapter_and_passes_the_audit(
    adapted: ServerProcess, forks: ForkServer, tmp_path: Path
):
    """The paper's SD + IPA: prototypes vary as image prompts too."""
    client = Client(tmp_path, adapted.address, forks)
    private, out = class_folders(tmp_path / "private", seed=1), tmp_path / "run"
    done = client.succeed(
        *client.run_options(private, out, adapter="tiny-adapter", adapter_scale=0.7), "--verbose"
    )
    assert "IP-Adapter tiny-adapter at scale 0.7" in " ".join(done.stderr.split())
    asked = [event for event in events(out) if event["kind"] == "sent"]
    urls = [each["url"].removeprefix(client.address) for each in asked]
    assert urls == [wire.MODELS, *4 * [wire.TEXT_TO_IMAGE], *12 * [wire.IP_ADAPTER]]
    assert [fault for finding in audit(out) for fault in finding.faults] == []
    modality = json.loads((out / "release" / "manifest.json").read_text())["plan"]["modality"]
    assert (modality["adapter"], modality["adapter_scale"]) == ("tiny-adapter", 0.7)
