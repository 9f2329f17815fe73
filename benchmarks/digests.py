"""Digests of what every method chooses, pays and releases under seeded noise, to compare two versions of the code.

Small runs of one and of two rounds, under both neighbour relations, on images and on texts, against a provider in this
process that answers over HTTP from seeds alone. Two files of digests that are equal say that what lies between them
changed no choice, no price and no image::

    python -m benchmarks.digests before.json
    python -m benchmarks.digests after.json --compare before.json
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import pcevolve
from pcevolve.errors import ClientError
from pcevolve.public.dp.accountants import epsilon
from pcevolve.public.privacy import Event
from pcevolve_benchmarks import runner
from pcevolve_benchmarks.baselines import catalogue

SIDE = 32
SEED, NOISE_SEED = 11, 5
DELTA = 1e-5
RELATIONS = ("replace-one", "add-remove")
ROUNDS = (1, 2)
IMAGE_METHODS = ("auto", "dp-means", "jvem", "pcevolve", "pe", "pe-em", "random", "t2i")
TEXT_METHODS = ("aug-pe", "pe", "random", "t2i")
WORDS = [
    "bird",
    "fever",
    "river",
    "lung",
    "bread",
    "violin",
    "small",
    "pain",
    "boat",
    "night",
    "glass",
    "horse",
]
VARIANTS: dict[str, dict[str, Any]] = {
    "pe, one prompt after the other": {"method": "pe", "vary_by": "prompt"},
    "pe with lookahead": {"method": "pe", "lookahead": 2},
    "pe with class counts": {"method": "pe", "class_counts": True},
    "pe from all rounds": {"method": "pe", "pool": "all", "votes": 2, "threshold": 1.0},
    "dp-means, matched": {"method": "dp-means", "appearance": "matched"},
    "pcevolve, more": {"method": "pcevolve", "more": 2},
}
"""Runs of images beside the plain ones."""
TEXT_VARIANTS: dict[str, dict[str, Any]] = {
    "secpe": {"method": "secpe", "secrets": "secrets.txt"},
    "secpe in few cells": {"method": "secpe", "secrets": "secrets.txt", "cells": 2},
    "aug-pe by chance": {"method": "aug-pe", "selection": "prob", "variations": 2},
}
"""Runs of texts beside the plain ones."""
BASELINES: dict[str, dict[str, Any]] = {
    name: {"method": name}
    for name in ("pcevolve-pf", "pcevolve-g", "pcevolve-h", "pcevolve-exp", "pcevolve-gm", "le")
} | {
    "rf": {"method": "rf"},
    "gcap": {"method": "gcap"},
    "dpimg": {"method": "dpimg", "size": 64},
}
"""Methods of the papers' tables that are no method of the client: they run without a gate."""


WITHOUT_ROUNDS = ("t2i", "le", "rf")
"""Methods that take no number of them."""


@dataclass(frozen=True)
class Case:
    """One small run.

    Attributes:
        name: In the file of digests.
        kind: ``images`` or ``texts``.
        options: Of ``pcevolve.evolve``, or of a baseline.
    """

    name: str
    kind: str
    options: dict[str, Any]


def cases() -> Iterator[Case]:
    """All runs, named by what they ask for."""
    plain = [("images", name, {"method": name}) for name in IMAGE_METHODS]
    plain += [("images", name, options) for name, options in VARIANTS.items()]
    plain += [("texts", name, {"method": name}) for name in TEXT_METHODS]
    plain += [("texts", name, options) for name, options in TEXT_VARIANTS.items()]
    plain += [("images", name, options) for name, options in BASELINES.items()]
    for kind, name, options in plain:
        for relation in RELATIONS:
            for rounds in ROUNDS:
                asked = {**options, "relation": relation, "iterations": rounds}
                if name in WITHOUT_ROUNDS:
                    del asked["iterations"]
                if rounds == 1:
                    asked.pop("pool", None)
                yield Case(f"{kind}: {name}, {relation}, {rounds}", kind, asked)


