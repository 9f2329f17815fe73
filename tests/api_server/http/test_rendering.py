"""Images by address: whose they are, for how long, and how many; and the routes that hand them out."""

from __future__ import annotations

import pytest

from pcevolve_server.errors import NotFoundError
from pcevolve_server.http import rendering
from pcevolve_server.http.rendering import Links
from pcevolve_server.settings import Key
from pcevolve_shared import images, wire
from pcevolve_shared.wire import GeneratedImage
from support.served import serve_app

ONE, OTHER = "correct-horse-battery-staple", "another-horse-battery-staple"
KEYS = (Key(ONE, "one"), Key(OTHER, "other"))
ASK = {"prompt": "a cat", "seed": 7, "response_format": "url"}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def keep(store: Links, caller: str, *data: bytes) -> list[str]:
    """Names of images that were kept."""
    made = [GeneratedImage(image=images.to_base64(each), seed=0) for each in data]
    return [each.url.rpartition("/")[2] for each in store.of(caller, "http://x/", "png")(made)]


@pytest.fixture
def both(fake):
    with serve_app(fake, keys=KEYS) as client:
        yield client


def as_caller(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_an_image_can_be_fetched_again_and_again_until_its_time_is_over():
    clock = Clock()
    store = Links(clock)
    (name,) = keep(store, "one", b"image")
    clock.now = rendering.SECONDS - 1
    assert [store.find(name, "one").data for _ in range(2)] == [b"image"] * 2
    clock.now = rendering.SECONDS
    with pytest.raises(NotFoundError):
        store.find(name, "one")
    assert not store._kept


def test_a_caller_s_oldest_images_go_when_there_are_too_many_and_nobody_else_s(monkeypatch):
    monkeypatch.setattr(rendering, "MOST_BYTES", 10)
    store = Links()
    (theirs,) = keep(store, "other", b"12345678")
    (first,), (second,), (third,) = (keep(store, "one", b"1234") for _ in range(3))
    with pytest.raises(NotFoundError):
        store.find(first, "one")
    assert [store.find(name, "one").data for name in (second, third)] == [b"1234"] * 2
    assert store.find(theirs, "other").data == b"12345678"
    together = keep(store, "one", b"1234", b"1234", b"1234")
    assert [store.find(name, "one").data for name in together] == [b"1234"] * 3  # of one answer none goes


@pytest.mark.parametrize(
    ("kind", "media"), [("png", "image/png"), ("jpeg", "image/jpeg"), ("webp", "image/webp")]
)
def test_an_address_brings_the_image_that_the_answer_would_have_held(client, kind, media):
    ask = ASK | {"output_format": kind}
    whole = client.post(wire.TEXT_TO_IMAGE, json=ask | {"response_format": "b64"}).json()
    answer = wire.LinkResponse.model_validate_json(client.post(wire.TEXT_TO_IMAGE, json=ask).content)
    found = client.get(answer.url)
    assert answer.url.startswith("http://127.0.0.1/v1/images/links/")
    assert (answer.seed, found.headers["Content-Type"]) == (7, media)
    assert found.content == images.from_base64(whole["image"])
    assert images.media_type(found.content) == media
    assert "no-store" in found.headers["Cache-Control"]


def test_an_address_is_good_for_the_key_that_asked_and_for_no_other(both):
    answer = both.post(wire.TEXT_TO_IMAGE, json=ASK, headers=as_caller(ONE)).json()
    assert len(answer["url"].rpartition("/")[2]) >= 43  # base64 of 256 bits, which nobody guesses
    statuses = [both.get(answer["url"], headers=as_caller(key)).status_code for key in (ONE, OTHER, "wrong")]
    assert [*statuses, both.get(answer["url"]).status_code] == [200, 404, 401, 401]


def test_what_is_not_there_is_not_found(both):
    for name in ("nothing", "%2e%2e", "x" * 5000):
        answer = both.get(f"{wire.LINKS}/{name}", headers=as_caller(ONE))
        assert answer.status_code == 404
        assert wire.ErrorResponse.model_validate_json(answer.content)


@pytest.mark.parametrize("host", ["a b", "[::", "x" * 300, "name:port", "name/path", ""])
def test_an_address_is_not_made_of_a_host_that_is_none(both, fake, host):
    answer = both.post(wire.TEXT_TO_IMAGE, json=ASK, headers=as_caller(ONE) | {"Host": host})
    assert (answer.status_code, fake.batches) == (422, [])


def test_the_name_of_an_image_is_not_logged(both, caplog):
    caplog.set_level("INFO")
    url = both.post(wire.TEXT_TO_IMAGE, json=ASK, headers=as_caller(ONE)).json()["url"]
    both.get(url, headers=as_caller(ONE))
    logged = [vars(each) for each in caplog.records if each.name.startswith("pcevolve_server")]
    routes = [each["route"] for each in logged if "route" in each]
    assert routes == [wire.TEXT_TO_IMAGE, wire.LINKS + "/{name}"]
    assert url.rpartition("/")[2] not in repr(logged)
