"""Several models in one server: who is asked, who is in memory, and what is told about it."""

import ctypes
import gc
import subprocess
import sys
import weakref
from functools import partial

import pytest
from PIL import Image

from pcevolve_server import models
from pcevolve_server.errors import EngineLostError, GenerationError, ModelLoadError
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.models import ModelCache
from pcevolve_server.work import Recipe, Task
from support.collections import library
from support.painters import MIB, AcceleratorError, Painter


def task(model, seed=1, strength=None, **changes):
    image = None if strength is None else Image.new("RGB", (8, 8))
    return Task(Recipe(8, 8, model=model, strength=strength, **changes), "p", "", seed, image)


def shade(pictures):
    (found,) = {picture.image.getpixel((0, 0))[0] for picture in pictures}
    return found


class Loads:
    """Loads painters and remembers how often, and which are alive."""

    def __init__(self, **mib):
        self.count, self.alive = [], weakref.WeakValueDictionary()
        self.all = [partial(self.load, name, 10 * (place + 1), mib[name]) for place, name in enumerate(mib)]

    def load(self, name, shade, mib):
        self.count.append(name)
        self.alive[name] = painter = Painter(name, shade, mib)
        return painter


def test_a_batch_runs_on_the_model_that_its_recipe_names_and_else_on_the_first():
    cache = ModelCache(Loads(one=1, two=1).all)
    asked = [task("two"), task("one"), task(""), task("two", strength=0.5)]
    assert [shade(cache.run([each])) for each in asked] == [
        20,
        10,
        10,
        20,
    ]
    assert [each.info.id for each in cache.descriptions] == ["one", "two"]


def test_the_model_that_was_used_least_recently_is_dropped_and_comes_back_when_it_is_asked_for():
    loads = Loads(one=4, two=4, three=3)
    cache = ModelCache(loads.all, 8 * MIB)
    gc.collect()
    assert sorted(loads.alive) == ["three", "two"]  # all were loaded once, the first had to go
    cache.run([task("two")])
    assert shade(cache.run([task("one")])) == 10
    gc.collect()
    assert sorted(loads.alive) == ["one", "two"]
    assert loads.count == ["one", "two", "three", "one"]
    assert cache.memory == 8 * MIB


@pytest.fixture
def unfrozen():
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("unfrozen")
def test_the_collector_passes_over_models_and_still_frees_those_that_are_dropped():
    loads = Loads(one=4, two=4)
    cache = ModelCache(loads.all, 4 * MIB, models._give_back)
    loads.alive["two"].itself = loads.alive["two"]  # as networks hold themselves
    gc.freeze()
    gc.collect()
    assert set(loads.alive) == {"two"}
    cache.run([task("one")])
    assert set(loads.alive) == {"one"}
    assert gc.get_freeze_count()


FAULTS = """
import resource, sys, threading
import torch
from pcevolve_shared.memory import keep_memory

def run():
    torch.set_num_threads(1)
    if sys.argv[1] == "kept":
        keep_memory()
    for turn in range(20):
        held = [torch.ones(2**18) for _ in range(20)]
        if not turn:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        del held
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)

thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallopt"), reason="glibc alone can be told to keep memory"
)
def test_a_run_finds_the_memory_of_the_one_before():
    pages = {
        how: int(subprocess.run([sys.executable, "-c", FAULTS, how], capture_output=True, check=True).stdout)
        for how in ("usual", "kept")
    }
    assert pages["kept"] < pages["usual"] / 4


def test_a_model_larger_than_the_bound_is_refused_at_the_start():
    with pytest.raises(
        ModelLoadError, match="the model two takes 9 MiB: raise --model-memory-mib, or leave the model out"
    ):
        ModelCache(Loads(one=1, two=9).all, 8 * MIB)


def test_a_model_that_cannot_be_loaded_again_fails_its_request_and_no_other():
    loads = Loads(one=1, two=1)
    cache = ModelCache(loads.all, MIB)

    def fail():
        raise ModelLoadError("SECRET place is gone")

    cache._loads["one"] = fail
    with pytest.raises(GenerationError, match="could not be loaded again") as caught:
        cache.run([task("one")])
    assert caught.value.code == "model_unavailable"
    assert "SECRET" not in str(caught.value)
    assert shade(cache.run([task("two")])) == 20


def test_a_device_that_fails_while_a_model_is_loaded_again_or_memory_given_back_is_lost():
    def fail(*_):
        try:
            raise AcceleratorError("CUDA error: unspecified launch failure")
        except AcceleratorError as error:
            raise ModelLoadError("cannot load the model one") from error

    for broken in ("load", "tidy"):
        cache = ModelCache(Loads(one=1, two=1).all, MIB)
        if broken == "load":
            cache._loads["one"] = fail
        else:
            cache._tidy = fail
        with pytest.raises(EngineLostError, match="the device failed"):
            cache.run([task("one")])


@pytest.mark.models
@pytest.mark.usefixtures("unfrozen")
def test_real_models_are_weighed_and_dropped_and_draw_the_same_again(zoo, tmp_path):
    from support.tiny_model import load

    alone = load(model=str(zoo("sd3")), device="cpu", threads=1)
    tiles = library(tmp_path / "tiles")
    names = [str(zoo("sd3")), str(zoo("sdxl")), f"library:{tiles}"]
    settings = ModelSettings(device="cpu", threads=1, library_cache=str(tmp_path / "cache"))
    each = settings.others(names)
    weights = sum(part.nbytes for part in alone.text_to_image.transformer.parameters())
    encodings = 2 * 64 * MIB
    assert weights < alone.memory - encodings < 8 * MIB
    cache = models.load_models(each, 0)
    assert [each.info.id for each in cache.descriptions] == ["sd3", "sdxl", "library:tiles"]
    bound = max(cache._bytes.values())
    tight = ModelCache([partial(models.load, one) for one in each], bound, models._give_back)
    asked = Task(Recipe(32, 32, steps=2, guidance=3.0, model="sd3"), "a cat", "", 5)
    expected = alone.create([asked])[0].image.tobytes()
    for name in ("sdxl", "library:tiles", "sd3", "sdxl", "sd3"):
        assert tight.memory <= bound
        recipe = Recipe(32, 32, steps=2, guidance=3.0, model=name)
        drawn = tight.run([Task(recipe, "a cat", "", 5)])[0].image.tobytes()
        if name == "sd3":
            assert drawn == expected
