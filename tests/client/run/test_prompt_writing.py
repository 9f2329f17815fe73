"""Prompts by a language model: what it is asked, over real HTTP, and what of its answers becomes a prompt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pcevolve.cli.main import main
from pcevolve.errors import (
    ProviderRefusedError,
    ProviderReplyError,
    ProviderUnreachableError,
    UsageError,
)
from pcevolve.run.prompt_writing import by_chat, by_grammar, chat_at, write
from support.online import LocalServer, Reply, said

KEY = "sk-5ecret-0123456789"


def chatting(*answers: str) -> Iterator[Reply]:
    """Answers of a chat API, the last one for ever."""
    for answer in answers:
        yield said(200, {"choices": [{"message": {"role": "assistant", "content": answer}}]})
    while True:
        yield said(200, {"choices": [{"message": {"role": "assistant", "content": answers[-1]}}]})


@contextmanager
def speaking(replies: Iterator[Reply]) -> Iterator[LocalServer]:
    server = LocalServer(lambda heard: next(replies))
    try:
        yield server
    finally:
        server.close()


def prompts(server: LocalServer, count: int, key: str | None = None, labels: tuple[str, ...] = ("cut",)):
    chat = chat_at(f"{server.address}/v1", "tiny", key)
    return by_chat(chat, "leather texture", labels, count, lambda done, total: None)


def test_lists_quotes_and_repetitions_are_taken_off():
    answer = 'Here they are:\n1. A cut in leather\n2) "A long cut"\n- A cut in leather\n\n* **Deep cut**\n'
    with speaking(chatting(answer)) as server:
        assert prompts(server, 3) == {"cut": ("A cut in leather", "A long cut", "Deep cut")}


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


def test_a_model_that_writes_too_few_is_asked_for_the_rest_and_given_up_on_in_the_end():
    with speaking(chatting("a\nb", "b\nc")) as server:
        assert prompts(server, 3) == {"cut": ("a", "b", "c")}
        assert "Write 1 different prompts" in json.loads(server.heard[1].body)["messages"][0]["content"]
    with speaking(chatting("a")) as server:
        with pytest.raises(ProviderReplyError, match="1 different prompts for 'cut' in 4 answers, not 3"):
            prompts(server, 3)
        assert len(server.heard) == 4


def test_what_cannot_be_seen_or_is_too_long_becomes_no_prompt():
    hidden = "cut\u202ethgir\x07\n" + "x" * 301 + "\nplain"
    with speaking(chatting(hidden)) as server:
        assert prompts(server, 2) == {"cut": ("cutthgir", "plain")}


@pytest.mark.parametrize(
    "answer", [{"choices": []}, {"choices": [{"message": {"content": None}}]}, [], {"error": "x"}]
)
def test_an_answer_that_is_none_is_an_error(answer: object):
    with (
        speaking(iter([said(200, answer)])) as server,
        pytest.raises(ProviderReplyError, match="not as an OpenAI-compatible"),
    ):
        prompts(server, 1)


def test_a_refusal_says_what_the_api_said():
    refused = said(401, {"error": {"message": "wrong key"}})
    with (
        speaking(iter([refused])) as server,
        pytest.raises(ProviderRefusedError, match="answered 401 wrong key"),
    ):
        prompts(server, 1)


def test_nobody_at_the_address_is_said():
    with pytest.raises(ProviderUnreachableError, match="connection refused"):
        by_chat(chat_at("http://127.0.0.1:9/v1", "tiny", None), "leather", ("cut",), 1, lambda *_: None)


def test_the_grammar_has_so_many_and_a_file_is_not_written_over(tmp_path: Path):
    with pytest.raises(UsageError, match="64 prompts"):
        by_grammar("leather", ("cut",), 65)
    out = tmp_path / "prompts.json"
    write(by_grammar("leather", ("cut",), 2), out, force=False)
    with pytest.raises(UsageError, match="--force"):
        write(by_grammar("leather", ("cut",), 3), out, force=False)
    write(by_grammar("leather", ("cut",), 3), out, force=True)
    assert len(json.loads(out.read_text())["cut"]) == 3


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--labels", "cut", "--model", "m"], "say with --api where it is"),
        (["--labels", "cut", "--api", "http://127.0.0.1:9"], "--model says which"),
        ([], "--labels names the classes"),
        (["--labels", "cut", "--private", "."], "one of them"),
        (["--labels", "a/b"], "cannot be used as a label"),
        (["--private", "nowhere"], "no such folder"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    options: list[str], reason: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    out = tmp_path / "p.json"
    assert _left(["prompts", "--domain", "leather", "--out", str(out), *options]) == 2
    assert reason in " ".join(capsys.readouterr().err.split())
    assert not out.exists()


def test_names_of_class_folders_will_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for name in ("fold", "cut", ".hidden"):
        (tmp_path / "private" / name).mkdir(parents=True)
    out = tmp_path / "p.json"
    options = [
        "--domain",
        "leather",
        "--private",
        str(tmp_path / "private"),
        "--count",
        "2",
        "--out",
        str(out),
    ]
    assert _left(["prompts", *options]) == 0
    assert sorted(json.loads(out.read_text())) == ["cut", "fold"]
    assert "--method le --prompts" in capsys.readouterr().out


def _left(arguments: list[str]) -> int:
    """The exit code of the command line."""
    with pytest.raises(SystemExit) as left:
        main(arguments)
    return int(left.value.code or 0)
