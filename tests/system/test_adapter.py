"""The paper's SD + IPA: prototypes vary as image prompts too, between real processes and through the audit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcevolve.auditing import audit
from pcevolve_shared import wire
from support.folders import class_folders, events
from support.forkserver import ForkServer
from support.processes import Client, ServerProcess
from support.tiny_model import save_adapter, tiny_pipeline

pytestmark = pytest.mark.models


@pytest.fixture(scope="module")
def adapted(tmp_path_factory: pytest.TempPathFactory, forks: ForkServer) -> Iterator[ServerProcess]:
    """A server of a tiny model with a tiny adapter."""
    folder = tmp_path_factory.mktemp("adapted")
    pipeline = tiny_pipeline()
    pipeline.save_pretrained(folder / "model", safe_serialization=True)
    adapter = save_adapter(folder, pipeline.unet)
    arguments = ("--ip-adapter", adapter, "--offline", "--threads", 1)
    process = ServerProcess(folder / "log", forks, arguments=arguments, models=(folder / "model",))
    process.start()
    yield process
    process.kill()


@pytest.fixture
def client(tmp_path: Path, adapted: ServerProcess, forks: ForkServer) -> Client:
    return Client(tmp_path, adapted.address, forks)


def test_a_run_varies_through_the_adapter_and_passes_the_audit(client: Client, tmp_path: Path):
    private, out = class_folders(tmp_path / "private", seed=1), tmp_path / "run"
    done = client(*client.run_options(private, out, adapter="tiny-adapter", adapter_scale=0.7), "--verbose")
    assert done.returncode == 0, done.stderr
    assert "IP-Adapter tiny-adapter at scale 0.7" in " ".join(done.stderr.split())
    asked = [event for event in events(out) if event["kind"] == "sent"]
    urls = [each["url"].removeprefix(client.address) for each in asked]
    assert urls == [wire.MODELS, *4 * [wire.TEXT_TO_IMAGE], *12 * [wire.IP_ADAPTER]]
    assert [fault for finding in audit(out) for fault in finding.faults] == []
    manifest = json.loads((out / "release" / "manifest.json").read_text())
    assert (manifest["plan"]["modality"]["adapter"], manifest["plan"]["modality"]["adapter_scale"]) == (
        "tiny-adapter",
        0.7,
    )
