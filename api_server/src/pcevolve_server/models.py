"""Load models from settings, and keep them in memory within a limit of bytes.

A model is ready only after it has made an image or a text. A model that cannot make one fails at the start.
"""

from __future__ import annotations

import atexit
import gc
import logging
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pcevolve_server import faults, sources
from pcevolve_server.errors import (
    DeviceMemoryError,
    EngineLostError,
    GenerationError,
    MemoryExceededError,
    ModelLoadError,
    too_many_pixels,
)
from pcevolve_server.model_settings import ModelSettings, Offload
from pcevolve_server.trial import TrialResult, try_out
from pcevolve_server.work import IsCancelled, Made, Model, Recipe, Work, never_cancelled, perform
from pcevolve_shared.processors import count_cores
from pcevolve_shared.wire import ModelInfo

logger = logging.getLogger(__name__)

_MIB = 2**20
_GPU_DRIVERS = ("nvidiactl", "kfd", "dxg")
"""Device files of three drivers: NVIDIA's, AMD's, and Windows's for its Linux."""


def load_models(
    settings: Sequence[ModelSettings], memory_mib: int = 0, stopping: Callable[[], bool] = lambda: False
) -> ModelCache:
    """Load several models.

    Args:
        memory_mib: Largest memory of all loaded models together, in MiB. 0: no limit.

    Raises:
        ModelLoadError: A model cannot be loaded. The message has its name and the next step.
    """
    for each in settings:
        sources.check(each)
    if len(settings) > 1:  # PyTorch has one number of threads for all models of a process
        settings = [replace(each, threads=each.threads or count_cores()) for each in settings]
    found = ModelCache([TriedLoad(each, stopping) for each in settings], memory_mib * 2**20, _give_back)
    gc.collect()
    # Frozen objects are not searched by the garbage collector. Searching all parts of a model again and again
    # would take some percent of a small model's time.
    gc.freeze()
    atexit.register(gc.unfreeze)  # libraries complain of what is left when the interpreter ends
    return found


class TriedLoad:
    """Loads a model, and tries it out the first time. A model too large for its device is moved there in parts."""

    def __init__(self, settings: ModelSettings, stopping: Callable[[], bool] = lambda: False) -> None:
        self._settings, self._stopping = settings, stopping
        self.result: TrialResult | None = None

    def __call__(self) -> Model:
        """Return the model.

        Raises:
            ModelLoadError: The model cannot be loaded, or fails at something that it offers.
        """
        model = load(self._settings, self._stopping)
        if self.result is not None:
            return model
        try:
            self.result = try_out(model, self._settings, _give_back)
            return model
        except DeviceMemoryError:
            if not model.on_gpu or self._settings.offload is not Offload.AUTO:
                raise
        logger.warning(
            "the GPU has too little memory for the whole model and one image",
            extra={"model": self._settings.model},
        )
        self._settings = replace(self._settings, offload=Offload.ON)
        del model
        _give_back()
        return self()


def _give_back() -> None:
    """Release the memory of dropped models."""
    gc.unfreeze()
    gc.collect()
    if "torch" in sys.modules:
        from pcevolve_server import networks

        networks.give_back()
    gc.freeze()


def find_gpus(settings: ModelSettings) -> tuple[str, ...]:
    """Return the GPUs for a model's replicas. Empty for a model on a processor, or on a GPU that the settings name."""
    if settings.device not in ("auto", "cuda") or not any(
        Path("/dev", each).exists() for each in _GPU_DRIVERS
    ):
        return ()
    from pcevolve_server import networks  # takes seconds, and only where there are GPUs

    return networks.list_gpus()


