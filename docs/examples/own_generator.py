"""Research: a generator as an object in this process. There is NO BOUNDARY, and everything says so."""

import numpy as np
from PIL import Image

import pcevolve


class Blobs:
    """A generator that knows two kinds of pictures: what it is asked for in words decides where a blob lies."""

    size = (32, 32)

    def create(self, prompt, seeds):
        return [self.painted(prompt, np.random.default_rng(seed)) for seed in seeds]

    def vary(self, image, prompt, strength, seeds):
        before = np.asarray(image, dtype=float)
        new = (np.asarray(each, dtype=float) for each in self.create(prompt, seeds))
        return [Image.fromarray((strength * each + (1 - strength) * before).astype(np.uint8)) for each in new]

    def painted(self, prompt, random):
        down, across = np.mgrid[0:32, 0:32]
        middle = random.normal(10 if prompt.endswith("A") else 22, 3, size=2)
        blob = 255 * np.exp(-((down - middle[0]) ** 2 + (across - middle[1]) ** 2) / 40)
        return Image.fromarray(blob.astype(np.uint8)).convert("RGB")


result = pcevolve.evolve(
    private="scans",
    domain="blob",
    provider=Blobs(),
    epsilon=8,
    shots=3,
    candidates=8,
    out="runs/blobs",
)
print(result)
print("audit holds:", bool(result.audit()))  # never, for such a run
