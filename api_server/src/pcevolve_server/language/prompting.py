"""From a chat to the tokens that a model goes on from."""

from __future__ import annotations

from collections.abc import Sequence

from jinja2 import TemplateError
from transformers import PreTrainedTokenizerBase

from pcevolve_server.errors import InvalidRequestError

Messages = Sequence[tuple[str, str]]


def tokens_of(tokenizer: PreTrainedTokenizerBase, messages: Messages) -> list[int]:
    """The tokens of a chat: in the model's own template, or, where it has none, of all that was said, to be gone on.

    Raises:
        InvalidRequestError: The template takes no such chat.
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
        raise InvalidRequestError("messages: this model's template takes no such chat") from error
