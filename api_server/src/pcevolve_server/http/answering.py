"""Answers on their way to the caller: whole, or, of a chat that asked for it, as a stream of chunks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pcevolve_server.errors import (
    AbandonedError,
    CrowdedError,
    DeadlineError,
    EngineLostError,
    GenerationError,
    NotReadyError,
    RequestError,
)
from pcevolve_server.http.middleware import error_response, request_id_of
from pcevolve_server.http.rendering import Answer
from pcevolve_shared.chat import ChatChunk, ChatResponse

logger = logging.getLogger(__name__)

CUT_TOKENS_HEADER: Final = "X-Prompt-Tokens-Cut"
EVENTS: Final = "text/event-stream"
HEARTBEAT: Final = b": still here\n\n"
HEARTBEAT_SECONDS: Final = 15.0

Making = Callable[[], Awaitable[Answer]]


async def answer(request: Request, work: Making) -> Response:
    """Return the answer, and give up when the caller does.

    Raises:
        RequestError: What ended the work.
    """
    task = asyncio.ensure_future(work())
    # The caller is listened to meanwhile: work for nobody would keep others waiting.
    gone = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise _make_abandoned_error()
        answer = task.result()
    except RequestError as error:
        _log_refusal(request, error)
        raise
    finally:
        task.cancel()
        gone.cancel()
    response = Response(answer.body, media_type="application/json")
    if answer.cut_tokens:
        _log_cut(request, answer)
        response.headers[CUT_TOKENS_HEADER] = str(answer.cut_tokens)
    return response


class ChatStream(Response):
    """A chat's answer in chunks, which are sent together when all of it is written, and comments until then.

    A request that is refused before the first comment is answered as if no stream was asked for.
    """

    media_type = EVENTS

    def __init__(
        self, request: Request, work: Making, with_usage: bool, heartbeat_seconds: float = HEARTBEAT_SECONDS
    ) -> None:
        """Begin nothing yet.

        Args:
            with_usage: Whether the last chunk tells how many tokens there were.
            heartbeat_seconds: Between comments, so that nothing in between thinks the connection dead.
        """
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        # A stream has no length beforehand.
        del self.headers["Content-Length"]
        self._request, self._work, self._with_usage = request, work, with_usage
        self._heartbeat_seconds = heartbeat_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Do the work, and send what it brought."""
        task, gone = asyncio.ensure_future(self._work()), asyncio.ensure_future(receive())
        begun = False

        async def send_part(part: bytes) -> None:
            nonlocal begun
            if not begun:
                begun = True
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": part, "more_body": True})

        try:
            while True:
                await asyncio.wait(
                    {task, gone}, timeout=self._heartbeat_seconds, return_when="FIRST_COMPLETED"
                )
                if task.done():
                    break
                if gone.done():
                    raise _make_abandoned_error()
                await send_part(HEARTBEAT)
            await send_part(self._spell(task.result()))
        except Exception as error:
            if isinstance(error, RequestError):
                _log_refusal(self._request, error)
            if not begun:
                raise
            # The status has left already, so a late failure is an event.
            await send_part(self._failure(error))
            if not isinstance(error, RequestError):
                raise
        finally:
            task.cancel()
            gone.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _spell(self, answer: Answer) -> bytes:
        """Chunks, which are data without names, and the end."""
        whole = ChatResponse.model_validate_json(answer.body)
        chunks = (each.model_dump_json() for each in ChatChunk.of(whole, self._with_usage))
        said = b"".join(map(_data, [*chunks, "[DONE]"]))
        if answer.cut_tokens:
            _log_cut(self._request, answer)
            said = f": {answer.cut_tokens} tokens of the prompt were cut\n\n".encode() + said
        return said

    def _failure(self, error: Exception) -> bytes:
        """The event that ends the stream instead of an answer."""
        told = (
            error if isinstance(error, RequestError) else GenerationError("internal error", code="internal")
        )
        self._request.scope["state"]["status"] = told.status
        return _data(bytes(error_response(request_id_of(self._request), told).body).decode())


def _data(line: str) -> bytes:
    """An event; its data are JSON, which has no line breaks."""
    return f"data: {line}\n\n".encode()


def _make_abandoned_error() -> AbandonedError:
    return AbandonedError("the caller closed the connection")


def _log_refusal(request: Request, error: RequestError) -> None:
    facts = {"request_id": request_id_of(request), "code": error.code}
    logger.log(_severity(error), "refused", extra=facts, exc_info=error.__cause__)


def _severity(error: RequestError) -> int:
    """Whose it is to mend: an error is the operator's, what the caller asked for is not; nor is a server that stops."""
    if isinstance(error, NotReadyError | CrowdedError) and not isinstance(error, EngineLostError):
        return logging.INFO
    if isinstance(error, DeadlineError):
        return logging.WARNING
    failed = error.status >= HTTPStatus.INTERNAL_SERVER_ERROR or isinstance(error, GenerationError)
    return logging.ERROR if failed else logging.INFO


def _log_cut(request: Request, answer: Answer) -> None:
    facts = {"request_id": request_id_of(request), "cut_tokens": answer.cut_tokens}
    logger.warning("prompt longer than the model reads", extra=facts)
