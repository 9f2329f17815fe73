"""Replicate's predictions as its documentation describes them, as a transport and over sockets; for tests only."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from pcevolve.wire.egress.transport import Incoming, Outgoing
from support.provider import png

PICTURES = "https://pictures.example"
PLAN = {
    "dialect": "replicate",
    "model": "lab/painter:5c7d5dc6",
    "image_hosts": ("pictures.example",),
    "candidates": 8,
    "initial": 8,
    "iterations": 1,
    "strengths": (0.8,),
}
"""Of a plan with four calls a class and round, of which one may bring nothing."""
Job = dict[str, Any]


@dataclass
class Predictions:
    """The service: each question moves a job on, and one that is over stays as it is."""

    at: str = PICTURES
    jobs: dict[str, Job] = field(default_factory=dict)
    states: tuple[str, ...] = ("starting", "processing", "succeeded")

    def speak(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        """Status and JSON of an answer."""
        if path == "/v1/account":
            return 200, {"type": "organization", "username": "lab", "name": "Lab"}
        if method == "POST" and path == "/v1/predictions":
            fields = json.loads(body)
            if set(fields) != {"version", "input"} or not fields["version"].isalnum():
                return 422, {
                    "title": "Input validation failed",
                    "detail": "- version: is required",
                    "status": 422,
                }
            return 201, self._begin(fields["input"])
        _, _, _, name, *action = path.split("/")
        job = self.jobs.get(name)
        if job is None:
            return 404, {"detail": "Not found.", "status": 404}
        if action == ["cancel"] and method == "POST":
            job["left"] = [] if self._is_over(job) else ["canceled"]
        self._move_on(job)
        return 200, self._tell(job)

    def _begin(self, given: dict[str, Any]) -> dict[str, Any]:
        known = {
            *("prompt", "negative_prompt", "num_outputs", "seed", "num_inference_steps", "guidance_scale"),
            *("width", "height", "image", "prompt_strength"),
        }
        assert set(given) <= known
        assert ("image" in given) == ("prompt_strength" in given)
        name = f"rrr4z55ocnee{len(self.jobs):014d}"
        left = list(self.states)
        self.jobs[name] = {"id": name, "left": left[1:], "status": left[0], "input": given}
        return self._tell(self.jobs[name])

    @staticmethod
    def _is_over(job: Job) -> bool:
        return job["status"] not in ("starting", "processing")

    def _move_on(self, job: Job) -> None:
        if job["left"]:
            job["status"] = job["left"].pop(0)

    def _tell(self, job: Job) -> dict[str, Any]:
        address = f"https://api.replicate.com/v1/predictions/{job['id']}"
        given = job["input"]
        links = [f"{self.at}/{given['seed'] + k}.png" for k in range(given["num_outputs"])]
        return {
            "id": job["id"],
            "model": "lab/painter",
            "version": "5c7d5dc6",
            "input": {"prompt": given["prompt"]},
            "logs": "",
            "output": links if job["status"] == "succeeded" else None,
            "error": "CUDA out of memory" if job["status"] == "failed" else None,
            "status": job["status"],
            "created_at": "2026-11-29T00:00:00Z",
            "urls": {"get": address, "cancel": f"{address}/cancel"},
        }


def answer_with(payload: Any, status: int = 200) -> Incoming:
    """An answer in JSON."""
    return Incoming(status, (("content-type", "application/json"),), json.dumps(payload).encode())


@dataclass
class JobProvider:
    """The service at the transport seam, and the host of its images; ``meddle`` may answer instead."""

    meddle: Callable[[Outgoing], Incoming | None] = lambda request: None
    service: Predictions = field(default_factory=Predictions)
    requests: list[Outgoing] = field(default_factory=list)
    closed: bool = False

    def send(self, request: Outgoing) -> Incoming:
        self.requests.append(request)
        return self.meddle(request) or self.answer(request)

    def answer(self, request: Outgoing) -> Incoming:
        parts = urlsplit(request.url)
        if parts.netloc == "pictures.example":
            assert not any(name == "Authorization" for name, _ in request.headers)
            return Incoming(200, (("content-type", "image/png"),), png(int(parts.path.strip("/.png"))))
        status, payload = self.service.speak(request.method, parts.path, request.body)
        return answer_with(payload, status)

    def close(self) -> None:
        self.closed = True

    @property
    def submitted(self) -> list[Outgoing]:
        """Requests that begin jobs."""
        return [each for each in self.requests if is_submission(each)]

    @property
    def cancelled(self) -> list[str]:
        """Names of jobs that were asked to end."""
        return [each.url.split("/")[-2] for each in self.requests if each.url.endswith("/cancel")]


def is_submission(request: Outgoing) -> bool:
    """True of a request that begins a job."""
    return request.method == "POST" and request.url.endswith("/predictions")


def is_poll(request: Outgoing) -> bool:
    """True of a question what became of a job."""
    return request.method == "GET" and "/v1/predictions/" in request.url
