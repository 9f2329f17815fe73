"""ComfyUI's routes as its documentation describes them, and a workflow exported for them; for tests only."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from support.provider import png

NODES: dict[str, Any] = {
    "3": {
        "class_type": "KSampler",
        "inputs": {"seed": 5, "steps": 20, "denoise": 0.5, "positive": ["6", 0], "latent_image": ["11", 0]},
        "_meta": {"title": "Seed and strength"},
    },
    "6": {
        "class_type": "CLIPTextEncode",
        "inputs": {"text": "a castle", "clip": ["4", 1]},
        "_meta": {"title": "prompt"},
    },
    "7": {
        "class_type": "CLIPTextEncode",
        "inputs": {"text": "blurred", "clip": ["4", 1]},
        "_meta": {"title": "CLIP Text Encode (Prompt)"},
    },
    "9": {"class_type": "SaveImage", "inputs": {"images": ["8", 0]}, "_meta": {"title": "Save Image"}},
    "10": {"class_type": "LoadImage", "inputs": {"image": "example.png"}, "_meta": {"title": "image"}},
}
WORKFLOW = json.dumps(NODES, separators=(",", ":"))
"""As a plan spells it."""
UPLOADED = b'{"name": "pcevolve-0123456789abcdef0123456789abcdef.png", "subfolder": "", "type": "input"}'
"""The answer to an upload."""


@dataclass
class ComfyUI:
    """The server: a job is in the history once it was asked for twice."""

    uploads: dict[str, bytes] = field(default_factory=dict)
    jobs: list[dict[str, Any]] = field(default_factory=list)
    asked: dict[str, int] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)

    def speak(self, method: str, target: str, parts: dict[str, bytes], body: bytes) -> tuple[int, Any]:
        """Status and answer: JSON, or the bytes of an image."""
        url = urlsplit(target)
        if (method, url.path) == ("GET", "/system_stats"):
            return 200, {"system": {"comfyui_version": "0.3.75"}, "devices": []}
        if (method, url.path) == ("POST", "/upload/image"):
            assert (parts["type"], parts["overwrite"]) == (b"input", b"true")
            return 200, {"name": self._keep(parts["image"], body), "subfolder": "", "type": "input"}
        if (method, url.path) == ("POST", "/prompt"):
            return self._queue(json.loads(body))
        if method == "GET" and url.path.startswith("/history/"):
            return 200, self._tell(url.path.removeprefix("/history/"))
        if method == "GET" and url.path == "/view":
            asked = {name: each[0] for name, each in parse_qs(url.query, keep_blank_values=True).items()}
            if set(asked) != {"filename", "subfolder", "type"} or asked["type"] != "output":
                return 404, {}
            job = self.jobs[int(asked["filename"].removeprefix("ComfyUI_").removesuffix("_.png"))]
            return 200, png(*self._drawn(job["prompt"]))
        if method == "POST" and url.path in ("/queue", "/interrupt"):
            said = json.loads(body)
            self.ended.append(said["delete"][0] if url.path == "/queue" else said["prompt_id"])
            return 200, b""
        return 404, {}

    def _keep(self, image: bytes, body: bytes) -> str:
        name = body.partition(b'filename="')[2].partition(b'"')[0].decode()
        self.uploads[name] = image
        return name

    def _queue(self, fields: dict[str, Any]) -> tuple[int, Any]:
        nodes = fields["prompt"]
        loaded = nodes["10"]["inputs"]["image"]
        if set(fields) != {"prompt"} or loaded not in {*self.uploads, "example.png"}:
            return 400, {
                "error": {"type": "prompt_outputs_failed_validation", "message": "no"},
                "node_errors": {},
            }
        assert (loaded == "example.png") == (nodes["3"]["inputs"]["denoise"] == 1.0)
        assert nodes["7"] == NODES["7"]
        self.jobs.append(fields)
        return 200, {"prompt_id": f"5d1d4a2e-{len(self.jobs) - 1}", "number": 1, "node_errors": {}}

    def _tell(self, name: str) -> dict[str, Any]:
        self.asked[name] = self.asked.get(name, 0) + 1
        number = name.rpartition("-")[2]
        if self.asked[name] < 2 or not number.isdigit() or int(number) >= len(self.jobs):
            return {}
        image = {"filename": f"ComfyUI_{int(number):05}_.png", "subfolder": "", "type": "output"}
        return {
            name: {
                "prompt": [1, name, self.jobs[int(number)]["prompt"], {}, ["9"]],
                "outputs": {"9": {"images": [image]}},
                "status": {"status_str": "success", "completed": True, "messages": []},
            }
        }

    def _drawn(self, nodes: dict[str, Any]) -> tuple[int, bytes | None, float]:
        sampled, loaded = nodes["3"]["inputs"], nodes["10"]["inputs"]["image"]
        return sampled["seed"], self.uploads.get(loaded), sampled["denoise"]
