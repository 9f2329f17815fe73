"""Text-to-image and image-to-image from a collection. The answer is one of its images, at the requested size."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pcevolve_server.errors import AbandonedError, GenerationError
from pcevolve_server.library.collection import Collection
from pcevolve_server.library.embedding import Codes, NeighbourIndex
from pcevolve_server.library.words import Fits, Weights, draw
from pcevolve_server.work import IsCancelled, Picture, Recipe, Task, never_cancelled
from pcevolve_shared import limits
from pcevolve_shared.wire import ModelInfo

_LOOKED_AT = 8  # nearest images that may be the very one that was posted
_FIRST_RANKS = 64
_REMEMBERED = 8  # prompts
_BYTES_EACH = 1_300  # of an image in memory: a million take 1.2 GiB (benchmarks/library/scale.py)


@dataclass(frozen=True)
class PostedOrigin:
    """A posted image: its code, and its place in the collection.

    Attributes:
        code: The image's embedding.
        place: The image's index in the collection. None: the image is not in the collection.
    """

    code: Codes
    place: int | None


@dataclass(frozen=True)
class LibraryGenerator:
    """Draws from a collection. The same task always gets the same image.

    Attributes:
        info: The description for callers.
        collection: The images.
        neighbours: The images' embeddings.
        fits: Returns how well each image fits a prompt.
        beside: Bytes of the model that reads prompts, if any.
    """

    fixed_cost_batches = False
    info: ModelInfo
    collection: Collection
    neighbours: NeighbourIndex
    fits: Fits
    beside: int = 0
    _weights: dict[tuple[str, str, str, float], Weights] = field(default_factory=dict, repr=False)

    @property
    def bit_exact_batch_size(self) -> int:
        """The contract's largest batch, because each task is drawn alone."""
        return limits.MAX_BATCH

    on_gpu = False  # a network that reads prompts does so one at a time

    @property
    def memory(self) -> int:
        """Approximate bytes of the index, of paths and words, and of the model that reads prompts."""
        return len(self.collection.files) * _BYTES_EACH + self.beside

    def create(self, tasks: Sequence[Task], is_cancelled: IsCancelled = never_cancelled) -> list[Picture]:
        """Draw an image for each task. Images that fit the prompt have larger weights (``WordIndex.weights``)."""
        return [self._create(task) for task in _while(tasks, is_cancelled)]

    def _create(self, task: Task) -> Picture:
        return self._picture(draw(self._weigh(task), task.seed), task.recipe)

    def vary(self, tasks: Sequence[Task], is_cancelled: IsCancelled = never_cancelled) -> list[Picture]:
        """Draw neighbours of the tasks' images. Strength 0 takes the nearest, and strength 1 ignores the image.

        At other strengths, images are ranked by their distance from the posted image. Let W be the sum of the
        prompt's weights, the largest of which is 1. If all images fit alike, W is the number of images. The draw is in
        proportion to the weights, among the nearest images with a sum of ``W ** strength``. This is one image at
        strength 0 and all images at strength 1. Equal steps of strength multiply the sum by the same factor. The
        posted image is not its own variation.
        """
        origins: dict[tuple[str, str], PostedOrigin] = {}
        return [self._vary(task, origins) for task in _while(tasks, is_cancelled)]

    def _vary(self, task: Task, origins: dict[tuple[str, str], PostedOrigin]) -> Picture:
        strength, image = task.recipe.strength, task.image
        if strength is None or image is None:
            raise GenerationError("a variation was requested without an image")
        if strength == 1:
            return self._create(task)
        pixels = hashlib.sha256(repr(image.size).encode() + image.tobytes()).hexdigest()
        key = (task.caller, pixels)
        if key not in origins:
            origins[key] = self._origin(image, task.recipe)
        origin = origins[key]
        if strength == 0:
            nearest = self.neighbours.nearest(origin.code, 1)[0] if origin.place is None else origin.place
            return self._picture(int(nearest), task.recipe)
        weights = self._weigh(task)
        return self._picture(self._neighbour(origin, weights, strength, task.seed), task.recipe)

    def _origin(self, image: Image.Image, recipe: Recipe) -> PostedOrigin:
        """Find a posted image in the collection. The size in which it was sent does not matter."""
        code = self.collection.embedder.embed(image)
        pixels = np.asarray(image)
        for place in map(int, self.neighbours.nearest(code, _LOOKED_AT)):
            if np.array_equal(np.asarray(self._resize(place, recipe)), pixels):
                return PostedOrigin(self.collection.facts.codes[place], place)
        return PostedOrigin(code, None)

    def _neighbour(self, origin: PostedOrigin, weights: Weights, strength: float, seed: int) -> int:
        """Draw among the nearest images whose weights sum to ``W ** strength``."""
        among = weights > 0
        if origin.place is not None and among.sum() > 1:
            among[origin.place] = False
            weights = weights / weights[among].max()
        reach = float(weights[among].sum()) ** strength
        ranked = self._rank(origin.code, weights, among, reach)
        shares = weights[ranked]
        before = np.cumsum(shares) - shares
        return int(ranked[draw(np.clip(reach - before, 0, shares), seed)])

    def _rank(
        self, code: Codes, weights: Weights, among: NDArray[np.bool_], reach: float
    ) -> NDArray[np.int64]:
        """Return the nearest images whose weights sum to at least ``reach``, or all images."""
        most = int(among.sum())
        count = min(most, max(_FIRST_RANKS, 2 * int(reach)))
        while True:
            ranked = self.neighbours.nearest(code, count, among)
            if count == most or weights[ranked].sum() >= reach:
                return ranked
            count = min(most, 4 * count)

    def _weigh(self, task: Task) -> Weights:
        """Return the images' weights for a task's prompts. The latest weights of each caller are cached."""
        prompts = (task.prompt, task.negative_prompt, task.recipe.guidance)
        key = (task.caller, *prompts)
        if key not in self._weights:
            if len(self._weights) >= _REMEMBERED:
                self._weights.pop(next(iter(self._weights)))
            self._weights[key] = self.fits(*prompts)
        return self._weights[key]

    def _picture(self, place: int, recipe: Recipe) -> Picture:
        return Picture(self._resize(place, recipe))

    def _resize(self, place: int, recipe: Recipe) -> Image.Image:
        return cover(self.collection.read(place), recipe.width, recipe.height)


def _while(tasks: Sequence[Task], is_cancelled: IsCancelled) -> Iterator[Task]:
    """Yield the tasks until the run is cancelled."""
    for task in tasks:
        if is_cancelled():
            raise AbandonedError("the caller no longer waits for these images")
        yield task


def cover(image: Image.Image, width: int, height: int) -> Image.Image:
    """Crop the centre of an image to the requested aspect ratio, and resize it."""
    if image.size == (width, height):
        return image
    scale = max(width / image.width, height / image.height)
    left, top = (image.width - width / scale) / 2, (image.height - height / scale) / 2
    box = (
        max(0.0, left),
        max(0.0, top),
        min(image.width, image.width - left),
        min(image.height, image.height - top),
    )
    return image.resize((width, height), Image.Resampling.LANCZOS, box=box)
