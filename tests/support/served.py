"""A generator that paints plain colours, and an app around any generator, in this process; for tests only."""

import contextlib
import threading
import time
from collections.abc import Sequence

from PIL import Image
from starlette.testclient import TestClient

from pcevolve_server.engines import thread
from pcevolve_server.errors import AbandonedError
from pcevolve_server.http.app import create_app
from pcevolve_server.models import ModelCache
from pcevolve_server.settings import Settings
from pcevolve_server.work import IsCancelled, Picture, Task, never_cancelled
from pcevolve_shared.wire import REQUEST_ID_HEADER, ErrorResponse, ModelInfo, Resolution


class FakeGenerator:
    """Paints a plain colour out of the seed; waits at ``gate`` and keeps its batches."""

    bit_exact_batch_size, fixed_cost_batches, on_gpu, memory = 1, False, False, 0

    def __init__(self, adapters=()):
        self.info = ModelInfo(
            id="maker/fake",
            name="fake",
            family="stable-diffusion",
            pipelines=("text-to-image", "image-to-image"),
            base_resolution=Resolution(width=64, height=32),
            schedulers=("ddim",),
            adapters=adapters,
            max_images=64,
        )
        self.gate = threading.Event()
        self.gate.set()
        self.batches = []

    def create(self, tasks: Sequence[Task], is_cancelled: IsCancelled = never_cancelled):
        self.batches.append(list(tasks))
        while not self.gate.wait(0.01):
            if is_cancelled():
                raise AbandonedError("the caller no longer waits for these images")
        return [self.paint(task) for task in tasks]

    vary = create

    def paint(self, task):
        if task.prompt == "explode":
            raise RuntimeError("SECRET prompt in a library's message")
        colour = (task.seed % 256, task.seed // 256 % 256, 7)
        return Picture(Image.new("RGB", (task.recipe.width, task.recipe.height), colour))


def on_thread(load):
    """An engine on a thread, of the model or the cache of models that ``load`` returns."""

    def cache():
        model = load()
        return model if isinstance(model, ModelCache) else ModelCache([lambda: model])

    return thread.opening(cache, 0.0)


@contextlib.contextmanager
def serve_app(generator, **settings):
    """Yield a client of a ready app."""
    app = create_app(Settings(**settings), on_thread(lambda: generator))
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        wait_until(lambda: client.get("/readyz").status_code == 200)
        yield client


def read_refusal(response, status, code):
    """Return the message of an error in the contract's shape."""
    body = ErrorResponse.model_validate_json(response.content).error
    assert (response.status_code, body.code) == (status, code)
    assert response.headers[REQUEST_ID_HEADER] == body.request_id
    return body.message


def wait_until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
