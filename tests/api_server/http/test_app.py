"""The HTTP surface on a fake model: shapes, limits, refusals."""

import asyncio
import json
import pickle
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from PIL import Image
from starlette.testclient import TestClient

from pcevolve_server.errors import EngineLostError, ModelLoadError, NotFiniteError
from pcevolve_server.http.app import create_app
from pcevolve_server.settings import Key, Settings
from pcevolve_server.work import Picture
from pcevolve_shared import images, limits, wire
from support.served import on_thread, read_refusal

KEY = "correct-horse-battery-staple"
HERE = "http://127.0.0.1"
ASK = {"model": "fake", "prompt": "a cat", "seed": 7}
GENERATING = [wire.TEXT_TO_IMAGE, wire.IMAGE_TO_IMAGE, wire.IP_ADAPTER]


def image_in(text):
    return images.decode(images.from_base64(text))


def test_one_image_answers_as_getimg_does(client):
    answer = wire.ImageResponse.model_validate_json(client.post(wire.TEXT_TO_IMAGE, json=ASK).content)
    assert answer.seed == 7
    assert image_in(answer.image).getpixel((0, 0)) == (7, 0, 7)


SUITS = wire.Recommended(steps=28, guidance=3.5, strength_low=0.3, strength_high=0.9)


@pytest.mark.parametrize(
    ("recommended", "settings", "expected"),
    [
        (None, {}, (50, 7.5)),  # the papers'
        (None, {"default_steps": 9, "default_guidance": 3.5}, (9, 3.5)),
        (SUITS, {}, (28, 3.5)),
        (SUITS, {"default_steps": 6}, (6, 3.5)),
        (SUITS, {"default_guidance": 0}, (28, 0)),
    ],
)
def test_absent_steps_and_guidance_are_the_operator_s_or_suit_the_model(
    serve, fake, recommended, settings, expected
):
    fake.info = fake.info.model_copy(update={"recommended": recommended})
    with serve(fake, **settings) as client:
        client.post(wire.TEXT_TO_IMAGE, json=ASK)
    recipe = fake.batches[-1][0].recipe
    assert (recipe.steps, recipe.guidance) == expected


@pytest.mark.parametrize(
    "host",
    [
        "attacker.example", "localhost.attacker.example", "127.0.0.1.attacker.example:80", "192.168.0.7",
        "[fe80::1]:80", "x@localhost", "",
    ],
)  # fmt: skip
def test_without_keys_another_machines_name_is_refused(serve, fake, host):
    with serve(fake, allowed_hosts=("gpu.lab",)) as client:
        for path in (wire.MODELS, wire.HEALTH):
            read_refusal(client.get(path, headers={"Host": host}), 421, "host_not_allowed")


