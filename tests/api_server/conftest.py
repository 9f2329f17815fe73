"""Generators, real and fake, and an app around them."""

import pytest

from pcevolve_server.settings import Batching
from support.served import FakeGenerator, served, wait_until
from support.tiny_model import load, tiny_pipeline


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """A directory in the layout of every Stable Diffusion release."""
    directory = tmp_path_factory.mktemp("models") / "tiny"
    tiny_pipeline().save_pretrained(directory, safe_serialization=True)
    return directory


@pytest.fixture(scope="session")
def generator(tiny_model):
    return load(model=str(tiny_model), threads=1, batching=Batching.MERGE)  # as diffusers runs it


@pytest.fixture
def serve():
    return served


@pytest.fixture
def wait():
    return wait_until


@pytest.fixture
def fake():
    return FakeGenerator()


@pytest.fixture
def fake_with_adapter():
    return FakeGenerator(adapters=("ip",))
