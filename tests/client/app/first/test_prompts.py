"""Prompts by a language model: what it is asked, over real HTTP, and what of its answers becomes a prompt."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import pytest

from pcevolve.app.first.prompts import count_unnamed, open_chat
from pcevolve.errors import ProviderReplyError
from support.chats import chatting, prompts, speaking
from support.online import answer_json

KEY = "sk-5ecret-0123456789"


def test_a_model_that_writes_too_few_is_asked_for_the_rest_and_given_up_on_in_the_end():
    with speaking(chatting("a\nb", "b\nc")) as server:
        assert prompts(server, 3) == {"cut": ("a", "b", "c")}
        assert "Write 1 different prompts" in json.loads(server.heard[1].body)["messages"][0]["content"]
    with speaking(chatting("a")) as server:
        with pytest.raises(ProviderReplyError, match="only 1 of 3 different prompts for 'cut' in 4 answers"):
            prompts(server, 3)
        assert len(server.heard) == 4


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--labels cut --model m", "give the address of the language model with --api"),
        ("--labels cut --refine", "--refine needs a language model"),
        ("--labels cut --api http://127.0.0.1:9 --model m --local .", "only one language model writes"),
        ("--labels cut --api http://127.0.0.1:9", "--api also needs --model"),
        ("", "give --labels, the class names"),
        ("--labels cut --private .", "give the class names with --labels or --private"),
        ("--labels a/b", "cannot be used as a label"),
        ("--private nowhere", "no such folder"),
    ],
)
def test_options_that_do_not_go_together_are_refused(command, options: str, reason: str, tmp_path: Path):
    out = tmp_path / "p.json"
    told = command("prompts", "--domain", "leather", "--out", out, *options.split())
    assert told.code == 2
    assert reason in told.said
    assert not out.exists()


@pytest.mark.parametrize("out", ["there.json", "nowhere/p.json", "."])
def test_no_model_is_asked_for_prompts_that_could_not_be_written(command, out: str, tmp_path: Path):
    (tmp_path / "there.json").write_text("mine")
    with speaking(chatting("a\nb")) as server:
        asked = ["--labels", "cut", "--api", f"{server.address}/v1", "--model", "tiny", "--count", "2"]
        told = command("prompts", "--domain", "x", *asked, "--out", tmp_path / out)
        assert (told.code, server.heard) == (2, [])
    assert (tmp_path / "there.json").read_text() == "mine"


def test_every_prompt_is_shown_and_the_file_is_named(command, tmp_path: Path):
    out = tmp_path / "p.json"
    told = command("prompts", "--domain", "leather", "--labels", "cut,fold", "--count", "3", "--out", out)
    for label, written in json.loads(out.read_text()).items():
        assert len(written) == 3
        for each in written:
            assert f"{label}: {each}" in told.said
    assert f"written: {out} (2 classes, 3 prompts each)" in told.said.replace(" /", " /")


def test_folders_that_systems_make_are_no_classes(command, tmp_path: Path):
    """A run passes over them, and takes no prompts of classes that it has not."""
    for name in ("cut", "good", "@eaDir", "__MACOSX", ".cache"):
        (tmp_path / "scans" / name).mkdir(parents=True)
    out = tmp_path / "p.json"
    assert command("prompts", "--domain", "x", "--private", tmp_path / "scans", "--out", out).code == 0
    assert [*json.loads(out.read_text())] == ["cut", "good"]


def test_prompts_that_do_not_name_their_class_are_counted_for_whoever_asked(command, tmp_path: Path):
    assert count_unnamed({"Cut": ("a deep cut", "a scar"), "good": ("leather",)}) == 2
    options = ["--domain", "x", "--labels", "cut,good", "--count", "2", "--out", tmp_path / "p.json"]
    with speaking(chatting("A scar.")) as server:
        told = command("prompts", *options, "--refine", "--api", f"{server.address}/v1", "--model", "m")
    assert "WARNING: 4 prompts do not name their class" in told.said
    told = command("prompts", *options, "--force")
    assert (told.code, "WARNING" in told.said) == (0, False)


def test_whoever_sends_a_key_in_clear_over_a_network_is_told_before_anything_is_sent(capsys):
    open_chat("http://gpu.lab/v1", "tiny", KEY)
    said = " ".join(capsys.readouterr().err.split())
    assert "the API key is sent to gpu.lab over plain http" in said
    assert KEY not in said
    open_chat("https://gpu.lab/v1", "tiny", KEY)
    assert capsys.readouterr().err == ""


def test_it_is_asked_public_words_and_nothing_else():
    with speaking(chatting("a\nb")) as server:
        prompts(server, 2, KEY, ("cut", "good"))
        first, second = server.heard
    assert (first.method, first.path) == ("POST", "/v1/chat/completions")
    assert first.headers["authorization"] == f"Bearer {KEY}"
    assert first.headers["user-agent"] == "pcevolve"
    asked = [json.loads(each.body) for each in (first, second)]
    assert [set(each) for each in asked] == [{"model", "messages", "temperature", "seed"}] * 2
    words = [each["messages"][0]["content"] for each in asked]
    assert "one leather texture image that shows: cut." in words[0]
    assert words[0].replace("shows: cut.", "shows: good.") == words[1]


def test_a_model_that_takes_no_temperature_and_thinks_writes_prompts_all_the_same():
    fault = {
        "message": "Unsupported value: 'temperature' does not support 1.0 with this model.",
        "code": None,
    }
    thought = "<think>A list?</think>1. A cut in leather\n2. A long cut"
    answers = chain([answer_json(400, {"error": fault})], chatting(thought))
    with speaking(answers) as server:
        made = prompts(server, 2)
        asked = [set(json.loads(each.body)) for each in server.asked]
    assert made == {"cut": ("A cut in leather", "A long cut")}
    assert asked == [{"model", "messages", "temperature", "seed"}, {"model", "messages"}]


@pytest.mark.parametrize("answer", [{"choices": []}, {"choices": [{"message": {"content": None}}]}, []])
def test_an_answer_that_is_none_is_an_error(answer: object):
    with (
        speaking(iter([answer_json(200, answer)])) as server,
        pytest.raises(ProviderReplyError, match=r"not that of an OpenAI-compatible|wrote nothing"),
    ):
        prompts(server, 1)
