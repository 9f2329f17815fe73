"""Send answers to the caller: whole, or in chunks for a streamed chat."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from pcevolve_server.errors import (
    AbandonedError,
    DeadlineError,
    EngineLostError,
    GenerationError,
    RequestError,
)
from pcevolve_server.http.middleware import request_id_of
from pcevolve_server.http.rendering import EncodedResponse
from pcevolve_shared.chat import ChatChunk, ChatResponse

logger = logging.getLogger(__name__)

CUT_TOKENS_HEADER: Final = "X-Prompt-Tokens-Cut"
EVENTS: Final = "text/event-stream"

Making = Callable[[], Awaitable[EncodedResponse]]


async def answer(request: Request, work: Making) -> Response:
    """Return the answer. Stop the work if the caller disconnects.

    Raises:
        RequestError: The error that ended the work.
    """
    made = await _do(request, work)
    return Response(made.body, headers=_make_headers(made), media_type="application/json")


async def answer_in_chunks(request: Request, work: Making, with_usage: bool) -> Response:
    """Return a chat's answer as server-sent events. All events are sent together when the answer is complete.

    Args:
        with_usage: Whether the last chunk has the numbers of tokens.

    Raises:
        RequestError: The error that ended the work.
    """
    made = await _do(request, work)
    chunks = ChatChunk.of(ChatResponse.model_validate_json(made.body), with_usage)
    # JSON has no line breaks.
    body = "".join(f"data: {each}\n\n" for each in (*(each.model_dump_json() for each in chunks), "[DONE]"))
    headers = _make_headers(made) | {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return Response(body, headers=headers, media_type=EVENTS)


async def _do(request: Request, work: Making) -> EncodedResponse:
    task = asyncio.ensure_future(work())
    # Watch for a disconnect meanwhile, because work for an absent caller would keep others waiting.
    gone = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise AbandonedError("the caller closed the connection")
        made = task.result()
    except RequestError as error:
        facts = {"request_id": request_id_of(request), "code": error.code}
        logger.log(_severity(error), "refused", extra=facts, exc_info=error.__cause__)
        raise
    finally:
        task.cancel()
        gone.cancel()
    if made.cut_tokens:
        cut = {"request_id": request_id_of(request), "cut_tokens": made.cut_tokens}
        logger.warning("the model read only a part of the prompt", extra=cut)
    return made


def _make_headers(made: EncodedResponse) -> dict[str, str]:
    return {CUT_TOKENS_HEADER: str(made.cut_tokens)} if made.cut_tokens else {}


def _severity(error: RequestError) -> int:
    """Return an error's log level. A caller's mistake, a full queue and a stopping server are not logged as errors."""
    if isinstance(error, EngineLostError | GenerationError):
        return logging.ERROR
    return logging.WARNING if isinstance(error, DeadlineError) else logging.INFO
