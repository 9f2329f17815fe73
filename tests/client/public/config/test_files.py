"""Files that options name: keys and lists of prompts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pcevolve.errors import UsageError
from pcevolve.public.config.files import find_ledger, read_key, read_key_file, read_prompts, spell_prompts
from pcevolve.public.config.owner import OwnerData
from pcevolve.public.config.sources import read_toml


@pytest.mark.parametrize("read", [read_toml, read_key_file])
def test_a_pipe_in_the_place_of_a_configuration_or_key_does_not_block(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="not a regular file"):
        read(tmp_path / "pipe")


def test_a_key_file_is_read_if_only_its_owner_can(tmp_path: Path):
    key = tmp_path / "key"
    key.write_text("hush\n")
    key.chmod(0o600)
    assert read_key(key) == "hush"
    for open_to_others in (0o640, 0o604):
        key.chmod(open_to_others)
        with pytest.raises(UsageError, match=f"others can read {key}: run chmod 600 on it"):
            read_key(key)


def test_the_ledger_is_a_users_unless_a_variable_names_another(tmp_path: Path, monkeypatch):
    monkeypatch.delenv("PCEVOLVE_LEDGER", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_ledger() == tmp_path / ".local/state/pcevolve/ledger.sqlite"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert find_ledger() == tmp_path / "state/pcevolve/ledger.sqlite"
    monkeypatch.setenv("PCEVOLVE_LEDGER", str(tmp_path / "mine.sqlite"))
    assert find_ledger() == tmp_path / "mine.sqlite"


LABELS = ("cut", "good")


def test_a_file_is_taken_in_the_order_of_the_classes(tmp_path: Path):
    path = tmp_path / "prompts.json"
    path.write_text(spell_prompts({"good": ["g1", "g2"], "cut": ["c1", "c2"]}))
    assert read_prompts(path, 10, "leather texture", LABELS) == (("c1", "c2"), ("g1", "g2"))
    path.write_text(spell_prompts({"e\u0301": ["e"], "b": ["b"]}), "utf-8")
    assert read_prompts(path, 0, "", ("\u00e9", "b")) == (("e",), ("b",))
    assert OwnerData(private="x", domain="y", words={"e\u0301": "w"}).words == {"\u00e9": "w"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[", "the file: Invalid JSON"),
        ('["a"]', "one list of prompts for each class"),
        ('{"cut": ["a", ""], "good": ["b", "c"]}', "cut/1: String should have at least 1"),
        ('{"cut": ["a\\u0000"], "good": ["b"]}', "cut/0: String should match"),
        ('{"cut": ["a"], "good": []}', "no prompt for 'good'"),
        ('{"cut": ["a"]}', "no prompt for 'good'"),
        ('{"cut": ["a"], "good": ["b"], "fold": ["c"]}', "'fold': no such class in --private"),
        ('{"cut": ["a"], "good": ["b", "c"]}', "every class needs the same number of prompts"),
        (json.dumps({"cut": ["a" * 1001], "good": ["b"]}), "cut/0: String should have at most 1000"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, content: str, reason: str):
    path = tmp_path / "prompts.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=reason):
        read_prompts(path, 0, "leather texture", LABELS)
