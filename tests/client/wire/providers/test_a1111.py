"""AUTOMATIC1111's web UI and its forks: public words are words there, and it drew with the checkpoint asked for.

What it reads as syntax is its own ``modules/prompt_parser.py``, ``modules/extra_networks.py`` and
``modules/processing_scripts/comments.py`` (github.com/AUTOMATIC1111/stable-diffusion-webui), and the comments of forks.
"""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pcevolve.errors import ProviderReplyError
from pcevolve.wire.providers import dialect
from pcevolve.wire.providers.a1111 import escape
from support.forge import faults_of
from support.online import answer_json, b64
from support.runs import small_plan

LABELS = ("keratosis (benign)", "grade [2]", "A AND B", "stage #4")
SENT = (r"keratosis \(benign\)", r"grade \[2\]", "A and B", "stage  4")
SYNTAX = re.compile(r"(?<!\\)(?:\\\\)*[()\[\]]|\b(?:AND|BREAK)\b|<\w+:|#|//|/\*|\*/")
"""What the web UI, or a fork of it, does not read as words."""


def prompts(**changes: object) -> list[str]:
    plan = small_plan(dialect="a1111", labels=LABELS, **changes)
    firsts = {call.label: call for call in plan.round(0)}
    bodies = [dialect("a1111").encode(plan, firsts[label], None).body for label in LABELS]
    return [json.loads(each)["prompt"] for each in bodies]


def test_domain_and_labels_are_no_syntax_and_a_template_may_be():
    template = "(sharp:1.2) {domain} with {label}"
    assert prompts(domain="scan [CT]", prompt_template=template) == [
        rf"(sharp:1.2) scan \[CT\] with {each}" for each in SENT
    ]
    ends = prompts(domain="<lora:x:1> at day: 3", prompt_template="{label} by {domain}")
    assert ends == [f"{each} by < lora:x:1> at day: 3," for each in SENT]


@given(st.text(st.sampled_from("\\()[]<>:#/* ANDx"), max_size=12))
@example("\\(")
@example("AND BREAK //*/")
def test_nothing_in_escaped_words_is_syntax(words: str):
    assert not SYNTAX.search(escape(words))


def test_a_run_with_such_words_is_followed_by_the_audit_which_spells_them_itself(world, tmp_path):
    api = world("a1111")
    changes = {
        "domain": "scan (CT)",
        "labels": LABELS[:2],
        "negative_prompt": "text [any]",
        "sampler": "DPM++ 2M",
    }
    api.open(tmp_path, **changes).finish()
    asked = json.loads(api.server.asked[0].body)
    assert (asked["sampler_name"], asked["negative_prompt"]) == ("DPM++ 2M", r"text \[any\]")
    assert faults_of(tmp_path) == []


def test_our_own_server_is_asked_for_a_sampler_by_its_own_word():
    plan = small_plan(sampler="euler")
    assert (
        json.loads(dialect("getimg").encode(plan, next(iter(plan.round(0))), None).body)["scheduler"]
        == "euler"
    )


def test_another_checkpoint_than_was_asked_for_stops_the_run(world, tmp_path):
    api = world("a1111")
    info = {"sd_model_name": "deliberate_v2", "sd_model_hash": "9aba26abdf"}
    other = answer_json(200, {"images": [b64(1), b64(2)], "info": json.dumps(info)})
    api.server.instead.append(other)
    with pytest.raises(
        ProviderReplyError, match=r"'deliberate_v2 \[9aba26abdf\]', but 'v1-5' was requested.*answered_by"
    ):
        api.open(tmp_path).evolve()
    assert len(api.server.asked) == 1


@pytest.mark.parametrize(("name", "path"), [("chat", "choices"), ("openai", "data")])
def test_every_dialect_whose_answer_names_a_model_is_asked_the_same(world, tmp_path, name: str, path: str):
    api = world(name)
    api.server.instead.append(answer_json(200, {"model": "cheaper", path: []}))
    with pytest.raises(ProviderReplyError, match="the model 'cheaper', but 'bundled' was requested"):
        api.open(tmp_path).evolve()
    run = api.open(tmp_path / "other", answered_by="cheaper")
    api.server.instead.append(answer_json(200, {"model": "cheaper", path: []}))
    with pytest.raises(ProviderReplyError, match="sent 0 where 2 were requested"):
        run.evolve()