def load(settings: ModelSettings, stopping: Callable[[], bool] = lambda: False) -> Model:
    """Load the model of ``settings``, or index the images.

    Raises:
        ModelLoadError: The model cannot be loaded. The message has its name and the next step.
    """
    sources.check(settings)
    # Imported here, after the port is open, because torch takes seconds to import. --help never needs it.
    if sources.is_library(settings.model):
        from pcevolve_server.library import loading as libraries

        return libraries.load(settings, stopping)
    if sources.is_bundled_text(settings.model):
        from pcevolve_server.language import phrases

        return phrases.load(settings)
    if sources.is_text(settings.model):
        from pcevolve_server.language import model as languages

        return languages.load(settings)
    from pcevolve_server.diffusion import generator_loading

    return generator_loading.load(settings)


@dataclass(frozen=True)
class ModelDescription:
    """A model's description for callers and the queue, whether the model is in memory or not.

    Attributes:
        info: The model's abilities, and the largest number of pixels in a run and in an image on its device.
        bit_exact_batch_size: See ``Loaded``.
        fixed_cost_batches: See ``Loaded``.
    """

    info: ModelInfo
    bit_exact_batch_size: int
    fixed_cost_batches: bool

    @classmethod
    def of(cls, model: Model, trial: TrialResult | None = None) -> ModelDescription:
        """Describe a model, with the results of its trial, if any."""
        if trial is None:
            return cls(model.info, model.bit_exact_batch_size, model.fixed_cost_batches)
        info = model.info.model_copy(update={"exact": trial.exact, "batch_pixels": trial.batch_pixels})
        return cls(info, trial.bit_exact_batch_size, model.fixed_cost_batches)

    def within(self, batch_pixels: int | None = None, max_pixels: int | None = None) -> ModelDescription:
        """Return the description with its limits lowered to these values if they were higher or unset."""
        changes = {
            name: bound if before is None else min(before, bound)
            for name, before, bound in (
                ("batch_pixels", self.info.batch_pixels, batch_pixels),
                ("max_pixels", self.info.max_pixels, max_pixels),
            )
            if bound is not None
        }
        return replace(self, info=self.info.model_copy(update=changes))

    @classmethod
    def of_all(cls, replicas: Sequence[ModelDescription]) -> ModelDescription:
        """Return a description that holds for the same model on several devices."""
        found = min(replicas, key=lambda each: (each.bit_exact_batch_size, each.info.exact != "no"))
        for each in replicas:
            found = found.within(each.info.batch_pixels, each.info.max_pixels)
        return found


