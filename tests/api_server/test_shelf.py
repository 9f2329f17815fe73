"""Several models in one server: who is asked, who is in memory, and what is told about it."""

import asyncio
import base64
import gc
import io
import os
import signal
import weakref
from functools import partial

import pytest
from PIL import Image

from pcevolve_server import models, sources
from pcevolve_server.engines import choice, processes, thread
from pcevolve_server.errors import GenerationError, ModelLoadError, SettingsError
from pcevolve_server.metrics import Metrics
from pcevolve_server.models import Shelf
from pcevolve_server.queue.batcher import Batcher
from pcevolve_server.settings import ModelSettings, Settings
from pcevolve_server.work import Recipe, Task
from pcevolve_shared import wire
from support.collections import library
from support.shelves import MIB, Painter, two_that_do_not_fit_together

TEXT = wire.TEXT_TO_IMAGE


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
    shelf = Shelf(Loads(one=1, two=1).all)
    asked = [task("two"), task("one"), task(""), task("two", strength=0.5)]
    assert [shade(shelf.run([each])) for each in asked] == [
        20,
        10,
        10,
        20,
    ]
    assert [offer.info.id for offer in shelf.offers] == ["one", "two"]


def test_without_a_bound_all_stay_and_are_loaded_once():
    loads = Loads(one=500, two=500)
    shelf = Shelf(loads.all)
    for name in ("one", "two", "one"):
        shelf.run([task(name)])
    assert loads.count == ["one", "two"]
    assert shelf.memory == 1000 * MIB
    assert not shelf.traffic.evictions


def test_the_model_that_was_used_least_recently_is_dropped_and_comes_back_when_it_is_asked_for():
    loads = Loads(one=4, two=4, three=3)
    shelf = Shelf(loads.all, 8 * MIB)
    gc.collect()
    assert sorted(loads.alive) == ["three", "two"]  # all were loaded once, the first had to go
    shelf.run([task("two")])
    assert shade(shelf.run([task("one")])) == 10
    gc.collect()
    assert sorted(loads.alive) == ["one", "two"]
    assert loads.count == ["one", "two", "three", "one"]
    assert shelf.traffic.loads == {"one": 2, "two": 1, "three": 1}
    assert shelf.traffic.evictions == {"one": 1, "three": 1}
    assert shelf.memory == 8 * MIB


def test_as_many_go_as_the_next_one_needs_before_it_comes():
    loads = Loads(large=6, one=2, two=2)
    shelf = Shelf(loads.all, 6 * MIB)
    held_while_loading = []
    shelf._loads["large"] = lambda: held_while_loading.append(shelf.memory) or Painter("large", 1, 6)
    shelf.run([task("large")])
    assert held_while_loading == [0]
    assert shelf.traffic.evictions == {"large": 1, "one": 1, "two": 1}


def test_a_model_larger_than_the_bound_is_refused_at_the_start():
    with pytest.raises(
        ModelLoadError, match="the model two takes 9 MiB: raise --model-memory-mib or leave it out"
    ):
        Shelf(Loads(one=1, two=9).all, 8 * MIB)


def test_a_model_that_cannot_be_loaded_again_fails_its_request_and_no_other():
    loads = Loads(one=1, two=1)
    shelf = Shelf(loads.all, MIB)

    def gone():
        raise ModelLoadError("SECRET place is gone")

    shelf._loads["one"] = gone
    with pytest.raises(GenerationError, match="could not be loaded again") as caught:
        shelf.run([task("one")])
    assert caught.value.code == "model_unavailable"
    assert "SECRET" not in str(caught.value)
    assert shade(shelf.run([task("two")])) == 20


def test_two_models_of_one_name_are_refused_before_anything_is_loaded(tmp_path):
    folders = [tmp_path / "a" / "same", tmp_path / "b" / "same"]
    for folder in folders:
        folder.mkdir(parents=True)
    first, second = (ModelSettings(model=str(folder)) for folder in folders)
    with pytest.raises(SettingsError, match="2 models would be called same: leave one out, or rename"):
        choice.opening(Settings(model=first, others=(second,)), lambda: False)
    sources.check_names([ModelSettings(model=str(folders[0]), model_id="mine"), second])


def test_what_belongs_to_the_first_model_is_not_for_the_others():
    first = ModelSettings(model="a", model_id="mine", adapter="ip", scheduler="lcm", threads=3, compiled=True)
    (other,) = first.others(["b"])
    assert other == ModelSettings(model="b", threads=3)


def images_of(answer):
    assert answer.status_code == 200, answer.text
    return Image.open(io.BytesIO(base64.b64decode(answer.json()["image"])))


@pytest.fixture
def shelved(serve):
    """A client of a server of three models, of which two fit into memory."""
    loads = [
        partial(Painter, "maker/one", 10),
        partial(Painter, "two", 20, size=16),
        partial(Painter, "other/three", 30),
    ]
    with serve(Shelf(loads, 2 * MIB)) as client:
        yield client


def test_a_request_chooses_its_model_by_id_or_name_and_gets_its_sizes(shelved):
    ask = {"prompt": "p", "seed": 1}
    drawn = [
        images_of(shelved.post(TEXT, json=ask | named))
        for named in ({}, {"model": "two"}, {"model": "three"})
    ]
    assert [(image.getpixel((0, 0))[0], image.size) for image in drawn] == [
        (10, (8, 8)),
        (20, (16, 16)),
        (30, (8, 8)),
    ]
    refused = shelved.post(TEXT, json=ask | {"model": "two", "width": 72, "height": 72})
    assert (refused.status_code, "multiples of 16" in refused.text) == (422, True)


