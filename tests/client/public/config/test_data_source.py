"""Sources of private data, as options name them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pcevolve.errors import UsageError
from pcevolve.public.config.data_source import (
    CellsSource,
    DigitsSource,
    FolderSource,
    TermsSource,
    parse_source,
)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("digits", DigitsSource({digit: f"digit {digit}" for digit in range(10)})),
        ("digits:3,5", DigitsSource({3: "digit 3", 5: "digit 5"})),
        ("digits:3=type A, 5 = type B", DigitsSource({3: "type A", 5: "type B"})),
        *((f"digits:{each}", None) for each in ("3", "3=a,5=a", "3,11", "3,3", "3=,5", "3=a/b,5", "")),
        ("./digits", FolderSource(Path("digits"))),
        ("cells:platelet=type 1, platelet 2", None),
        (
            "cells:platelet=1, red blood cells",
            CellsSource({"platelet": "1", "red blood cells": "red blood cells"}),
        ),
        ("terms:disease, body part=B", TermsSource({"disease": "disease", "body part": "B"})),
        ("data/clinic:2024", FolderSource(Path("data/clinic:2024"))),
    ],
)
def test_sources_are_read_as_documented_or_refused(text, source):
    if source is None:
        with pytest.raises(UsageError, match=re.escape(repr(text))):
            parse_source(text)
    else:
        assert parse_source(text) == source


@pytest.mark.parametrize("name", ["digits", "cells", "terms"])
def test_a_folder_of_one_s_own_is_not_silently_taken_for_the_client_s_data(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert not isinstance(parse_source(name), FolderSource)
    (tmp_path / name).mkdir()
    with pytest.raises(UsageError, match=rf"write \./{name} for your own"):
        parse_source(name)
    assert parse_source(f"./{name}") == FolderSource(Path(name))


@given(st.text())
@example("~0")
def test_any_text_is_a_source_or_a_usage_error(text):
    try:
        source = parse_source(text)
    except UsageError:
        return
    assert isinstance(source, FolderSource | DigitsSource | CellsSource | TermsSource)
