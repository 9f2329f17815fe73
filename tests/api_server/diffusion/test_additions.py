"""Additions to a model: LoRAs, words by textual inversion, an IP-Adapter; tiny, random, as their makers save them."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from pcevolve_server.diffusion import additions
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import Batching, Embedding, Lora, ModelSettings, Precision
from pcevolve_server.work import Recipe
from support.drawing import apart, noise_image, pixels, tasks
from support.model_zoo import ZOO
from support.tiny_model import load, save_adapter, save_lora, tiny_pipeline

pytestmark = pytest.mark.models

PLAIN = {"device": "cpu", "threads": 1, "batching": Batching.MERGE, "precision": Precision.FLOAT32}
RECIPE = Recipe(width=32, height=32, steps=3, guidance=3.0)


def draw(model, prompt="a cat", **settings):
    """Pixels of two images."""
    generator = load(model=str(model), **(PLAIN | settings))
    return pixels(generator.create(tasks(RECIPE, 1, 2, prompt=prompt)))


@pytest.fixture(scope="session")
def lora(tmp_path_factory):
    """Return the file of one LoRA, or another, for a kind of model."""

    def saved(kind="sd15", seed=0):
        pipeline = tiny_pipeline() if kind == "sd15" else ZOO[kind]()
        return str(save_lora(tmp_path_factory.mktemp("lora") / kind, pipeline, seed))

    return saved


def test_two_loras_add_up_in_any_order_and_one_taken_away_again_is_none(tiny_model, lora):
    first, second = (lora(seed=seed) for seed in (1, 2))
    both = draw(tiny_model, loras=(Lora(first), Lora(second)))
    assert min(apart(both, draw(tiny_model, loras=(Lora(each),))) for each in (first, second)) > 0.3
    assert np.abs(both - draw(tiny_model, loras=(Lora(second), Lora(first)))).max() <= 1
    assert np.abs(draw(tiny_model, loras=(Lora(first), Lora(first, -1.0))) - draw(tiny_model)).max() <= 1


@pytest.mark.parametrize(
    ("of", "reason"),
    [
        ("sdxl", "cannot load the LoRA .*size mismatch"),
        ("flux-dev", "LoRA .* does not fit .*tiny: .*no weights"),
    ],
)
def test_a_lora_for_another_model_is_refused(tiny_model, lora, of, reason):
    with pytest.raises(ModelLoadError, match=reason):
        draw(tiny_model, loras=(Lora(lora(of)),))


def test_a_lora_most_of_whose_layers_the_model_has_not_is_refused(tiny_model, lora, tmp_path):
    """As one of a larger model of the same family, of which a part would be added and the rest left out."""
    weights = load_file(lora())
    layer = "unet.down_blocks.1.attentions.0.transformer_blocks.{}.attn1.to_q.lora_{}.weight"
    shapes = {"A": (2, 16), "B": (16, 2)}
    absent = {layer.format(k, end): torch.zeros(shape) for k in range(1, 40) for end, shape in shapes.items()}
    larger = saved(weights | absent, tmp_path / "larger.safetensors")
    with pytest.raises(
        ModelLoadError, match=r"does not fit .*: the model has 16 of the 55 layers that the LoRA changes"
    ):
        draw(tiny_model, loras=(Lora(larger),))
    foreign = saved(absent, tmp_path / "foreign.safetensors")
    with pytest.raises(ModelLoadError, match=r"cannot load the LoRA .*Target modules"):
        draw(tiny_model, loras=(Lora(foreign),))


LOHA = {f"hada_w{one}_{end}": torch.zeros(2, 2) for one in (1, 2) for end in "ab"}
DORA = {
    "lora_down.weight": torch.ones(2, 16),
    "lora_up.weight": torch.ones(16, 2),
    "dora_scale": torch.ones(16, 1),
}


@pytest.mark.parametrize(
    ("weights", "reason"), [(LOHA, "LoRA"), (DORA, "is a DoRA.*convert it")], ids=["LoHa", "DoRA"]
)
def test_what_is_like_a_lora_and_is_read_in_part_is_refused(tiny_model, tmp_path, weights, reason):
    layer = "lora_unet_down_blocks_1_attentions_0_transformer_blocks_0_attn1_to_q"
    file = saved({f"{layer}.{name}": each for name, each in weights.items()}, tmp_path / "mine.safetensors")
    with pytest.raises(ModelLoadError, match=reason):
        draw(tiny_model, loras=(Lora(file),))


def test_pickled_loras_are_read_only_if_allowed(tiny_model, lora, tmp_path):
    file, pickled = lora(), tmp_path / "style.bin"
    torch.save(load_file(file), pickled)
    with pytest.raises(ModelLoadError, match=r"is not a \.safetensors file, .*--allow-pickle"):
        draw(tiny_model, loras=(Lora(str(pickled)),))
    with pytest.raises(ModelLoadError, match=r"needs one \.safetensors file, and has none"):
        draw(tiny_model, loras=(Lora(str(tmp_path)),))
    allowed = draw(tiny_model, loras=(Lora(str(pickled)),), allow_pickle=True)
    assert (allowed == draw(tiny_model, loras=(Lora(file),))).all()


def vectors(seed, count=1, dimension=32):
    return 3 * torch.randn(count, dimension, generator=torch.Generator().manual_seed(seed))


def saved(tensors, file):
    save_file(tensors, file)
    return str(file)


def test_a_word_means_what_its_file_says_whoever_wrote_it(tiny_model, tmp_path):
    plain = draw(tiny_model, "a thing")
    diffusers = saved({"<thing>": vectors(1)}, tmp_path / "learned_embeds.safetensors")
    webui = saved({"emb_params": vectors(1)}, tmp_path / "thing.safetensors")
    by_file = draw(tiny_model, "a <thing>", embeddings=(Embedding(diffusers),))
    assert apart(by_file, plain) > 0.3
    assert (draw(tiny_model, "a thing", embeddings=(Embedding(webui),)) == by_file).all()
    assert (draw(tiny_model, "a zebra", embeddings=(Embedding(webui, "zebra"),)) == by_file).all()


def test_a_word_of_several_vectors_counts_as_many_tokens(tiny_model, tmp_path):
    file = saved({"emb_params": vectors(1, count=20)}, tmp_path / "long.safetensors")
    generator = load(model=str(tiny_model), embeddings=(Embedding(file),), **PLAIN)
    cut = [
        generator.create(tasks(RECIPE, 1, prompt=prompt, steps=1))[0].cut_tokens for prompt in ("a long", "a")
    ]
    assert cut == [20 + 1 + 2 - 16, 0]


def test_words_of_several_vectors_are_whole_in_any_case_and_within_each_other(tiny_model, tmp_path):
    files = [saved({"emb_params": vectors(n, count=3)}, tmp_path / f"{n}.safetensors") for n in (1, 2, 3)]
    words = [Embedding(file, word) for file, word in zip(files, ("Bad", "badx", "zed"), strict=True)]
    plain = draw(tiny_model, "zed badx", embeddings=words)
    assert apart(plain, draw(tiny_model, "ZED BadX", embeddings=words)) == 0
    assert draw(tiny_model, "a \u017fized zed", embeddings=[*words, Embedding(files[0], "sized")]).any()
    assert apart(plain, draw(tiny_model, "zed bad", embeddings=words)) > 0.3
    renamed = [Embedding(files[1], "other"), words[2]]
    assert apart(plain, draw(tiny_model, "zed other", embeddings=renamed)) == 0
    single = [saved({"emb_params": vectors(n)}, tmp_path / f"one-{n}.safetensors") for n in (4, 5)]
    one, numbered = map(Embedding, single, ("thing", "thing_1"))
    alone = draw(tiny_model, "a thing", embeddings=(one,))
    assert apart(alone, draw(tiny_model, "a thing", embeddings=(one, numbered))) == 0


def test_sdxl_has_a_vector_for_each_of_its_encoders(zoo, tmp_path):
    one = saved({"clip_l": vectors(1), "clip_g": vectors(2)}, tmp_path / "thing.safetensors")
    other = saved({"clip_l": vectors(1), "clip_g": vectors(3)}, tmp_path / "other.safetensors")
    made = [draw(zoo("sdxl"), "thing", embeddings=(Embedding(each, "thing"),)) for each in (one, other)]
    assert apart(*made) > 0.1


@pytest.mark.parametrize(
    ("tensors", "reason"),
    [
        ({"emb_params": vectors(1, dimension=7)}, "shape|size"),
        ({"clip_l": vectors(1), "clip_g": vectors(2)}, r"2 text encoder\(s\), but the model has 1.*SDXL"),
        ({"emb_params": vectors(1) * float("nan")}, "hold NaN or infinite values"),
        ({"a": vectors(1), "b": vectors(1), "c": vectors(2)}, "has 3 tensors"),
    ],
)
def test_an_embedding_for_another_model_or_of_another_kind_is_refused(tiny_model, tmp_path, tensors, reason):
    file = saved({name: each.clone() for name, each in tensors.items()}, tmp_path / "thing.safetensors")
    with pytest.raises(ModelLoadError, match=f"cannot load the embedding .*{reason}"):
        draw(tiny_model, embeddings=(Embedding(file),))


def test_an_embedding_that_one_of_two_encoders_would_not_read_is_refused(zoo, tmp_path):
    file = saved({"emb_params": vectors(1)}, tmp_path / "thing.safetensors")
    with pytest.raises(ModelLoadError, match=r"vectors for 1 text encoder\(s\), but the model has 2"):
        draw(zoo("sdxl"), embeddings=(Embedding(file, "zebra"),))


def test_a_pickled_embedding_is_read_only_if_allowed(tiny_model, tmp_path):
    file = tmp_path / "thing.pt"
    torch.save({"string_to_param": {"*": vectors(1)}, "name": "thing"}, file)
    with pytest.raises(
        ModelLoadError, match=r"not a \.safetensors file, so loading it could run code: .*--allow-pickle"
    ):
        draw(tiny_model, embeddings=(Embedding(str(file)),))
    taught = draw(tiny_model, "thing", embeddings=(Embedding(str(file)),), allow_pickle=True)
    assert apart(taught, draw(tiny_model, "thing")) > 0.3


def test_a_model_that_takes_no_words_says_so(zoo, tmp_path):
    file = saved({"emb_params": vectors(1)}, tmp_path / "thing.safetensors")
    with pytest.raises(ModelLoadError, match="StableDiffusion3Pipeline does not support textual inversions"):
        draw(zoo("sd3"), embeddings=(Embedding(file),))


@pytest.fixture(scope="module")
def adapted(tiny_model, generator, tmp_path_factory):
    """A model with an IP-Adapter in the layout of the authors' releases."""
    file = save_adapter(tmp_path_factory.mktemp("adapter"), generator.text_to_image.unet)
    return load(model=str(tiny_model), adapter=str(file), threads=1)


