"""The library's page, its scripts and its notebook run as shown; against a server on loopback."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pcevolve.auditing import audit
from support.folders import class_folders
from support.native import native_server

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "library.md"
NOTEBOOK = DOCS / "examples" / "first_dataset.ipynb"
ADDRESSES = ("http://127.0.0.1:8000", "https://api.getimg.ai")
Run = Callable[[str], dict[str, Any]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Run code beside two folders of private images, with an API where the code says that one is."""
    server = native_server("bundled", "stable-diffusion-v1-5")
    class_folders(tmp_path / "scans", 1)
    class_folders(tmp_path / "more-scans", 2)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PCEVOLVE_LEDGER", str(tmp_path / "ledger" / "ledger.sqlite"))
    known: dict[str, Any] = {"__name__": "__main__"}

    def execute(code: str) -> dict[str, Any]:
        for address in ADDRESSES:
            code = code.replace(address, server.address)
        exec(compile(code, "example", "exec"), known)
        return known

    yield execute
    server.close()


def test_the_page_s_blocks_run_one_after_the_other(run: Run):
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 6
    for block in blocks:
        known = run(block)
    assert len(known["result"].images) == 16


def test_the_script_for_an_own_server_runs_and_its_run_passes_the_audit(run: Run, capsys):
    run((DOCS / "examples" / "own_server.py").read_text())
    assert "audited: nothing left without a reason" in capsys.readouterr().out


def test_the_script_for_an_online_endpoint_runs(run: Run, tmp_path: Path):
    run((DOCS / "examples" / "online_endpoint.py").read_text())
    assert all(each.holds for each in audit(tmp_path / "runs" / "online"))


def test_the_script_for_mlflow_logs_public_facts_and_is_twenty_lines(
    run: Run, monkeypatch: pytest.MonkeyPatch
):
    script = (DOCS / "examples" / "track_with_mlflow.py").read_text()
    assert len(script.splitlines()) == 20
    logged: dict[str, Any] = {"artifacts": []}
    standing_in = ModuleType("mlflow")
    standing_in.start_run = lambda run_name: nullcontext(logged.setdefault("name", run_name))  # type: ignore[attr-defined]
    for kind in ("params", "metrics", "tags"):
        name = f"{'set' if kind == 'tags' else 'log'}_{kind}"
        setattr(standing_in, name, lambda values, kind=kind: logged.setdefault(kind, values))
    standing_in.log_artifact = logged["artifacts"].append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mlflow", standing_in)
    run(script)
    assert logged["name"] == "tracked"
    assert logged["metrics"]["images"] == 16
    assert 0 < logged["metrics"]["epsilon"] <= 8
    assert all(isinstance(each, int | float) for each in logged["metrics"].values()), "what MLflow takes"
    assert [Path(each).name for each in logged["artifacts"]] == ["README.md", "report.html"]
    assert all(Path(each).is_file() for each in logged["artifacts"])


def test_the_notebook_s_cells_run_and_hold_no_outputs(run: Run):
    notebook = json.loads(NOTEBOOK.read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = [each for each in notebook["cells"] if each["cell_type"] == "code"]
    assert all(each["outputs"] == [] for each in cells)
    known = [show(run, each["source"]) for each in cells]
    assert "<img " in known[1]._repr_html_()
    assert len(known[2]) >= 7


def show(run: Run, cell: str) -> Any:
    """Evaluate a cell like a notebook: the value of its last line, if that has one."""
    *body, last = ast.parse(cell).body
    if not isinstance(last, ast.Expr):
        run(cell)
        return None
    run("\n".join(map(ast.unparse, body)))
    return run(f"_shown = {ast.unparse(last)}")["_shown"]
