"""What a caller is told who hangs up, or whose model fails."""

from __future__ import annotations

import asyncio
import json
import logging
import threading

import pytest
from starlette.requests import Request

from pcevolve_server.errors import (
    AbandonedError,
    BusyError,
    CrowdedError,
    DeadlineError,
    EngineLostError,
    GenerationError,
    InvalidRequestError,
    NotFiniteError,
    NotReadyError,
)
from pcevolve_server.http import answering
from pcevolve_server.http.rendering import EncodedResponse
from pcevolve_shared import wire
from pcevolve_shared.chat import ChatChoice, ChatReply, ChatResponse, Usage
from support.served import read_refusal

ASK = {"model": "fake", "prompt": "a cat", "seed": 7}


def hang_up(client, path, body, kind=b"application/json", **more):
    """Post a body, or its beginning, and close the connection; the first status that is sent."""
    headers = [(b"content-type", kind), (b"content-length", b"900")]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
    messages = [{"type": "http.disconnect"}, {"type": "http.request", "body": body, **more}]
    statuses = []

    async def receive():
        return messages.pop()

    async def send(message):
        statuses.append(message.get("status"))

    client.portal.call(client.app, scope, receive, send)
    return statuses[0]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (wire.TEXT_TO_IMAGE, b"application/json"),
        (wire.OPENAI_EDITS, b"multipart/form-data; boundary=x"),
    ],
)
def test_a_caller_who_hangs_up_in_the_middle_of_a_body_is_no_fault_of_the_server(client, path, kind):
    hang_up(client, path, b"{", kind, more_body=True)
    counted = client.get(wire.METRICS).text
    assert 'status="499"} 1.0' in counted
    assert 'status="500"' not in counted


def test_a_caller_who_hangs_up_leaves_the_queue(client, fake, wait):
    fake.gate.clear()
    first = threading.Thread(target=client.post, args=(wire.TEXT_TO_IMAGE,), kwargs={"json": ASK})
    first.start()
    wait(lambda: fake.batches)
    status = hang_up(client, wire.TEXT_TO_IMAGE, json.dumps(ASK | {"seed": 1}).encode())
    fake.gate.set()
    first.join()
    client.post(wire.TEXT_TO_IMAGE, json=ASK | {"seed": 2})
    assert status == 499
    assert [[task.seed for task in batch] for batch in fake.batches] == [[7], [2]]


def test_a_failing_model_answers_500_without_its_message_and_goes_on(client):
    response = client.post(wire.TEXT_TO_IMAGE, json=ASK | {"prompt": "explode"})
    read_refusal(response, 500, "generation_failed")
    assert "SECRET" not in response.text
    assert client.post(wire.TEXT_TO_IMAGE, json=ASK).status_code == 200


@pytest.mark.parametrize(
    ("error", "severity"),
    [
        (NotReadyError("loading"), logging.INFO),
        (CrowdedError("too many"), logging.INFO),
        (EngineLostError("gone"), logging.ERROR),
        (DeadlineError("late"), logging.WARNING),
        (NotFiniteError(), logging.ERROR),
        (GenerationError("failed"), logging.ERROR),
        (InvalidRequestError("steps"), logging.INFO),
    ],
)
def test_what_the_operator_has_to_mend_is_an_error_in_the_log(error, severity):
    assert answering._severity(error) == severity


def stream(work, coming):
    """What is answered as a stream, to a caller from whom a message comes when ``coming`` is done."""

    async def receive():
        await coming()
        return {"type": "http.disconnect"}

    request = Request({"type": "http", "headers": [], "state": {"request_id": "r1"}}, receive)
    return asyncio.run(answering.answer_in_chunks(request, work, with_usage=True))


async def never():
    await asyncio.Event().wait()


async def written():
    usage = Usage(prompt_tokens=1, completion_tokens=1, total_tokens=2)
    choice = ChatChoice(index=0, message=ChatReply(content="brown"), finish_reason="stop")
    return EncodedResponse(
        ChatResponse(id="c", created=1, model="m", choices=(choice,), usage=usage).model_dump_json(), 3
    )


def test_a_stream_ends_with_its_usage_and_a_header_says_what_was_cut():
    found = stream(written, never)
    *events, last = found.body.decode().split("\n\n")[:-1]
    assert (len(events), last) == (3, "data: [DONE]")  # the text, its end, and the usage
    assert found.headers["X-Prompt-Tokens-Cut"] == "3"
    assert found.headers["Content-Type"].startswith("text/event-stream")


def test_what_fails_is_no_stream():
    async def fail():
        raise BusyError("full")

    with pytest.raises(BusyError, match="full"):
        stream(fail, never)


def test_nothing_is_written_for_a_caller_who_has_gone():
    async def leave():
        return None

    with pytest.raises(AbandonedError, match="closed the connection"):
        stream(never, leave)


def test_nobody_listens_to_a_caller_who_was_answered():
    async def scenario():
        async def receive():
            await asyncio.Event().wait()

        async def work():
            return EncodedResponse("{}", 0)

        scope = {"type": "http", "headers": [], "state": {"request_id": "x"}}
        answered = await answering.answer(Request(scope, receive), work)
        await asyncio.sleep(0)
        return answered.body, len(asyncio.all_tasks())

    assert asyncio.run(scenario()) == (b"{}", 1)


@pytest.mark.parametrize("cut", [0, 3])
def test_a_prompt_that_was_cut_is_told_in_the_log_and_in_a_header(caplog, cut):
    async def scenario():
        async def receive():
            await asyncio.Event().wait()

        async def work():
            return EncodedResponse("{}", cut)

        scope = {"type": "http", "headers": [], "state": {"request_id": "x"}}
        return await answering.answer(Request(scope, receive), work)

    headers = asyncio.run(scenario()).headers
    logged = [
        vars(each)["cut_tokens"]
        for each in caplog.records
        if "only a part of the prompt" in each.getMessage()
    ]
    assert (headers.get("X-Prompt-Tokens-Cut"), logged) == (("3", [3]) if cut else (None, []))
