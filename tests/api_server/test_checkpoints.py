"""Models in the shapes in which people have them: one file, half precision alone, pickles; and words beside them."""

import shutil

import numpy as np
import pytest
import torch

from pcevolve_server import sources
from pcevolve_server.errors import ModelLoadError, SettingsError
from pcevolve_server.model_settings import Batching, Embedding, Lora, ModelSettings
from pcevolve_server.work import Recipe, Task
from support import single_file
from support.tiny_model import load, save_lora, tiny_pipeline

pytestmark = pytest.mark.models

PLAIN = {"device": "cpu", "threads": 1, "batching": Batching.MERGE}


def drawn(model, prompt="a cat", **settings):
    generator = load(model=str(model), **(PLAIN | settings))
    (picture,) = generator.create([Task(Recipe(32, 32, steps=3, guidance=3.0), prompt, "", 1)])
    return np.asarray(picture.image, dtype=int)


def apart(one, other):
    return np.abs(one - other).mean()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("whole") / "mine"


@pytest.fixture(scope="module")
def checkpoint(folder):
    """One file with all weights, and beside it a folder of its name with the configuration and no weights."""
    pipeline = tiny_pipeline()
    pipeline.save_pretrained(folder, safe_serialization=True)
    for weights in folder.rglob("*.safetensors"):
        weights.unlink()
    return single_file.save(pipeline, folder.with_suffix(".safetensors"))


@pytest.fixture
def named(tiny_model, tmp_path):
    """Return a copy of the model whose weights are called otherwise, those of some parts or of all."""

    def copy(suffix, *parts):
        copied = tmp_path / suffix.strip(".")
        shutil.copytree(tiny_model, copied)
        for weights in list(copied.rglob("*.safetensors")):
            if not parts or weights.parent.name in parts:
                weights.rename(weights.with_name(weights.name.replace(".safetensors", suffix)))
        return copied

    return copy


def test_one_file_draws_what_its_folder_draws_without_a_network(checkpoint, tiny_model):
    assert (drawn(checkpoint, offline=True) == drawn(tiny_model)).all()
    assert load(model=str(checkpoint), offline=True, **PLAIN).info.id == "mine"


def test_one_file_without_its_configuration_says_which_files_are_missing_and_where_they_go(
    checkpoint, tmp_path
):
    alone = shutil.copy(checkpoint, tmp_path / "style.safetensors")
    with pytest.raises(
        ModelLoadError,
        match=r"one file has no configuration.*hf download stable-diffusion-v1-5/.*beside style",
    ):
        drawn(alone, offline=True)


def test_one_file_takes_a_lora(checkpoint, tmp_path):
    lora = save_lora(tmp_path, tiny_pipeline())
    assert apart(drawn(checkpoint, loras=(Lora(str(lora)),)), drawn(checkpoint)) > 0.3


@pytest.mark.parametrize("offline", [True, False])
def test_a_lora_or_a_part_in_place_of_a_model_is_called_by_its_name(tmp_path, offline):
    from safetensors.torch import save_file

    lora = save_lora(tmp_path, tiny_pipeline(), name="style.safetensors")
    with pytest.raises(
        ModelLoadError, match=r"style.safetensors: it is a LoRA.*--model MODEL --lora .*style.safetensors"
    ):
        drawn(lora, offline=offline)
    save_file({"decoder.conv_in.weight": torch.zeros(1)}, tmp_path / "vae.safetensors")
    with pytest.raises(ModelLoadError, match=r"vae.safetensors: the file has no denoiser"):
        drawn(tmp_path / "vae.safetensors", offline=offline)


def test_one_file_without_the_text_encoder_is_refused_as_incomplete(folder, checkpoint, tmp_path):
    from safetensors.torch import load_file, save_file

    shutil.copytree(folder, tmp_path / "part")
    weights = {name: each for name, each in load_file(checkpoint).items() if "cond_stage" not in name}
    save_file(weights, tmp_path / "part.safetensors")
    with pytest.raises(ModelLoadError, match="the file has not all of the model's networks"):
        drawn(tmp_path / "part.safetensors")


@pytest.mark.parametrize("name", ["gone.safetensors", "models/gone.ckpt"])
def test_a_file_that_is_not_there_is_no_hub_id(name):
    with pytest.raises(ModelLoadError, match=f"there is no file {name}"):
        sources.check(ModelSettings(model=name, offline=True))


def test_a_pickled_file_is_refused_before_it_is_read(checkpoint, tmp_path):
    pickled = tmp_path / "old.ckpt"
    pickled.write_bytes(b"")
    with pytest.raises(ModelLoadError, match=r"old.ckpt: it is no .safetensors file.*--allow-pickle"):
        sources.check(ModelSettings(model=str(pickled)))
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ModelLoadError, match="is a file, and none with a model's weights"):
        sources.check(ModelSettings(model=str(tmp_path / "notes.txt")))


@pytest.mark.parametrize("parts", [(), ("unet", "vae")], ids=["all", "some"])
@pytest.mark.parametrize("variant", ["fp16", "ema"])
def test_weights_of_one_variant_alone_are_found(named, tiny_model, variant, parts):
    assert (drawn(named(f".{variant}.safetensors", *parts)) == drawn(tiny_model)).all()


