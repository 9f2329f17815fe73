"""A denoiser's precision, which the rest of the pipeline does not notice."""

import pytest
import torch
from PIL import Image

from pcevolve_server.diffusion import numerics, pipeline_loading, traits
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import (
    ModelSettings,
    Offload,
    Precision,
)
from pcevolve_server.work import Recipe
from support.drawing import apart, pixels, tasks
from support.tiny_model import load, tiny_pipeline

pytestmark = pytest.mark.models


@pytest.mark.parametrize(
    ("kind", "able", "wanted", "expected"),
    [
        ("FluxPipeline", True, Precision.AUTO, torch.bfloat16),
        ("StableDiffusion3Pipeline", True, Precision.AUTO, torch.bfloat16),
        ("StableDiffusion3Pipeline", False, Precision.AUTO, torch.float16),
        ("StableDiffusion3Pipeline", True, Precision.FLOAT32, torch.float32),
        ("StableDiffusionXLPipeline", True, Precision.AUTO, torch.float16),
    ],
)
def test_on_a_gpu_transformers_compute_in_bfloat16_where_it_has_it(monkeypatch, kind, able, wanted, expected):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: able)
    part = "unet" if "XL" in kind else "transformer"
    source = pipeline_loading.Source("anywhere", None, {"_class_name": kind, part: ["diffusers", "Any"]})
    found = pipeline_loading._dtype(source, ModelSettings(precision=wanted), torch.device("cuda"))
    assert found == expected


@pytest.mark.parametrize(
    ("offload", "free_gib", "offloaded"),
    [(Offload.AUTO, 0, True), (Offload.AUTO, 40, False), (Offload.ON, 40, True), (Offload.OFF, 0, False)],
)
def test_networks_visit_the_gpu_where_they_do_not_fit_together(
    tiny_model, monkeypatch, offload, free_gib, offloaded
):
    done = []
    pipeline = tiny_pipeline()
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free_gib * 2**30, 80 * 2**30))
    monkeypatch.setattr(pipeline, "to", lambda device: done.append("moved"))
    monkeypatch.setattr(pipeline, "enable_model_cpu_offload", lambda device: done.append("offloaded"))
    pipeline_loading.place(pipeline, ModelSettings(offload=offload), torch.device("cuda"))
    assert done == ["offloaded" if offloaded else "moved"]


def test_networks_that_do_not_fit_name_the_option_that_needs_less(monkeypatch):
    def fails(device):
        raise torch.OutOfMemoryError("CUDA out of memory")

    pipeline = tiny_pipeline()
    monkeypatch.setattr(pipeline, "to", fails)
    with pytest.raises(ModelLoadError, match="cuda has too little memory: try --offload on"):
        pipeline_loading.place(pipeline, ModelSettings(offload=Offload.OFF), torch.device("cuda"))


def test_offload_is_for_gpus(tiny_model):
    with pytest.raises(ModelLoadError, match="--offload on needs a GPU, and the device is cpu"):
        load(model=str(tiny_model), device="cpu", offload=Offload.ON)


def create(generator):
    """Three images, int64 ``(3, 32, 32, 3)``."""
    return pixels(generator.create(tasks(Recipe(32, 32, steps=4, guidance=5.0), 0, 1, 2)))


def vary(generator):
    """Three variations of one image, int64 ``(3, 32, 32, 3)``."""
    recipe = Recipe(32, 32, steps=4, guidance=5.0, strength=0.7)
    source = Image.linear_gradient("L").resize((32, 32)).convert("RGB")
    return pixels(generator.vary(tasks(recipe, 0, 1, 2, image=source)))


@pytest.mark.parametrize("made", [create, vary])
@pytest.mark.parametrize("kind", ["sdxl", "flux-dev"])
def test_networks_that_visit_make_the_same_images(zoo, monkeypatch, kind, made):
    """The processor stands for the GPU: networks have the same hooks, and arrive where they left."""
    monkeypatch.setattr(numerics, "_MOST_WEIGHTS", 0)  # small ones are laid out in memory for the processor
    plain = load(model=str(zoo(kind)), device="cpu", threads=1)
    monkeypatch.setattr(
        pipeline_loading,
        "place",
        lambda pipeline, *_: pipeline.enable_model_cpu_offload(device=torch.device("cpu")),
    )
    visiting = load(model=str(zoo(kind)), device="cpu", threads=1)
    assert hasattr(traits.denoiser(visiting.text_to_image), "_hf_hook")
    for _ in range(2):
        assert (made(visiting) == made(plain)).all()


@pytest.mark.parametrize("made", [create, vary])
def test_the_denoiser_alone_computes_in_less_and_images_hardly_change(tiny_model, made):
    whole, half = (
        load(model=str(tiny_model), threads=1, precision=each)
        for each in (Precision.FLOAT32, Precision.BFLOAT16)
    )
    assert half.text_to_image.unet.dtype == half.image_to_image.unet.dtype == torch.bfloat16
    assert half.text_to_image.vae.dtype == half.text_to_image.text_encoder.dtype == torch.float32
    assert 0 < apart(made(whole), made(half)) < 2


def test_on_a_processor_the_decoder_computes_in_less_but_for_its_last_layer():
    decoder = tiny_pipeline().vae.decoder
    numerics.speed_up_decoder(decoder, torch.bfloat16)
    assert decoder.conv_in.weight.dtype == decoder.mid_block.resnets[0].conv1.weight.dtype == torch.bfloat16
    assert decoder.conv_out.weight.dtype == torch.float32
    assert decoder(torch.zeros(1, decoder.conv_in.in_channels, 4, 4)).dtype == torch.float32