class ModelCache:
    """Models. Each batch runs on the model that its recipe names. Used from one thread only."""

    def __init__(
        self,
        loads: Sequence[Callable[[], Model]],
        most_bytes: int = 0,
        tidy: Callable[[], object] = gc.collect,
    ) -> None:
        """Load every model once, so that errors appear at the start, and the models' abilities are known.

        Args:
            loads: A loader for each model. The first model is the default.
            most_bytes: Largest number of bytes of the loaded models. 0: no limit. A model's size is known only after
                its first load, so until then one more model may be in memory.
            tidy: Releases the memory of dropped models.

        Raises:
            ModelLoadError: A model cannot be loaded, has another model's name, or is larger than the limit.
        """
        self._most, self._tidy = most_bytes, tidy
        self._loads: dict[str, Callable[[], Model]] = {}
        self._bytes: dict[str, int] = {}
        self._held: OrderedDict[str, Model] = OrderedDict()  # by their last use
        self._described: dict[str, ModelDescription] = {}
        for load in loads:
            self._load_first(load)
        mib = {name: round(size / _MIB) for name, size in self._bytes.items()}
        logger.info("models weighed", extra={"mib": mib})

    @property
    def descriptions(self) -> tuple[ModelDescription, ...]:
        """Descriptions of all models, in the order of the settings, with the memory limits known so far."""
        return tuple(self._described.values())

    @property
    def memory(self) -> int:
        """Bytes of the models that are in memory."""
        return sum(self._bytes[name] for name in self._held)

    def run(self, works: Sequence[Work], is_cancelled: IsCancelled = never_cancelled) -> list[Made]:
        """Run a batch on its model, in as many runs as the memory requires. Load the model first if it was dropped.

        Raises:
            MemoryExceededError: One image does not fit the device.
            EngineLostError: The device has failed for good.
        """
        try:
            return self._run(works[0].recipe.model or next(iter(self._described)), works, is_cancelled)
        except Exception as error:
            # The failure may appear in a run, while a model is loaded again, or when memory is released.
            if not faults.is_device_lost(error):
                raise
            logger.exception("the device failed")
            raise EngineLostError("the device failed, and will fail again: restart the server") from None

    def _run(self, name: str, works: Sequence[Work], is_cancelled: IsCancelled) -> list[Made]:
        model, made, most = self._find(name), list[Made](), len(works)
        while len(made) < len(works):
            left = works[len(made) :]
            piece = left[: min(most, self._fitting(name, left))]
            if (outcome := self._attempt(model, piece, is_cancelled)) is not None:
                made += outcome
            else:
                self._tidy()
                self._lower_bound(name, piece)
                most = len(piece) // 2
        return made

    def _attempt(self, model: Model, works: Sequence[Work], is_cancelled: IsCancelled) -> list[Made] | None:
        """Return a model's outputs, or None if the memory was too small. No frame of the failed call is kept."""
        try:
            return perform(model, works, is_cancelled)
        except Exception as error:
            if not faults.is_out_of_memory(error):
                raise
        return None

    def _fitting(self, name: str, works: Sequence[Work]) -> int:
        recipe, most = works[0].recipe, self._described[name].info.batch_pixels
        if most is None or not isinstance(recipe, Recipe):
            return len(works)
        return max(1, most // recipe.pixels)

    def _lower_bound(self, name: str, works: Sequence[Work]) -> None:
        """Lower the limit after tasks did not fit in one run. Texts, which have any length, do not change it.

        Raises:
            MemoryExceededError: There was only one task.
        """
        recipe, described = works[0].recipe, self._described[name]
        pixels = recipe.pixels if isinstance(recipe, Recipe) else 0
        facts = {"model": name, "images": len(works), "pixels": pixels * len(works)}
        logger.warning("the device had too little memory for a batch", extra=facts)
        if len(works) > 1:
            if pixels:
                lower = described.within(batch_pixels=len(works) // 2 * pixels)
                if (
                    lower.info.exact == "alone"
                ):  # requests are cut otherwise than before, which may show in their bits
                    logger.warning("exact repetition is no longer offered", extra={"model": name})
                    lower = replace(lower, info=lower.info.model_copy(update={"exact": "no"}))
                self._described[name] = lower
            return
        if not pixels:
            raise MemoryExceededError("the device has too little memory for this text: ask for a shorter one")
        self._described[name] = described.within(max_pixels=pixels - 1)
        raise too_many_pixels(pixels - 1)

    def _load_first(self, load: Callable[[], Model]) -> None:
        model = load()
        name, size = model.info.id, model.memory
        if name in self._loads:
            raise ModelLoadError(f"two models are called {name}")
        if self._most and size > self._most:
            need = -(-size // _MIB)
            raise ModelLoadError(
                f"the model {name} takes {need} MiB: raise --model-memory-mib, or leave the model out"
            )
        self._loads[name], self._bytes[name] = load, size
        self._drop_for(size)
        self._held[name] = model
        result = load.result if isinstance(load, TriedLoad) else None
        self._described[name] = ModelDescription.of(model, result)

    def _find(self, name: str) -> Model:
        if name not in self._held:
            self._drop_for(self._bytes[name])
            try:
                self._held[name] = self._loads[name]()
            except Exception as error:
                logger.exception("a model could not be loaded again", extra={"model": name})
                raise GenerationError(
                    "the model could not be loaded again", code="model_unavailable"
                ) from error
        self._held.move_to_end(name)
        return self._held[name]

    def _drop_for(self, size: int) -> None:
        while self._most and self._held and self.memory + size > self._most:
            name = next(iter(self._held))
            del self._held[name]  # no other name may hold the model while its memory is given back
            logger.info("model dropped", extra={"model": name})
            self._tidy()
