"""Keys come from the environment or a private file, and leave in one header only: nothing else ever holds them."""

from __future__ import annotations

import base64
import json
import logging
from pathlib import Path

import pytest

from pcevolve.app.cli import commands as cli
from pcevolve.errors import ProviderRefusedError, ProviderReplyError
from pcevolve.public.dialects import ABILITIES
from pcevolve.public.transcript.records import Failed
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.transport import Incoming
from pcevolve.wire.providers import dialect
from support.online import LOGIN, answer_json
from support.typed import spell_words


def spellings(key: str) -> set[bytes]:
    """The key as it is, and as base64 wherever it may stand in a longer text."""
    shifted = {base64.b64encode(b"x" * pad + key.encode())[4:-4] for pad in range(3)}
    return {key.encode(), base64.b64encode(key.encode()), *shifted}


def read_everything(root: Path) -> bytes:
    return b"\n".join(path.read_bytes() + str(path).encode() for path in root.rglob("*") if path.is_file())


@pytest.fixture
def texts(tmp_path) -> Path:
    (tmp_path / "texts.csv").write_text("text,label\na bird,cut\na boat,cut\na fever,good\nthe lung,good\n")
    return tmp_path / "texts.csv"


@pytest.mark.parametrize("name", sorted(ABILITIES))
def test_nothing_that_a_run_leaves_behind_holds_the_key(
    world, private, texts, tmp_path, capfd, caplog, monkeypatch, name
):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr("pcevolve.wire.egress.replies.LONGEST_POLL_PAUSE", 0.01)
    api, out = world(name), tmp_path / "run"
    key_file = tmp_path / "key"
    key_file.write_text(api.key + "\n")
    key_file.chmod(0o600)
    evolves = "strength" in dialect(name).abilities.capabilities
    options = {
        **{
            "private": private if dialect(name).abilities.makes == "image" else texts,
            "domain": "scratch",
            "out": out,
        },
        **{
            "ledger": tmp_path / "ledger" / "ledger.sqlite",
            "api": api.server.address,
            "api_key_file": key_file,
        },
        **{"dialect": name, "model": api.plan["model"], "batch": api.plan["batch"], "candidates": 2},
        **({"method": "random", "iterations": 1} if evolves else {"method": "t2i"}),
        **({"image_hosts": api.pictures.host} if api.pictures else {}),
    }
    if "workflow" in api.plan:  # a file as ComfyUI writes it
        (tmp_path / "workflow.json").write_text(json.dumps(json.loads(api.plan["workflow"]), indent=2))
        options |= {"workflow": tmp_path / "workflow.json"}
    cli.app(["run", *map(str, spell_words(**options))], standalone_mode=False)
    said_aloud = capfd.readouterr()
    everything = read_everything(out) + (said_aloud.out + said_aloud.err + caplog.text).encode()
    assert b"transcript" in everything
    assert [each for each in spellings(api.key) if each in everything] == []
    assert any(each in "".join(api.server.heard[-1].headers.values()).encode() for each in spellings(api.key))


REFUSED = {200: ProviderReplyError, 400: ProviderRefusedError, 401: ProviderRefusedError}


@pytest.mark.parametrize(
    ("name", "status", "where"),
    [
        *((name, 200, "body") for name in sorted(ABILITIES)),
        *(("getimg", status, "body") for status in (400, 401, 503)),
        *(("getimg", status, "header") for status in (200, 400, 401, 503)),
    ],
)
def test_an_answer_that_repeats_the_key_is_not_kept(world, tmp_path, name, status, where):
    api = world(name)
    address = Address(api.server.address, api.key, dialect(name).abilities.scheme)
    headers = dict(address.outgoing(dialect(name).hello()).headers)
    shown = headers.get("Authorization") or headers["api-key"]
    parrot = (
        answer_json(status, {"error": {"message": shown}})
        if where == "body"
        else answer_json(status, {}, X_Echo=shown)
    )
    api.server.instead.append(parrot)
    run, told = api.open(tmp_path), ""
    if status in REFUSED:
        with pytest.raises(REFUSED[status]) as error:
            run.evolve()
        told = str(error.value)
    else:
        run.evolve()  # a busy API is asked again
    assert any(
        "repeats the API key" in entry.record.reason
        for entry in run.transcript.entries
        if isinstance(entry.record, Failed)
    )
    assert [each for each in spellings(api.key) if each in read_everything(tmp_path) + told.encode()] == []


def test_no_repr_holds_the_key():
    address = Address("http://127.0.0.1:1", LOGIN, "Basic")
    assert not any(each.decode() in repr(address) for each in spellings(LOGIN))
    answer = Incoming(200, (), LOGIN.encode())
    assert LOGIN not in repr(answer)