def test_plain_weights_come_before_a_variant(tiny_model, tmp_path):
    both = tmp_path / "both"
    shutil.copytree(tiny_model, both)
    (both / "unet" / "diffusion_pytorch_model.fp16.safetensors").write_bytes(b"damaged")
    assert (drawn(both) == drawn(tiny_model)).all()


def test_pickled_networks_are_named_with_the_option_that_reads_them(tiny_model, tmp_path):
    pickled = tmp_path / "pickled"
    tiny_pipeline().save_pretrained(pickled, safe_serialization=False)
    (pickled / "vae" / "diffusion_pytorch_model.safetensors").touch()  # this one would be safe
    with pytest.raises(ModelLoadError, match=r"unet has pickled weights \(.bin\) alone.*--allow-pickle"):
        drawn(pickled)
    (pickled / "vae" / "diffusion_pytorch_model.safetensors").unlink()
    if list(pickled.rglob("model.safetensors")):  # transformers writes no pickles any more
        assert (drawn(pickled, allow_pickle=True) == drawn(tiny_model)).all()


def vectors(seed, count=1, dimension=32):
    return 3 * torch.randn(count, dimension, generator=torch.Generator().manual_seed(seed))


def saved(tensors, file):
    from safetensors.torch import save_file

    save_file(tensors, file)
    return str(file)


def test_a_word_means_what_its_file_says_whoever_wrote_it(tiny_model, tmp_path):
    plain = drawn(tiny_model, "a thing")
    diffusers = saved({"<thing>": vectors(1)}, tmp_path / "learned_embeds.safetensors")
    webui = saved({"emb_params": vectors(1)}, tmp_path / "thing.safetensors")
    by_file = drawn(tiny_model, "a <thing>", embeddings=(Embedding(diffusers),))
    assert apart(by_file, plain) > 0.3
    assert (drawn(tiny_model, "a thing", embeddings=(Embedding(webui),)) == by_file).all()
    assert (drawn(tiny_model, "a zebra", embeddings=(Embedding(webui, "zebra"),)) == by_file).all()


def test_a_word_of_several_vectors_counts_as_many_tokens(tiny_model, tmp_path):
    file = saved({"emb_params": vectors(1, count=20)}, tmp_path / "long.safetensors")
    generator = load(model=str(tiny_model), embeddings=(Embedding(file),), **PLAIN)
    recipe = Recipe(32, 32, steps=1, guidance=1.0)
    cut = [generator.create([Task(recipe, prompt, "", 1)])[0].cut_tokens for prompt in ("a long", "a")]
    assert cut == [20 + 1 + 2 - 16, 0]


def test_sdxl_has_a_vector_for_each_of_its_encoders(zoo, tmp_path):
    one = saved({"clip_l": vectors(1), "clip_g": vectors(2)}, tmp_path / "thing.safetensors")
    other = saved({"clip_l": vectors(1), "clip_g": vectors(3)}, tmp_path / "other.safetensors")
    made = [drawn(zoo("sdxl"), "thing", embeddings=(Embedding(each, "thing"),)) for each in (one, other)]
    assert apart(*made) > 0.1


@pytest.mark.parametrize(
    ("tensors", "reason"),
    [
        ({"emb_params": vectors(1, dimension=7)}, "incorrect shape"),
        ({"a": vectors(1), "b": vectors(1), "c": vectors(2)}, "has 3 tensors"),
    ],
)
def test_an_embedding_for_another_model_or_of_another_kind_is_refused(tiny_model, tmp_path, tensors, reason):
    file = saved({name: each.clone() for name, each in tensors.items()}, tmp_path / "thing.safetensors")
    with pytest.raises(ModelLoadError, match=f"cannot load the embedding .*{reason}"):
        drawn(tiny_model, embeddings=(Embedding(file),))


def test_a_pickled_embedding_is_read_only_if_allowed(tiny_model, tmp_path):
    file = tmp_path / "thing.pt"
    torch.save({"string_to_param": {"*": vectors(1)}, "name": "thing"}, file)
    with pytest.raises(ModelLoadError, match=r"no .safetensors file: it could run code; --allow-pickle"):
        drawn(tiny_model, embeddings=(Embedding(str(file)),))
    taught = drawn(tiny_model, "thing", embeddings=(Embedding(str(file)),), allow_pickle=True)
    assert apart(taught, drawn(tiny_model, "thing")) > 0.3


def test_a_model_that_takes_no_words_says_so(zoo, tmp_path):
    file = saved({"emb_params": vectors(1)}, tmp_path / "thing.safetensors")
    with pytest.raises(ModelLoadError, match="--embedding: StableDiffusion3Pipeline takes none"):
        drawn(zoo("sd3"), embeddings=(Embedding(file),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a/b", Embedding("a/b")), ("a/b=<x>", Embedding("a/b", "<x>"))],
)
def test_an_embedding_is_named_with_or_without_a_word(text, expected):
    assert Embedding.read(text) == expected


@pytest.mark.parametrize("text", ["", "=x", "a="])
def test_a_word_without_a_file_or_an_empty_one_is_refused(text):
    with pytest.raises(SettingsError, match=r"--embedding .*write SOURCE or SOURCE=WORD"):
        Embedding.read(text)
