"""The distributions have one version, and everything that states it states the same."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import click.testing
import pytest
import typer.testing
import yaml
from packaging.version import Version

import pcevolve.app.cli.commands
import pcevolve_benchmarks.cli.main
import pcevolve_server.cli

ROOT = Path(__file__).parents[1]
PROJECTS = {"client": "pcevolve", "api_server": "pcevolve_server", "shared": "pcevolve_shared"}
"""Those that are published; the benchmarks are not, and state no version of their own."""
VERSION = pcevolve.__version__


@pytest.mark.parametrize(("folder", "package"), PROJECTS.items())
def test_each_distribution_says_the_version_that_it_was_built_with(folder: str, package: str) -> None:
    project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == metadata.version(package) == VERSION


def test_the_citation_is_of_a_version_that_was_released() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert Version(citation["version"]) <= Version(VERSION)
    assert citation["type"] == "software"
    assert [each["title"].split(":")[0] for each in citation["references"]] == [
        "PCEvolve",
        "Differentially Private Synthetic Data via Foundation Model APIs 1",
        "Secret-Protected Evolution for Differentially Private Synthetic Text Generation",
    ]


def test_the_changelog_s_newest_release_is_the_one_that_is_cited() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heads = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", text, re.MULTILINE)
    assert heads[0] == ("Unreleased", "")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert heads[1] == (citation["version"], str(citation["date-released"]))


@pytest.mark.parametrize("command", [pcevolve.app.cli.commands.app, pcevolve_benchmarks.cli.main.app])
def test_each_command_prints_it(command: click.Command) -> None:
    assert click.testing.CliRunner().invoke(command, ["--version"]).output.strip() == VERSION


def test_the_server_prints_it() -> None:
    done = typer.testing.CliRunner().invoke(pcevolve_server.cli.app, ["--version"])
    assert done.output.strip() == VERSION
