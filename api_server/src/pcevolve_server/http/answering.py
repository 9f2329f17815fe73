"""Answers on their way to the caller: at once, or as events with progress before them."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pcevolve_server.errors import AbandonedError, GenerationError, RequestError
from pcevolve_server.http.middleware import error_response, request_id_of
from pcevolve_server.http.rendering import Answer
from pcevolve_server.queue.progress import Progress
from pcevolve_shared.chat import ChatChunk, ChatResponse

logger = logging.getLogger(__name__)

CUT_TOKENS_HEADER: Final = "X-Prompt-Tokens-Cut"
EVENTS: Final = "text/event-stream"

_HEARTBEAT_SECONDS = 15.0
_LEAST_SECONDS = 0.1
"""Between news: the latest are as good as all of them."""

Making = Callable[[Progress | None], Coroutine[Any, Any, Answer]]
"""Makes the answer, and tells whoever looks on."""


async def answer(request: Request, work: Making, spelling: Events | None = None) -> Response:
    """Return the answer as the caller asked for it, and give up when the caller does.

    Args:
        spelling: Of events, where the request itself asks for them; None to go by what the caller accepts.

    Raises:
        RequestError: Before anything was sent.
    """
    if spelling is not None or asks_for_events(request):
        return EventStream(request, work, spelling or Events())
    task = asyncio.ensure_future(work(None))
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


def asks_for_events(request: Request) -> bool:
    """Return whether the caller names server-sent events among what it accepts."""
    accepted = ",".join(request.headers.getlist("Accept")).split(",")
    return EVENTS in (each.partition(";")[0].strip().lower() for each in accepted)


class EventStream(Response):
    """Server-sent events: news of the request, and at last the answer, or what went wrong.

    A request that is refused before it waits for the model is answered as if no events were asked for.
    """

    media_type = EVENTS

    def __init__(
        self,
        request: Request,
        work: Making,
        spelling: Events,
        heartbeat_seconds: float = _HEARTBEAT_SECONDS,
    ) -> None:
        """Begin nothing yet.

        Args:
            heartbeat_seconds: Without news; then a comment is sent, so that nothing in between thinks it dead.
        """
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        # A stream has no length beforehand.
        del self.headers["Content-Length"]
        self._request, self._work, self._spelling = request, work, spelling
        self._heartbeat_seconds = heartbeat_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Do the work and send what there is to tell of it."""
        progress = Progress()
        task, gone = asyncio.ensure_future(self._work(progress)), asyncio.ensure_future(receive())
        begun = False
        try:
            async for event in self._events(progress, task, gone):
                if not begun:
                    begun = True
                    await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await send({"type": "http.response.body", "body": event, "more_body": True})
        except Exception as error:
            if isinstance(error, RequestError):
                _log_refusal(self._request, error)
            if not begun:
                raise
            # The status has left already, so a late failure is an event.
            await send({"type": "http.response.body", "body": self._failure(error), "more_body": True})
            if not isinstance(error, RequestError):
                raise
        finally:
            task.cancel()
            gone.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _events(
        self, progress: Progress, task: asyncio.Future[Answer], gone: asyncio.Future[Any]
    ) -> AsyncIterator[bytes]:
        """Yield events until there is an answer, and the answer.

        Raises:
            Exception: What ended the work.
        """
        while not task.done():
            changed = asyncio.ensure_future(progress.changed.wait())
            await _first({task, gone, changed}, self._heartbeat_seconds)
            changed.cancel()
            if gone.done() and not task.done():
                raise _make_abandoned_error()
            if progress.changed.is_set():
                yield self._spelling.news(*progress.news())
                # News may come with every step; a caller needs no more of them than a person can see.
                await _first({task, gone}, _LEAST_SECONDS)
            elif not task.done():
                yield HEARTBEAT
        answer = task.result()
        if answer.cut_tokens:
            _log_cut(self._request, answer)
            yield self._spelling.cut(answer.cut_tokens)
        yield self._spelling.done(answer)

    def _failure(self, error: Exception) -> bytes:
        """The event that ends the stream instead of an answer."""
        told = (
            error if isinstance(error, RequestError) else GenerationError("internal error", code="internal")
        )
        self._request.scope["state"]["status"] = told.status
        return self._spelling.failed(bytes(error_response(request_id_of(self._request), told).body).decode())


async def _first(waited_for: set[asyncio.Future[Any]], seconds: float) -> None:
    await asyncio.wait(waited_for, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)


def _make_abandoned_error() -> AbandonedError:
    return AbandonedError("the caller closed the connection")


def _log_refusal(request: Request, error: RequestError) -> None:
    facts = {"request_id": request_id_of(request), "code": error.code}
    # A caller can mend what it asked for; the rest is the operator's.
    failed = error.status >= HTTPStatus.INTERNAL_SERVER_ERROR or isinstance(error, GenerationError)
    logger.log(logging.ERROR if failed else logging.INFO, "refused", extra=facts, exc_info=error.__cause__)


def _log_cut(request: Request, answer: Answer) -> None:
    facts = {"request_id": request_id_of(request), "cut_tokens": answer.cut_tokens}
    logger.warning("prompt longer than the model reads", extra=facts)


HEARTBEAT: Final = b": still here\n\n"


class Events:
    """Named events: news, ``cut``, and at last ``done`` with the plain answer, or ``error``."""

    def news(self, name: str, facts: Mapping[str, int]) -> bytes:
        """Spell the progress of a request."""
        return _event(name, json.dumps(facts))

    def cut(self, tokens: int) -> bytes:
        """Spell the tokens of a prompt that the model did not read."""
        return _event("cut", json.dumps({"tokens": tokens}))

    def done(self, answer: Answer) -> bytes:
        """Spell the answer, which is the end."""
        return _event("done", answer.body)

    def failed(self, error: str) -> bytes:
        """Spell the JSON of an error, which is the end too."""
        return _event("error", error)


class Chunks(Events):
    """Chunks of a chat, which are data without names, and ``[DONE]``; of news there are only comments."""

    def __init__(self, with_usage: bool) -> None:
        """Begin.

        Args:
            with_usage: Whether the last chunk tells how many tokens there were.
        """
        self._with_usage = with_usage

    def news(self, name: str, facts: Mapping[str, int]) -> bytes:
        """See ``Events.news``."""
        return HEARTBEAT

    def cut(self, tokens: int) -> bytes:
        """See ``Events.cut``."""
        return f": {tokens} tokens of the prompt were cut\n\n".encode()

    def done(self, answer: Answer) -> bytes:
        """See ``Events.done``."""
        whole = ChatResponse.model_validate_json(answer.body)
        chunks = (each.model_dump_json() for each in ChatChunk.of(whole, self._with_usage))
        return b"".join(map(_data, [*chunks, "[DONE]"]))

    def failed(self, error: str) -> bytes:
        """See ``Events.failed``."""
        return _data(error)


def _event(name: str, line: str) -> bytes:
    """An event; its data are JSON, which has no line breaks."""
    return f"event: {name}\n".encode() + _data(line)


def _data(line: str) -> bytes:
    return f"data: {line}\n\n".encode()
