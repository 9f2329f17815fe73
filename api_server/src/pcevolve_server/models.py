"""Models in memory: from settings to one or several, in whatever process they run, within a bound of bytes.

Ready means that a model drew, or wrote: one that cannot says why at the start.
"""

from __future__ import annotations

import atexit
import gc
import logging
import sys
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from PIL import Image

from pcevolve_server import sources
from pcevolve_server.errors import GenerationError, ModelLoadError, NotFiniteError
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.work import (
    IsCancelled,
    Made,
    Model,
    Recipe,
    Task,
    TextRecipe,
    TextTask,
    Work,
    never_cancelled,
    perform,
)
from pcevolve_shared.processors import count_cores
from pcevolve_shared.wire import ModelInfo


def load_models(
    settings: Sequence[ModelSettings], memory_mib: int = 0, stopping: Callable[[], bool] = lambda: False
) -> ModelCache:
    """Load several models.

    Args:
        memory_mib: Of the models in memory at a time; 0: no bound.

    Raises:
        ModelLoadError: With the name of the model and what to do.
    """
    for each in settings:
        sources.check(each)
    if len(settings) > 1:  # PyTorch has one number of threads for all models of a process
        settings = [replace(each, threads=each.threads or count_cores()) for each in settings]
    loads = [partial(load, each, stopping) for each in settings]
    found = ModelCache(loads, memory_mib * 2**20, _give_back, try_out)
    gc.collect()
    # Or the collector would walk through all of a model's parts again and again while it works: some percent of a
    # small one's time.
    gc.freeze()
    atexit.register(gc.unfreeze)  # libraries complain of what is left when the interpreter ends
    return found


def _give_back() -> None:
    """Give back the memory of dropped models; of libraries of images where no other was loaded."""
    gc.unfreeze()
    gc.collect()
    if "torch" in sys.modules:
        from pcevolve_server import networks

        networks.give_back()
    gc.freeze()


def on_processor(settings: ModelSettings) -> bool:
    """Return whether a model's images are made by the processor's cores.

    Raises:
        ModelLoadError: There is no such device.
    """
    if sources.is_library(settings.model):
        return True
    from pcevolve_server import networks

    return networks.find_device(settings.device).type == "cpu"


def load(settings: ModelSettings, stopping: Callable[[], bool] = lambda: False) -> Model:
    """Load the model that ``settings`` name, or index the images.

    Raises:
        ModelLoadError: With the name and what to do.
    """
    sources.check(settings)
    # torch takes seconds to import: not before the port is open, and never for --help.
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


logger = logging.getLogger(__name__)

_MIB = 2**20


@dataclass(frozen=True)
class ModelDescription:
    """A model as callers and the queue know it, in memory or not.

    Attributes:
        info: What it can do.
        bit_exact_batch_size: As of the model.
        fixed_cost_batches: As of the model.
    """

    info: ModelInfo
    bit_exact_batch_size: int
    fixed_cost_batches: bool


@dataclass(frozen=True)
class Traffic:
    """Counts of models that came and went, by their ids."""

    loads: Counter[str] = field(default_factory=Counter)
    evictions: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(self.loads + other.loads, self.evictions + other.evictions)


