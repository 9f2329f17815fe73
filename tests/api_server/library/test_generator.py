"""A library behind the API: draws by words, neighbours by nearness, and what it says of itself."""

import numpy as np
import pytest
from PIL import Image

from pcevolve_server.errors import ModelLoadError
from pcevolve_server.library.generator import covering
from pcevolve_server.settings import SafetyPolicy
from pcevolve_server.work import Recipe, Task
from pcevolve_shared import images, wire
from support.collections import library, pixels
from support.served import served

RECIPE = Recipe(24, 24)
PROMPT = "A painted tile image with red"


def ask(generator, seeds, prompt=PROMPT, image=None, strength=None, size=24, guidance=7.5):
    recipe = Recipe(size, size, guidance=guidance, strength=strength)
    tasks = [Task(recipe, prompt, "", seed, image) for seed in seeds]
    made = generator.create(tasks) if strength is None else generator.vary(tasks)
    return [picture.image for picture in made]


def same(one, other):
    return np.array_equal(np.asarray(one), np.asarray(other))


def hue(image):
    return ["red", "green", "blue"][int(np.asarray(image).mean((0, 1)).argmax())]


def distance(one, other):
    return float(np.abs(np.asarray(one, float) - np.asarray(other, float)).mean())


def test_a_prompt_draws_images_that_fit_it(root, loaded):
    drawn = ask(loaded(root), range(12))
    assert [hue(image) for image in drawn].count("red") >= 10
    own = [Image.fromarray(pixels((200, 40, 40), number)) for number in range(6)]
    assert sum(any(same(image, each) for each in own) for image in drawn) >= 10


def test_the_same_seed_draws_the_same_image_whatever_else_is_asked(root, loaded):
    first, again = loaded(root), loaded(root)
    alone = [ask(first, [seed])[0] for seed in range(8)]
    together = ask(again, range(8))
    assert all(map(same, alone, together))


def test_strength_0_returns_the_image_that_was_posted(root, loaded):
    posted = ask(loaded(root), [3])[0]
    assert all(same(posted, each) for each in ask(loaded(root), range(4), image=posted, strength=0.0))


def test_strength_1_ignores_the_image(root, loaded):
    generator = loaded(root)
    blue = Image.fromarray(pixels((40, 60, 200), 0))
    assert all(map(same, ask(generator, range(6)), ask(generator, range(6), image=blue, strength=1.0)))


def test_neighbours_are_farther_for_larger_strengths_and_others_for_other_seeds(tmp_path, loaded):
    generator = loaded(library(tmp_path / "many", images=24))
    posted = Image.fromarray(pixels((200, 40, 40), 0))
    found = {s: ask(generator, range(32), image=posted, strength=s) for s in (0.2, 0.5, 0.8, 0.95)}
    means = [np.mean([distance(posted, image) for image in each]) for each in found.values()]
    assert means == sorted(means)
    distinct = [len({image.tobytes() for image in each}) for each in found.values()]
    assert distinct == sorted(distinct)
    assert distinct[-1] > distinct[0]


def test_the_posted_image_is_not_its_own_variation(root, loaded):
    posted = Image.fromarray(pixels((200, 40, 40), 2))
    found = ask(loaded(root), range(16), image=posted, strength=0.5)
    assert not any(same(posted, each) for each in found)


def test_the_posted_image_is_known_again_at_the_size_that_it_was_sent_in(root, loaded):
    generator = loaded(root)
    small = ask(generator, [5], size=16)[0]
    assert same(small, ask(generator, [0], image=small, strength=0.0, size=16)[0])
    assert not any(same(small, each) for each in ask(generator, range(9), image=small, strength=0.6, size=16))


def test_neighbours_are_of_the_prompts_images(root, loaded):
    blue = Image.fromarray(pixels((40, 60, 200), 0))
    found = ask(loaded(root), range(12), image=blue, strength=0.7, guidance=50)
    assert {hue(image) for image in found} == {"red"}


def test_a_stranger_has_neighbours_too(root, loaded):
    stranger = Image.new("RGB", (24, 24), (45, 70, 190))
    assert hue(ask(loaded(root), [0], "x", image=stranger, strength=0.0)[0]) == "blue"


def test_a_library_of_one_image_gives_that_image(tmp_path, loaded):
    (tmp_path / "one").mkdir()
    Image.fromarray(pixels((9, 9, 9), 0)).save(tmp_path / "one" / "x.png")
    generator = loaded(tmp_path / "one")
    (only,) = ask(generator, [1])
    assert all(
        same(only, each) for s in (0.0, 0.5, 1.0) for each in ask(generator, [2], image=only, strength=s)
    )


@pytest.mark.parametrize("size", [(8, 8), (64, 64), (64, 16), (16, 64)])
def test_images_fill_the_asked_size_without_being_stretched(size):
    disc = Image.new("L", (96, 48))
    disc.paste(255, (36, 12, 60, 36))
    made = np.asarray(covering(disc.convert("RGB"), *size))[:, :, 0] > 127
    assert made.shape == size[::-1]
    if min(size) > 8:
        assert made.any(0).sum() == pytest.approx(min(made.any(1).sum(), size[0]), abs=2)


def test_the_api_answers_as_it_does_for_any_model(root, loaded):
    with served(loaded(root)) as client:
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


def test_it_says_that_its_images_are_real_and_under_which_licence(root, loaded):
    (root / "manifest.csv").write_text("file,licence\npainted tile/red/000.png,CC BY 4.0\n")
    (root / "NOTICE.txt").write_bytes(b"\x1b[31mred\x00" + "é".encode() + b"x" * 9000)
    with served(loaded(root)) as client:
        (info,) = wire.ModelList.model_validate_json(client.get(wire.MODELS).content).data
    assert (info.id, info.name, info.family) == ("library:tiles", "tiles", "library")
    assert (info.base_resolution.width, info.library.images) == (24, 18)
    assert [(each.name, each.images) for each in info.library.licences] == [("CC BY 4.0", 1)]
    licence, notice = info.library.licence_files
    assert (licence.name, licence.text) == ("LICENSE", "Painted tiles\nby nobody, CC0-1.0\n")
    assert notice.text.startswith("[31mredé" + "x" * 99)
    assert len(notice.text) == 4096


def test_a_model_that_generates_says_nothing_of_a_library(serve, fake):
    with serve(fake) as client:
        assert "library" not in client.get(wire.MODELS).json()["data"][0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"safety": SafetyPolicy.REQUIRED}, "no safety checker"),
        ({"adapter": "x"}, "leave them out for a library"),
        ({"scheduler": "ddim"}, "leave them out for a library"),
        ({"model": "library:/nowhere"}, "there is no directory /nowhere"),
        ({"model": "library:"}, "write library:DIR"),
    ],
)
def test_settings_for_another_kind_of_model_are_refused(root, loaded, changes, said):
    with pytest.raises(ModelLoadError, match=said):
        loaded(root, **changes)


def test_an_index_inside_the_library_is_refused(root, loaded):
    with pytest.raises(ModelLoadError, match="outside of it"):
        loaded(root, library_cache=str(root))
