"""Local servers that speak the dialects of online APIs over real sockets; for tests only.

They are written from the APIs' documentation, not from the client: what a documented API would refuse, they refuse. The
sources are named in docs/your-model.md.
"""

from __future__ import annotations

import base64
import json
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, NamedTuple

from support.comfyui import ComfyUI
from support.predictions import Predictions
from support.provider import answer_chat, png

KEY = "sk-5ecret-0123456789"
LOGIN = "webui:pa55-0123456789"


class Heard(NamedTuple):
    """A request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Reply(NamedTuple):
    """An answer."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}


def answer_json(status: int, payload: object, **headers: str) -> Reply:
    """An answer in JSON."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, json.dumps(payload).encode(), {"Content-Type": "application/json", **names})


class _Listening(ThreadingHTTPServer):
    """Says nothing of who hangs up: a traceback printed by a thread disturbs whichever test runs by then."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@dataclass
class LocalServer:
    """Serves on loopback in a thread, and keeps what it heard."""

    speak: Callable[[Heard], Reply]
    heard: list[Heard] = field(default_factory=list)
    instead: list[Reply] = field(default_factory=list)
    """Answers to the next requests that make images, whatever they ask for."""

    def __post_init__(self) -> None:
        self._http = _Listening(("127.0.0.1", 0), handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._http.server_port}"

    @property
    def address(self) -> str:
        return f"http://{self.host}"

    @property
    def asked(self) -> list[Heard]:
        """Requests that make images."""
        return [each for each in self.heard if each.method == "POST" and each.path != "/upload/image"]

    def answer(self, heard: Heard) -> Reply:
        self.heard.append(heard)
        return self.instead.pop(0) if self.instead and heard.method == "POST" else self.speak(heard)

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def handler(server: LocalServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize, disable_nagle_algorithm = -1, True  # or each answer would wait for an acknowledgement

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = server.answer(Heard(self.command, self.path, headers, body))
            self.send_response(reply.status)
            for name, value in {**reply.headers, "Content-Length": str(len(reply.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        do_GET = do_POST = _serve  # noqa: N815 - the names that http.server looks for

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    return Handler


def form_of(heard: Heard) -> dict[str, bytes]:
    """The parts of a form, read by Python's own parser of mail, which knows nothing of ours."""
    head = f"Content-Type: {heard.headers['content-type']}\r\n\r\n".encode()
    message = BytesParser(policy=HTTP).parsebytes(head + heard.body)
    parts = {}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        parts[name] = content if part.get_filename() else content.removesuffix(b"\r\n")
    return parts


def unknown(fields: Mapping[str, Any], known: set[str]) -> str | None:
    """A field that the documentation does not have."""
    return next((name for name in fields if name not in known), None)


def b64(seed: int) -> str:
    """An image in base64."""
    return base64.b64encode(png(seed)).decode()


def _has_key(heard: Heard) -> bool:
    return heard.headers.get("authorization") == f"Bearer {KEY}"


def _refuse_key(message: str) -> Reply:
    """Refuse a request as OpenAI does."""
    fault = {"message": message, "type": "invalid_request_error", "param": None, "code": "invalid_api_key"}
    return answer_json(401, {"error": fault})


def chat(heard: Heard) -> Reply:
    """OpenAI's Chat Completions API; parameters that it does not know are errors."""
    if not _has_key(heard):
        return _refuse_key("Incorrect API key provided.")
    if heard.path == "/v1/models":
        return answer_json(200, {"object": "list", "data": [{"id": "bundled", "object": "model"}]})
    fields = json.loads(heard.body)
    odd = unknown(fields, {"model", "messages", "n", "max_tokens", "temperature", "seed"})
    if odd or heard.path != "/v1/chat/completions":
        return answer_json(400, {"error": {"message": f"Unrecognized request argument: {odd}", "code": None}})
    return answer_json(200, {"id": "chatcmpl-1", "created": 1, "usage": {}, **answer_chat(fields)})


def answering(content: object, **choice: object) -> Reply:
    """A chat API's answer."""
    made = {
        "index": 0,
        "message": {"role": "assistant", "content": content},
        "finish_reason": "stop",
    } | choice
    return answer_json(
        200, {"id": "chatcmpl-2", "object": "chat.completion", "model": "writer", "choices": [made]}
    )


def getimg(heard: Heard) -> Reply:
    """getimg's hosted v1 API: one image a request, models with fields beside ours."""
    if not _has_key(heard):
        return answer_json(
            401, {"error": {"type": "authentication_error", "code": "invalid_key", "message": "no key"}}
        )
    if heard.path == "/v1/models":
        size = {"width": 16, "height": 16}
        model = {"id": "bundled", "name": "x", "family": "stable-diffusion", "pipelines": ["text-to-image"]}
        return answer_json(200, [{**model, "base_resolution": size, "price": 0.001, "author_url": None}])
    if heard.path == "/v1/account/balance":
        return answer_json(200, {"balance": 5.0})
    fields = json.loads(heard.body)
    known = {"model", "prompt", "negative_prompt", "steps", "guidance", "seed", "output_format"}
    known |= {"response_format", "scheduler"}
    known |= {"image", "strength"} if heard.path.endswith("image-to-image") else {"width", "height"}
    odd = unknown(fields, known)
    if odd:
        return answer_json(
            400, {"error": {"type": "invalid_request_error", "code": "parameter", "message": odd}}
        )
    return answer_json(200, {"image": b64(fields["seed"]), "seed": fields["seed"], "cost": 0.25})


OPENAI_FIELDS = {
    "model", "prompt", "n", "size", "quality", "background", "output_format", "user", "image", "mask",
}  # fmt: skip
EXTENSIONS = {
    "response_format", "negative_prompt", "num_inference_steps", "guidance_scale", "seed", "strength",
}  # fmt: skip


_UNSEEDED = count(step=64)
"""An API without seeds makes another image each time."""


def _openai(heard: Heard, known: set[str]) -> Reply:
    if not _has_key(heard):
        shown = heard.headers.get("authorization", "").removeprefix("Bearer ")
        return _refuse_key(f"Incorrect API key provided: {shown}.")
    if heard.method == "GET":
        return answer_json(200, {"object": "list", "data": [{"id": "gpt-image-1", "object": "model"}]})
    edits = heard.path == "/v1/images/edits"
    fields: dict[str, Any] = form_of(heard) if edits else json.loads(heard.body)
    odd = unknown(fields, known if edits else known - {"image", "mask", "strength"})
    if odd:
        fault = {"message": f"Unknown parameter: '{odd}'.", "type": "invalid_request_error", "param": odd}
        return answer_json(400, {"error": {**fault, "code": "unknown_parameter"}})
    assert not edits or fields["image"].startswith(b"\x89PNG")
    seed = int(fields.get("seed", next(_UNSEEDED)))
    return answer_json(
        200, {"created": 1, "data": [{"b64_json": b64(seed + k)} for k in range(int(fields["n"]))]}
    )


def openai(heard: Heard) -> Reply:
    """A Stable Diffusion server with OpenAI's API and the extension fields."""
    return _openai(heard, OPENAI_FIELDS | EXTENSIONS)


def openai_plain(heard: Heard) -> Reply:
    """OpenAI's Images API for its GPT image models; found by its dialect's name; unknown parameters are errors."""
    return _openai(heard, OPENAI_FIELDS)


def azure(heard: Heard) -> Reply:
    """Azure's OpenAI: OpenAI's own answers below a deployment, of a dated version, for a key in a header of its own."""
    path, _, query = heard.path.partition("?")
    if heard.headers.get("api-key") != KEY or "authorization" in heard.headers:
        return answer_json(
            401, {"error": {"code": "401", "message": "Access denied due to invalid subscription key"}}
        )
    if query != "api-version=2025-04-01-preview":
        return answer_json(404, {"error": {"code": "404", "message": "Resource not found"}})
    if path == "/openai/models":
        return answer_json(200, {"object": "list", "data": [{"id": "gpt-image-1", "status": "succeeded"}]})
    deployment, _, operation = path.removeprefix("/openai/deployments/").partition("/")
    if deployment != "my-images" or not operation.startswith("images/"):
        return answer_json(404, {"error": {"code": "DeploymentNotFound", "message": "It does not exist"}})
    known = {"authorization": f"Bearer {KEY}"}
    return openai_plain(heard._replace(path=f"/v1/{operation}", headers={**heard.headers, **known}))


@dataclass
class SiliconFlow:
    """SiliconFlow's API; the images lie on a host of their own."""

    at: str

    def __call__(self, heard: Heard) -> Reply:
        if not _has_key(heard):
            return Reply(401, b'"Invalid token"', {"Content-Type": "application/json"})
        if heard.path == "/v1/models":
            return answer_json(
                200, {"object": "list", "data": [{"id": "Kwai-Kolors/Kolors", "object": "model"}]}
            )
        if heard.path == "/v1/user/info":
            return answer_json(
                200, {"code": 20000, "message": "OK", "status": True, "data": {"totalBalance": "88.88"}}
            )
        fields = json.loads(heard.body)
        known = {"model", "prompt", "negative_prompt", "image_size", "batch_size", "seed"}
        odd = unknown(fields, known | {"num_inference_steps", "guidance_scale", "image"})
        if odd or not 0 < fields["seed"] < 9_999_999_999 or fields["batch_size"] > 4:
            return answer_json(
                400, {"code": 20015, "message": f"The parameter is invalid: {odd}", "data": None}
            )
        assert fields.get("image", "data:image/png;base64,").startswith("data:image/png;base64,")
        links = [f"{self.at}/{fields['seed'] + k}.png?sig=a%2Fb" for k in range(fields["batch_size"])]
        made = [{"url": link} for link in links]
        return answer_json(
            200, {"images": made, "timings": {"inference": 1.2}, "seed": fields["seed"], "data": made}
        )


class ComfyUIServer(ComfyUI):
    """ComfyUI over sockets, behind a proxy that asks for a key."""

    def __call__(self, heard: Heard) -> Reply:
        if not _has_key(heard):
            return answer_json(401, {"error": "Unauthorized"})
        parts = form_of(heard) if heard.path == "/upload/image" else {}
        status, said = self.speak(heard.method, heard.path, parts, heard.body)
        return Reply(status, said) if isinstance(said, bytes) else answer_json(status, said)


class Replicate(Predictions):
    """Replicate's API over sockets."""

    def __call__(self, heard: Heard) -> Reply:
        if not _has_key(heard):
            return answer_json(401, {"title": "Unauthenticated", "detail": "Invalid token", "status": 401})
        return answer_json(*self.speak(heard.method, heard.path, heard.body))


def image_host(heard: Heard) -> Reply:
    """Where SiliconFlow's links lead to: no key, no cookie, or it is an error."""
    if heard.method != "GET" or "authorization" in heard.headers or "cookie" in heard.headers or heard.body:
        return Reply(400, b"")
    seed = int(heard.path.strip("/").partition(".")[0])
    return Reply(200, png(seed), {"Content-Type": "image/png", "Set-Cookie": "track=1"})


def stability(heard: Heard) -> Reply:
    """Stability AI's v2beta API for Stable Diffusion 3."""
    if not _has_key(heard):
        return answer_json(
            401, {"id": "a1", "name": "unauthorized", "errors": ["missing or invalid authorization header"]}
        )
    if heard.path == "/v1/user/balance":
        return answer_json(200, {"credits": 25.5})
    fields = form_of(heard)
    known = {
        "prompt", "mode", "model", "seed", "cfg_scale", "output_format", "negative_prompt", "style_preset",
    }  # fmt: skip
    varies = fields.get("mode") == b"image-to-image"
    odd = unknown(fields, known | ({"image", "strength"} if varies else {"aspect_ratio"}))
    seeds = range(1, 4_294_967_295)  # 0 would be a random one
    if odd or heard.headers["accept"] != "application/json" or int(fields["seed"]) not in seeds:
        return answer_json(400, {"id": "a1", "name": "bad_request", "errors": [f"some-field: {odd}"]})
    assert not varies or fields["image"].startswith(b"\x89PNG")
    seed = int(fields["seed"])
    return answer_json(200, {"image": b64(seed), "finish_reason": "SUCCESS", "seed": seed})


def huggingface(heard: Heard) -> Reply:
    """An inference endpoint for text-to-image: the answer is the image itself."""
    if not _has_key(heard):
        return answer_json(401, {"error": "Unauthorized"})
    if heard.path == "/health":
        return Reply(200, b"Ok", {"Content-Type": "text/plain"})
    fields = json.loads(heard.body)
    known = {
        "guidance_scale", "num_inference_steps", "width", "height", "seed", "negative_prompt", "scheduler",
    }  # fmt: skip
    odd = unknown(fields, {"inputs", "parameters"}) or unknown(fields["parameters"], known)
    if odd or heard.path != "/" or heard.headers["accept"] != "image/png":
        return answer_json(400, {"error": f"unexpected {odd or heard.path}"})
    return Reply(200, png(fields["parameters"]["seed"]), {"Content-Type": "image/png"})


def a1111(heard: Heard) -> Reply:
    """AUTOMATIC1111's web UI with ``--api-auth``; what it answers is its own ``modules/api``."""
    if heard.headers.get("authorization") != f"Basic {base64.b64encode(LOGIN.encode()).decode()}":
        refusal = {"error": "HTTPException", "detail": "Incorrect username or password"}
        return answer_json(401, {**refusal, "body": "", "errors": ""}, WWW_Authenticate="Basic")
    if heard.path == "/sdapi/v1/sd-models":
        return answer_json(
            200, [{"title": "v1-5.safetensors [6ce0161689]", "model_name": "v1-5", "filename": "/x"}]
        )
    fields = json.loads(heard.body)
    assert fields["override_settings"] == {"sd_model_checkpoint": "v1-5"}
    assert fields["sampler_name"] in {"Euler", "DPM++ 2M"}
    assert heard.path.endswith("img2img") == bool(fields.get("init_images"))
    made = [b64(fields["seed"] + k) for k in range(fields["batch_size"] * fields["n_iter"])]
    drawn = {"seed": fields["seed"], "sd_model_name": "v1-5", "sd_model_hash": "6ce0161689"}
    return answer_json(200, {"images": made, "parameters": {}, "info": json.dumps(drawn)})
