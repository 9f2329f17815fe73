"""Extract the text of a language model's answer, without its thinking.

Models send thinking as separate parts (Mistral), between marks (``<think>``, ``[THINK]``, ``◁think▷``), or in
channels (OpenAI's harmony format). Servers pass on marks that they do not know.
"""

from __future__ import annotations

import re
from typing import Final

_TEXT_TYPES: Final = ("text", "output_text")
"""Types of the parts that form the answer. Parts of other types hold thinking, refusals or calls of tools."""
_NAMES: Final = "think|thinking|thought|thoughts|reasoning|seed:think"
_MARK: Final = re.compile(rf"<(/?)(?:{_NAMES})>|\[(/?)think\]|◁(/?)think▷", re.IGNORECASE)
_FINAL: Final = "<|channel|>final<|message|>"
_CHANNEL: Final = "<|channel|>"
_ENDS: Final = re.compile(r"<\|(?:end|return|call|start|im_end|eot_id)\|>")


def read_answer(content: object) -> str:
    """Return the text of an answer's content, without the model's thinking.

    Args:
        content: A string or a list of parts, as an API sends it; any other value gives an empty text.

    Returns:
        The string unchanged if it contains no thinking. If thinking has no end mark, all text after its start is
        dropped. If thinking has no start mark, because it began in the prompt, only the text after its end is kept.
    """
    if isinstance(content, list):
        return read_answer("".join(filter(None, map(_read_part, content))))
    if not isinstance(content, str):
        return ""
    if _CHANNEL in content:
        _, final, text = content.rpartition(_FINAL)
        return _ENDS.split(text)[0].strip() if final else ""
    return _drop_thinking(content)


def _read_part(part: object) -> str:
    if not isinstance(part, dict) or part.get("type", "text") not in _TEXT_TYPES:
        return ""
    text = part.get("text")
    return text if isinstance(text, str) else ""


def _drop_thinking(text: str) -> str:
    """Drop thinking in one pass over the marks, because the provider chooses how many marks there are."""
    kept: list[str] = []
    at, thinks = 0, False
    for mark in _MARK.finditer(text):
        ends = any(mark.groups())
        if ends and not thinks:
            kept.clear()
        elif not ends and not thinks:
            kept.append(text[at : mark.start()])
        at, thinks = mark.end(), not ends
    if at == 0:
        return text
    return "".join([*kept, "" if thinks else text[at:]]).strip()
