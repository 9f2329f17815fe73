"""What the server tells its operator: ids, metrics and logs, and what is in none of them."""

import json
import logging
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from pcevolve_server.logs import JsonFormatter, TerminalFormatter
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


def logged(client, caplog, ask):
    caplog.clear()
    client.post(wire.TEXT_TO_IMAGE, json=ask)
    lines = [TerminalFormatter().format(each) for each in caplog.records if "pcevolve_server" in each.name]
    return [line.partition(" ")[2] for line in lines]


def test_a_person_at_a_terminal_reads_words_and_nothing_more_than_a_program_would(client, caplog):
    caplog.set_level("INFO")
    (request,) = logged(client, caplog, ASK)
    assert re.fullmatch(r"POST /v1/stable-diffusion/text-to-image: 200 in [\d.]+ s", request)
    refused, request = logged(client, caplog, ASK | {"prompt": "explode"})
    assert refused.startswith("error: refused: RuntimeError in served.py:")
    assert request.startswith("POST /v1/stable-diffusion/text-to-image: 500 in ")
    assert not any(word in refused + request for word in ("SECRET", "{", "[", "="))


@pytest.mark.system
@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_terminal_gets_words_and_whatever_else_reads_gets_json(is_terminal):
    reader, writer = pty.openpty() if is_terminal else os.pipe()
    code = "import logging as l; from pcevolve_server import logs; logs.configure('info');"
    code += "l.getLogger('pcevolve_server.x').info('model loaded', extra={'device': 'cpu'})"
    subprocess.run([sys.executable, "-c", code], stderr=writer, check=True, timeout=60)
    line = os.read(reader, 4096).decode()
    if is_terminal:
        assert re.fullmatch(r"\d\d:\d\d:\d\d model loaded \(device cpu\)\s*", line)
    else:
        assert json.loads(line)["device"] == "cpu"
