"""ComfyUI's dialect: an upload and a workflow go in, a history says when it is over, images are on the same server."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import urlsplit

import pytest
from pydantic import ValidationError

from pcevolve.errors import ProviderReplyError
from pcevolve.public.transcript.records import Sent
from pcevolve.wire.egress.transport import Incoming, Outgoing
from pcevolve.wire.providers import dialect
from pcevolve.wire.providers.dialect import find_misstatements
from support.comfyui import NODES, UPLOADED, WORKFLOW, ComfyUI
from support.forge import faults_of
from support.provider import png
from support.runs import SmallRun, small_plan

SPOKEN = dialect("comfyui")
SHAPE: dict[str, Any] = {
    "dialect": "comfyui",
    "workflow": WORKFLOW,
    "batch": 1,
    "candidates": 2,
    "initial": 2,
}
PLAN = small_plan(**SHAPE)
MADE, VARIED = next(iter(PLAN.round(0))), next(iter(PLAN.round(1)))
QUEUED = b'{"prompt_id": "5d1d-1", "number": 3, "node_errors": {}}'


def history(name: str = "5d1d-1", *, completed: bool = True, status: str = "success", **image: str) -> bytes:
    shown = {"filename": "ComfyUI_00001_.png", "subfolder": "", "type": "output", **image}
    entry = {
        "prompt": [1, name, {}],
        "outputs": {"9": {"images": [shown]}},
        "status": {"status_str": status, "completed": completed},
    }
    return json.dumps({name: entry}).encode()


def test_a_creation_is_the_workflow_at_full_strength_on_its_own_image():
    asked = SPOKEN.encode(PLAN, MADE, None)
    nodes = json.loads(asked.body)["prompt"]
    assert (asked.method, asked.path) == ("POST", "/prompt")
    assert nodes["6"]["inputs"]["text"] == PLAN.prompt_of(MADE)
    assert (nodes["3"]["inputs"]["seed"], nodes["3"]["inputs"]["denoise"]) == (MADE.seed, 1.0)
    assert nodes["10"] == NODES["10"]


def test_a_variation_uploads_the_image_and_then_names_what_the_server_called_it():
    image = png(1)
    asked = SPOKEN.encode(PLAN, VARIED, image)
    assert (asked.method, asked.path, asked.body.count(image)) == ("POST", "/upload/image", 1)
    assert asked != SPOKEN.encode(PLAN, VARIED, png(2))
    queued = SPOKEN.follow_up(PLAN, VARIED, [UPLOADED])
    nodes = json.loads(queued.body)["prompt"]
    assert nodes["10"]["inputs"]["image"] == "pcevolve-0123456789abcdef0123456789abcdef.png"
    assert nodes["3"]["inputs"]["denoise"] == 0.8
    assert SPOKEN.follow_up(PLAN, VARIED, [UPLOADED, QUEUED]).path == "/history/5d1d-1"
    for odd in ("../../x.png", "pcevolve.png", "pcevolve-0123456789abcdef0123456789abcdef.png\n"):
        with pytest.raises(ProviderReplyError, match="breaks the contract at name"):
            SPOKEN.follow_up(PLAN, VARIED, [json.dumps({"name": odd}).encode()])


def test_a_history_is_asked_for_until_it_has_an_end():
    for going in ([QUEUED], [QUEUED, b"{}"], [QUEUED, history(completed=False)]):
        asked = SPOKEN.follow_up(PLAN, MADE, going)
        assert (asked.method, asked.path, asked.body) == ("GET", "/history/5d1d-1", b"")
    assert SPOKEN.follow_up(PLAN, MADE, [QUEUED, b"{}", history()]) is None
    with pytest.raises(ProviderReplyError, match="reports that a job failed"):
        SPOKEN.follow_up(PLAN, MADE, [QUEUED, history(status="error", completed=False)])
    with pytest.raises(ProviderReplyError, match="about a different job"):
        SPOKEN.follow_up(PLAN, MADE, [QUEUED, history("5d1d-2")])
    with pytest.raises(ProviderReplyError, match="breaks the contract at prompt_id"):
        SPOKEN.follow_up(PLAN, MADE, [b'{"prompt_id": "../system_stats"}'])


def test_a_job_that_may_go_on_is_taken_out_of_the_queue_and_interrupted():
    both = [("/queue", {"delete": ["5d1d-1"]}), ("/interrupt", {"prompt_id": "5d1d-1"})]
    for going in (
        [QUEUED],
        [UPLOADED, QUEUED],
        [QUEUED, b"{}"],
        [QUEUED, b"<html>"],
        [QUEUED, history("other")],
    ):
        assert [(each.path, json.loads(each.body)) for each in SPOKEN.cancel(going)] == both
    for over in ([UPLOADED], [QUEUED, history()], [QUEUED, history(status="error", completed=False)], [b"?"]):
        assert SPOKEN.cancel(over) == ()


def test_images_are_asked_for_by_the_names_that_the_history_gave():
    (asked,) = SPOKEN.links(MADE, history(filename="a (1).png", subfolder="2026/x"))
    assert (asked.method, asked.path, asked.accept) == (
        "GET",
        "/view?filename=a+%281%29.png&subfolder=2026%2Fx&type=output",
        "image/*",
    )
    assert SPOKEN.links(MADE, b"{}") == ()
    for odd in ({"filename": "a\nb"}, {"filename": "a" * 201}, {"filename": "a/b"}, {"type": "../"}):
        with pytest.raises(ProviderReplyError, match="breaks the contract"):
            SPOKEN.links(MADE, history(**odd))


def test_the_gate_takes_a_plan_with_a_workflow_that_can_do_what_it_plans_and_no_other_dialect_has_one():
    still = {**NODES, "3": {**NODES["3"], "_meta": {"title": "seed"}}, "10": {**NODES["10"], "_meta": {}}}
    words = json.dumps(still, separators=(",", ":"))
    prompts = (("a cut", "a long cut"), ("good leather", "a better one"))
    by_prompt = {"vary_by": "prompt", "prompts": prompts, "strengths": ()}
    assert not [*find_misstatements(SPOKEN, PLAN)]
    assert not [*find_misstatements(SPOKEN, small_plan(**{**SHAPE, "workflow": words, **by_prompt}))]
    (fault,) = find_misstatements(SPOKEN, small_plan(**{**SHAPE, "workflow": words}))
    assert "its workflow does not accept an image" in fault
    (fault,) = find_misstatements(SPOKEN, small_plan(**{**SHAPE, "workflow": ""}))
    assert "has no workflow for its dialect" in fault
    (fault,) = find_misstatements(dialect("getimg"), small_plan(workflow=WORKFLOW))
    assert "does not use" in fault
    with pytest.raises(ValidationError, match="spelled in another way"):
        small_plan(**{**SHAPE, "workflow": json.dumps(NODES, indent=1)})


@dataclass
class Server:
    """The fake at the transport seam."""

    meddle: Callable[[Outgoing], None] = lambda request: None
    ui: ComfyUI = field(default_factory=ComfyUI)
    requests: list[Outgoing] = field(default_factory=list)

    def send(self, request: Outgoing) -> Incoming:
        self.requests.append(request)
        self.meddle(request)
        return self.answer(request)

    def answer(self, request: Outgoing) -> Incoming:
        head = "".join(f"{name}: {value}\r\n" for name, value in request.headers if name == "Content-Type")
        message = BytesParser(policy=HTTP).parsebytes(f"{head}\r\n".encode() + request.body)
        parts = {
            part.get_param("name", header="content-disposition"): (
                part.get_payload(decode=True)
                if part.get_filename()
                else part.get_payload(decode=True).removesuffix(b"\r\n")
            )
            for part in (message.iter_parts() if request.url.endswith("/upload/image") else ())
        }
        target = request.target
        status, said = self.ui.speak(request.method, target, parts, request.body)
        body = said if isinstance(said, bytes) else json.dumps(said).encode()
        return Incoming(status, (("content-type", "application/octet-stream"),), body)

    def close(self) -> None:
        """Nothing is open."""


class Killed(BaseException):
    """The end of the process."""


def stopping(server: Server, number: int, how: type[BaseException]) -> Callable[[Outgoing], None]:
    def stop(request: Outgoing) -> None:
        if len(server.requests) == number + 1:
            raise how

    return stop


def test_wherever_a_process_is_killed_no_workflow_is_queued_twice_of_which_the_server_had_told(tmp_path):
    whole = Server()
    plan = small_plan(**SHAPE, labels=("cut",), iterations=1, strengths=(0.8,))
    SmallRun.open(tmp_path / "whole", plan, whole).finish()
    assert faults_of(tmp_path / "whole") == []
    calls = len(whole.ui.jobs)
    for number in range(1, len(whole.requests)):
        server, root = Server(), tmp_path / str(number)
        server.meddle = stopping(server, number, Killed)
        with pytest.raises(Killed):
            SmallRun.open(root, plan, server).finish()
        server.meddle = lambda request: None
        SmallRun.open(root, plan, server).finish()
        assert len(server.ui.jobs) == calls
        assert not server.ui.ended
        assert faults_of(root) == []


def test_ctrl_c_takes_a_job_out_of_the_queue_and_interrupts_it_and_both_are_on_record(tmp_path):
    server = Server()
    run = SmallRun.open(tmp_path, PLAN, server)
    server.meddle = lambda request: (
        (_ for _ in ()).throw(KeyboardInterrupt) if "/history/" in request.url else None
    )
    with pytest.raises(KeyboardInterrupt):
        run.evolve()
    run.close()
    sent = [each.record for each in run.transcript.entries if isinstance(each.record, Sent)]
    assert [(each.slot, urlsplit(each.url).path) for each in sent[-2:]] == [
        (f"{MADE.slot}/cancel0", "/queue"),
        (f"{MADE.slot}/cancel1", "/interrupt"),
    ]
    assert server.ui.ended == ["5d1d4a2e-0", "5d1d4a2e-0"]
    server.meddle = lambda request: None
    SmallRun.open(tmp_path, PLAN, server).finish()
    assert faults_of(tmp_path) == []
