"""A tiny Stable Diffusion pipeline with random weights, and an app around any generator."""

import contextlib
import string
import threading
import time
from collections.abc import Sequence

import pytest
from PIL import Image
from starlette.testclient import TestClient

from pcevolve_server.app import create_app
from pcevolve_server.generator import Picture, Task
from pcevolve_server.settings import ModelSettings, Settings
from pcevolve_shared.wire import ModelInfo, Resolution

PROMPT_TOKENS = 16


def tiny_tokenizer():
    from transformers import CLIPTokenizer

    letters = string.ascii_lowercase + string.digits
    words = ["<|startoftext|>", "<|endoftext|>", *letters, *(letter + "</w>" for letter in letters)]
    vocabulary = {word: index for index, word in enumerate(words)}
    return CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=PROMPT_TOKENS)


def tiny_text_encoder(words):
    from transformers import CLIPTextConfig, CLIPTextModel

    return CLIPTextModel(
        CLIPTextConfig(
            vocab_size=words,
            hidden_size=32,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=4,
            max_position_embeddings=PROMPT_TOKENS,
            bos_token_id=0,
            eos_token_id=1,
            pad_token_id=1,
        )
    )


def tiny_unet():
    from diffusers import UNet2DConditionModel

    return UNet2DConditionModel(
        sample_size=8,
        block_out_channels=(8, 16),
        layers_per_block=1,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=32,
        attention_head_dim=8,
        norm_num_groups=4,
    )


def tiny_vae():
    from diffusers import AutoencoderKL

    return AutoencoderKL(
        block_out_channels=(8, 8, 8),
        down_block_types=("DownEncoderBlock2D",) * 3,
        up_block_types=("UpDecoderBlock2D",) * 3,
        norm_num_groups=4,
        sample_size=32,
    )


def tiny_pipeline():
    import torch
    from diffusers import PNDMScheduler, StableDiffusionPipeline

    torch.manual_seed(0)
    tokenizer = tiny_tokenizer()
    # The schedule of Stable Diffusion 1.5.
    scheduler = PNDMScheduler(
        beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", skip_prk_steps=True, steps_offset=1
    )
    return StableDiffusionPipeline(
        vae=tiny_vae(),
        text_encoder=tiny_text_encoder(len(tokenizer)),
        tokenizer=tokenizer,
        unet=tiny_unet(),
        scheduler=scheduler,
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """A directory in the layout of every Stable Diffusion release."""
    directory = tmp_path_factory.mktemp("models") / "tiny"
    tiny_pipeline().save_pretrained(directory, safe_serialization=True)
    return directory


@pytest.fixture(scope="session")
def generator(tiny_model):
    from pcevolve_server.diffusion import loading

    return loading.load(ModelSettings(model=str(tiny_model), threads=1), lambda count: None)


class FakeGenerator:
    """Paints a plain colour out of the seed; waits at ``gate`` and keeps its batches."""

    def __init__(self, adapters=()):
        self.info = ModelInfo(
            id="maker/fake",
            name="fake",
            family="stable-diffusion",
            pipelines=("text-to-image", "image-to-image"),
            base_resolution=Resolution(width=64, height=32),
            schedulers=("ddim",),
            adapters=adapters,
            max_images=64,
        )
        self.gate = threading.Event()
        self.gate.set()
        self.batches = []

    def create(self, tasks: Sequence[Task]):
        self.batches.append(list(tasks))
        assert self.gate.wait(20)
        return [self.paint(task) for task in tasks]

    vary = create

    def paint(self, task):
        if task.prompt == "explode":
            raise RuntimeError("SECRET prompt in a library's message")
        colour = (task.seed % 256, task.seed // 256 % 256, 7)
        return Picture(Image.new("RGB", (task.recipe.width, task.recipe.height), colour))


@contextlib.contextmanager
def served(generator, **settings):
    """Yield a client of a ready app."""
    app = create_app(Settings(**settings), lambda count_rejected: generator)
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        wait_until(lambda: client.get("/readyz").status_code == 200)
        yield client


def wait_until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


@pytest.fixture
def serve():
    return served


@pytest.fixture
def wait():
    return wait_until


@pytest.fixture
def fake():
    return FakeGenerator()


@pytest.fixture
def fake_with_adapter():
    return FakeGenerator(adapters=("ip",))
