"""A list of secrets: read without repeating one, matched in the normal form, and bounded by a public number."""

from __future__ import annotations

import pytest

from pcevolve.errors import DataError
from pcevolve.private.secrets import capped, read_secrets

TEXTS = ("Jane Doe has a fever", "jane  doe again", "nobody", "M\u00fcller came")


def test_secrets_are_found_whatever_the_case(tmp_path):
    path = tmp_path / "secrets.txt"
    path.write_text("JANE  Doe\n\nMu\u0308ller\nJane Doe\n", "utf-8")
    secrets = read_secrets(path)
    assert secrets == ["jane doe", "m\u00fcller"]
    texts = ("jane doe has a fever", "jane doe again", "nobody", "m\u00fcller came")
    assert capped(secrets, texts, 2, 0.25).tolist() == [0.25, 0.25, 1.0, 0.25]


def test_a_secret_in_more_texts_than_was_said_is_refused_by_its_place():
    with pytest.raises(
        DataError, match="secret 2 of --secrets stands in 2 texts, and --secret-size says 1"
    ) as error:
        capped(["nobody", "jane"], TEXTS, 1, 0.5)
    assert "jane" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(b"", "holds no secrets"), (b"ab\n", "line 1 has fewer than 3"), (b"\xff", "cannot be read")],
)
def test_a_list_that_cannot_be_used_is_refused(tmp_path, content, complaint):
    (tmp_path / "s").write_bytes(content)
    with pytest.raises(DataError, match=complaint):
        read_secrets(tmp_path / "s")
    with pytest.raises(DataError, match="cannot be read"):
        read_secrets(tmp_path / "nowhere")
