"""Parts of a plan that somebody else's words are in, or a promise."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from pcevolve.public.parts import Library, LicenceNotice, Secrecy, make_one_line, make_readable

FILE = {"name": "NOTICE", "sha256": "a" * 64, "text": "all\nof it"}


def test_words_of_others_are_cut_and_made_readable():
    assert make_readable("a\u202eb\nc") == "a\\u202eb\nc"
    assert make_one_line(" a\t\n b ") == "a b"
    assert (len(make_readable("x" * 9999)), len(make_one_line("x" * 9999))) == (4096, 256)


@pytest.mark.parametrize(
    "bad",
    [
        {"text": "a\u202eb"},
        {"text": "x" * 4097},
        {"name": "two\nlines"},
        {"name": "x" * 257},
        {"sha256": "A" * 64},
    ],
)
def test_a_plan_takes_only_what_can_be_read(bad: dict[str, str]):
    assert LicenceNotice(**{**FILE, "text": "x" * 4096, "name": "x" * 256}).text == "x" * 4096
    with pytest.raises(ValidationError, match=next(iter(bad))):
        LicenceNotice(**FILE | bad)


def test_a_library_has_so_many_licences_and_files_and_an_image():
    licence = {"name": "mit", "images": 1}
    assert len(Library(images=10**12, licences=(licence,) * 32, files=(FILE,) * 4).licences) == 32
    for bad in ({"images": 0}, {"images": 10**12 + 1}, {"licences": (licence,) * 33}, {"files": (FILE,) * 5}):
        with pytest.raises(ValidationError, match=next(iter(bad))):
            Library(**{"images": 1} | bad)


def test_a_secret_is_promised_no_less_than_a_guess():
    assert (
        Secrecy(prior=0.1, bound=0.1, most=1).words
        == "guessed with at most 0.1 where it was 0.1, in at most 1 texts each"
    )
    with pytest.raises(
        ValidationError, match=r"must not be below method\.secret_prior, which guessing reaches"
    ):
        Secrecy(prior=0.1, bound=0.0999, most=1)
