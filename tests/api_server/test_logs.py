"""What the server tells its operator: ids, metrics and logs, and what is in none of them."""

import json
import logging
from pathlib import Path

import pytest
from PIL import Image

from pcevolve_server.logs import JsonFormatter
from pcevolve_server.settings import Key
from pcevolve_shared import images, wire

KEY = "correct-horse-battery-staple"
ASK = {"model": "fake", "prompt": "a cat", "seed": 7}


@pytest.mark.parametrize("given", ["", "a" * 65, "a b", "é", '"}', "-a"])
def test_any_other_request_id_is_replaced(client, given):
    headers = {wire.REQUEST_ID_HEADER: given.encode("latin-1")}
    answered = client.get(wire.HEALTH, headers=headers).headers[wire.REQUEST_ID_HEADER]
    assert answered != given
    assert len(answered) == 32


def test_metrics_count_by_route_and_never_by_a_callers_text(client):
    client.post(wire.TEXT_TO_IMAGE, json=ASK | {"n": 2})
    client.get("/SECRET")
    text = client.get(wire.METRICS).text
    assert f'pcevolve_requests_total{{route="{wire.TEXT_TO_IMAGE}",status="200"}} 1.0' in text
    assert "pcevolve_images_total 2.0" in text
    assert 'pcevolve_stage_seconds_count{stage="wait"} 1.0' in text
    assert 'pcevolve_stage_seconds_count{stage="write"} 1.0' in text
    assert "process_resident_memory_bytes" in text
    assert "SECRET" not in text


def test_what_the_operator_has_to_mend_is_an_error_in_the_log_and_what_the_caller_has_to_is_none(
    client, caplog
):
    caplog.set_level("INFO")
    for prompt in ("explode", 5):
        client.post(wire.TEXT_TO_IMAGE, json=ASK | {"prompt": prompt})
    logged = [each for each in caplog.records if each.name.startswith("pcevolve_server")]
    assert [each.code for each in logged if each.levelname == "ERROR"] == ["generation_failed"]


def test_whatever_our_own_code_attaches_is_logged_and_nothing_of_libraries():
    given = {"msg": "m", "layers": 3, "shape": (1, 2), "device": Path("cpu")}
    ours, theirs = (
        json.loads(JsonFormatter().format(logging.makeLogRecord({"name": name, **given})))
        for name in ("pcevolve_server.x", "diffusers")
    )
    assert (ours["layers"], ours["shape"], ours["device"]) == (3, [1, 2], "cpu")
    assert sorted(theirs) == ["event", "level", "logger", "time"]


def test_logs_hold_no_prompt_no_image_no_key_and_no_exception_message(serve, fake, caplog, monkeypatch):
    caplog.set_level(logging.DEBUG)
    # pytest keeps one handler for all tests of a process
    monkeypatch.setattr(caplog.handler, "formatter", JsonFormatter())
    image = images.to_base64(images.encode(Image.new("RGB", (64, 32), (1, 2, 3))))
    headers = {"Authorization": f"Bearer {KEY}"}
    with serve(fake, keys=(Key(KEY),)) as client:
        for prompt in ("SECRET", "explode"):
            body = ASK | {"prompt": prompt, "negative_prompt": "SECRET", "image": image}
            client.post(wire.IMAGE_TO_IMAGE, json=body, headers=headers)
        client.post(wire.TEXT_TO_IMAGE, json={"SECRET": image, "prompt": 5}, headers=headers)
        client.get("/SECRET?SECRET", headers=headers)
    text = "\n".join(line for line in caplog.text.splitlines() if '"logger": "httpx' not in line)
    entries = [json.loads(line) for line in text.splitlines()]
    requests = [entry for entry in entries if entry["event"] == "request" and entry["method"] == "POST"]
    assert [entry["status"] for entry in requests] == [200, 500, 422]
    assert any(entry.get("exception") == "RuntimeError" and entry["frames"] for entry in entries)
    assert not [word for word in ("SECRET", KEY, image[:40]) if word in text]
