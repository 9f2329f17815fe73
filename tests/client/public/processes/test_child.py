"""A process of a run does nothing without an order, or without whoever started it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from pcevolve.public.processes.pipe import Pipe, open_conversation
from support.confined import confines

pytestmark = pytest.mark.system


def start(role: str, parent: int, *descriptors: int, **environment: str) -> subprocess.Popen[str]:
    words = [
        sys.executable,
        "-P",
        "-m",
        "pcevolve.public.processes.child",
        role,
        str(parent),
        *map(str, descriptors),
    ]
    return subprocess.Popen(
        words,
        pass_fds=descriptors,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("role", ["keeper", "runner"])
@pytest.mark.parametrize(("parent", "code"), [(os.getpid, 0), (os.getppid, 70)], ids=["own", "another's"])
def test_it_ends_where_nobody_gives_an_order_and_at_once_where_its_parent_is_gone(role, parent, code):
    near, far = open_conversation()
    started = start(role, parent(), *far)
    for each in far:
        os.close(each)
    if code == 0:
        Pipe(*near).close()
    said, told = started.communicate(timeout=60)
    assert (started.returncode, said, told) == (code, "", "")


@confines
def test_one_that_cannot_be_confined_says_so_and_does_nothing(tmp_path):
    near, far = open_conversation()
    started = start("keeper", os.getpid(), *far)
    order = {"work": "os:_exit", "orders": {}, "reads": [], "writes": [str(tmp_path / "nowhere" / "x")]}
    Pipe(*near).send("order", json.dumps(order))
    said, told = started.communicate(timeout=60)
    assert (started.returncode, said) == (70, "")
    assert told.startswith("error: ")


@pytest.mark.parametrize("role", ["keeper", "runner"])
def test_a_plugin_of_another_package_gets_no_place_in_it(role, tmp_path):
    planted = tmp_path / "planted-1.dist-info"
    planted.mkdir()
    (planted / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1\n")
    (planted / "entry_points.txt").write_text("[pydantic]\nplanted = planted:PLUGIN\n")
    (tmp_path / "planted.py").write_text("import os\nos._exit(9)\n")
    (tmp_path / "work.py").write_text(
        "from pydantic import BaseModel\n"
        "def work(*_):\n    class Model(BaseModel):\n        x: int\n    Model(x=1)\n"
    )
    near, far = open_conversation()
    started = start(role, os.getpid(), *far, PYTHONPATH=str(tmp_path))
    for each in far:
        os.close(each)
    pipe = Pipe(*near)
    pipe.send(
        "order", json.dumps({"work": "work:work", "orders": {}, "reads": [str(tmp_path)], "writes": []})
    )
    pipe.close()
    said, told = started.communicate(timeout=60)
    assert (started.returncode, said, told) == (0, "", "")


def test_what_it_loads_before_it_is_confined_is_of_the_standard_library_and_starts_no_thread():
    code = (
        "import os, sys\n"
        "from importlib import import_module\n"
        "before = {*sys.modules}\n"
        "from pcevolve.public.processes import child\n"
        "for each in child.USED_LATER: import_module(each)\n"
        "tops = {each.partition('.')[0] for each in {*sys.modules} - before}\n"
        "print(sorted(each for each in tops - sys.stdlib_module_names if not each.startswith('_sysconfigdata')))\n"
        "print(len(os.listdir('/proc/self/task')) if sys.platform == 'linux' else 1)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["['pcevolve']", "1"]
