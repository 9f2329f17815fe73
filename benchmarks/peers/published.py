"""One run of DPSDA's published package, as a process of its own: ``python -m benchmarks.peers.published JOB``.

The job is a JSON file; ``benchmarks.peers.contenders`` writes it. What stands here is what that package asks its users
to write: an API class, which calls our server, and an embedding class, which is our encoder. All that selects is the
package's own.
"""

from __future__ import annotations

import base64
import io
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import numpy as np
from PIL import Image

from pcevolve.public.encoders import load_encoder
from pcevolve_shared import wire

AT_ONCE = 16
"""Requests under way at a time: the package leaves that to the API class."""
MOST_PER_REQUEST = 32
SECONDS = 600
Theirs: TypeAlias = Any
"""Of a type of the package's."""
Look: TypeAlias = Callable[[list[Image.Image | None]], np.ndarray]


class Server:
    """Our API server, as an API class of the package needs it."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._http = httpx.Client(base_url=job["url"], timeout=SECONDS, trust_env=False)
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._prompts, self._strengths, self._seed = job["prompts"], job["strengths"], job["seed"]
        self._always = {"steps": job["steps"], "guidance": job["guidance"]}
        self.requests = self.images = 0

    def create(self, label: int, count: int) -> list[np.ndarray]:
        """New images of a class, uint8 ``(side, side, 3)`` each."""
        sizes = [min(MOST_PER_REQUEST, count - start) for start in range(0, count, MOST_PER_REQUEST)]
        asked = [{"prompt": self._prompts[label], "n": size, "seed": self._next(size)} for size in sizes]
        return self._make(wire.TEXT_TO_IMAGE, asked)

    def vary(self, images: Iterable[np.ndarray], labels: Iterable[int], iteration: int) -> list[np.ndarray]:
        """One variation of each image."""
        strength = self._strengths[iteration]
        asked = [
            {
                "prompt": self._prompts[label],
                "image": _png(image),
                "strength": strength,
                "seed": self._next(1),
            }
            for image, label in zip(images, labels, strict=True)
        ]
        return self._make(wire.IMAGE_TO_IMAGE, asked)

    def _next(self, count: int) -> int:
        self._seed += count
        return self._seed - count

    def _make(self, path: str, asked: list[dict[str, Any]]) -> list[np.ndarray]:
        made = [
            each for several in self._pool.map(lambda body: self._post(path, body), asked) for each in several
        ]
        self.requests += len(asked)
        self.images += len(made)
        return made

    def _post(self, path: str, body: dict[str, Any]) -> list[np.ndarray]:
        answer = self._http.post(path, json=self._always | body).raise_for_status().json()
        return [_pixels(each["image"]) for each in answer.get("images", [answer])]


def _png(image: np.ndarray) -> str:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def _pixels(data: str) -> np.ndarray:
    with Image.open(io.BytesIO(base64.b64decode(data))) as image:
        return np.asarray(image.convert("RGB"))


def main(arguments: Sequence[str]) -> None:
    """Run the package on a job, and write its images as class folders and what it took."""
    job = json.loads(Path(arguments[0]).read_text())
    if job["checkout"] is not None:
        sys.path.insert(0, job["checkout"])
    started = time.monotonic()
    np.random.seed(job["seed"])
    server = Server(job)
    images, targets, sigma = _evolve(job, server)
    for place, (image, target) in enumerate(zip(images, targets, strict=True)):
        folder = Path(job["out"], job["labels"][target])
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / f"{place:05}.png")
    took = {"seconds": time.monotonic() - started, "requests": server.requests, "images": server.images}
    Path(job["out"], "took.json").write_text(json.dumps({**took, "sigma": sigma}))


def _evolve(job: dict[str, Any], server: Server) -> tuple[list[np.ndarray], list[int], float]:
    """Images, classes and noise multiplier of a run of the package."""
    from pe.dp import Gaussian
    from pe.histogram import NearestNeighbors
    from pe.population import PEPopulation
    from pe.runner import PE

    seen = load_encoder(job["encoder"]).embed
    api, embedding, private = _plug_in(job, server, seen)
    mechanism = Gaussian()
    runner = PE(
        priv_data=private,
        population=PEPopulation(api=api, histogram_threshold=job["threshold"]),
        histogram=NearestNeighbors(
            embedding=embedding, mode="L2", lookahead_degree=job["lookahead"], api=api
        ),
        dp=mechanism,
    )
    whole = job["candidates"] * len(job["labels"])
    made = runner.run(
        num_samples_schedule=[whole] * (len(job["strengths"]) + 1),
        delta=job["delta"],
        epsilon=job["epsilon"],
        save_checkpoint=False,
        fraction_per_label_id=[1.0] * len(job["labels"]),
    ).data_frame
    images, targets = list(made["PE.IMAGE"]), [int(each) for each in made["PE.LABEL_ID"]]
    return images, targets, float(mechanism._noise_multiplier)


def _plug_in(job: dict[str, Any], server: Server, seen: Look) -> tuple[Theirs, Theirs, Theirs]:
    """API, embedding and private data in the package's own types, which are there only now."""
    import pandas as pd
    from pe.api import API
    from pe.data import Data
    from pe.embedding import Embedding

    class Provider(API):  # type: ignore[misc]
        def random_api(self, label_info: Theirs, num_samples: int) -> Theirs:
            label = job["labels"].index(label_info.name)
            frame = pd.DataFrame({"PE.IMAGE": server.create(label, int(num_samples)), "PE.LABEL_ID": label})
            return Data(data_frame=frame)

        def variation_api(self, syn_data: Theirs) -> Theirs:
            frame = syn_data.data_frame
            targets = [int(each) for each in frame["PE.LABEL_ID"]]
            made = server.vary(frame["PE.IMAGE"], targets, int(syn_data.metadata.iteration))
            return Data(pd.DataFrame({"PE.IMAGE": made, "PE.LABEL_ID": targets}), syn_data.metadata)

    class Ours(Embedding):  # type: ignore[misc]
        def compute_embedding(self, data: Theirs) -> Theirs:
            frame = data.data_frame.copy()
            if self.column_name not in frame:
                frame[self.column_name] = list(seen([Image.fromarray(each) for each in frame["PE.IMAGE"]]))
            return Data(frame, data.metadata)

    images, targets = _private(Path(job["private"]), job["labels"])
    frame = pd.DataFrame({"PE.IMAGE": images, "PE.LABEL_ID": targets})
    return Provider(), Ours(), Data(frame, {"label_info": [{"name": each} for each in job["labels"]]})


def _private(folder: Path, labels: Sequence[str]) -> tuple[list[np.ndarray], list[int]]:
    files = [
        (path, target) for target, label in enumerate(labels) for path in sorted((folder / label).iterdir())
    ]
    images = []
    for path, _ in files:
        with Image.open(path) as image:
            images.append(np.asarray(image.convert("RGB")))
    return images, [target for _, target in files]


if __name__ == "__main__":
    main(sys.argv[1:])
