"""Azure's spelling of OpenAI: deployment and version in the address, the key bare in a header of its own."""

from __future__ import annotations

import json

import pytest

from pcevolve.auditing.capture import reconcile
from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.http_transport import HttpTransport
from pcevolve.wire.providers import dialect
from support.forge import Event, faults_of, forge
from support.online import KEY
from support.provider import png
from support.recorder import Recorded
from support.runs import SmallRun, small_plan

SPOKEN = dialect("azure")
PLAN = small_plan(dialect="azure", model="my images/x")
VERSION = "?api-version=2025-04-01-preview"
ADDRESS = Address("https://lab.openai.azure.com", KEY, "api-key")


def test_requests_are_those_of_openai_below_a_deployment():
    for place, image, operation in ((0, None, "generations"), (1, png(1), "edits")):
        call = next(iter(PLAN.round(place)))
        asked, plain = SPOKEN.encode(PLAN, call, image), dialect("openai-plain").encode(PLAN, call, image)
        assert asked.path == f"/openai/deployments/my%20images%2Fx/images/{operation}{VERSION}"
        assert (asked.method, asked.body, asked.content_type) == ("POST", plain.body, plain.content_type)
    assert (SPOKEN.hello().method, SPOKEN.hello().path) == ("GET", f"/openai/models{VERSION}")
    assert SPOKEN.answered_by(json.dumps({"model": "gpt-image-1"}).encode()) is None


def test_the_key_stands_alone_in_its_header_and_is_hidden_on_record():
    sent = ADDRESS.outgoing(SPOKEN.hello())
    assert ("api-key", KEY) in sent.headers
    assert "Authorization" not in dict(sent.headers)
    assert ("api-key", "(hidden)") in sent.recorded_headers()
    assert sent.url == f"https://lab.openai.azure.com/openai/models{VERSION}"


@pytest.mark.parametrize("name", ["azure", "openai-plain"])
def test_a_capture_shows_under_which_name_and_word_the_key_went(world, tmp_path, name):
    api = world(name)
    address = Address(api.server.address, KEY, dialect(name).abilities.scheme)
    recorded = Recorded(HttpTransport(5), tmp_path / "capture.jsonl", KEY, lambda request: "")
    SmallRun.open(tmp_path, small_plan(**api.plan), recorded, address=address).finish()
    found = reconcile(RunReader.strict(tmp_path), tmp_path / "capture.jsonl")
    assert [each.faults for each in found] == [(), (), (), ()]
    lines = (tmp_path / "capture.jsonl").read_text()
    word, other = ('["api-key", "\\n(hidden)"]', "Bearer") if name == "azure" else ("Bearer\\n", "api-key")
    assert word.replace(" ", "") in lines.replace(" ", "")
    assert other not in lines
    assert KEY not in lines
    # By the other name it would be another request.
    wrong = (
        lines.replace('"api-key"', '"Authorization"')
        if name == "azure"
        else lines.replace("Bearer\\n", "\\n")
    )
    (tmp_path / "capture.jsonl").write_text(wrong)
    assert any(each.faults for each in reconcile(RunReader.strict(tmp_path), tmp_path / "capture.jsonl"))


def test_the_audit_refuses_a_key_in_another_header(world, tmp_path):
    world("azure").open(tmp_path).finish()
    assert faults_of(tmp_path) == []

    def rename(events: list[Event]) -> None:
        for each in events:
            if each["kind"] == "sent":
                each["headers"] = [["Authorization" if k == "api-key" else k, v] for k, v in each["headers"]]

    forge(tmp_path, rename)
    assert any("carried headers that the plan does not give" in each for each in faults_of(tmp_path))
