"""A library whose prompts are read by a text-image model: the real code of open_clip, with random weights."""

import shutil

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from pcevolve_server import sources
from pcevolve_server.errors import GenerationError, ModelLoadError
from pcevolve_server.library import clip
from pcevolve_server.library.words import coded
from pcevolve_server.settings import ModelSettings
from pcevolve_server.work import Recipe, Task
from support.collections import COLOURS, pixels
from support.tiny_clip import tiny_clip

pytestmark = pytest.mark.models


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    return tiny_clip(tmp_path_factory.mktemp("clip") / "tiny")


def created(generator, prompt, seeds=range(200)):
    """Which images a prompt draws, as pixels."""
    recipe = Recipe(64, 64)
    drawn = generator.create([Task(recipe, prompt, "", seed) for seed in seeds])
    return [np.asarray(each.image).tobytes() for each in drawn]


def test_images_and_texts_are_embedded_as_open_clip_does(weights):
    network, prepare = open_clip.create_model_from_pretrained(f"local-dir:{weights}")
    model = clip.load(ModelSettings(library_clip=str(weights), device="cpu", threads=1))
    image = Image.fromarray(pixels(COLOURS["red"], 3, side=80))
    with torch.inference_mode():
        seen = network.eval().encode_image(prepare(image)[None], normalize=True)[0].numpy()
        tokens = open_clip.get_tokenizer(f"local-dir:{weights}")(["a red tile"])
        read = network.encode_text(tokens, normalize=True)[0].numpy()
    assert np.array_equal(model.embed(image), coded(seen))
    assert np.allclose(model.read("a red tile"), read, atol=1e-6)
    assert model.size == 24


def test_a_prompt_of_unknown_words_draws_what_the_model_finds_like_it(root, loaded, weights):
    words = loaded(root)
    seeing = loaded(root, library_clip=str(weights))
    model = clip.load(ModelSettings(library_clip=str(weights), device="cpu", threads=1))
    text = model.read("a scarlet square")
    codes = [model.embed(seeing.collection.read(place)) for place in range(18)]
    near = np.array(
        [(code.astype(float) - 128) @ text / np.linalg.norm(code.astype(float) - 128) for code in codes]
    )
    by_weight = np.argsort(seeing.fits("a scarlet square", "", 7.5))
    assert np.array_equal(by_weight[-3:], np.argsort(near)[-3:])
    assert len(set(created(words, "a scarlet square"))) == 18
    often = np.unique(created(seeing, "a scarlet square"), return_counts=True)[1]
    assert often.max() > 2 * 200 / 18


def test_the_same_request_gets_the_same_images_and_known_words_the_same_as_without_the_model(
    root, loaded, weights
):
    first, again = (loaded(root, library_clip=str(weights)) for _ in range(2))
    assert created(first, "a scarlet square") == created(again, "a scarlet square")
    assert created(first, "red painted tile") == created(loaded(root), "red painted tile")


def test_what_the_model_sees_is_indexed_once_and_of_other_weights_anew(
    root, loaded, weights, tmp_path, monkeypatch
):
    def embedded(folder):
        seen = []
        real = clip.Clip.embed
        monkeypatch.setattr(clip.Clip, "embed", lambda self, image: seen.append(image) or real(self, image))
        loaded(root, library_clip=str(folder))
        monkeypatch.undo()
        return len(seen)

    assert embedded(weights) == 18
    assert embedded(weights) == 0
    Image.fromarray(pixels((9, 9, 9), 1)).save(root / "new.png")
    assert embedded(weights) > 0
    assert embedded(tiny_clip(tmp_path / "other", seed=1)) == 19


def test_a_library_that_changes_between_its_two_indexes_is_not_served(root, loaded, weights, monkeypatch):
    real = clip.load

    def meddling(settings):
        path = next(root.rglob("*.png"))
        Image.fromarray(pixels((9, 9, 9), 1)).save(path)
        return real(settings)

    monkeypatch.setattr(clip, "load", meddling)
    with pytest.raises(ModelLoadError, match="the library was changed while it was indexed: start again"):
        loaded(root, library_clip=str(weights))