def test_an_adapter_for_another_model_or_without_its_encoder_is_refused(zoo, tmp_path):
    file = save_adapter(tmp_path / "one", tiny_pipeline().unet)
    with pytest.raises(ModelLoadError, match=r"cannot load the IP-Adapter .*expected shape"):
        draw(zoo("sdxl"), adapter=str(file))
    (tmp_path / "two").mkdir()
    alone = file.rename(tmp_path / "two" / file.name)
    with pytest.raises(ModelLoadError, match=r"cannot load the IP-Adapter .*needs its folder image_encoder"):
        draw(zoo("sd15"), adapter=str(alone))


def test_an_adapter_beside_an_encoder_that_lacks_weights_is_refused_and_not_filled_by_chance(zoo, tmp_path):
    file = save_adapter(tmp_path, tiny_pipeline().unet)
    encoder = tmp_path / "image_encoder" / "model.safetensors"
    weights = {name: each for name, each in load_file(encoder).items() if "visual_projection" not in name}
    save_file(weights, encoder, metadata={"format": "pt"})
    with pytest.raises(ModelLoadError, match="its image_encoder has no weights for visual_projection"):
        draw(zoo("sd15"), adapter=str(file))


def test_an_adapter_is_found_in_its_folder_and_read_from_a_pickle_only_if_allowed(zoo, tmp_path):
    file = save_adapter(tmp_path / "mine", tiny_pipeline().unet)
    plain = load(model=str(zoo("sd15")), adapter=str(file.parent), **PLAIN)
    parts = {"image_proj": {}, "ip_adapter": {}}
    for name, each in load_file(file).items():
        parts[name.partition(".")[0]][name.partition(".")[2]] = each
    torch.save(parts, pickled := file.with_suffix(".bin"))
    with pytest.raises(ModelLoadError, match=r"IP-Adapter \S+ is not a \.safetensors file, .*--allow-pickle"):
        draw(zoo("sd15"), adapter=str(pickled))
    allowed = load(model=str(zoo("sd15")), adapter=str(pickled), allow_pickle=True, **PLAIN)
    assert (vary(allowed, 1, adapter_scale=1.0) == vary(plain, 1, adapter_scale=1.0)).all()
    encoder = file.parent / "image_encoder" / "model.safetensors"
    torch.save(load_file(encoder), encoder.with_name("pytorch_model.bin"))
    encoder.unlink()
    with pytest.raises(ModelLoadError, match=r"no file named model\.safetensors"):
        draw(zoo("sd15"), adapter=str(file))


