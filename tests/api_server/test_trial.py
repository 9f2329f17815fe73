"""Ready means that a model drew: one that cannot is refused at the start, with the reason and what may help."""

import json
import shutil

import pytest
import torch
from PIL import Image

from pcevolve_server import models
from pcevolve_server.errors import DeviceMemoryError, GenerationError, ModelLoadError
from pcevolve_server.model_settings import Batching, ModelSettings, Offload
from pcevolve_server.models import ModelDescription
from pcevolve_server.trial import try_out
from pcevolve_shared.wire import Resolution
from support.collections import library
from support.model_zoo import ZOO
from support.painters import Device, GpuPainter, Painter
from support.served import FakeGenerator
from support.tiny_model import tiny_pipeline, tiny_unet

pytestmark = pytest.mark.models


def start(model, **settings):
    """Load a model as a server does before it says that it is ready."""
    return models.load_models([ModelSettings(model=str(model), device="cpu", threads=1, **settings)])


@pytest.mark.parametrize(
    ("kind", "batching"),
    [
        *((kind, Batching.EXACT) for kind in ("sd15", *ZOO)),
        ("sd15", Batching.MERGE),
        ("flux-dev", Batching.MERGE),
    ],
)
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
    assert drawn[:2] == [False, True]  # and then to compare


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
            "an inpainting model.*serve its base model",
        ),
        ({"_class_name": "FluxFillPipeline"}, "an inpainting model"),
        ({"_class_name": "StableDiffusionXLImg2ImgPipeline", "requires_aesthetics_score": True}, "a refiner"),
        ({"_class_name": "StableDiffusionUpscalePipeline"}, "only enlarges images"),
        ({"_class_name": "StableDiffusionControlNetPipeline"}, "needs a picture of edges"),
        ({"_class_name": "FluxControlPipeline"}, "needs a picture of edges"),
        ({"_class_name": "StableVideoDiffusionPipeline"}, "no text-to-image pipeline for a StableVideo"),
        (
            {"_class_name": "StableDiffusionXLInstructPix2PixPipeline"},
            "Of the models that edit images, this server supports FLUX.1 Kontext",
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

    with pytest.raises(ModelLoadError, match=r"Flux2 varies images in a way .*Qwen-Image-Edit"):
        traits.check(Flux2(), Flux2())


def test_an_inpainting_model_is_known_by_its_channels_whatever_its_index_says(tmp_path):
    pipeline = tiny_pipeline()
    pipeline.register_modules(unet=tiny_unet(in_channels=9))
    pipeline.save_pretrained(tmp_path / "mine", safe_serialization=True)
    with pytest.raises(ModelLoadError, match="its UNet takes 9 channels, not 4, so it fills holes"):
        start(tmp_path / "mine")


@pytest.mark.parametrize(("part", "what"), [("decoder", "drawing"), ("encoder", "varying")])
def test_an_autoencoder_that_gives_no_numbers_is_noticed_before_the_server_is_ready(tmp_path, part, what):
    pipeline = tiny_pipeline()
    with torch.no_grad():
        getattr(pipeline.vae, part).conv_in.weight.fill_(float("nan"))
    pipeline.save_pretrained(tmp_path / "mine", safe_serialization=True)
    with pytest.raises(
        ModelLoadError,
        match=rf"cannot serve mine: .*{what} an image fails: .*not numbers.*--precision bfloat16",
    ):
        start(tmp_path / "mine")


@pytest.mark.parametrize("value", [float("inf"), float("-inf")])
def test_a_picture_of_infinite_values_is_none_and_not_a_white_or_black_one(tmp_path, value):
    """Pipelines clip them, so that nobody would see."""
    pipeline = tiny_pipeline()
    with torch.no_grad():
        pipeline.vae.decoder.conv_out.bias.fill_(value)
    pipeline.save_pretrained(tmp_path / "mine", safe_serialization=True)
    with pytest.raises(ModelLoadError, match=r"drawing an image fails: .*not numbers"):
        start(tmp_path / "mine")


def test_a_model_without_room_names_offload_and_any_other_fault_names_itself():
    def failing(error):
        fake = FakeGenerator()

        def create(tasks, is_cancelled=None):
            raise error

        fake.create = fake.vary = create
        return fake

    with pytest.raises(ModelLoadError, match=r"maker/fake: .*too little memory.*--offload on"):
        try_out(
            failing(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")), ModelSettings()
        )
    with pytest.raises(ModelLoadError, match="drawing an image fails: GenerationError: no luck"):
        try_out(failing(GenerationError("no luck")), ModelSettings())


def test_an_adapter_is_tried_where_one_is_loaded(fake_with_adapter):
    fake_with_adapter.info = fake_with_adapter.info.model_copy(
        update={"pipelines": ("text-to-image", "image-to-image", "ip-adapter")}
    )
    try_out(fake_with_adapter, ModelSettings())
    asked = [(task.recipe.strength, task.recipe.adapter_scale) for (task,) in fake_with_adapter.batches[:3]]
    assert asked == [(None, None), (0.5, None), (0.5, 0.5)]
    assert {task.recipe.steps for (task,) in fake_with_adapter.batches[:3]} == {1}
    assert isinstance(fake_with_adapter.batches[1][0].image, Image.Image)


class Uneven(Painter):
    """Images differ in company, or from one time to the next."""

    def __init__(self, *differs, companions):
        super().__init__("uneven", 10, companions=companions)
        self.differs, self.times = differs, 0

    def create(self, tasks, is_cancelled=lambda: False):
        self.times += 1
        made = super().create(tasks, is_cancelled)
        if "varied alone" in self.differs and tasks[0].recipe.strength is None:
            return made
        shift = (len(tasks) > 1 and "in company" in self.differs) + self.times * ("each time" in self.differs)
        for picture in made:
            picture.image.putpixel((0, 0), (shift, 0, 0))
        return made

    vary = create


@pytest.mark.parametrize(
    ("differs", "companions", "batching", "exact", "together"),
    [
        ((), 16, Batching.EXACT, "shared", 16),
        ((), 1, Batching.EXACT, "alone", 1),
        (("in company",), 16, Batching.EXACT, "alone", 1),
        (("in company",), 1, Batching.EXACT, "alone", 1),
        (("each time",), 16, Batching.EXACT, "no", 1),
        (("each time",), 1, Batching.EXACT, "no", 1),
        (("in company", "varied alone"), 16, Batching.EXACT, "alone", 1),
        (("each time", "varied alone"), 1, Batching.EXACT, "no", 1),
        ((), 16, Batching.MERGE, "merged", 16),
    ],
)
def test_exact_is_offered_where_bits_agree_on_this_device_and_said_to_be_less_elsewhere(
    differs, companions, batching, exact, together
):
    model, settings = Uneven(*differs, companions=companions), ModelSettings(batching=batching)
    described = ModelDescription.of(model, try_out(model, settings))
    assert (described.info.exact, described.bit_exact_batch_size) == (exact, together)


@pytest.mark.parametrize(("memory", "images"), [(10**6, 16), (11 * 64, 8), (3 * 64, 2), (64, 1)])
def test_the_largest_batch_that_fits_a_gpu_is_found_before_the_model_is_ready(memory, images):
    model, freed = GpuPainter(Device(memory)), []
    result = try_out(model, ModelSettings(), lambda: freed.append(True))
    assert result.batch_pixels == images * 64
    assert 2 ** len(freed) == 16 // images
    assert ModelDescription.of(model, result).info.batch_pixels == images * 64


def test_a_model_that_does_not_fit_its_gpu_with_an_image_visits_it_in_parts(monkeypatch):
    loaded = []

    def load(settings, stopping):
        loaded.append(settings.offload)
        return GpuPainter(Device(64 if settings.offload is Offload.ON else 63))

    monkeypatch.setattr(models, "load", load)
    first = models.TriedLoad(ModelSettings())
    assert first().device.pixels == 64
    assert first.result.batch_pixels == 64
    assert first().device.pixels == 64  # once more, without a trial
    assert loaded == [Offload.AUTO, Offload.ON, Offload.ON]
    for chosen in (Offload.OFF, Offload.ON):
        monkeypatch.setattr(models, "load", lambda settings, stopping: GpuPainter(Device(63)))
        with pytest.raises(DeviceMemoryError, match="too little memory"):
            models.TriedLoad(ModelSettings(offload=chosen))()
