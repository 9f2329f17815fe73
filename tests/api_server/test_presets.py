"""What the server recommends for a model: by what the model is, and announced with it."""

from __future__ import annotations

import pytest

from pcevolve_server.model_settings import Batching
from pcevolve_server.work import Recipe, Task
from support.tiny_model import load

pytestmark = pytest.mark.models


def scheduler(kind: str = "PNDMScheduler"):
    return type(kind, (), {})()


def image(generator, scheduler=None):
    task = Task(Recipe(width=32, height=32, steps=10, scheduler=scheduler), "a cat", "", 1)
    return generator.create([task])[0].image.tobytes()


def test_a_request_that_names_no_scheduler_gets_the_one_that_is_announced(generator):
    assert image(generator) == image(generator, "dpmpp_2m_karras") != image(generator, "pndm")


@pytest.mark.parametrize(("chosen", "same_as", "told"), [("own", "pndm", None), ("ddim", "ddim", "ddim")])
def test_what_the_operator_chooses_comes_before_the_preset(tiny_model, generator, chosen, same_as, told):
    served = load(model=str(tiny_model), threads=1, batching=Batching.MERGE, scheduler=chosen)
    assert served.info.recommended.scheduler == told
    assert image(served) == image(generator, same_as)