FOREIGN = [
    {"Origin": "https://attacker.example"},
    {"Origin": "http://localhost:3000"},
    {"Origin": "http://127.0.0.1:8000"},  # the same machine by another name
    {"Origin": "http://localhost"},
    {"Origin": "http://localhost:8000.attacker.example"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": "file://"},
    {"Origin": "chrome-extension://localhost:8000"},
    {"Host": "gpu.lab", "Origin": "http://other.lab"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "Cross-Site "},
    {"Sec-Fetch-Site": ""},
    {"Sec-Fetch-Site": "same-origin", "Origin": "https://attacker.example"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost:8000"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_without_keys_a_page_of_another_origin_has_nothing_made_and_may_read_nothing(serve, fake, headers):
    asks = [("POST", path) for path in (*GENERATING, wire.OPENAI_GENERATIONS, wire.OPENAI_EDITS, wire.CHAT)]
    asks += [("OPTIONS", wire.TEXT_TO_IMAGE), ("GET", wire.TEXT_TO_IMAGE), ("GET", f"{wire.LINKS}/x")]
    asks += [("GET", path) for path in (wire.METRICS, wire.HEALTH, wire.MODELS)]
    with serve(fake, allowed_hosts=("gpu.lab",)) as client:
        for method, path in asks:
            body = b'{"prompt": "a"}' if method == "POST" else None
            answer = client.request(method, path, content=body, headers={"Host": "localhost:8000"} | headers)
            assert "API key" in read_refusal(answer, 403, "origin_not_allowed")
            assert not [name for name in answer.headers if name.startswith("access-control")]
    assert fake.batches == []


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Host": "LOCALHOST:1"},
        {"Host": "127.5.5.5:8000"},
        {"Host": "[::1]:9"},
        {"Host": "GPU.lab.:8000"},
        {"Host": "gpu.lab", "Origin": "https://gpu.lab", "Sec-Fetch-Site": "same-origin"},
        {"Host": "LocalHost:8000", "Origin": "http://localhost:8000"},
        {"Host": "[::1]:8000", "Origin": "http://[::1]:8000"},
        {"Sec-Fetch-Site": "none"},
    ],
    ids=str,
)
def test_without_keys_this_machine_and_its_allowed_names_are_served(serve, fake, headers):
    with serve(fake, allowed_hosts=("GPU.lab",)) as client:
        assert client.get("/docs", headers=headers).status_code == 200
        assert client.post(wire.TEXT_TO_IMAGE, json=ASK, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "key", [None, "Bearer wrong", "Bearer ", KEY, f"Basic {KEY}", f"Bearer {KEY}x", "Bearer \xff"]
)
def test_without_the_key_nothing_is_answered(serve, fake, key):
    headers = {} if key is None else {"Authorization": key.encode("latin-1")}
    with serve(fake, keys=(Key(KEY),)) as client:
        for path in (wire.MODELS, wire.BALANCE, wire.METRICS, "/nowhere"):
            assert "Bearer KEY" in read_refusal(client.get(path, headers=headers), 401, "invalid_api_key")
        for path in [*GENERATING, wire.OPENAI_GENERATIONS, wire.OPENAI_EDITS, wire.CHAT]:
            read_refusal(client.post(path, json=ASK, headers=headers), 401, "invalid_api_key")
    assert fake.batches == []


def test_with_the_key_everything_is_answered_and_health_needs_none(serve, fake):
    with serve(fake, keys=(Key(KEY),)) as client:
        assert client.get(wire.HEALTH).json() == {"status": "ok"}
        assert client.get("/docs").status_code == 200
        headers = {"Authorization": f"bearer {KEY}"}
        assert client.post(wire.TEXT_TO_IMAGE, json=ASK, headers=headers).status_code == 200


def unread():
    """A body that nobody should read: the test transport reads lazily, so doing so raises."""
    yield b"{"
    raise AssertionError("the body was read")


def test_the_key_is_asked_for_before_the_body_is_read(serve, fake):
    with serve(fake, keys=(Key(KEY),)) as client:
        read_refusal(client.post(wire.TEXT_TO_IMAGE, content=unread()), 401, "invalid_api_key")


def test_a_body_too_long_is_refused_by_its_declared_length(client, fake):
    headers = {"Content-Length": str(limits.MAX_REQUEST_BYTES + 1)}
    response = client.post(wire.TEXT_TO_IMAGE, content=b"{}", headers=headers)
    assert "longer than" in read_refusal(response, 413, "request_too_large")


def test_a_body_too_long_is_refused_while_it_streams(client):
    chunks = (b" " * 2**20 for _ in range(limits.MAX_REQUEST_BYTES // 2**20 + 2))
    read_refusal(client.post(wire.TEXT_TO_IMAGE, content=chunks), 413, "request_too_large")


def test_what_is_exact_is_in_the_metrics_and_among_the_models(serve, fake):
    fake.info = fake.info.model_copy(update={"exact": "alone"})
    with serve(fake) as client:
        assert 'pcevolve_exact{exact="alone",model="maker/fake"} 1.0' in client.get(wire.METRICS).text
        assert client.get(wire.MODELS).json()["data"][0]["exact"] == "alone"


def test_the_page_about_the_routes_loads_nothing_from_elsewhere(serve, fake):
    with serve(fake, keys=(Key(KEY),)) as client:
        page = client.get("/docs")
        loaded = re.findall(r"""(?:src|href|url)[=:] ?["']([^"']+)["']""", page.text)
        found = [client.get(f"/{name}") for name in loaded]
    assert len(loaded) == 4
    assert [each.status_code for each in found] == [200] * 4
    assert not re.search(r"(?:https?:)?//\w", page.text)
    # Whatever a script of it would fetch, a browser refuses.
    policy = dict(rule.split(" ", 1) for rule in page.headers["Content-Security-Policy"].split("; "))
    assert {word for words in policy.values() for word in words.split()} <= {
        "'none'", "'self'", "'unsafe-inline'", "data:",
    }  # fmt: skip
    assert policy["default-src"] == "'none'"


OPEN = [wire.HEALTH, wire.READY, "/docs", "/docs/swagger-ui.css", "/openapi.json"]


@pytest.mark.parametrize("path", [*OPEN, wire.MODELS, wire.BALANCE, wire.METRICS])
def test_a_route_that_takes_no_body_refuses_one_without_reading_it(client, path):
    response = client.request("GET", path, content=unread())
    assert "takes no request body" in read_refusal(response, 413, "request_too_large")
    assert response.headers["Connection"] == "close"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 0}, "steps: Input should be greater than or equal to 1"),
        ({"seed": "7"}, "seed: Input should be a valid integer"),
        ({"output_format": "SECRET"}, "output_format: Input should be 'png', 'jpeg' or 'webp'"),
        ({"surprise": "SECRET"}, "surprise: Extra inputs are not permitted"),
        ({"width": 513}, "width: Input should be a multiple of 8"),
        ({"prompt": None}, "prompt: Input should be a valid string"),
        ({"scheduler": "SECRET"}, "scheduler: this model has ddim"),
        ({"n": 64, "width": 2048, "height": 2048}, "n: too many images of this size"),
        ({"width": 4096, "height": 2048}, "width, height: more than 4194304 pixels"),
    ],
)
def test_invalid_fields_are_named_and_their_values_are_not_echoed(client, change, message):
    response = client.post(wire.TEXT_TO_IMAGE, json=ASK | change)
    assert message in read_refusal(response, 422, "invalid_request")
    assert "SECRET" not in response.text


