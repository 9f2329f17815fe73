"""Bad input: one clear line on stderr, an exit code, nothing spent, nothing overwritten, nothing sent."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from pcevolve.app.cli.main import main
from pcevolve.keeper.ledger.history import LedgerBook
from support import online
from support.folders import class_folders
from support.pngs import raw_png
from support.processes import Client, ledger_of


@pytest.fixture
def private(tmp_path: Path) -> Path:
    return class_folders(tmp_path / "private", seed=1)


@pytest.fixture
def refused(client: Client, private: Path, tmp_path: Path, capsys, monkeypatch) -> Callable[..., str]:
    """Run in this process and return the one line of complaint."""

    def attempt(code: int, *flags: str, **changes: object) -> str:
        out = tmp_path / "out"
        options = [*client.run_options(changes.pop("private", private), out, **changes), *flags]
        with pytest.raises(SystemExit) as stop:
            main([str(option) for option in options])
        assert stop.value.code == code
        complaint = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
        assert len(complaint) == 1
        assert not (out / "release").exists()
        ledger = ledger_of(out)
        assert not ledger.exists() or all(row.epsilon == 0 for row in LedgerBook(ledger).runs())
        return complaint[0]

    return attempt


@pytest.mark.parametrize(
    ("code", "changes", "complaint"),
    [
        (2, {"model": "nope"}, "the API has no model 'nope': it offers bundled"),
        (2, {"dialect": "openai-plain"}, "dialect 'openai-plain' lacks steps, which this run needs"),
        (3, {"unlabelled": True, "domain": "nul"}, "'nul' cannot be used as a label"),
        (6, {"api": "http://127.0.0.1:9", "first_contact": 0.5}, "no usable answer from the API"),
    ],
)
def test_an_option_that_cannot_be(refused, code, changes, complaint):
    assert complaint in refused(code, **changes)


def test_a_folder_without_what_a_run_needs(refused, private, tmp_path):
    assert "class" in refused(3, private=class_folders(tmp_path / "single", seed=1, labels=("type A",)))
    (private / "type C").mkdir()
    assert "type C" in refused(3)


def test_a_damaged_image_and_a_bomb(refused, private, tmp_path):
    Image.new("RGB", (200, 200), "red").save(tmp_path / "x.jpg")
    whole = (tmp_path / "x.jpg").read_bytes()
    (private / "type A" / "x.jpg").write_bytes(whole[: len(whole) // 2])
    assert "x.jpg" in refused(3)
    (private / "type A" / "x.jpg").unlink()
    bomb = raw_png(20_000, 20_000, zlib.compress(bytes(1000)))  # so many pixels declared in a few bytes
    (private / "type B" / "bomb.png").write_bytes(bomb)
    assert "bomb.png" in refused(3)


@pytest.mark.parametrize(
    "name", ["aux.old", "README.md", "a:b", "ends with a dot.", "TYPE A", "cafe\u0301", "\u20ac" * 80]
)
def test_class_names_that_would_break_publishing(refused, tmp_path, name):
    names = (name, "caf\xe9" if name.startswith("cafe") else "type A")
    api = online.LocalServer(online.a1111)
    try:
        complaint = refused(3, private=class_folders(tmp_path / "odd", seed=1, labels=names), api=api.address)
    finally:
        api.close()
    assert any(repr(each) in complaint for each in names)
    assert "; rename it" in complaint
    assert api.heard == []
    assert not (tmp_path / "out").exists()


def test_a_private_process_error_is_one_line_without_a_traceback(client: Client, tmp_path):
    done = client.as_installed(*client.run_options(tmp_path / "nowhere", tmp_path / "out"))
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()