def vary(generator, *images, **changes):
    changes = {"steps": 4, "guidance": 7.5, "strength": 0.8} | changes
    asked = [tasks(RECIPE, 3, prompt="cat", image=noise_image(image), **changes)[0] for image in images]
    return pixels(generator.vary(asked))


def test_a_scale_of_zero_is_no_adapter_and_a_larger_one_tells(adapted):
    none, zero, one = (vary(adapted, 1, adapter_scale=scale)[0] for scale in (None, 0.0, 1.0))
    assert np.abs(none - zero).max() <= 1
    assert apart(one, zero) > 0.5


def test_at_full_strength_only_the_adapter_sees_the_image(adapted):
    through, past = (vary(adapted, 1, 2, strength=1.0, adapter_scale=scale) for scale in (1.0, None))
    assert (through[0] != through[1]).any()
    assert np.abs(past[0] - past[1]).max() <= 1


@pytest.mark.parametrize("guidance", [0.0, 7.5])
def test_each_image_of_a_batch_conditions_its_own(adapted, guidance):
    together = vary(adapted, 1, 2, adapter_scale=1.0, guidance=guidance)
    for image, expected in zip((1, 2), together, strict=True):
        alone = vary(adapted, image, adapter_scale=1.0, guidance=guidance)[0]
        assert np.abs(alone - expected).max() <= 1


@pytest.mark.parametrize(
    ("folders", "xl", "found"),
    [
        ((), False, ("", "mine.safetensors")),
        (("models",), True, ("", "mine.safetensors")),
        (("models",), False, ("models", "ip-adapter_sd15.safetensors")),
        (("models", "sdxl_models"), True, ("sdxl_models", "ip-adapter_sdxl.safetensors")),
    ],
)
def test_an_adapter_is_found_in_a_folder_of_its_own_and_in_its_authors_layout(tmp_path, folders, xl, found):
    (tmp_path / "mine.safetensors").touch()
    for each in folders:
        (tmp_path / each).mkdir()
    assert additions._place(ModelSettings(adapter=str(tmp_path)), xl) == (str(tmp_path), *found)
