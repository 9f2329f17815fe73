"""Prompts by a language model: what it is asked, over real HTTP, and what of its answers becomes a prompt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from pcevolve.cli.main import main
from pcevolve.errors import (
    ModelError,
    ProviderRefusedError,
    ProviderReplyError,
    ProviderUnreachableError,
    UsageError,
)
from pcevolve.public.wordings import MOST
from pcevolve.session.first.prompts import (
    by_chat,
    by_grammar,
    by_refining,
    chat_at,
    unnamed,
    write,
    writer_from,
)
from pcevolve.session.planning import prompts_for
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
    with pytest.raises(UsageError, match=f"{MOST} prompts"):
        by_grammar("leather", ("cut",), MOST + 1)
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
        (["--labels", "cut", "--refine"], "--refine asks a language model"),
        (
            ["--labels", "cut", "--api", "http://127.0.0.1:9", "--model", "m", "--local", "."],
            "one of them writes",
        ),
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
    assert "pcevolve run --set provider.prompts=" in capsys.readouterr().out


def _left(arguments: list[str]) -> int:
    """The exit code of the command line."""
    with pytest.raises(SystemExit) as left:
        main(arguments)
    return int(left.value.code or 0)


def refined(
    server: LocalServer, count: int, labels: tuple[str, ...] = ("cut",)
) -> dict[str, tuple[str, ...]]:
    chat = chat_at(f"{server.address}/v1", "tiny", None)
    return by_refining(chat, "leather texture", labels, count, lambda done, total: None)


def test_each_image_s_prompt_is_refined_once_in_the_papers_words():
    with speaking(chatting("One.", "Two.", "Three.", "Four.")) as server:
        found = refined(server, 2, ("cut", "good"))
        assert found == {"cut": ("One.", "Two."), "good": ("Three.", "Four.")}
        asked = [json.loads(heard.body) for heard in server.heard]
    words = "refine this description of images to introduce rich context: A leather texture image with"
    assert [each["messages"][0]["content"] for each in asked] == [
        f"{words} cut", f"{words} cut", f"{words} good", f"{words} good"
    ]  # fmt: skip
    assert [each["seed"] for each in asked] == [0, 1, 0, 1]


def test_a_refined_prompt_is_one_line_without_what_introduces_it():
    answer = 'Here is a refined description:\n\n"A deep cut\nin brown leather\u200b,\tby daylight."\n'
    with speaking(chatting(answer)) as server:
        assert refined(server, 1) == {"cut": ("A deep cut in brown leather , by daylight.",)}


def test_a_model_that_says_nothing_is_refused():
    with (
        speaking(chatting("Sure:\n\n")) as server,
        pytest.raises(ProviderReplyError, match="wrote nothing for 'cut'"),
    ):
        refined(server, 1)


def test_an_endless_answer_is_cut_to_what_a_plan_takes():
    with speaking(chatting("long " * 1000)) as server:
        (prompt,) = refined(server, 1)["cut"]
    assert len(prompt) <= 1000


@pytest.fixture
def tiny_writer() -> ModuleType:
    """What makes language models; its libraries take seconds to load."""
    from support import tiny_writer

    return tiny_writer


@pytest.mark.models
@pytest.mark.parametrize("chat", [False, True])
def test_a_local_language_model_refines_them_too(tmp_path: Path, tiny_writer, chat: bool):
    folder = tiny_writer.save_writer(tmp_path / "tiny", tiny_writer.TEMPLATE if chat else None, context=256)
    writer = writer_from(str(folder))
    asked = "refine: a cut"
    assert writer.asked(asked, 1) == writer.asked(asked, 1)
    assert len({writer.asked(asked, seed) for seed in range(4)}) > 1
    assert asked not in writer.asked(asked, 1)


@pytest.mark.models
def test_a_local_model_without_room_for_an_answer_is_refused(tmp_path: Path, tiny_writer):
    with pytest.raises(ModelError, match="reads 64 tokens, and the question has 70"):
        writer_from(str(tiny_writer.save_writer(tmp_path / "tiny"))).asked("x" * 70, 0)


def test_a_local_model_that_is_not_at_hand_is_not_fetched():
    with pytest.raises(ModelError, match=r"neither at hand nor fetched.*--local DIR"):
        writer_from("nobody/no-such-writer")


@pytest.mark.models
def test_the_command_has_a_local_model_refine_prompts_that_a_run_takes(tmp_path: Path, tiny_writer):
    folder, out = tiny_writer.save_writer(tmp_path / "tiny", context=256), tmp_path / "p.json"
    options = ["--domain", "x", "--labels", "a,b", "--count", "2", "--refine", "--local", str(folder)]
    assert _left(["prompts", *options, "--out", str(out)]) == 0
    assert [len(each) for each in prompts_for(out, 0, "x", ("a", "b"))] == [2, 2]


def test_prompts_that_do_not_name_their_class_are_counted_for_whoever_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert unnamed({"Cut": ("a deep cut", "a scar"), "good": ("leather",)}) == 2
    options = ["--domain", "x", "--labels", "cut,good", "--count", "2", "--out", str(tmp_path / "p.json")]
    with speaking(chatting("A scar.")) as server:
        model = ("--refine", "--api", f"{server.address}/v1", "--model", "m")
        assert _left(["prompts", *options, *model]) == 0
    assert "WARNING: 4 of them do not name their class" in " ".join(capsys.readouterr().err.split())
    assert _left(["prompts", *options, "--force"]) == 0
    assert "WARNING" not in capsys.readouterr().err
