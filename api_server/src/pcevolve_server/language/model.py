"""A causal language model of the transformers library behind the Writer interface: loading and writing."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jinja2 import TemplateError
from torch import LongTensor, Tensor
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    StoppingCriteria,
    StoppingCriteriaList,
    TopPLogitsWarper,
)

from pcevolve_server import networks, sources
from pcevolve_server.errors import InvalidRequestError, ModelLoadError
from pcevolve_server.model_settings import Batching, ModelSettings, Precision
from pcevolve_server.networks import LOAD_ERRORS, weight
from pcevolve_server.work import Completion, IsCancelled, TextRecipe, TextTask, never_cancelled
from pcevolve_shared import limits
from pcevolve_shared.memory import keep_memory
from pcevolve_shared.wire import ModelInfo

Messages = Sequence[tuple[str, str]]


def tokens_of(tokenizer: PreTrainedTokenizerBase, messages: Messages) -> list[int]:
    """Return the tokens of a chat in the model's own template. Without a template, join all messages.

    Raises:
        InvalidRequestError: The template does not accept this chat.
    """
    return [
        int(each) for each in tokenizer(_text(tokenizer, messages), add_special_tokens=False)["input_ids"]
    ]


def _text(tokenizer: PreTrainedTokenizerBase, messages: Messages) -> str:
    if tokenizer.chat_template is None:
        return "\n\n".join(words for _, words in messages)
    said = [{"role": role, "content": words} for role, words in messages]
    try:
        return str(tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True))
    except TemplateError as error:
        raise InvalidRequestError("messages: this model's template does not accept this chat") from error


_UNKNOWN_CONTEXT = 2048
"""Number of tokens in the context of a model that does not state the number."""


class LanguageModel:
    """A network and its tokenizer. If several texts are written at once, shorter prompts are padded on the left.

    A text takes at most half of the model's context. If the prompt is longer than the rest of the context, the
    beginning of the prompt is dropped.
    """

    bit_exact_batch_size, fixed_cost_batches = 1, False

    def __init__(self, info: ModelInfo, network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
        self.info, self._network, self._tokenizer = info, network, tokenizer
        self._context: int = getattr(
            network.config.get_text_config(), "max_position_embeddings", _UNKNOWN_CONTEXT
        )
        self._ends = _ends(network, tokenizer)
        self._padding = self._ends[0] if self._ends else 0
        self._interrupter = networks.Interrupter([network])

    @property
    def on_gpu(self) -> bool:
        return bool(self._network.device.type != "cpu")

    @property
    def memory(self) -> int:
        return weight(self._network)

    @torch.inference_mode()
    def write(
        self, tasks: Sequence[TextTask], is_cancelled: IsCancelled = never_cancelled
    ) -> list[Completion]:
        """Write completions, in the order of the tasks, which share one recipe.

        Raises:
            AbandonedError: The run was cancelled.
            InvalidRequestError: The model's template does not accept this chat.
        """
        started, recipe = time.monotonic(), tasks[0].recipe
        prompts = [self._prompt(task) for task in tasks]
        with self._interrupter.listening(is_cancelled):
            written = self._continue(prompts, recipe, [task.seed for task in tasks])
        seconds = {"write_text": (time.monotonic() - started) / len(tasks)}
        return [
            self._completion(prompt, tokens, recipe, seconds)
            for prompt, tokens in zip(prompts, written, strict=True)
        ]

    def _prompt(self, task: TextTask) -> _Prompt:
        room = self._context - self._most(task.recipe)
        tokens = tokens_of(self._tokenizer, task.messages) or [self._padding]
        return _Prompt(tokens[-room:], max(0, len(tokens) - room))

    def _most(self, recipe: TextRecipe) -> int:
        """Return the largest number of tokens of a text. Half of the context belongs to the prompt."""
        return min(recipe.tokens, self._context // 2)

    def _continue(
        self, prompts: Sequence[_Prompt], recipe: TextRecipe, seeds: Sequence[int]
    ) -> list[list[int]]:
        """Return the new tokens of each row. After the end of its text, a row is padded."""
        longest = max(len(each.tokens) for each in prompts)
        rows = [[self._padding] * (longest - len(each.tokens)) + each.tokens for each in prompts]
        seen = [[0] * (longest - len(each.tokens)) + [1] * len(each.tokens) for each in prompts]
        stops = [Stops(self._tokenizer, recipe.stops, longest)] if recipe.stops else []
        device = self._network.device
        found = self._network.generate(
            input_ids=torch.tensor(rows, device=device),
            attention_mask=torch.tensor(seen, device=device),
            generation_config=GenerationConfig(
                do_sample=False,
                max_new_tokens=self._most(recipe),
                eos_token_id=self._ends or None,
                pad_token_id=self._padding,
            ),
            logits_processor=LogitsProcessorList([GumbelDraws(seeds, recipe.temperature, recipe.top_p)]),
            stopping_criteria=StoppingCriteriaList(stops),
        )
        return [[int(token) for token in row[longest:]] for row in found]

    def _completion(
        self, prompt: _Prompt, tokens: list[int], recipe: TextRecipe, seconds: dict[str, float]
    ) -> Completion:
        ends = [place for place, token in enumerate(tokens) if token in self._ends]
        own = tokens[: ends[0]] if ends else tokens
        text = str(self._tokenizer.decode(own, skip_special_tokens=True))
        stops = [place for stop in recipe.stops if (place := text.find(stop)) >= 0]
        return Completion(
            text=text[: min(stops)] if stops else text,
            finish="stop" if ends or stops else "length",
            prompt_tokens=len(prompt.tokens),
            tokens=len(own) + bool(ends),
            cut_tokens=prompt.cut,
            seconds=seconds,
        )


@dataclass(frozen=True)
class _Prompt:
    """The tokens of a prompt.

    Attributes:
        tokens: The tokens that are read, at least one.
        cut: Number of tokens that were dropped before these tokens.
    """

    tokens: list[int]
    cut: int


def _ends(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    configured = getattr(network.generation_config, "eos_token_id", None)
    known = configured if isinstance(configured, list) else [configured, tokenizer.eos_token_id]
    return list(dict.fromkeys(int(each) for each in known if each is not None))


logger = logging.getLogger(__name__)


def load(settings: ModelSettings) -> LanguageModel:
    """Load the language model of ``settings`` onto the device.

    Raises:
        ModelLoadError: The model cannot be loaded. The message has its name and the next step.
    """
    networks.quieten()
    keep_memory()
    device = networks.find_device(settings.device)
    if settings.batching is Batching.EXACT:
        networks.compute_alike(device)
    network, tokenizer = _parts(settings, device)
    if settings.threads:
        torch.set_num_threads(settings.threads)
    network.to(device).eval()
    facts = {"model": sources.identify(settings), "device": str(device), "precision": str(network.dtype)}
    logger.info("model loaded", extra=facts)
    return LanguageModel(_info(settings, network), network, tokenizer)


def _parts(settings: ModelSettings, device: torch.device) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    name = settings.model.removeprefix(sources.TEXT)
    source = sources.locate(name)
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=settings.offline)
        network, found = AutoModelForCausalLM.from_pretrained(
            source,
            dtype=_precision(settings, device),
            # Pickled weights run code when they are loaded.
            use_safetensors=None if settings.allow_pickle else True,
            local_files_only=settings.offline,
            output_loading_info=True,
        )
    except LOAD_ERRORS as error:
        raise ModelLoadError(sources.explain_failure(name, "language model", error)) from error
    if lacking := sorted(found["missing_keys"]):  # which the library fills by chance
        raise ModelLoadError(
            f"cannot load the language model {name}: its files lack {len(lacking)} weights, such as"
            f" {lacking[0]}: download the complete model again, or serve a model that writes text"
        )
    if len(tokenizer) <= len(
        tokenizer.all_special_tokens
    ):  # what the library makes up where there are no files
        raise ModelLoadError(f"cannot load the language model {name}: it has no tokenizer")
    return network, tokenizer


def _precision(settings: ModelSettings, device: torch.device) -> torch.dtype:
    """Return the precision. On a processor the default is float32, because every token depends on the rounding."""
    if device.type != "cpu":
        return networks.gpu_dtype(settings.precision)
    auto = settings.precision is Precision.AUTO
    return torch.float32 if auto else networks.cpu_dtype(settings.precision)


def _info(settings: ModelSettings, network: PreTrainedModel) -> ModelInfo:
    identity = sources.identify(settings)
    return ModelInfo(
        id=identity,
        name=identity.removeprefix(sources.TEXT).rsplit("/", 1)[-1],
        family=network.config.model_type[: limits.MAX_NAME_CHARS],
        pipelines=("chat",),
        negative_prompts=False,
    )


class GumbelDraws(LogitsProcessor):  # type: ignore[misc] # the library has no types here
    """Turns "take the likeliest token" into a random draw, with noise from each row's own generator.

    The largest sum of a score and independent Gumbel noise is distributed like the softmax of the scores (Gumbel
    1954; Maddison, Tarlow, Minka 2014, "A* Sampling"). The library's own sampling draws all rows from one generator.
    """

    def __init__(self, seeds: Sequence[int], temperature: float, top_p: float) -> None:
        """Start each row's generator.

        Args:
            temperature: Scores are divided by it. 0 always takes the likeliest token.
            top_p: Tokens are drawn from the likeliest tokens that together have this probability.
        """
        self._generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self._temperature = temperature
        self._nucleus = TopPLogitsWarper(top_p) if top_p < 1 else None

    def __call__(self, input_ids: LongTensor, scores: Tensor) -> Tensor:
        """Return scores ``(rows, tokens)``. The largest score of a row is the row's draw."""
        if not self._temperature:
            return scores
        exact = scores.double()
        warm = (
            exact - exact.amax(dim=1, keepdim=True)
        ) / self._temperature  # so that no quotient is infinite
        if self._nucleus is not None:
            warm = self._nucleus(input_ids, warm)
        waits = [torch.empty(scores.shape[1]).exponential_(generator=each) for each in self._generators]
        return warm - torch.stack(waits).log().to(warm)


_TAIL = 4 * limits.MAX_STOP_CHARS
"""Number of last tokens that always contain the longest stop string, because a token has a byte or more."""


class Stops(StoppingCriteria):  # type: ignore[misc] # the library has no types here
    """Ends a text that contains one of some strings. The library's own class would also search the prompt."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, stops: Sequence[str], begin: int) -> None:
        """Store the strings.

        Args:
            begin: Number of prompt tokens in each row.
        """
        self._tokenizer, self._stops, self._begin = tokenizer, stops, begin

    def __call__(self, input_ids: Tensor, scores: Tensor, **_: Any) -> Tensor:  # noqa: ANN401 - the library's own
        begin = max(self._begin, input_ids.shape[1] - _TAIL)
        texts = self._tokenizer.batch_decode(input_ids[:, begin:], skip_special_tokens=True)
        found = [any(stop in text for stop in self._stops) for text in texts]
        return torch.tensor(found, device=input_ids.device)