@pytest.mark.parametrize("seconds", [60, 1])
def test_a_server_told_to_stop_serves_on_and_tells_the_rest_a_second_before_the_end(
    serve, fake, wait, seconds
):
    with serve(fake, shutdown_seconds=seconds) as client, ThreadPoolExecutor() as callers:
        fake.gate.clear()
        asked = [
            callers.submit(client.post, wire.TEXT_TO_IMAGE, json=ASK | {"seed": seed}) for seed in (1, 2)
        ]
        wait(lambda: fake.batches)
        client.app.state.parts.host.begin_stopping()
        wait(lambda: client.get("/readyz").json() == {"status": "stopping"})
        if seconds > 1:
            fake.gate.set()
            assert [each.result().status_code for each in asked] == [200, 200]
            return
        for each in asked:
            read_refusal(each.result(), 503, "stopping")
            assert each.result().headers["Retry-After"] == "5"


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


def test_content_refused_at_every_try_answers_422_and_is_counted(client, fake):
    fake.paint = lambda task: Picture(None, refused=3)
    read_refusal(client.post(wire.TEXT_TO_IMAGE, json=ASK), 422, "content_rejected")
    assert "pcevolve_images_rejected_total 3.0" in client.get(wire.METRICS).text


@pytest.mark.parametrize("route", [wire.TEXT_TO_IMAGE, wire.OPENAI_GENERATIONS])
@pytest.mark.parametrize("form", ["b64", "url"])
def test_one_image_that_is_refused_leaves_its_place_empty_and_others_theirs(client, fake, route, form):
    paint = fake.paint
    fake.paint = lambda task: Picture(None, refused=3) if task.seed == 8 else paint(task)
    form = "b64_json" if (route, form) == (wire.OPENAI_GENERATIONS, "b64") else form
    answer = client.post(route, json={"prompt": "p", "seed": 7, "n": 3, "response_format": form}).json()
    made = answer["images"] if "images" in answer else answer["data"]
    name = {"b64": "image"}.get(form, form)
    assert [each[name] is None for each in made] == [False, True, False]
    if "images" in answer:
        assert [each["seed"] for each in made] == [7, 8, 9]
    assert client.get(wire.BALANCE).json()["images"] == 2


def test_a_server_told_to_stop_while_it_loads_is_never_ready(fake, wait):
    gate, said = threading.Event(), []

    def load():
        gate.wait(20)
        return fake

    app = create_app(Settings(), on_thread(load), on_ready=said.append)
    with TestClient(app, base_url=HERE) as client:
        host = client.app.state.parts.host
        host.begin_stopping()
        wait(lambda: host.status == "stopping")
        gate.set()
        wait(lambda: host._serving)
        read_refusal(client.post(wire.TEXT_TO_IMAGE, json=ASK), 503, "stopping")
        assert (host.status, said) == ("stopping", [])


