"""Several providers in one table: a column each, a key each, and a fault of one costs its own column alone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcevolve.errors import ClientError, UsageError
from pcevolve.public.config.providers import KEY_VARIABLE
from pcevolve_benchmarks.providers import by_flags, in_file
from pcevolve_benchmarks.tables.cells import list_columns, places, tabulate
from pcevolve_benchmarks.tables.data import BenchData
from pcevolve_benchmarks.tables.sizes import SMOKE
from pcevolve_benchmarks.tables.table import RF, SHOTS, B, Table
from pcevolve_benchmarks.tables.work import AskedTable, fill
from support import online
from support.folders import class_folders
from support.native import native_server
from support.online import KEY, LocalServer

OTHER_KEY = "sk-0ther-9876543210"
TABLE = Table("two", "Two providers", "nobody", (B, RF), controls=(SHOTS,), by="provider")


class InTurn:
    """Carries out jobs one after the other, in this process."""

    def each_done(self, work, jobs, begun):
        for job in jobs:
            begun(job)
            try:
                yield job, work(job)
            except ClientError as error:
                yield job, error


@pytest.fixture
def native() -> Iterator[LocalServer]:
    server = native_server("tiny")
    yield server
    server.close()


@pytest.fixture
def openai() -> Iterator[LocalServer]:
    server = LocalServer(online.openai)
    yield server
    server.close()


def key_file(folder: Path, name: str, key: str) -> Path:
    path = folder / name
    path.write_text(key)
    path.chmod(0o600)
    return path


def write_providers(folder: Path, *parts: str) -> Path:
    path = folder / "providers.toml"
    path.write_text("\n".join(parts))
    return path


def spell_provider(name: str, **options: object) -> str:
    return "\n".join([f"[{name}]\nsize = 16", *(f'{key} = "{each}"' for key, each in options.items())])


def ask_table(folder: Path, file: Path) -> AskedTable:
    for part in ("train", "test"):
        if not (folder / part).is_dir():
            class_folders(folder / part, 0, ("cut", "good"), shots=2)
    data = (BenchData("marks", "mark", folder / "train", folder / "test"),)
    scale = SMOKE.__class__("smoke", candidates=2, shots=2, rounds=1, seeds=1, tested=4, heads=1)
    providers = in_file(file)
    columns = list_columns(TABLE, scale, providers, ("bundled",))
    of_table = tuple(places(TABLE, data, scale, columns, providers, {"encoder": "bundled"}))
    return AskedTable(TABLE, scale, of_table, data, folder / "out", ("bundled",), {}, InTurn())


def columns(table: AskedTable) -> dict[str, set[str]]:
    """Rows that have a figure, by column."""
    (found,) = tabulate(table.places, table.store, table.table.measures, table.judges)
    return {name: {row for row, column in found.values if column == name} for name in ("ours", "theirs")}


ALL = {B.name, RF.name, SHOTS.name}


def test_a_provider_that_refuses_loses_its_own_column_and_is_asked_alone_when_it_works(
    tmp_path, native, openai, capfd
):
    """The refusal repeats the key that it was shown, as OpenAI's does."""
    first = spell_provider(
        "ours", api=native.address, model="tiny", api_key_file=key_file(tmp_path, "mine", OTHER_KEY)
    )
    wrong = key_file(tmp_path, "theirs", "sk-wr0ng-0000000000")
    second = spell_provider(
        "theirs", api=openai.address, dialect="openai", model="gpt-image-1", api_key_file=wrong
    )
    lines: list[str] = []
    table = ask_table(tmp_path, write_providers(tmp_path, first, second))
    faults = fill(table, lambda done, total: None, lines.append)
    assert columns(table) == {"ours": ALL, "theirs": {SHOTS.name}}
    assert [each.partition(":")[0] for each in faults] == [f"{row.name}, theirs, seed 0" for row in (B, RF)]
    assert "check the API key" in faults[0]
    assert "repeats the API key" in faults[1]

    wrong.write_text(KEY)
    native.heard.clear()
    assert fill(table, lambda done, total: None, lines.append) == []
    assert columns(table) == {"ours": ALL, "theirs": ALL}
    assert not native.heard, "what was done is not asked for again"

    shown = {each.headers.get("authorization") for each in openai.heard if each.method == "POST"}
    assert shown == {f"Bearer {KEY}"}
    left = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    said = capfd.readouterr()
    for key in (KEY, OTHER_KEY, "sk-wr0ng-0000000000"):
        assert key.encode() not in left
        assert key not in said.out + said.err + "".join([*lines, *faults])