class StandIn(BaseHTTPRequestHandler):
    """A provider that answers from seeds alone."""

    protocol_version = "HTTP/1.1"
    side = SIDE
    disable_nagle_algorithm = True  # or each answer would wait 40 ms for its head to be confirmed

    def do_GET(self) -> None:
        """The list of models."""
        model = {
            "id": "bundled",
            "name": "bundled",
            "family": "stable-diffusion",
            "pipelines": ["text-to-image", "image-to-image"],
            "base_resolution": {"width": self.side, "height": self.side},
        }
        chat = {"object": "list", "data": [{"id": "bundled", "object": "model"}]}
        self._say(chat if self.path.startswith("/texts") else [model])

    def do_POST(self) -> None:
        """Images or texts from seeds."""
        fields = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        seeds = [(fields.get("seed", 0) + k) % 2**32 for k in range(fields.get("n", 1))]
        if "messages" in fields:
            question = fields["messages"][-1]["content"]
            said = [{"index": k, "message": {"role": "assistant", "content": _text(seed, question)}}
                    for k, seed in enumerate(seeds)]  # fmt: skip
            self._say({"object": "chat.completion", "model": "bundled", "choices": said})
            return
        made = self.make(fields, seeds)
        self._say({"images": made, "cost": 0.0} if len(made) > 1 else {**made[0], "cost": 0.0})

    def make(self, fields: dict[str, Any], seeds: list[int]) -> list[dict[str, Any]]:
        """Images as an answer holds them, one for each seed."""
        source = base64.b64decode(fields["image"]) if "image" in fields else None
        return [
            {"image": base64.b64encode(_image(seed, fields, source)).decode(), "seed": seed} for seed in seeds
        ]

    def _say(self, payload: object) -> None:
        body = json.dumps(payload).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def _image(seed: int, fields: dict[str, Any], source: bytes | None) -> bytes:
    """A coarse pattern that depends on seed and prompt, and on a source as far as the strength lets it."""
    prompt = int.from_bytes(hashlib.sha256(str(fields.get("prompt")).encode()).digest()[:4], "big")
    coarse = np.random.default_rng([seed, prompt]).integers(0, 256, (8, 8, 3)).astype(float)
    fold = int(fields.get("width", SIDE)) // 8 if source is None else _side(source) // 8
    pixels = np.kron(coarse, np.ones((fold, fold, 1)))
    if source is not None:
        with Image.open(io.BytesIO(source)) as before:
            strength = float(fields.get("strength", 1.0))
            pixels = strength * pixels + (1 - strength) * np.asarray(before.convert("RGB"), float)
    buffer = io.BytesIO()
    Image.fromarray(pixels.round().astype(np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def _side(image: bytes) -> int:
    with Image.open(io.BytesIO(image)) as opened:
        return opened.width


def _text(seed: int, question: str) -> str:
    asked = int.from_bytes(hashlib.sha256(question.encode()).digest()[:4], "big")
    return " ".join(np.random.default_rng([seed, asked]).choice(WORDS, 8))


def private_images(root: Path) -> Path:
    """Two classes of four coarse patterns each."""
    rng = np.random.default_rng(1)
    for label in ("cut", "good"):
        (root / label).mkdir(parents=True)
        for number in range(4):
            pixels = np.kron(rng.integers(0, 256, (8, 8, 3)), np.ones((5, 5, 1))).astype(np.uint8)
            Image.fromarray(pixels).save(root / label / f"{number}.png")
    return root


def private_texts(path: Path) -> Path:
    """Two classes of four texts each."""
    rng = np.random.default_rng(2)
    rows = [f"{' '.join(rng.choice(WORDS, 9))},{label}" for label in ("ill", "well") for _ in range(4)]
    path.write_text("\n".join(["text,label", *rows]) + "\n")
    return path


def digest_of(run: Path) -> dict[str, str]:
    """Digest what a run chose, paid and released, without anything that is drawn anew each time."""
    log = (run / "transcript" / "log.jsonl").read_bytes().splitlines()
    receipts = [
        event["receipt"] for event in (json.loads(line)["event"] for line in log) if "receipt" in event
    ]
    chosen = [{name: each[name] for name in ("iteration", "choices", "values")} for each in receipts]
    files = sorted((path.parent.name, hashlib.sha256(path.read_bytes()).hexdigest())
                   for path in (run / "release").rglob("*")
                   if path.suffix in {".png", ".txt", ".jsonl"})  # fmt: skip
    events = [each["events"] for each in receipts]
    parts = {
        "chosen": chosen,
        "events": events,
        "measured": [each["measured"] for each in receipts],
        "images": files,
    }
    spent = epsilon((Event(**each) for several in events for each in several), DELTA)
    return {name: _hash(part) for name, part in parts.items()} | {
        "files": str(len(files)),
        "epsilon": f"{spent:.9g}",
    }


def digest_of_baseline(run: Path) -> dict[str, str]:
    """Digests of a run without a gate: what it chose, what it did to the images, and its dataset."""
    rounds = json.loads((run / "run.json").read_text())["rounds"]
    files = sorted((path.parent.name, hashlib.sha256(path.read_bytes()).hexdigest())
                   for path in (run / "dataset").rglob("*.*"))  # fmt: skip
    return {
        "chosen": _hash(
            [{name: each[name] for name in ("iteration", "choices", "values")} for each in rounds]
        ),
        "events": _hash([each["accesses"] for each in rounds]),
        "images": _hash(files),
        "files": str(len(files)),
    }


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def digests(address: str, folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The digests of every run, or why it was refused."""
    private = {"images": private_images(folder / "private"), "texts": private_texts(folder / "private.csv")}
    secrets = folder / "secrets.txt"
    secrets.write_text("violin\nharbour\n")
    for number, case in enumerate(cases()):
        out = folder / f"run{number}"
        url = f"{address}/{case.kind}" if case.kind == "images" else f"{address}/texts/v1"
        provider = pcevolve.Provider(url, dialect="getimg" if case.kind == "images" else "chat")
        try:
            if "secrets" in case.options:
                case.options["secrets"] = str(secrets)
            common: dict[str, Any] = {
                "domain": "leather texture", "epsilon": 10, "shots": 4, "candidates": 4, "batch": 2, "seed": SEED,
                "insecure_noise_seed": NOISE_SEED, "pad_selection": 0.0, "patience": 2, **case.options,
            }  # fmt: skip
            if case.options["method"] in catalogue.BASELINES:
                where = {"private": str(private[case.kind]), **provider.settings}
                runner.run({**common, **where, "epsilon": "10"}, out)
                yield case.name, digest_of_baseline(out)
                continue
            pcevolve.evolve(private=private[case.kind], provider=provider, out=out, quiet=True, yes=True,
                            ledger=folder / f"ledger{number}" / "ledger.sqlite", **common)  # fmt: skip
            yield case.name, digest_of(out)
        except ClientError as error:
            yield case.name, {"refused": f"{type(error).__name__}: {error}"}


def differ(before: dict[str, str], after: dict[str, str]) -> bool:
    """True if two digests differ in what both have; of two refusals it is enough that they are refusals."""
    if "refused" in before or "refused" in after:
        return before.keys() != after.keys()
    return any(before[part] != after[part] for part in before.keys() & after.keys())


def main() -> int:
    """Write the digests of this version; with ``--compare``, fail where another version's differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--compare", type=Path)
    asked = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        found = dict(digests(f"http://127.0.0.1:{server.server_port}", Path(folder)))
    asked.out.write_text(json.dumps(found, indent=1))
    before = json.loads(asked.compare.read_text()) if asked.compare else found
    unlike = [name for name in before if name in found and differ(before[name], found[name])]
    gone = sorted(before.keys() - found.keys())
    print(
        f"{len(found)} runs, {len(unlike)} differ, {len(gone)} are not there any more",
        *unlike,
        *gone,
        sep="\n",
    )
    return 1 if unlike or gone else 0


if __name__ == "__main__":
    sys.exit(main())