def test_until_the_model_is_loaded_only_health_is_well(fake, wait):
    gate = threading.Event()
    app = create_app(Settings(), on_thread(lambda: fake if gate.wait(20) else None))
    with TestClient(app, base_url=HERE) as client:
        assert client.get(wire.HEALTH).status_code == 200
        ready = client.get(wire.READY)
        assert (ready.status_code, ready.json()) == (503, {"status": "loading"})
        response = client.post(wire.TEXT_TO_IMAGE, json=ASK)
        read_refusal(response, 503, "loading")
        assert int(response.headers["Retry-After"]) >= 1
        gate.set()
        wait(lambda: client.get(wire.READY).status_code == 200)


def test_a_model_that_cannot_be_loaded_is_reported(wait):
    failures = []

    def load():
        raise ModelLoadError("no such model")

    with TestClient(create_app(Settings(), on_thread(load), failures.append), base_url=HERE) as client:
        wait(lambda: failures)
        read_refusal(client.post(wire.TEXT_TO_IMAGE, json=ASK), 503, "failed")
    assert str(failures[0]) == "no such model"


@pytest.mark.parametrize("asks", [True, False])
def test_an_engine_that_is_lost_ends_the_server_whether_anybody_asks_or_not(fake, wait, asks):
    failures, over = [], threading.Event()

    async def opened():
        engine = await on_thread(lambda: fake)()

        async def run(tasks):
            raise EngineLostError("nothing is left")

        async def wait_for_failure():
            while not over.is_set():
                await asyncio.sleep(0.01)
            return EngineLostError("nothing is left")

        if asks:
            engine.run = run
        else:
            engine.wait_for_failure = wait_for_failure
        return engine

    with TestClient(create_app(Settings(), opened, failures.append), base_url=HERE) as client:
        wait(lambda: client.get(wire.READY).status_code == 200)
        assert failures == []
        if asks:
            read_refusal(client.post(wire.TEXT_TO_IMAGE, json=ASK), 503, "failed")
        over.set()
        wait(lambda: failures)
        ready = client.get(wire.READY)
        assert (ready.status_code, ready.json()) == (503, {"status": "failed"})
        read_refusal(client.post(wire.TEXT_TO_IMAGE, json=ASK), 503, "failed")
        assert "pcevolve_ready 0.0" in client.get("/metrics").text
    assert [str(each) for each in failures] == ["nothing is left"]


def test_a_model_that_computes_no_numbers_says_what_helps_and_is_not_to_be_asked_again():
    error = pickle.loads(pickle.dumps(NotFiniteError()))  # as from a process of its own
    assert (error.status, error.code) == (422, "not_finite")
    assert "--precision bfloat16 or float32" in error.message


def test_an_image_is_varied_and_not_created_with_its_strength(client, fake):
    fake.vary, fake.create = fake.create, None
    image = images.to_base64(images.encode(Image.new("RGB", (64, 32), (9, 8, 7))))
    answer = client.post(wire.IMAGE_TO_IMAGE, json=ASK | {"image": image, "strength": 0.3})
    assert answer.status_code == 200
    ((task,),) = fake.batches
    assert (task.recipe.strength, task.image.getpixel((0, 0))) == (0.3, (9, 8, 7))


def test_several_images_take_consecutive_seeds(client):
    response = client.post(wire.TEXT_TO_IMAGE, json=ASK | {"n": 3, "seed": 2**32 - 2})
    answer = wire.BatchResponse.model_validate_json(response.content)
    assert [image.seed for image in answer.images] == [2**32 - 2, 2**32 - 1, 0]
    assert [image_in(image.image).getpixel((0, 0))[0] for image in answer.images] == [254, 255, 0]


def test_a_body_to_an_unknown_route_is_not_read(client):
    response = client.post("/v1/nope", content=unread())
    read_refusal(response, 404, "not_found")
    assert response.headers["Connection"] == "close"


def test_an_answer_to_a_request_that_was_read_keeps_the_connection(client):
    for response in (client.post(wire.TEXT_TO_IMAGE, json=ASK), client.get(wire.MODELS)):
        assert response.status_code == 200
        assert "Connection" not in response.headers


@pytest.mark.parametrize("change", [{"width": 72}, {"height": 72}])
def test_a_size_that_the_model_cannot_make_is_refused(serve, fake, change):
    fake.info = fake.info.model_copy(update={"size_multiple": 32})
    with serve(fake) as client:
        message = read_refusal(client.post(wire.TEXT_TO_IMAGE, json=ASK | change), 422, "invalid_request")
    assert "must be multiples of 32" in message
