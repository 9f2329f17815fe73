"""Extract the text of a language model's answer, without its thinking.

Models mark thinking as parts of their own (Mistral), between marks (``<think>``, ``[THINK]``, ``◁think▷``),
or in channels (OpenAI's harmony format), and servers pass on marks that they do not know.
"""

from __future__ import annotations

import re
from typing import Final

_TEXT_TYPES: Final = ("text", "output_text")
"""Kinds of parts that are the answer; all others are thinking, refusals or meant for tools."""
_NAMES: Final = "think|thinking|thought|thoughts|reasoning|seed:think"
_MARK: Final = re.compile(rf"<(/?)(?:{_NAMES})>|\[(/?)think\]|◁(/?)think▷", re.IGNORECASE)
_FINAL: Final = "<|channel|>final<|message|>"
_CHANNEL: Final = "<|channel|>"
_ENDS: Final = re.compile(r"<\|(?:end|return|call|start|im_end|eot_id)\|>")


def read_answer(content: object) -> str:
    """Return the text of an answer's content, without the model's thinking.

    Args:
        content: A string, or a list of parts, as an API sends it; anything else gives an empty text.

    Returns:
        The string unchanged if it has no thinking. Thinking without an end leaves nothing of what follows. Of
        thinking
        whose beginning was part of the question, only the text after its end is kept.
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
    """Drop thinking in one pass over the marks, because the provider chooses their number."""
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
