"""What every room asks of a medium, whichever it is: how large, how shown, and what a file holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcevolve.modality.images.appearance import Appearance
from pcevolve.modality.media import medium
from pcevolve.modality.medium import UnreadableError
from pcevolve.public.modality import Kind
from pcevolve.public.plan import PublicPlan
from pcevolve_shared import images
from support.provider import png
from support.runs import small_plan

OTHER = Appearance(0.1, 0.9, 0.2, 0.3, 0.5, 0.5)


def of_texts(tokens: int) -> PublicPlan:
    written = small_plan().model_dump(mode="json")
    made = {"kind": "text", "tokens": tokens, "temperature": 1.0}
    return PublicPlan.model_validate({**written, "modality": made})


@pytest.mark.parametrize(("tokens", "most"), [(5, 4096), (100, 6400)])
def test_a_text_may_be_longer_than_asked_for_but_not_endlessly(tokens: int, most: int):
    plan = of_texts(tokens)
    assert medium("text").oversized(b"w" * most, plan) == ""
    fault = medium("text").oversized(b"w" * (most + 1), plan)
    assert fault == f"a text of {most + 1} bytes where {tokens} tokens were asked for"


def test_what_is_no_image_has_no_size():
    assert medium("image").oversized(b"\x89PNG\r\n\x1a\n" * 9, small_plan()) == ""


def test_a_picture_is_shown_small_and_a_text_as_it_is_read():
    picture, text = medium("image").shown(png(1)), medium("text").shown(b"a\x1b b\n")
    assert images.media_type(picture.jpeg) == "image/jpeg"
    assert (picture.text, text.jpeg, text.text) == ("", b"", "a b")


@pytest.mark.parametrize("kind", ["image", "text"])
def test_what_is_nothing_of_the_kind_is_not_shown(kind: Kind):
    shown = medium(kind).shown(b"\xff\x00")
    assert (shown.jpeg, shown.text) == (b"", "")


@pytest.mark.parametrize(
    ("kind", "said"),
    [("image", "is not a regular file; replace or remove it"), ("text", "cannot be read: No such file")],
)
def test_a_file_that_cannot_be_read_says_why(kind: Kind, said: str, tmp_path: Path):
    with pytest.raises(UnreadableError, match=f"^{said}"):
        medium(kind).opened(tmp_path / "gone")


def test_an_image_is_opened_in_the_appearance_that_it_is_to_have(tmp_path: Path):
    path = tmp_path / "1.png"
    path.write_bytes(png(1))
    own = medium("image").opened(path)
    assert own.tobytes() == images.decode(png(1)).tobytes()
    assert medium("image").opened(path, OTHER).tobytes() == OTHER.given_to(own).tobytes() != own.tobytes()


@pytest.mark.parametrize("kind", ["image", "text"])
def test_a_row_of_a_table_is_of_its_column_s_type(kind: Kind):
    import pyarrow as pa

    column = medium(kind).column
    cell = column.cell("1", b"held\n")
    assert pa.array([cell], type=column.arrow()).to_pylist() == [cell]