class ModelCache:
    """Models, each batch run on the one that its recipe names; used from one thread only.

    Attributes:
        descriptions: Of each model, in the order in which the server was told of them.
        traffic: Since the start.
    """

    def __init__(
        self,
        loads: Sequence[Callable[[], Model]],
        most_bytes: int = 0,
        tidy: Callable[[], object] = gc.collect,
        tried: Callable[[Model], object] = lambda _: None,
    ) -> None:
        """Load every model once, so that a wrong one shows at once and what each can do is known.

        Args:
            loads: One for each model, again and again the same; the first is what requests get that name none.
            most_bytes: Of the models in memory at a time; 0: no bound. A model that was never loaded is weighed after
                it was, so that until then there may be one more.
            tidy: Gives back the memory of what was dropped.
            tried: Told of each model once, to refuse one that cannot do what it offers.

        Raises:
            ModelLoadError: A model cannot be loaded, is called as another, or is larger than the bound.
        """
        self._most, self._tidy, self._tried = most_bytes, tidy, tried
        self._loads: dict[str, Callable[[], Model]] = {}
        self._bytes: dict[str, int] = {}
        self._held: OrderedDict[str, Model] = OrderedDict()  # by their last use
        self.traffic = Traffic()
        self.descriptions = tuple(self._first(load) for load in loads)
        mib = {name: round(size / _MIB) for name, size in self._bytes.items()}
        logger.info("models weighed", extra={"mib": mib, "most_mib": most_bytes // _MIB})

    @property
    def memory(self) -> int:
        """Bytes of the models that are in memory."""
        return sum(self._bytes[name] for name in self._held)

    def run(self, works: Sequence[Work], is_cancelled: IsCancelled = never_cancelled) -> list[Made]:
        """Run a batch on its model, which is loaded first if it was dropped."""
        return perform(self._find(works[0].recipe.model), works, is_cancelled)

    def _first(self, load: Callable[[], Model]) -> ModelDescription:
        model = load()
        name, size = model.info.id, model.memory
        if name in self._loads:
            raise ModelLoadError(f"two models are called {name}")
        if self._most and size > self._most:
            need = -(-size // _MIB)
            raise ModelLoadError(
                f"the model {name} takes {need} MiB: raise --model-memory-mib or leave it out"
            )
        self._tried(model)
        self._loads[name], self._bytes[name] = load, size
        self._hold(name, model)
        costs = model.bit_exact_batch_size if model.fixed_cost_batches else 1
        info = model.info if costs == 1 else model.info.model_copy(update={"lone_costs": costs})
        return ModelDescription(info, model.bit_exact_batch_size, model.fixed_cost_batches)

    def _find(self, name: str) -> Model:
        name = name or self.descriptions[0].info.id
        if name not in self._held:
            self._drop_for(self._bytes[name])
            self._hold(name, self._again(name))
        self._held.move_to_end(name)
        return self._held[name]

    def _again(self, name: str) -> Model:
        try:
            return self._loads[name]()
        except Exception as error:
            logger.exception("a model could not be loaded again", extra={"model": name})
            raise GenerationError("the model could not be loaded again", code="model_unavailable") from error

    def _hold(self, name: str, model: Model) -> None:
        self._drop_for(self._bytes[name])
        self._held[name] = model
        self.traffic.loads[name] += 1

    def _drop_for(self, size: int) -> None:
        """Drop models until there is room for ``size`` bytes."""
        while self._most and self._held and self.memory + size > self._most:
            name = next(iter(self._held))
            del self._held[name]  # no other name may hold the model while its memory is given back
            self.traffic.evictions[name] += 1
            logger.info("model dropped", extra={"model": name})
            self._tidy()


def gpu_memory() -> Counter[str]:
    """Bytes that this process holds, by the GPU's number; nothing where PyTorch is not there or uses no GPU."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return Counter()
    return Counter({str(device): cuda.memory_allocated(device) for device in range(cuda.device_count())})


def try_out(model: Model) -> None:
    """Have a model make one of everything that it offers, in as few steps as there are, at its own size.

    Raises:
        ModelLoadError: It does not, with what may help.
    """
    started = time.monotonic()
    for what, work in _least(model.info):
        try:
            perform(model, [work])
        except Exception as error:
            reason = _reason(error)
            raise ModelLoadError(
                f"cannot serve {model.info.id}: it was loaded, but {what} fails: {reason}"
            ) from error
    logger.info("tried", extra={"model": model.info.id, "seconds": round(time.monotonic() - started, 2)})


def _least(info: ModelInfo) -> Iterator[tuple[str, Work]]:
    """Return a model's name and the smallest request of its kind."""
    if info.base_resolution is None:
        yield "writing a word", TextTask(TextRecipe(1, model=info.id), (("user", "A"),), 0)
        return
    size, guidance = info.size, 7.5 if info.recommended is None else info.recommended.guidance
    grey = Image.new("RGB", (size.width, size.height), "grey")

    def task(strength: float | None = None, adapter_scale: float | None = None) -> Task:
        recipe = Recipe(
            size.width,
            size.height,
            1,
            guidance,
            strength=strength,
            adapter_scale=adapter_scale,
            model=info.id,
        )
        return Task(recipe, "", "", 0, None if strength is None else grey)

    yield "drawing an image", task()
    if "image-to-image" in info.pipelines:
        yield "varying an image", task(0.5)
    if "ip-adapter" in info.pipelines:
        yield "drawing by an image", task(0.5, 0.5)


def _reason(error: Exception) -> str:
    said = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    if isinstance(error, NotFiniteError):
        return (
            "the image has values that are no numbers. Its networks overflow in this precision: --precision bfloat16 or"
            " float32; or its weights, mostly the autoencoder's (vae), are damaged"
        )
    if "out of memory" in str(error).lower():
        return f"the memory does not suffice. On a GPU, --offload on needs less of it; --precision decides, too. {said}"
    return said