def test_offline_a_model_that_was_not_fetched_is_missed_before_any_library_is_imported(root):
    settings = ModelSettings(model=f"library:{root}", library_clip="nobody-at-all/no-clip", offline=True)
    with pytest.raises(
        ModelLoadError,
        match=r"text-image model nobody-at-all/no-clip: .*`hf download nobody-at-all/no-clip --local-dir",
    ):
        sources.check(settings)


def test_without_open_clip_the_option_says_what_to_install(root, monkeypatch):
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    with pytest.raises(ModelLoadError, match=r"pip install 'pcevolve-server\[clip\]'"):
        sources.check(ModelSettings(model=f"library:{root}", library_clip="laion/any"))


def test_a_directory_without_a_model_and_pickled_weights_are_refused(root, loaded, weights, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        ModelLoadError, match=r"cannot load the text-image model .*no weights \*\.safetensors"
    ):
        loaded(root, library_clip=str(tmp_path / "empty"))
    pickled = shutil.copytree(weights, tmp_path / "pickled")
    network, _ = open_clip.create_model_from_pretrained(f"local-dir:{weights}")
    (pickled / "open_clip_model.safetensors").unlink()
    torch.save(network.state_dict(), pickled / "open_clip_pytorch_model.bin")
    with pytest.raises(ModelLoadError, match=r"no weights \*\.safetensors"):
        loaded(root, library_clip=str(pickled))
    allowed = loaded(root, library_clip=str(pickled), allow_pickle=True)
    assert allowed.memory > loaded(root).memory


def test_pickled_weights_are_not_read_beside_others_unless_they_may_be(weights, tmp_path):
    both = shutil.copytree(weights, tmp_path / "both")
    (both / "open_clip_model.safetensors").rename(both / "model.safetensors")
    other = load_file(tiny_clip(tmp_path / "other", seed=1) / "open_clip_model.safetensors")
    torch.save(other, both / "open_clip_pytorch_model.bin")

    def read(folder, **options):
        settings = ModelSettings(library_clip=str(folder), device="cpu", threads=1, **options)
        return clip.load(settings).read("a red tile")

    assert np.array_equal(read(both), read(weights))
    assert np.array_equal(read(both, allow_pickle=True), read(tmp_path / "other"))


def test_an_index_is_named_after_the_weights_that_were_loaded(weights, tmp_path):
    both = shutil.copytree(weights, tmp_path / "both")
    other = tiny_clip(tmp_path / "other", seed=1)
    shutil.copy(other / "open_clip_model.safetensors", both / "model.safetensors")
    alone, beside, another = (
        clip.load(ModelSettings(library_clip=str(folder), device="cpu", threads=1))
        for folder in (weights, both, other)
    )
    assert beside.name == alone.name != another.name
    assert np.array_equal(beside.read("a red tile"), alone.read("a red tile"))


def test_weights_of_another_network_are_refused(root, loaded, weights, tmp_path):
    other = shutil.copytree(weights, tmp_path / "other")
    config = other / "open_clip_config.json"
    config.write_text(config.read_text().replace('"embed_dim": 24', '"embed_dim": 32'))
    with pytest.raises(ModelLoadError, match="cannot load the text-image model"):
        loaded(root, library_clip=str(other))


def test_a_model_that_computes_no_numbers_is_not_served(root, loaded, weights, tmp_path):
    broken = shutil.copytree(weights, tmp_path / "broken")
    state = load_file(broken / "open_clip_model.safetensors")
    save_file(
        {name: each * float("nan") for name, each in state.items()}, broken / "open_clip_model.safetensors"
    )
    with pytest.raises(GenerationError, match="the text-image model computed no numbers"):
        loaded(root, library_clip=str(broken))
