"""Generators, real and fake, and an app around them."""

import functools

import pytest

from pcevolve_server.model_settings import Batching, Precision
from support.served import FakeGenerator, serve_app, wait_until


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """A directory in the layout of every Stable Diffusion release."""
    from support.tiny_model import tiny_pipeline  # who asks for no model need not wait for its libraries

    directory = tmp_path_factory.mktemp("models") / "tiny"
    tiny_pipeline().save_pretrained(directory, safe_serialization=True)
    return directory


@pytest.fixture(scope="session")
def generator(tiny_model):
    from support.tiny_model import load

    return load(model=str(tiny_model), threads=1, batching=Batching.MERGE)  # as diffusers runs it


@pytest.fixture(scope="session")
def zoo(tiny_model, tmp_path_factory):
    """Return the directory of a kind of model, ``sd15`` or of ``ZOO``; made when it is first asked for."""
    import torch

    from support.model_zoo import EDITS, ZOO

    base = tmp_path_factory.mktemp("zoo")

    @functools.cache
    def directory(kind):
        if kind == "sd15":
            return tiny_model
        torch.manual_seed(0)
        (ZOO | EDITS)[kind]().save_pretrained(base / kind, safe_serialization=True)
        return base / kind

    return directory


@pytest.fixture(scope="session")
def loaded(zoo):
    """Return the generator of a kind of model, as diffusers runs it: nothing is padded or rounded."""
    from support.tiny_model import load

    plain = {"device": "cpu", "threads": 1, "batching": Batching.MERGE, "precision": Precision.FLOAT32}
    return functools.cache(lambda kind: load(model=str(zoo(kind)), **plain))


@pytest.fixture
def serve():
    return serve_app


@pytest.fixture
def wait():
    return wait_until


@pytest.fixture
def fake():
    return FakeGenerator()


@pytest.fixture
def fake_with_adapter():
    return FakeGenerator(adapters=("ip",))


@pytest.fixture
def client(serve, fake):
    """A client of a server of the fake model."""
    with serve(fake) as client:
        yield client
