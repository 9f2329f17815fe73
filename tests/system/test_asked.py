"""The process to which a program's questions go, as a real one: without network, and with its owner's words its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pcevolve.public.processes.confinement import find_enforcement
from support.folders import class_folders
from support.paid import MEANS, make_paid_run
from support.runs import small_plan

SECONDS = 300
PROBE = """
import json, socket
from pathlib import Path
import pcevolve.keeper.check as check

def probe(*_):
    found = {}
    for name, attempt in {
        "network": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close(),
        "program": lambda: __import__("os").posix_spawn("/bin/true", ["true"], {}),
        "write": lambda: Path("stolen").write_text("x"),
    }.items():
        try:
            attempt()
            found[name] = "done"
        except OSError:
            found[name] = "refused"
    return check.Checkup((("probe", json.dumps(found)),), (), ())

check.check_folder = probe
"""


def run_script(folder: Path, script: str, **more: str) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(script)
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "PCEVOLVE_LEDGER": str(folder / "own" / "ledger.sqlite"),
    }
    command = [sys.executable, "script.py"]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment | more,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_from_a_script_all_questions_are_answered_and_private_words_stay_on_stderr(tmp_path: Path):
    class_folders(tmp_path / "scans", 1)
    (tmp_path / "scans" / "type A" / "patient 17.png").write_text("no image")
    make_paid_run(tmp_path / "run", small_plan(**MEANS))
    done = run_script(
        tmp_path,
        """
import pcevolve
print(pcevolve.verify("run").broken, pcevolve.pack("run").name, pcevolve.export("run", "webdataset").name)
print(pcevolve.check("scans", shots=3, quiet=True).fit, next(iter(pcevolve.compare(["run"]))).images)
private = "scans/type A/patient 17.png"
for ask in (lambda: pcevolve.classify("run", private), lambda: pcevolve.evaluate("run", test="scans")):
    try:
        ask()
    except pcevolve.ClientError as error:
        print(type(error).__name__, error)
try:
    pcevolve.pack("run")
except pcevolve.UsageError as error:
    print("already exists" in str(error))
""",
    )
    assert done.stdout.splitlines() == [
        "False run.zip release-webdataset",
        "False 6",
        "DataError the reason is on standard error alone, because it may tell of private data",
        "DataError the reason is on standard error alone, because it may tell of private data",
        "True",
    ], done.stderr
    assert "patient 17" in done.stderr
    assert "patient 17" not in done.stdout


@pytest.mark.skipif(not find_enforcement().is_whole, reason="this kernel confines nobody")
def test_the_process_that_reads_private_files_for_a_script_has_no_network_starts_nothing_and_writes_nowhere(
    tmp_path: Path,
):
    class_folders(tmp_path / "scans", 1)
    (tmp_path / "planted").mkdir()
    # Loaded by every interpreter that is started with it, so in the worker, too.
    (tmp_path / "planted" / "sitecustomize.py").write_text(
        "import sys\nif 'worker' in sys.orig_argv:\n    import importlib.abc, importlib.machinery\n"
        "    class Late(importlib.abc.MetaPathFinder):\n"
        "        def find_spec(self, name, path, target=None):\n"
        "            if name == 'pcevolve.app.interface.values' and not getattr(Late, 'done', False):\n"
        "                Late.done = True\n"
        f"                exec({PROBE!r}, {{}})\n"
        "    sys.meta_path.insert(0, Late())\n"
    )
    script = "import pcevolve, json\nprint(dict(pcevolve.check('scans', shots=3).rows)['probe'])\n"
    done = run_script(tmp_path, script, PYTHONPATH=str(tmp_path / "planted"))
    assert json.loads(done.stdout) == {"network": "refused", "program": "refused", "write": "refused"}, (
        done.stderr
    )
