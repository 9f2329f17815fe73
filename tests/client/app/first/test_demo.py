"""A demonstration and what lies beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcevolve.app.first import demo, local_server
from pcevolve.errors import UsageError
from pcevolve.public.durable import write_private
from pcevolve.public.run.owner import OwnerFolder
from support.runs import SmallRun, small_plan
from support.together import NO_CHILDREN


def test_what_lies_beside_a_demonstration_does_so_from_within_its_folder_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert demo._beside(Path(), "random") == tmp_path.with_name(f"{tmp_path.name}-random")


def test_a_demonstration_of_texts_is_none_of_images(tmp_path):
    SmallRun.open(tmp_path, small_plan(run_id="a" * 32)).close()
    found = {"modality": "text", "accuracy": []}
    write_private(OwnerFolder.of(tmp_path, demo._find_ledger(tmp_path)).result, found)
    with pytest.raises(UsageError, match=r"contains a demonstration of texts: give another --out"):
        demo.demonstrate(tmp_path, NO_CHILDREN, "image")
    assert demo.demonstrate(tmp_path, NO_CHILDREN, "text") == found


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_server, "POLL_SECONDS", 0)
