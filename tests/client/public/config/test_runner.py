"""What a process with the network may know: no option of the owner's, and no path but its own."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from pcevolve.errors import UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.declared import list_options
from pcevolve.public.config.runner import PublicConfig
from support.owned import OWNERS

OPTIONS = list_options(RunConfig)


def test_every_option_is_the_owners_or_public_and_none_is_both():
    public = {each.path for each in list_options(PublicConfig)}
    assert {each.path for each in OPTIONS} == public | OWNERS
    assert not public & OWNERS


def test_a_path_that_the_runner_is_told_is_one_of_its_own_files():
    told = {each.path for each in list_options(PublicConfig) if each.kind == "path"}
    assert told == {"data.from_run", "provider.api_key_file", "provider.ca_file", "output.folder"}


@pytest.mark.parametrize("path", sorted(OWNERS))
def test_a_runner_that_is_sent_an_option_of_the_owners_refuses_it(path):
    section, key = path.split(".")
    told = json.loads(RunConfig.of({"private": "p", "domain": "d", "out": "o"}).public().model_dump_json())
    told[section][key] = "x"
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        PublicConfig.model_validate(told)


GIVEN = {"private": "p", "domain": "d", "out": "o"}


def test_private_work_lasts_no_multiple_of_less_than_a_millisecond():
    for sound in (0.0, 0.001, None):
        assert RunConfig.of({**GIVEN, "pad_selection": sound}).privacy.pad_selection == sound
    with pytest.raises(UsageError, match=r"pad_selection: must be 0 or at least 0\.001 seconds"):
        RunConfig.of({**GIVEN, "pad_selection": 0.0009})


def test_requests_leave_at_once_unless_a_pace_is_asked_for():
    assert RunConfig.of(GIVEN).privacy.pace == 0
