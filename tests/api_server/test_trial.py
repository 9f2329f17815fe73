"""Ready means that a model drew: one that cannot is refused at the start, with the reason and what may help."""

import json
import shutil

import pytest
import torch
from PIL import Image

from pcevolve_server import models
from pcevolve_server.errors import GenerationError, ModelLoadError
from pcevolve_server.model_settings import Batching, ModelSettings
from pcevolve_server.models import try_out
from pcevolve_shared.wire import Resolution
from support.collections import library
from support.model_zoo import ZOO
from support.served import FakeGenerator
from support.tiny_model import tiny_pipeline, tiny_unet

pytestmark = pytest.mark.models


def start(model, **settings):
    """Load a model as a server does before it says that it is ready."""
    return models.load_models([ModelSettings(model=str(model), device="cpu", threads=1, **settings)])


@pytest.mark.parametrize("batching", Batching)
@pytest.mark.parametrize("kind", ["sd15", *ZOO])
def test_every_kind_of_model_draws_and_varies_before_it_is_ready(zoo, kind, batching, monkeypatch):
    from pcevolve_server.diffusion import traits
    from pcevolve_server.diffusion.generator import DiffusionGenerator

    # Some are tiny but for their images, of a megapixel.
    monkeypatch.setattr(traits, "base_resolution", lambda pipeline: Resolution(width=64, height=64))
    drawn = []
    run = DiffusionGenerator._run

    def watch(self, pipeline, *more):
        drawn.append(pipeline is self.image_to_image)
        return run(self, pipeline, *more)

    monkeypatch.setattr(DiffusionGenerator, "_run", watch)
    start(zoo(kind), batching=batching)
    assert drawn == [False, True]


def test_a_library_and_a_language_model_are_tried_too(tmp_path):
    assert start(f"library:{library(tmp_path / 'images')}", library_cache=str(tmp_path)).descriptions
    assert start("text:bundled").descriptions


@pytest.fixture
def renamed(tiny_model, tmp_path):
    """Return a copy of the model whose index says something else."""

    def copy(**index):
        copied = tmp_path / "model"
        shutil.copytree(tiny_model, copied)
        told = json.loads((copied / "model_index.json").read_text())
        (copied / "model_index.json").write_text(json.dumps(told | index))
        return copied

    return copy


@pytest.mark.parametrize(
    ("index", "reason"),
    [
        (
            {"_class_name": "StableDiffusionInpaintPipeline"},
            "an inpainting model.*serve the model that it was",
        ),
        ({"_class_name": "FluxFillPipeline"}, "an inpainting model"),
        ({"_class_name": "StableDiffusionXLImg2ImgPipeline", "requires_aesthetics_score": True}, "a refiner"),
        ({"_class_name": "StableDiffusionUpscalePipeline"}, "makes images larger"),
        ({"_class_name": "StableDiffusionControlNetPipeline"}, "wants a picture of edges"),
        ({"_class_name": "FluxControlPipeline"}, "wants a picture of edges"),
        ({"_class_name": "StableVideoDiffusionPipeline"}, "no text-to-image pipeline for a StableVideo"),
        (
            {"_class_name": "StableDiffusionXLInstructPix2PixPipeline"},
            "of models that edit, this server knows FLUX.1 Kontext",
        ),
    ],
)
def test_a_model_that_does_not_draw_by_itself_says_what_it_is(renamed, index, reason):
    with pytest.raises(ModelLoadError, match=rf"cannot (serve|load).*model: .*{reason}"):
        start(renamed(**index))


def test_a_model_that_edits_in_another_way_is_refused_with_those_that_are_served():
    from pcevolve_server.diffusion import traits

    class Flux2:
        def __call__(
            self,
            image,
            prompt,
            num_inference_steps,
            guidance_scale,
            generator,
            output_type,
            callback_on_step_end,
        ):
            """Return an image."""

    with pytest.raises(ModelLoadError, match=r"Flux2 varies images to a degree of its own.*Qwen-Image-Edit"):
        traits.check(Flux2(), Flux2())


def test_an_inpainting_model_is_known_by_its_channels_whatever_its_index_says(tmp_path):
    pipeline = tiny_pipeline()
    pipeline.register_modules(unet=tiny_unet(in_channels=9))
    pipeline.save_pretrained(tmp_path / "mine", safe_serialization=True)
    with pytest.raises(ModelLoadError, match="its UNet takes 9 channels and not 4, so it fills holes"):
        start(tmp_path / "mine")


@pytest.mark.parametrize(("part", "what"), [("decoder", "drawing"), ("encoder", "varying")])
def test_an_autoencoder_that_gives_no_numbers_is_noticed_before_the_server_is_ready(tmp_path, part, what):
    pipeline = tiny_pipeline()
    with torch.no_grad():
        getattr(pipeline.vae, part).conv_in.weight.fill_(float("nan"))
    pipeline.save_pretrained(tmp_path / "mine", safe_serialization=True)
    with pytest.raises(
        ModelLoadError,
        match=rf"cannot serve mine: .*{what} an image fails: .*no numbers.*--precision bfloat16",
    ):
        start(tmp_path / "mine")


@pytest.mark.parametrize("value", [float("inf"), float("-inf")])
def test_a_picture_of_infinite_values_is_none_and_not_a_white_or_black_one(tmp_path, value):
    """Pipelines clip them, so that nobody would see."""
    pipeline = tiny_pipeline()
    with torch.no_grad():
        pipeline.vae.decoder.conv_out.bias.fill_(value)
    pipeline.save_pretrained(tmp_path / "mine", safe_serialization=True)
    with pytest.raises(ModelLoadError, match=r"drawing an image fails: .*no numbers"):
        start(tmp_path / "mine")


def test_a_model_without_room_names_offload_and_any_other_fault_names_itself():
    def failing(error):
        fake = FakeGenerator()

        def create(tasks, is_cancelled=None):
            raise error

        fake.create = fake.vary = create
        return fake

    with pytest.raises(ModelLoadError, match=r"maker/fake: .*memory does not suffice.*--offload on"):
        try_out(failing(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")))
    with pytest.raises(ModelLoadError, match="drawing an image fails: GenerationError: no luck"):
        try_out(failing(GenerationError("no luck")))


def test_an_adapter_is_tried_where_one_is_loaded(fake_with_adapter):
    fake_with_adapter.info = fake_with_adapter.info.model_copy(
        update={"pipelines": ("text-to-image", "image-to-image", "ip-adapter")}
    )
    try_out(fake_with_adapter)
    asked = [(task.recipe.strength, task.recipe.adapter_scale) for (task,) in fake_with_adapter.batches]
    assert asked == [(None, None), (0.5, None), (0.5, 0.5)]
    assert {task.recipe.steps for (task,) in fake_with_adapter.batches} == {1}
    assert isinstance(fake_with_adapter.batches[1][0].image, Image.Image)
