"""Questions every room has to a medium, whichever it is: how large, how shown, and what a file holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcevolve.modality import UnreadableError, find_medium
from pcevolve.public.modality import Kind
from pcevolve.public.plan import PublicPlan
from pcevolve_shared import images
from support.provider import png
from support.runs import small_plan


def of_texts(tokens: int) -> PublicPlan:
    written = small_plan().model_dump(mode="json")
    made = {"kind": "text", "tokens": tokens, "temperature": 1.0}
    return PublicPlan.model_validate({**written, "modality": made})


@pytest.mark.parametrize(("tokens", "most"), [(5, 4096), (100, 6400)])
def test_a_text_may_be_longer_than_asked_for_but_not_endlessly(tokens: int, most: int):
    plan = of_texts(tokens)
    assert find_medium("text").describe_oversize(b"w" * most, plan) == ""
    fault = find_medium("text").describe_oversize(b"w" * (most + 1), plan)
    assert fault == f"a text of {most + 1} bytes where {tokens} tokens were asked for"


def test_a_picture_is_shown_small_and_a_text_as_it_is_read():
    picture, text = find_medium("image").show(png(1)), find_medium("text").show(b"a\x1b b\n")
    assert images.media_type(picture.jpeg) == "image/jpeg"
    assert (picture.text, text.jpeg, text.text) == ("", b"", "a b")


@pytest.mark.parametrize(
    ("kind", "said"),
    [("image", "is not a regular file; replace or remove it"), ("text", "cannot be read: No such file")],
)
def test_a_file_that_cannot_be_read_says_why(kind: Kind, said: str, tmp_path: Path):
    with pytest.raises(UnreadableError, match=f"^{said}"):
        find_medium(kind).open(tmp_path / "gone")


@pytest.mark.parametrize("kind", ["image", "text"])
def test_a_row_of_a_table_is_of_its_column_s_type(kind: Kind):
    import pyarrow as pa

    cell = find_medium(kind).make_cell("1", b"held\n")
    assert pa.array([cell], type=find_medium(kind).arrow_type()).to_pylist() == [cell]
