"""A method and a dialect, also one of jobs, are a file and a line each: options, help, runs and audits follow."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import support
from support.extending import ExtendedClient
from support.folders import class_folders
from support.online import Heard, LocalServer, Reply, answer_json
from support.provider import png

FILES = {
    "public/selectors/toy.py": Path(support.__path__[0], "toy.py"),
    "wire/providers/toy.py": Path(support.__path__[0], "toy_dialect.py"),
    "wire/providers/toy_jobs.py": Path(support.__path__[0], "toy_jobs.py"),
}
METHOD = '    "toy": MethodEntry("toy:METHOD", delta=0.0),\n'
DIALECT = '    Abilities("toy", "toy:ToyDialect", frozenset({"create", "vary", "seed", "batch"}), most=4),\n'
JOBS = (
    '    Abilities("toy-jobs", "toy_jobs:ToyJobsDialect", frozenset({"create", "seed", "batch"}), most=4),\n'
)
TABLES = {"public/methods.py": "METHOD_TABLE: Final = {\n", "public/dialects.py": "_ALL: Final = (\n"}
LINES = {
    place: [(table, table + line)]
    for (place, table), line in zip(TABLES.items(), (METHOD, DIALECT + JOBS), strict=True)
}
SHADES = count()
ORDERED: list[list[int]] = []


def paint(heard: Heard) -> Reply:
    """Paint other pictures each time, at once or by jobs that take two questions."""
    if heard.method == "POST" and heard.path == "/jobs":
        ORDERED.append([2, json.loads(heard.body)["count"]])
        return answer_json(200, {"id": f"job_{len(ORDERED) - 1}"})
    if heard.path.startswith("/jobs/job_"):
        job = ORDERED[int(heard.path.removeprefix("/jobs/job_"))]
        job[0] -= 1
        made = [] if job[0] else [base64.b64encode(png(next(SHADES))).decode() for _ in range(job[1])]
        return answer_json(200, {"id": heard.path.removeprefix("/jobs/"), "pictures": made})
    if heard.method == "GET":
        return answer_json(200, {"data": [{"id": "brush"}]})
    pictures = [base64.b64encode(png(next(SHADES))).decode() for _ in range(json.loads(heard.body)["count"])]
    return answer_json(200, {"pictures": pictures})


@pytest.fixture(scope="module")
def api() -> Iterator[LocalServer]:
    server = LocalServer(paint)
    yield server
    server.close()


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> ExtendedClient:
    client = ExtendedClient(tmp_path_factory.mktemp("additions"))
    client.add(FILES, LINES)
    (client.root / "docs").mkdir()
    client.start([sys.executable, "-m", "pcevolve.app.cli.reference"])  # make docs-options
    class_folders(client.root / "private", 3, ("cut", "good"), 4)
    return client


def test_options_and_help_name_the_method(extended: ExtendedClient):
    page = (extended.root / "docs" / "options.md").read_text()
    (row,) = [line for line in page.splitlines() if line.startswith("- `method.name`")]
    assert re.search(r"\btoy\b", row)
    assert re.search(r"\btoy\b", extended("run", "--help"))


def test_a_run_of_both_is_checked_made_and_audited(extended: ExtendedClient, api: LocalServer):
    asked = ("--dialect", "toy", "--method", "toy", "--shots", 4)
    assert "would be refused" in extended("check", extended.root / "private", *asked)
    out = extended.root / "run"
    extended(
        *("run", "--yes", "--private", extended.root / "private", *asked, "--api", api.address),
        *("--model", "brush", "--domain", "leather", "--epsilon", 10, "--candidates", 4),
        *("--iterations", 2, "--out", out),
    )
    varied = [each for each in api.asked if "picture" in json.loads(each.body)]
    assert len(varied) > 2
    audited = json.loads(extended("audit", out, "--json"))
    assert audited["holds"]
    assert (out / "release" / "README.md").read_text().count("`toy`") > 0


def test_a_run_by_jobs_is_made_and_audited(extended: ExtendedClient, api: LocalServer):
    out = extended.root / "by-jobs"
    extended(
        *(
            "run",
            "--yes",
            "--private",
            extended.root / "private",
            "--dialect",
            "toy-jobs",
            "--api",
            api.address,
        ),
        *("--model", "brush", "--domain", "leather", "--method", "t2i", "--shots", 4, "--candidates", 4),
        *("--out", out),
    )
    assert len(ORDERED) == 2
    assert [each[0] for each in ORDERED] == [0, 0]
    assert json.loads(extended("audit", out, "--json"))["holds"]


def test_the_attack_on_mechanisms_knows_the_method(extended: ExtendedClient):
    verdict = json.loads(extended("audit-dp", "toy", "--epsilon", 2, "--runs", 2000, "--json"))
    assert (verdict["method"], verdict["verdict"]) == ("toy", "not refuted")
    assert 0.5 < verdict["epsilon_lower_bound"] <= 2
