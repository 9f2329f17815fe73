"""What an answer says of its own success."""

from __future__ import annotations

import json

import pytest

from pcevolve.public.answers import has_succeeded


@pytest.mark.parametrize("status", [200, 201, 202, 203, 206])
@pytest.mark.parametrize(
    "body",
    [
        {"data": [{"b64_json": "x"}], "error": None},
        {"images": ["x"], "info": "{}", "code": 1, "message": "warnings"},
        {"object": "list", "data": []},
        {"code": 20000, "message": "Ok", "status": True, "data": {"totalBalance": "1"}},
        [],
        {"amount": 3.5},
    ],
)
def test_an_answer_that_brings_what_was_asked_for_is_a_success(status, body):
    assert has_succeeded(status, json.dumps(body).encode())


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "no"}},
        {"errors": ["no"]},
        {"detail": "no"},
        {"object": "error"},
        {"success": False},
        {"ok": False},
        {"status": "FAILED"},
        {"output": {"task_status": "canceled"}},
        {"base_resp": {"status_code": 1004}},
        {"code": 50, "message": "no"},
        {"code": "E5", "msg": "no"},
        {"choices": [{"error": {"code": 502}}]},
    ],
)
def test_an_error_under_the_status_of_a_success_is_none(body):
    assert not has_succeeded(200, json.dumps(body).encode())
    assert not has_succeeded(200, b"\xef\xbb\xbf" + json.dumps(body).encode())
    assert has_succeeded(200, json.dumps({**body, "choices": [{"text": "x"}]}).encode())


@pytest.mark.parametrize(
    "body",
    [
        {"code": 0, "message": "fine"},
        {"code": "ok", "msg": "fine"},
        {"code": [5], "message": "no"},
        {"code": 5},
        {"base_resp": {"status_code": 0}},
        {"status": "queued"},
        {"choices": [{"error": {"code": 502}}, {"text": "x"}]},
        {"success": True},
    ],
)
def test_what_only_looks_like_an_error_is_a_success(body):
    assert has_succeeded(200, json.dumps(body).encode())


@pytest.mark.parametrize(("status", "succeeded"), [(199, False), (200, True), (299, True), (300, False)])
def test_a_success_has_its_status(status, succeeded):
    assert has_succeeded(status, b"no JSON") is succeeded


def test_a_body_too_long_for_an_error_is_not_read_as_one():
    error = json.dumps({"error": "x"}).encode()
    assert not has_succeeded(200, error + b" " * (65_536 - len(error)))
    assert has_succeeded(200, error + b" " * (65_537 - len(error)))
