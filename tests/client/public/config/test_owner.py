"""What a process with the network may know of a run's options holds nothing that is the owner's."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from pcevolve.errors import UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.declared import list_options
from pcevolve.public.config.options import Option
from pcevolve.public.config.runner import Config, PublicConfig
from pcevolve.public.settings import Section
from support.comfyui import NODES, WORKFLOW
from support.owned import OWNERS
from support.provider import png

OPTIONS = list_options(RunConfig)
SAID = {"private": "p", "domain": "x", "out": "run"}
FREE_TEXTS = {
    "lifetime_epsilon": "3.14159265358979",
    "words": {"Marked-class": "words"},
    "epsilon": "7",
    "workflow": WORKFLOW,
}
SECRET_NUMBERS = {"subsample_seed": 8_765_432_101_234_567, "insecure_noise_seed": 7_654_321_012_345_678}


def _fill(option: Option, mark: str) -> object:
    """A value that is found again wherever it went."""
    special = {**FREE_TEXTS, **SECRET_NUMBERS}
    if option.name in special:
        return special[option.name]
    text = (
        f"/{mark}/{option.name}"
        if option.kind == "path" or option.name == "test"
        else f"{mark}-{option.name}"
    )
    return (text,) if option.is_repeated else text


@given(mark=st.text("abcdefghijklmnopqrstuvwxyz", min_size=12, max_size=20))
def test_no_value_of_the_owners_is_in_what_the_runner_is_told(mark):
    owners = [each for each in OPTIONS if each.path in OWNERS and not each.is_switch]
    values = {each.name: _fill(each, mark) for each in owners}
    config = RunConfig.of({**values, "domain": "d", "out": "o", "method": "secpe", "unlabelled": True})
    everything, told = config.model_dump_json(), config.public().model_dump_json()
    marks = [mark, "Marked-class", "3.14159265358979", *map(str, SECRET_NUMBERS.values())]
    assert all(each in everything for each in marks)
    assert not [each for each in marks if each in told]
    assert mark not in repr(config.public())
    assert mark not in str(vars(config.public()))


def test_what_the_runner_is_told_is_what_was_asked_for_and_comes_through_a_pipe():
    config = RunConfig.of(
        {
            "private": "p",
            "domain": "scratch",
            "out": "o",
            "method": "pe",
            "votes": 3,
            "timeout": 5,
            "words": {"a": "b"},
        }
    )
    told = config.public()
    assert told.options().items() <= config.options().items()
    assert told.options()["seed"] == config.provider.seed
    assert (told.get("votes"), told.provider.timeout, told.data.domain) == (3, 5.0, "scratch")
    assert told.provider.model_fields_set == {"timeout"}
    assert PublicConfig.model_validate_json(told.model_dump_json()) == told


def test_secrets_are_refused_where_nothing_would_protect_them():
    with pytest.raises(UsageError, match=r"^data\.secrets: only for secpe"):
        RunConfig.of({"private": "p", "domain": "d", "out": "o", "method": "pe", "secrets": Path("s")})


def test_an_option_that_says_nothing_of_itself_is_refused_when_options_are_listed():
    class Unmarked(Section):
        depth: Annotated[int, Field(description="Depth.")] = 1

    class Marked(Config):
        data: Unmarked

    with pytest.raises(TypeError, match="depth does not say what it is for"):
        list_options(Marked)


@pytest.mark.parametrize("words", ["two\nlines", " after a blank", "before a blank ", "w" * 201])
def test_words_for_a_class_are_one_line_of_bounded_length(words: str):
    given = {"private": "p", "domain": "d", "out": "o"}
    with pytest.raises(UsageError, match="the words of 'cut' must be one line of at most 200 characters"):
        RunConfig.of({**given, "words": {"cut": words}})
    assert RunConfig.of({**given, "words": {"cut": "w" * 200}}).data.words == {"cut": "w" * 200}


def test_a_workflow_is_read_where_it_is_named_and_its_text_is_what_others_know(tmp_path):
    (tmp_path / "w.json").write_text(json.dumps(NODES, indent=2))
    settings = RunConfig.of({**SAID, "workflow": str(tmp_path / "w.json")})
    assert settings.provider.workflow == WORKFLOW == settings.public().provider.workflow
    # As a run that goes on reads it out of its options.
    assert RunConfig.of({**SAID, "workflow": WORKFLOW}).provider.workflow == WORKFLOW


def test_a_workflow_that_is_none_or_has_an_image_in_it_is_refused(tmp_path):
    path = tmp_path / "w.json"
    with pytest.raises(UsageError, match=r"provider\.workflow.*No such file"):
        RunConfig.of({**SAID, "workflow": str(path)})
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="the workflow is no JSON"):
        RunConfig.of({**SAID, "workflow": str(path)})
    own = {"class_type": "LoadBase64", "inputs": {"data": base64.b64encode(png(1)).decode()}}
    path.write_text(json.dumps({**NODES, "12": own}))
    with pytest.raises(UsageError, match="has an image within its text"):
        RunConfig.of({**SAID, "workflow": str(path)})
