"""From a validated chat request to texts to write, and from them to the answer."""

import secrets
import time
from collections.abc import Sequence

from pcevolve_server.host import Host
from pcevolve_server.metrics import Metrics
from pcevolve_server.progress import Progress
from pcevolve_server.rendering import Answer
from pcevolve_server.writer import Completion, TextRecipe, TextTask
from pcevolve_shared import wire
from pcevolve_shared.chat import ChatRequest, ChatResponse, Choice, Reply, Usage


class Chats:
    """What the chat route delegates to."""

    def __init__(self, host: Host, metrics: Metrics) -> None:
        self._host, self._metrics = host, metrics

    async def complete(self, body: ChatRequest, caller: str, progress: Progress | None = None) -> Answer:
        """Write completions of a chat."""
        model = self._host.info(body.model, "chat").id
        recipe = TextRecipe(body.new_tokens, body.temperature, body.top_p, body.stops, model)
        messages = tuple((each.role, each.content) for each in body.messages)
        first = secrets.randbits(32) if body.seed is None else body.seed
        tasks = [TextTask(recipe, messages, wire.seed_of(first, index)) for index in range(body.n)]
        written = await self._host.batcher.submit(tasks, caller, progress)
        self._metrics.tokens.inc(sum(each.tokens for each in written))
        return Answer(_response(model, written).model_dump_json(), max(each.cut_tokens for each in written))


def _response(model: str, written: Sequence[Completion]) -> ChatResponse:
    read, made = written[0].prompt_tokens, sum(each.tokens for each in written)
    return ChatResponse(
        id=f"chatcmpl-{secrets.token_hex(12)}",
        created=int(time.time()),
        model=model,
        choices=tuple(
            Choice(index=index, message=Reply(content=each.text), finish_reason=each.finish)
            for index, each in enumerate(written)
        ),
        usage=Usage(prompt_tokens=read, completion_tokens=made, total_tokens=read + made),
    )
