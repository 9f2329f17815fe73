"""The process that is asked: what comes back of it, and of one that is no worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcevolve.app.interface import asking
from pcevolve.app.interface.values import ClassificationResult
from pcevolve.errors import DataError, ProtocolError, UsageError


def answer_with(monkeypatch: pytest.MonkeyPatch, name: str, body: str) -> list[tuple[object, ...]]:
    heard: list[tuple[object, ...]] = []

    def exchange(*asked: object) -> tuple[str, str]:
        heard.append(asked)
        return name, body

    monkeypatch.setattr(asking, "exchange", exchange)
    return heard


def test_files_that_are_not_there_are_left_for_the_work_to_tell_of(monkeypatch, tmp_path: Path):
    heard = answer_with(monkeypatch, "done", '{"files": [], "private": 0}')
    found = asking.ask(
        "classify", ClassificationResult, {}, reads=[tmp_path, tmp_path / "none", None], writes=[tmp_path]
    )
    assert found == ClassificationResult((), 0)
    assert heard == [({"task": "classify", "given": {}, "quiet": False}, [str(tmp_path)], [str(tmp_path)])]


@pytest.mark.parametrize("body", ["{}", "no JSON", '{"files": "all", "private": 0}'])
def test_an_answer_of_another_form_is_none(monkeypatch, body: str):
    answer_with(monkeypatch, "done", body)
    with pytest.raises(ProtocolError, match="asked to classify sent what is no answer"):
        asking.ask("classify", ClassificationResult, {})


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("DataError", DataError), ("UsageError", UsageError), ("SystemExit", ProtocolError)],
)
def test_a_refusal_has_its_kind_and_whether_its_owner_was_told(
    monkeypatch, kind: str, expected: type[Exception]
):
    answer_with(monkeypatch, *asking.refuse(kind, ["see above"], is_reported=True))
    with pytest.raises(expected, match=r"^see above$") as found:
        asking.ask("classify", ClassificationResult, {})
    assert found.value.is_reported
