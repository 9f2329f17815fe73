"""What each dialect can be asked for, and what is refused before anything is paid."""

from __future__ import annotations

import pytest

from pcevolve.errors import UsageError
from pcevolve.public.dialects import ABILITIES, Abilities, find_abilities, require
from pcevolve.public.modality import Advice
from pcevolve.public.selectors import find_method
from pcevolve.wire.providers import dialect


def test_every_dialect_that_varies_evolves_whether_or_not_it_takes_a_strength():
    needed = set(find_method("pcevolve").needs_for(20))
    for name in ("getimg", "openai", "openai-plain", "siliconflow", "stability", "a1111"):
        require(find_abilities(name), needed)
    still = Abilities("still", "still:Still", frozenset({"create"}))
    with pytest.raises(UsageError, match="dialect 'still' lacks vary"):
        require(still, needed)
    require(still, find_method("pcevolve").needs_for(20, "prompt"))


@pytest.mark.parametrize(
    ("name", "makes", "most", "scheme", "lacks"),
    [
        ("getimg", "image", 64, "Bearer", {"fields", "tokens", "workflow"}),
        ("openai", "image", 10, "Bearer", {"adapter", "fields", "sampler", "tokens", "workflow"}),
        (
            *("openai-plain", "image", 10, "Bearer"),
            {
                *("adapter", "fields", "guidance", "negative_prompt", "sampler", "seed", "steps", "strength"),
                *("tokens", "workflow"),
            },
        ),
        (
            *("azure", "image", 10, "api-key"),
            {
                *("adapter", "fields", "guidance", "negative_prompt", "sampler", "seed", "steps", "strength"),
                *("tokens", "workflow"),
            },
        ),
        (
            "siliconflow",
            "image",
            4,
            "Bearer",
            {"adapter", "fields", "sampler", "strength", "tokens", "workflow"},
        ),
        (
            "stability",
            "image",
            1,
            "Bearer",
            {"adapter", "batch", "fields", "sampler", "size", "steps", "tokens", "workflow"},
        ),
        ("replicate", "image", 4, "Bearer", {"adapter", "fields", "sampler", "tokens", "workflow"}),
        (
            *("comfyui", "image", 1, "Bearer"),
            {
                *("adapter", "batch", "fields", "guidance", "negative_prompt", "sampler", "size", "steps"),
                "tokens",
            },
        ),
        ("a1111", "image", 8, "Basic", {"adapter", "fields", "tokens", "workflow"}),
        (
            "chat",
            "text",
            64,
            "Bearer",
            {"adapter", "guidance", "negative_prompt", "sampler", "size", "steps", "workflow"},
        ),
    ],
)
def test_what_an_api_can_be_asked_for_is_as_documented(name, makes, most, scheme, lacks):
    everything = frozenset().union(*(each.capabilities for each in ABILITIES.values()))
    spoken = find_abilities(name)
    assert (spoken.makes, spoken.most, spoken.scheme) == (makes, most, scheme)
    assert everything - spoken.capabilities == lacks


def test_what_can_be_asked_for_is_what_some_dialect_spells():
    assert {name: dialect(name).abilities for name in ABILITIES} == ABILITIES
    with pytest.raises(
        UsageError, match="unknown dialect 'morse': choose one of a1111, azure, chat, comfyui, getimg"
    ):
        find_abilities("morse")


def test_advice_is_words_for_people():
    assert str(Advice(20, 7.5, 0.3, 0.8)) == "20 steps, guidance 7.5, strength 0.3 to 0.8"
