"""What a model thought is taken from what it said."""

from __future__ import annotations

import json
import time

import pytest

from pcevolve.public.calls import Call
from pcevolve.public.media.answering import _drop_thinking
from pcevolve.public.media.answering import read_answer as said_in
from pcevolve.wire.providers import dialect
from support.chats import choice


def decode(*choices: object) -> list[bytes]:
    call = Call("i000/c00/b000", "create", 0, "cut", 0, len(choices), 7)
    return dialect("chat").decode(call, json.dumps({"choices": choices}).encode())


SAID = [
    # Mistral, Reasoning: docs.mistral.ai/capabilities/reasoning: content is a list of chunks
    ("mistral", choice([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                        {"type": "text", "text": "A cut."}]), "A cut."),
    # OpenAI, Chat API reference: platform.openai.com/docs/api-reference/chat: parts of text and of refusal
    ("parts", choice([{"type": "text", "text": "A "}, {"type": "text", "text": "cut."}]), "A cut."),
    ("refusal part", choice([{"type": "refusal", "refusal": "I can't."}]), ""),
    ("refusal", choice("A cut.", refusal="I can't."), ""),
    # DeepSeek, Thinking mode: api-docs.deepseek.com/guides/thinking_mode
    ("deepseek", choice("A cut.", reasoning_content="The user wants a cut."), "A cut."),
    ("deepseek alone", choice("", "length", reasoning_content="The user wants"), ""),
    ("deepseek fault", choice("A c", "insufficient_system_resource"), ""),
    # vLLM, Reasoning outputs, without a parser: docs.vllm.ai/en/latest/features/reasoning_outputs
    ("qwen", choice("<think>\nA cut? <b>\n</think>\n\nA cut."), "A cut."),
    ("r1, opened in the question", choice("hm, a cut\n</think>\nA cut."), "A cut."),
    ("cut off while it thinks", choice("<think>\nThe user wants a", "length"), ""),
    ("no thinking today", choice("<think>\n\n</think>\n\nA cut."), "A cut."),
    # Magistral's own template: huggingface.co/mistralai/Magistral-Small-2506
    ("magistral", choice("[THINK]a cut[/THINK]A cut."), "A cut."),
    # Kimi-VL-A3B-Thinking: huggingface.co/moonshotai/Kimi-VL-A3B-Thinking
    ("kimi", choice("◁think▷a cut◁/think▷A cut."), "A cut."),
    # OpenAI, harmony response format: cookbook.openai.com/articles/openai-harmony
    ("harmony", choice("<|channel|>analysis<|message|>a cut<|end|><|start|>assistant"
                       "<|channel|>final<|message|>A cut.<|return|>"), "A cut."),
    ("harmony, cut off", choice("<|channel|>analysis<|message|>a cut", "length"), ""),
    # Zhipu, finish_reason sensitive: docs.bigmodel.cn/api-reference; Azure OpenAI, content filtering
    ("zhipu", choice("A cu", "sensitive"), ""),
    ("azure", choice("A cu", "content_filter"), ""),
    ("openrouter", {**choice("A cu", "error"), "error": {"code": 502, "message": "no"}}, ""),
    # OpenAI-compatible servers whose filter leaves out a text, or the message with it
    ("no content", {"message": {"role": "assistant"}, "finish_reason": "stop"}, ""),
    ("no message", {"message": None, "finish_reason": "content_filter"}, ""),
    ("neither", {"finish_reason": "content_filter"}, ""),
    ("none of its tokens is text", choice("", "length"), ""),
    ("spaces stay", choice(" A cut.\n"), " A cut.\n"),
    ("less than", choice("pressure <90, think> of it"), "pressure <90, think> of it"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "alone"), [each[1:] for each in SAID], ids=[each[0] for each in SAID])
def test_only_what_a_model_says_is_a_text(answer: dict[str, object], alone: str):
    assert decode(answer, choice("another")) == [alone.encode(), b"another"]


def test_marks_without_end_take_no_time():
    began = time.process_time()
    assert said_in("<think>" * 20_000) == ""
    assert said_in("</think>" * 20_000 + "A cut.") == "A cut."
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("before <think>a</think> after", "before  after"),
        ("lost </think> after", "after"),
        ("<think>a</think> b <think>c</think> d", "b  d"),
        ("kept <think>cut off", "kept"),
        ("<think>a <think>b</think> c", "c"),
        ("no marks ", "no marks "),
    ],
)
def test_what_stands_around_a_thought_is_said_and_what_comes_before_its_bare_end_is_none(written, read):
    assert _drop_thinking(written) == read