def test_each_provider_is_sent_its_own_key(tmp_path, native, openai):
    keys = {"ours": OTHER_KEY, "theirs": KEY}
    files = {name: key_file(tmp_path, name, key) for name, key in keys.items()}
    parts = [
        spell_provider(
            "theirs", api=openai.address, dialect="openai", model="gpt-image-1", api_key_file=files["theirs"]
        ),
        spell_provider("ours", api=native.address, model="tiny", api_key_file=files["ours"]),
    ]
    assert (
        fill(
            ask_table(tmp_path, write_providers(tmp_path, *parts)),
            lambda done, total: None,
            lambda line: None,
        )
        == []
    )
    for server, key in ((native, OTHER_KEY), (openai, KEY)):
        assert {each.headers["authorization"] for each in server.heard} == {f"Bearer {key}"}


def test_a_provider_that_is_not_there_is_waited_for_as_long_as_first_contact_says(tmp_path):
    gone = spell_provider("gone", api="http://127.0.0.1:9") + "\nfirst_contact = 0.1"
    began = time.monotonic()
    faults = fill(
        ask_table(tmp_path, write_providers(tmp_path, gone)), lambda done, total: None, lambda line: None
    )
    assert [each.partition(":")[0] for each in faults] == [f"{row.name}, gone, seed 0" for row in (B, RF)]
    assert time.monotonic() - began < 60, "its patience is 300 seconds"


def test_limits_and_keys_are_nothing_that_a_cell_depends_on(tmp_path):
    plain = spell_provider("x", api="https://a.example", model="m")
    key = key_file(tmp_path, "key", KEY)
    (alone,) = in_file(write_providers(tmp_path, plain))
    (limited,) = in_file(
        write_providers(tmp_path, plain, f'api_key_file = "{key}"\nmax_cost = 3.5\ntimeout = 9')
    )
    assert (
        alone.options
        == limited.options
        == {**{"api": "https://a.example", "dialect": "getimg", "model": "m", "size": 16}}
    )
    assert limited.connection == {"api_key_file": str(key), "max_cost": 3.5, "timeout": 9.0}
    (flags,) = by_flags("https://a.example", ("m",), "getimg", key)
    assert flags.options == {each: alone.options[each] for each in ("model", "dialect", "api")}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no provider"),
        ('api = "http://a"', "'api' is no provider: write \\[NAME\\]"),
        ('[a]\napi_key = "sk-5ecret"', r"\[a\]: there is no option 'provider.api_key'; did you mean"),
        (
            '[a]\napi = "https://sk-5ecret@a.example"',
            r"\[a\]: api must be scheme, host, port and path only",
        ),
        ('[a]\ndialect = "opnai"', r"\[a\]: .*opnai"),
        ("[a]\nsteps = 0", r"\[a\]: steps: "),
        ("[a]\nseed = 3", "seed is the table's own"),
        ('[a]\napi_key_file = "/nowhere"', r"\[a\]: the key file /nowhere cannot be read"),
    ],
    ids=["nothing", "no table", "a key", "a key in the address", "a dialect", "a bound", "a seed", "no file"],
)
def test_what_cannot_be_asked_is_refused_before_anything_is(tmp_path, text, said):
    with pytest.raises(UsageError, match=said) as refused:
        in_file(write_providers(tmp_path, text))
    assert "5ecret" not in str(refused.value)


def test_the_environments_key_goes_to_nobody_who_was_not_meant(tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, KEY_VARIABLE, KEY)
    key = key_file(tmp_path, "key", OTHER_KEY)
    mine = spell_provider("mine", api="https://a.example", api_key_file=key)
    with pytest.raises(UsageError, match="would go to other: several providers have a key each"):
        in_file(write_providers(tmp_path, mine, spell_provider("other", api="https://b.example")))
    assert len(in_file(write_providers(tmp_path, mine))) == 1