def test_all_models_are_listed_with_what_each_is_best_asked_with(shelved):
    listed = shelved.get(wire.MODELS).json()["data"]
    assert [(each["id"], each["recommended"]["steps"]) for each in listed] == [
        ("maker/one", 10),
        ("two", 20),
        ("other/three", 30),
    ]
    assert shelved.get(f"{wire.MODELS}/three").json() == listed[2]


def test_an_unknown_model_is_not_found_and_the_known_ones_are_named(shelved):
    for answer in (
        shelved.post(TEXT, json={"prompt": "p", "model": "four"}),
        shelved.get(f"{wire.MODELS}/four"),
    ):
        assert answer.status_code == 404
        assert "this server has maker/one, two, other/three" in answer.json()["error"]["message"]


def test_a_name_that_two_models_share_is_no_name(serve):
    with serve(Shelf([partial(Painter, "a/same", 1), partial(Painter, "b/same", 2)])) as client:
        assert client.post(TEXT, json={"prompt": "p", "model": "same"}).status_code == 404
        assert images_of(client.post(TEXT, json={"prompt": "p", "model": "b/same"})).getpixel((0, 0))[0] == 2


def test_metrics_tell_how_often_each_model_came_and_went(shelved):
    for name in ("maker/one", "two", "other/three"):
        images_of(shelved.post(TEXT, json={"prompt": "p", "model": name}))
    told = shelved.get(wire.METRICS).text
    assert 'pcevolve_model_loads_total{model="maker/one"} 2.0' in told
    assert 'pcevolve_model_evictions_total{model="two"} 1.0' in told


def test_a_model_in_a_process_of_its_own_tells_as_much():
    async def scenario():
        engine = await processes.opening(two_that_do_not_fit_together, 1)()
        try:
            shades = [shade(await engine.run([task(name)])) for name in ("one", "two", "one")]
            return shades, [offer.info.id for offer in engine.offers], engine.traffic
        finally:
            await engine.close()

    shades, names, traffic = asyncio.run(scenario())
    assert shades == [10, 20, 10]
    assert names == ["one", "two"]
    assert traffic.loads == {"one": 3, "two": 2}
    assert traffic.evictions == {"one": 2, "two": 2}


def test_what_a_process_that_died_had_loaded_is_still_counted():
    async def scenario():
        engine = await processes.opening(two_that_do_not_fit_together, 1)()
        try:
            (pid,) = engine.pids
            os.kill(pid, signal.SIGKILL)
            return shade(await engine.run([task("two")])), engine.traffic
        finally:
            await engine.close()

    drawn, traffic = asyncio.run(scenario())
    assert drawn == 20
    assert traffic.loads == {"one": 2, "two": 2}


def test_batches_of_different_models_never_mix_and_each_has_its_own_size():
    one, two = Painter("one", 10, companions=4), Painter("two", 20, companions=1)

    async def scenario():
        engine = await thread.opening(partial(Shelf, [lambda: one, lambda: two]))()
        batcher = Batcher(engine, Metrics(), Settings(max_batch=2))
        asked = [
            batcher.submit([task(name, seed) for seed in seeds])
            for name, seeds in (("one", (1, 2, 3)), ("two", (4, 5, 6)), ("one", (7,)))
        ]
        answers = await asyncio.gather(*asked)
        await batcher.close()
        await engine.close()
        return [shade(answer) for answer in answers]

    assert asyncio.run(scenario()) == [10, 20, 10]
    assert one.batches == [[1, 2, 3, 7]]
    assert two.batches == [[4, 5], [6]]


@pytest.mark.models
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
    shelf = models.shelve(each, 0)
    assert [offer.info.id for offer in shelf.offers] == ["sd3", "sdxl", "library:tiles"]
    bound = max(shelf._bytes.values())
    tight = Shelf([partial(models.load, one) for one in each], bound, models._give_back)
    asked = Task(Recipe(32, 32, steps=2, guidance=3.0, model="sd3"), "a cat", "", 5)
    expected = alone.create([asked])[0].image.tobytes()
    for name in ("sdxl", "library:tiles", "sd3", "sdxl", "sd3"):
        assert tight.memory <= bound
        recipe = Recipe(32, 32, steps=2, guidance=3.0, model=name)
        drawn = tight.run([Task(recipe, "a cat", "", 5)])[0].image.tobytes()
        if name == "sd3":
            assert drawn == expected
    assert tight.traffic.evictions["sd3"] >= 2


@pytest.mark.models
def test_a_dropped_model_leaves_no_network_behind(zoo):
    import torch

    shelf = models.shelve(ModelSettings(device="cpu", threads=1).others([str(zoo("sd21")), str(zoo("lcm"))]))
    held = weakref.ref(shelf._held["sd21"].text_to_image.unet)
    assert isinstance(held(), torch.nn.Module)
    shelf._most = shelf.memory
    shelf._drop_for(1)
    assert list(shelf._held) == ["lcm"]
    assert held() is None


@pytest.mark.models
def test_a_small_model_does_not_leave_others_with_its_one_thread(zoo, monkeypatch):
    import torch

    asked = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    models.shelve(ModelSettings(device="cpu").others([str(zoo("sd21")), str(zoo("sd3"))]))
    assert asked == [7, 7]
