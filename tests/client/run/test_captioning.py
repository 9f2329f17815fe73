"""Who captions private images, from the options of a run: what is refused, and which key goes where."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcevolve.captioners.attributes import Attributes
from pcevolve.errors import UsageError
from pcevolve.run.captioning import captioner_of
from pcevolve.run.checks import checked
from pcevolve.run.settings import KEY_VARIABLE, RunSettings
from support.folders import class_folders
from support.noised import private_images
from support.online import LocalServer, said

FAR, NEAR = "https://api.example/v1", "http://127.0.0.1:8001/v1"


def settings(tmp_path: Path, **given: object) -> RunSettings:
    private = tmp_path / "private"
    private = private if private.is_dir() else class_folders(private, seed=1)
    base = {"private": str(private), "out": tmp_path / "run", "domain": "leather texture"}
    ledger = {"ledger": tmp_path / "ledger.sqlite"}
    return RunSettings.of({**base, **ledger, "method": "gcap", "not_private": True, **given})


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"not_private": False}, "captions of private images go to the API as prompts"),
        ({"captioner": FAR, "captioner_model": "eyes"}, "would be sent the private images themselves"),
        ({"captioner": NEAR}, "--captioner-model says which model"),
        ({"captioner_model": "eyes"}, "--captioner-model says which model"),
        ({"send_private_images": True}, "are for a captioner at an address"),
        ({"captioner": "attributes", "captioner_key_file": "key"}, "are for a captioner at an address"),
    ],
)
def test_a_run_is_refused_before_anything_is_read(tmp_path: Path, given: dict[str, object], why: str):
    with pytest.raises(UsageError, match=why):
        checked(settings(tmp_path, **given))


def test_one_at_a_private_address_or_allowed_by_name_is_not_refused(tmp_path: Path):
    for given in ({"captioner": NEAR}, {"captioner": FAR, "send_private_images": True}):
        checked(settings(tmp_path, captioner_model="eyes", **given))


def test_without_a_captioner_attributes_are_measured(tmp_path: Path):
    assert isinstance(captioner_of(settings(tmp_path)), Attributes)
    assert isinstance(captioner_of(settings(tmp_path, captioner="attributes")), Attributes)


def test_the_key_of_the_image_api_is_not_sent_to_the_captioner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(KEY_VARIABLE, "sk-of-the-image-api")
    server = LocalServer(lambda heard: said(200, {"choices": [{"message": {"content": "A cut."}}]}))
    images = private_images(("cut", "good")).items
    try:
        bare = settings(tmp_path, captioner=f"{server.address}/v1", captioner_model="eyes")
        assert captioner_of(bare).captions(images[:1]) == ["A cut."]
        key = tmp_path / "key"
        key.write_text("sk-of-the-captioner")
        key.chmod(0o600)
        assert captioner_of(bare.model_copy(update={"captioner_key_file": key})).captions(images[:1])
    finally:
        server.close()
    first, second = server.heard
    assert "authorization" not in first.headers
    assert second.headers["authorization"] == "Bearer sk-of-the-captioner"
    assert not any(b"sk-of-the-image-api" in str(each).encode() for each in server.heard)
