"""Encodings made before a run: once for each text and image, with the same bits, and nothing is kept beside it."""

from __future__ import annotations

import contextlib
import dataclasses

import pytest
import torch

from pcevolve_server.diffusion import encodings
from pcevolve_server.work import Recipe
from support.drawing import noise_image, pixels, tasks
from support.model_zoo import ZOO
from support.tiny_model import load

pytestmark = pytest.mark.models

BY_THEMSELVES = ("qwen", "z-image")
"""Pipelines that encode prompts in a form of their own, in every run anew."""
KINDS = ["sd15", *(kind for kind in ZOO if kind not in BY_THEMSELVES)]
WITHOUT_NEGATIVE = ["lcm", "flux-dev", "flux-schnell"]
RECIPE = Recipe(width=32, height=48, steps=1, guidance=3.0)


def varying(seed, image, **changes):
    return tasks(RECIPE, seed, image=noise_image(image, 32, 48), strength=0.5, **changes)


@pytest.fixture(params=KINDS)
def fresh(request, zoo):
    """A generator of each kind that has encoded nothing yet, and its kind."""
    return load(model=str(zoo(request.param)), device="cpu", threads=1), request.param


@contextlib.contextmanager
def count_runs(*networks):
    """Count how often each network runs."""
    runs = [0] * len(networks)

    def count(place):
        def counting(*_):
            runs[place] += 1

        return counting

    hooks = [each.register_forward_hook(count(place)) for place, each in enumerate(networks)]
    try:
        yield runs
    finally:
        for hook in hooks:
            hook.remove()


def test_the_encoding_that_was_not_used_for_longest_is_dropped_first():
    cache, made = encodings.BoundedCache(2, lambda _: 1), []

    def get(key):
        cache.get(key, lambda: made.append(key))

    for key in "abacab":
        get(key)
    assert "".join(made) == "abcb"  # c displaced b, as a was asked for after it


class CLIPReader:
    model_max_length = 77


class T5Reader:
    model_max_length = 512


class Bounded:
    """A pipeline whose call bounds the tokens of encoders other than CLIP's."""

    tokenizer, tokenizer_2 = CLIPReader(), T5Reader()

    def __call__(self, max_sequence_length=256): ...


class Longer(Bounded):
    def __call__(self, max_sequence_length=1024): ...


class Unbounded(Bounded):
    def __call__(self): ...


@pytest.mark.parametrize(
    ("pipeline", "read"), [(Bounded, [77, 256]), (Longer, [77, 512]), (Unbounded, [77, 512])]
)
def test_an_encoder_reads_its_own_tokens_and_one_other_than_clip_s_no_more_than_the_call_allows(
    pipeline, read
):
    assert [most for _, most in encodings.find_readers(pipeline())] == read


def text_encoders(generator):
    parts = generator.text_to_image.components
    return [parts[name] for name in sorted(parts) if name.startswith("text_encoder")]


def test_each_encoder_reads_a_text_once_however_many_images_runs_and_requests_it_is_for(fresh):
    generator, kind = fresh
    encoders = text_encoders(generator)
    with count_runs(*encoders) as runs:
        generator.create(tasks(RECIPE, 1, 2, 3))
        generator.create(tasks(RECIPE, 4) + tasks(RECIPE, 5, prompt="a dog"))
        generator.vary(varying(6, 1, prompt="a dog"))
    texts = 2 if kind in WITHOUT_NEGATIVE else 3  # an empty one as well
    assert runs == [texts] * len(encoders)


def owned(caller, asked):
    return [dataclasses.replace(each, caller=caller) for each in asked]


def test_what_one_caller_asked_for_makes_no_request_of_another_quicker(fresh):
    """By the time that a first answer takes, one clinic could tell which prompts and images another had sent."""
    generator, _ = fresh
    networks = [*text_encoders(generator), generator.image_to_image.vae.encoder]
    asked, runs_of = varying(6, 1), {}
    for caller in ("clinic", "rival", "clinic"):
        with count_runs(*networks) as runs:
            generator.vary(owned(caller, asked))
        runs_of.setdefault(caller, []).append(runs)
    assert runs_of["rival"][0] == runs_of["clinic"][0]
    assert all(runs_of["rival"][0])
    assert runs_of["clinic"][1] == [0] * len(networks)
    with count_runs(*networks) as runs:
        generator.vary(owned("third", asked) + owned("fourth", asked))
    assert runs == [2 * each for each in runs_of["clinic"][0]]


def test_an_image_has_the_same_bits_whether_its_inputs_were_encoded_before_or_for_it(fresh, zoo):
    generator, kind = fresh
    asked = varying(7, 3)
    first, again = (pixels(generator.vary(asked)) for _ in range(2))
    unknowing = load(model=str(zoo(kind)), device="cpu", threads=1)
    unknowing.vary(varying(1, 4, prompt="a dog"))
    assert (first == again).all()
    assert (first == pixels(unknowing.vary(asked))).all()


def test_images_of_the_same_bytes_and_other_shapes_are_told_apart(loaded):
    autoencoder = loaded("sd15").image_to_image.vae
    wide = torch.zeros(1, 3, 16, 32)
    with torch.inference_mode():
        shapes = [autoencoder.encode(each).latent_dist.mean.shape for each in (wide, wide.transpose(2, 3))]
    assert [tuple(each[2:]) for each in shapes] == [(4, 8), (8, 4)]
