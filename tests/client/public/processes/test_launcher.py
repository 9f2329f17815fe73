"""The processes of a run, each taken over from its first line on."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec, module_from_spec
from pathlib import Path

import pytest

from pcevolve.public.processes.launcher import Children
from support import intruder
from support.confined import confines

pytestmark = [confines, pytest.mark.system]
WORK = "support.planted:attack"


def start_children() -> Children:
    """As commands do; tests of one process have that function replaced (conftest.py)."""
    found = find_spec("pcevolve.public.processes.launcher")
    assert found is not None
    assert found.loader is not None
    again = module_from_spec(found)
    found.loader.exec_module(again)
    return again.start_children()


@pytest.mark.parametrize("role", ["keeper", "runner", "decoder"])
def test_a_process_that_was_taken_over_gets_past_nothing(
    role: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    numbers = intruder.read_headers(os.uname().machine) or pytest.skip(
        "the kernel's headers are not installed"
    )
    monkeypatch.setenv(
        "PYTHONPATH",
        os.pathsep.join(
            [str(Path(intruder.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
    )
    kind = "keeper" if role == "decoder" else role  # confined as a keeper is, with fewer files
    before = os.umask(0o022)
    children = start_children()
    os.umask(before)
    try:
        child = getattr(children, role)
        child.order(
            WORK,
            [str(folder / "shared")],
            [str(folder / "own")],
            kind=kind,
            numbers=numbers,
            folder=str(folder),
        )
        children.runner.pass_on_words()
        name, body = child.pipe.receive()
        child.end()
    finally:
        children.end(kill=True)
    found = json.loads(body)
    assert found.pop("tried") >= 150
    # What has private files makes none that others can read.
    assert found.pop("umask") == (0o022 if role == "runner" else 0o077)
    assert found.pop("enforced").startswith("enforced by the kernel (Landlock ")
    assert (name, found) == ("found", {"past": [], "files": [], "open": []})
    # A keeper writes to its owner's terminal, a runner into a pipe, which has no other words in it; a decoder nowhere.
    said = "" if role == "decoder" else f"a {kind} that was taken over\n"
    assert capfd.readouterr() == ("", said)
