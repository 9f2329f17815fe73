"""A library behind the API: draws by words, neighbours by nearness, and what it says of itself."""

import numpy as np
from PIL import Image

from pcevolve_server.library.generator import LibraryGenerator
from pcevolve_server.work import Recipe, Task
from pcevolve_shared import images, wire
from support.collections import library, pixels
from support.served import serve_app

PROMPT = "A painted tile image with red"


def ask(generator, seeds, prompt=PROMPT, image=None, strength=None, size=24, guidance=7.5):
    recipe = Recipe(size, size, guidance=guidance, strength=strength)
    tasks = [Task(recipe, prompt, "", seed, image) for seed in seeds]
    made = generator.create(tasks) if strength is None else generator.vary(tasks)
    return [picture.image for picture in made]


def same(one, other):
    return np.array_equal(np.asarray(one), np.asarray(other))


def distance(one, other):
    return float(np.abs(np.asarray(one, float) - np.asarray(other, float)).mean())


def test_the_same_seed_draws_the_same_image_whatever_else_is_asked(root, loaded):
    first, again = loaded(root), loaded(root)
    alone = [ask(first, [seed])[0] for seed in range(8)]
    together = ask(again, range(8))
    assert all(map(same, alone, together))


def test_strength_0_returns_the_image_that_was_posted(root, loaded):
    posted = ask(loaded(root), [3])[0]
    assert all(same(posted, each) for each in ask(loaded(root), range(4), image=posted, strength=0.0))


def test_strength_1_is_the_creation_of_that_seed(root, loaded):
    generator = loaded(root)
    posted = ask(generator, [3])[0]
    varied = ask(generator, range(8), image=posted, strength=1.0)
    assert all(map(same, varied, ask(generator, range(8))))


def test_neighbours_are_farther_for_larger_strengths_and_others_for_other_seeds(tmp_path, loaded):
    generator = loaded(library(tmp_path / "many", images=24))
    posted = Image.fromarray(pixels((200, 40, 40), 0))
    found = {s: ask(generator, range(32), image=posted, strength=s) for s in (0.2, 0.5, 0.8, 0.95)}
    means = [np.mean([distance(posted, image) for image in each]) for each in found.values()]
    assert means == sorted(means)
    assert min(distance(posted, image) for each in found.values() for image in each) > 0
    distinct = [len({image.tobytes() for image in each}) for each in found.values()]
    assert distinct == sorted(distinct)
    assert distinct[-1] > distinct[0]


def test_the_api_answers_as_it_does_for_any_model(root, loaded):
    with serve_app(loaded(root)) as client:
        ask_for = {"model": "library:tiles", "prompt": PROMPT, "seed": 5}
        answer = client.post(wire.TEXT_TO_IMAGE, json=ask_for | {"n": 3})
        made = wire.BatchResponse.model_validate_json(answer.content).images
        assert [each.seed for each in made] == [5, 6, 7]
        assert images.decode(images.from_base64(made[0].image)).size == (24, 24)
        body = ask_for | {"image": made[0].image, "strength": 0.0}
        assert client.post(wire.IMAGE_TO_IMAGE, json=body).json()["image"] == made[0].image
        facade = client.post(wire.OPENAI_GENERATIONS, json=ask_for | {"size": "32x16"})
        shown = images.from_base64(facade.json()["data"][0]["b64_json"])
        assert images.decode(shown).size == (32, 16)
        refused = client.post(wire.TEXT_TO_IMAGE, json=ask_for | {"scheduler": "ddim"})
        assert refused.status_code == 422


def test_as_many_of_the_nearest_are_looked_at_as_weigh_enough():
    asked = []

    class InOrder:
        def nearest(self, code, count, among):
            asked.append(count)
            return np.arange(count)

    drawing = LibraryGenerator(None, None, InOrder(), None)
    among = np.ones(1000, bool)
    assert len(drawing._rank(None, np.full(1000, 0.1), among, 20.0)) == 256
    assert len(drawing._rank(None, np.full(1000, 0.1), among, 50.0)) == 1000
    assert len(drawing._rank(None, np.full(1000, 0.01), among, 50.0)) == 1000
    assert asked == [64, 256, 100, 400, 1000, 100, 400, 1000]
