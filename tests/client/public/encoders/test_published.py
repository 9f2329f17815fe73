"""``--encoder auto`` and the names of weights in a plan: public facts of this machine and of the installed package."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from pcevolve.app.session.preflight import check_run, merge_options
from pcevolve.errors import UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.encoders import (
    BUNDLED_WEIGHTS,
    CLIP_REPOSITORY,
    RESNET18_FILE,
    bundled_digest,
    named_weights,
)
from pcevolve.public.encoders.published import hub_folder, hugging_face_folder, is_fetched, resolve

RESNET18 = Path("hub") / "checkpoints" / RESNET18_FILE
CLIP = Path("models--laion--CLIP-ViT-B-32-laion2B-s34B-b79K")
GIVEN = {"private": "digits", "domain": "leather texture", "out": Path("runs/x")}


@pytest.fixture
def cache(monkeypatch, tmp_path) -> Path:
    """Where fetched weights lie; empty."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    return tmp_path


def fetch_resnet18(cache: Path) -> None:
    (cache / RESNET18).parent.mkdir(parents=True)
    (cache / RESNET18).write_bytes(b"weights")


def fetch_clip(cache: Path) -> None:
    (cache / CLIP / "refs").mkdir(parents=True)
    (cache / CLIP / "refs" / "main").write_text("abc")
    (cache / CLIP / "snapshots" / "abc").mkdir(parents=True)
    (cache / CLIP / "snapshots" / "abc" / "open_clip_model.safetensors").write_bytes(b"weights")


def test_auto_is_the_bundled_encoder_where_nothing_was_fetched_and_says_how_to_get_another(cache):
    name, why = resolve("auto")
    assert name == "bundled"
    assert "clip and resnet18 were not fetched" in why
    assert "pcevolve fetch-encoder" in why


def test_auto_is_a_published_encoder_where_one_was_fetched_and_clip_before_resnet18(cache):
    fetch_resnet18(cache)
    assert resolve("auto") == ("resnet18", "its published weights were fetched to this machine")
    fetch_clip(cache)
    assert resolve("auto")[0] == "clip"


def test_an_encoder_whose_weights_nobody_knows_where_to_look_for_is_an_error(cache):
    fetch_resnet18(cache)
    for name in ("bundled", "resnet50", "clip:ViT-L-14/openai", ""):
        with pytest.raises(ValueError, match="fetched weights can be looked up only for clip and resnet18"):
            is_fetched(name)


@pytest.mark.models
def test_clip_is_looked_for_where_open_clip_has_it():
    import open_clip

    config = open_clip.get_pretrained_cfg("ViT-B-32", "laion2b_s34b_b79k")
    assert config["hf_hub"].rstrip("/") == CLIP_REPOSITORY


@pytest.mark.models
def test_resnet18_is_looked_for_where_torchvision_has_it():
    from torchvision.models import ResNet18_Weights

    assert ResNet18_Weights.IMAGENET1K_V1.url.rpartition("/")[2] == RESNET18_FILE


@pytest.mark.models
@pytest.mark.parametrize(
    "given", [{}, {"TORCH_HOME": "~/t"}, {"XDG_CACHE_HOME": "/x"}, {"TORCH_HOME": "$HOME/u"}]
)
def test_weights_are_looked_for_where_torch_keeps_what_it_downloads(monkeypatch, given):
    from torch.hub import get_dir

    for name in ("TORCH_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert hub_folder() == Path(get_dir())


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"XDG_CACHE_HOME": "/x"},
        {"HF_HOME": "~/h"},
        {"HUGGINGFACE_HUB_CACHE": "/old"},
        {"HF_HUB_CACHE": "$HOME/u", "HF_HOME": "/h"},
    ],
)
def test_weights_are_looked_for_where_hugging_face_keeps_what_it_downloads(monkeypatch, given):
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    said = subprocess.run(
        [sys.executable, "-c", "from huggingface_hub.constants import HF_HUB_CACHE; print(HF_HUB_CACHE)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert hugging_face_folder() == Path(said.stdout.strip())


@pytest.mark.parametrize("name", ["bundled", "inception", "clip:RN50:openai"])
def test_an_encoder_that_was_named_is_taken_without_a_reason_whatever_was_fetched(cache, name):
    fetch_resnet18(cache)
    assert resolve(name) == (name, "")


def test_weights_without_the_name_of_their_encoder_are_refused_before_anything_is_read():
    settings = RunConfig.of({**GIVEN, "encoder_weights": "x.safetensors"})
    with pytest.raises(UsageError, match="give --encoder NAME, the encoder that the weights belong to"):
        check_run(settings)


def test_a_run_goes_on_with_the_encoder_that_it_began_with_though_auto_would_now_choose_another():
    began = RunConfig.of({**GIVEN, "encoder": "bundled"})
    assert merge_options(began, RunConfig.of({**GIVEN, "encoder": "auto"})).encoder.name == "bundled"
    assert merge_options(began, RunConfig.of(GIVEN)).encoder.name == "bundled"
    with pytest.raises(
        UsageError, match=r"--encoder differs from the value that this run began with \(bundled\)"
    ):
        merge_options(began, RunConfig.of({**GIVEN, "encoder": "clip"}))


def test_a_run_goes_on_within_the_limits_that_it_began_with_unless_others_are_given():
    limits = {"max_cost": 5.0, "max_requests": 10, "pad_selection": 3.0}
    began = RunConfig.of({**GIVEN, **limits, "yes": True})
    merged = merge_options(began, RunConfig.of({**GIVEN, "max_cost": 7}))
    assert {name: merged.get(name) for name in limits} == {**limits, "max_cost": 7}
    assert not merged.provider.yes, "who goes on is asked again"


def test_a_plan_names_the_bundled_weights_and_an_owners_file_by_digest_and_published_ones_not(tmp_path):
    own = tmp_path / "own.safetensors"
    own.write_bytes(b"mine")
    assert (
        named_weights("bundled", None)
        == bundled_digest()
        == hashlib.sha256(BUNDLED_WEIGHTS.read_bytes()).hexdigest()
    )
    assert named_weights("bundled", str(own)) == hashlib.sha256(b"mine").hexdigest()
    assert named_weights("resnet18", None) is None
