"""What ``pcevolve fetch-encoder`` refuses; downloads are test_loading.py's."""

from __future__ import annotations

import pytest

from pcevolve.app.fetching import fetch_encoder
from pcevolve.errors import UsageError


@pytest.mark.parametrize(
    ("name", "told"),
    [("words", "comes with the client"), ("transformer:a/b", "is fetched by its library: hf download a/b")],
)
def test_an_encoder_of_texts_is_not_fetched_as_a_clip(name, told):
    with pytest.raises(UsageError, match=told):
        fetch_encoder(name)
