"""Pages are true of the repository: links lead somewhere, and what is named is there. No network."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.split import SETS
from pcevolve.public.config.config import RunConfig
from pcevolve.public.dp.accountants import epsilon
from pcevolve.public.dp.attacks import most_true_positives
from pcevolve.public.dp.calibration import smallest_noise_multiplier
from pcevolve.public.privacy import Budget, Event
from pcevolve_shared.limits import MAX_REQUEST_BYTES

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("docker/**/*.md"),
        *ROOT.glob("*/training/*.md"),
    ]
)
CURRENT = [page for page in PAGES if page.name != "CHANGELOG.md"]
"""Pages that say what is; the changelog says what was."""

FENCED = re.compile(r"^(```+).*?^\1\s*$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"(`+)(.+?)\1", re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+?)\s*$", re.MULTILINE)
MAKE = re.compile(r"\bmake((?: [a-z][a-z-]*)+)")
SHELL = re.compile(r"^( *)```(?:bash)?\n(.*?)^\1```\s*$", re.DOTALL | re.MULTILINE)
TYPED = re.compile(r"\s*(make|pcevolve|pcevolve-server|pcevolve-bench|pip|docker|hf|P\(\)) ?")
"""How a line begins that a reader types."""
FOREIGN = {"modules/api/api.py"}
"""Files that a page names in somebody else's repository."""


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def prose(page: Path) -> str:
    """A page without its code."""
    return SPAN.sub("", FENCED.sub("", read(page)))


def spans(page: Path) -> list[str]:
    return [match[2] for match in SPAN.finditer(FENCED.sub("", read(page)))]


@cache
def anchors(page: Path) -> frozenset[str]:
    """Anchors of a page's headings, as they are made of headings everywhere."""
    headings = HEADING.findall(FENCED.sub("", read(page)))
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return frozenset(heading.replace(" ", "-") for heading in plain)


@cache
def list_tracked() -> frozenset[str]:
    """Files of the repository and the folders that they are in, from its root."""
    ignored = {line.strip("/") for line in read(ROOT / ".gitignore").splitlines()} | {".git"}
    found = set()
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [each for each in folders if each not in ignored]
        found |= {(Path(folder) / each).relative_to(ROOT).as_posix() for each in (*folders, *files)}
    return frozenset(found)


def contracts() -> list[dict[str, Any]]:
    return tomllib.loads(read(ROOT / "pyproject.toml"))["tool"]["importlinter"]["contracts"]


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", read(ROOT / "Makefile"), re.MULTILINE))


def nav(entry: Any) -> Iterator[str]:
    """Every page that the site's navigation names."""
    if isinstance(entry, str):
        yield entry
    for each in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ():
        yield from nav(each)


def find_named_files(page: Path) -> set[str]:
    """Find what a page spells like a file or a folder of this repository."""
    tops = {file.split("/")[0] for file in list_tracked() if "/" in file}
    found = {token.strip("./") if token.startswith("./") else token.rstrip("/") for token in spans(page)}
    paths = {token for token in found if re.fullmatch(r"[\w./-]+", token)}
    return {
        token for token in paths if token.endswith(".py") or ("/" in token and token.split("/")[0] in tops)
    }


def is_there(token: str) -> bool:
    return any(file == token or file.endswith(f"/{token}") for file in list_tracked())


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(prose(page)):
        path, _, anchor = target.partition("#")
        if ":" in path:
            continue
        found = (page.parent / path).resolve() if path else page
        assert found.is_file(), f"{target} leads nowhere"
        assert found.is_relative_to(ROOT)
        assert name(found) in list_tracked(), f"{target} is not in the repository"
        assert not anchor or anchor in anchors(found), f"{target}: no such heading"


@pytest.mark.parametrize("page", CURRENT, ids=name)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    assert sorted(token for token in find_named_files(page) - FOREIGN if not is_there(token)) == []


@pytest.mark.parametrize("path", [".ci/run", ".github/workflows/ci.yml", ".github/pull_request_template.md"])
def test_what_checks_a_change_can_be_made_and_run(path: str) -> None:
    text = read(ROOT / path)
    assert {target for match in MAKE.findall(text) for target in match.split()} <= targets() | {"sure"}
    assert all((ROOT / script).stat().st_mode & 0o100 for script in re.findall(r"\.ci/\w+", text))


@pytest.mark.parametrize("page", CURRENT, ids=name)
def test_commands_of_a_page_are_shell_and_none_is_behind_the_comment_of_another(page: Path) -> None:
    for _, block in SHELL.findall(read(page)):
        lines = block.splitlines()
        if not TYPED.match(lines[0]):
            continue
        checked = subprocess.run(["bash", "-n"], input=block, text=True, capture_output=True, check=False)
        assert checked.returncode == 0, f"{block}{checked.stderr}"
        comments = " ".join(line.partition(" # ")[2] for line in lines)
        assert not {word for match in MAKE.findall(comments) for word in match.split()} & targets()


def test_every_page_has_its_place_in_the_site() -> None:
    config = yaml.safe_load(read(ROOT / "mkdocs.yml"))
    generated = {"index.md", "contributing.md", "security.md", "changelog.md"}
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in ROOT.glob("docs/**/*.md")}
    assert sorted(nav(config["nav"])) == sorted(pages | generated)


def test_the_architecture_page_has_a_row_for_each_zone() -> None:
    zones = read(ROOT / "docs/architecture.md").partition("## Where is it?")[0]
    inside = (ROOT / "client/src/pcevolve").iterdir()
    assert set(re.findall(r"^\| `(\w+)` \|", zones, re.MULTILINE)) == {
        each.name for each in inside if (each / "__init__.py").is_file()
    }


def test_the_site_s_tools_are_pinned_by_hash_and_name_no_host() -> None:
    lock = read(ROOT / "docs/requirements.txt")
    group = tomllib.loads(read(ROOT / "pyproject.toml"))["dependency-groups"]["docs"]
    pins = re.findall(r"^([\w.-]+)==\S+[^\\]*\\\n {4}--hash=sha256:", lock, re.MULTILINE)
    assert {re.split(r"[\[<>=]", each)[0] for each in group} <= set(pins)
    assert "://" not in lock


def gaussian(epsilon_of_one: int) -> Event:
    """One access with Gaussian noise that costs so much at the usual delta."""
    return Event("gaussian", str(smallest_noise_multiplier(Budget(Fraction(epsilon_of_one), 1e-5), 1)))


def of_two() -> float:
    """Scale ten down to a group of two."""
    return epsilon([gaussian(10).on_group(2)], 1e-5)


@pytest.mark.parametrize(
    ("page", "said", "computed", "literal"),
    [
        ("decisions/0022-subsample.md", "an ε of 10 at δ = 1e-5 is one of 24.4", of_two, 24.389),
        ("../CHANGELOG.md", "an ε of 10 at δ = 1e-5 is 24.4 there", of_two, 24.389),
        ("data-protection.md", "| 1 | 9 % |", lambda: 100 * most_true_positives([gaussian(1)], 0.05), 8.429),
        (
            "data-protection.md",
            "| 10 | 64 % |",
            lambda: 100 * most_true_positives([gaussian(10)], 0.05),
            63.893,
        ),
        ("first-run.md", "epsilon 24.389 for one image of the whole folder (10 for one that", of_two, 24.389),
        (
            "decisions/0027-the-first-screen.md",
            "Detects at most 24 %; guessing would detect 5 %",
            lambda: 100 * most_true_positives([gaussian(4)], 0.05),
            23.579,
        ),
        (
            "decisions/0027-the-first-screen.md",
            "40 draws of bounded range 1/4: 25",
            lambda: 100 * most_true_positives([Event("exponential", "1/4", 40)], 0.05),
            24.514,
        ),
    ],
)
def test_a_figure_of_a_guarantee_in_prose_is_what_is_computed(
    page: str, said: str, computed: Callable[[], float], literal: float
) -> None:
    assert said in " ".join(read(ROOT / "docs" / page).split())
    assert computed() == pytest.approx(literal, abs=0.001)


def test_the_page_about_private_data_counts_the_sets_of_the_benchmarks() -> None:
    roles = Counter(each.role for each in SETS.values())
    assert roles == {"tuned on": 9, "looked at once": 6}
    page = " ".join(read(ROOT / "docs" / "bench.md").split())
    assert "lists 15 private sets" in page
    assert "Nine sets are *tuned on*" in page
    assert "Six are *looked at once*" in page


SETTING = re.compile(
    r"(?<![\w./-])((?:data|privacy|method|provider|encoder|output)\.(?!py\b)[a-z]\w*)(?![\w/.(])"
)


@pytest.mark.parametrize("page", [page for page in CURRENT if page.name != "options.md"], ids=name)
def test_every_setting_that_a_page_names_is_one(page: Path) -> None:
    settings = set(re.findall(r"^- `(\w+\.\w+)`", read(ROOT / "docs/options.md"), re.MULTILINE))
    code = [*spans(page), *(match[0] for match in FENCED.finditer(read(page)) if "```python" not in match[0])]
    named = {found for text in code for found in SETTING.findall(text)}
    assert named <= settings


def test_the_page_about_containers_has_the_defaults_of_the_compose_file() -> None:
    rows = re.findall(r"^\| (`PCEVOLVE_[^|]*) \| ([^|]*) \|", read(ROOT / "docs/your-model.md"), re.MULTILINE)
    shown: dict[str, str] = {}
    for variables, default in rows:
        values = [""] if default == "empty" else re.findall(r"`([^`]*)`", default)
        shown |= zip(re.findall(r"PCEVOLVE_\w+", variables), values * 2, strict=False)
    compose = dict(re.findall(r"\$\{(PCEVOLVE_\w+):-([^}]*)\}", read(ROOT / "docker-compose.yml")))
    assert len(shown) > 10
    assert shown.items() <= compose.items()


def test_nginx_of_the_guide_lets_through_what_the_server_takes_and_waits_as_long_as_the_client() -> None:
    page = read(ROOT / "docs" / "server.md")
    megabytes = int(re.search(r"client_max_body_size (\d+)m;", page)[1])
    assert megabytes * 2**20 > MAX_REQUEST_BYTES
    seconds = int(re.search(r"proxy_read_timeout (\d+)s;", page)[1])
    assert seconds >= RunConfig.of({"private": "p", "domain": "d", "out": "o"}).provider.timeout


def test_the_override_for_selinux_labels_every_folder_of_the_main_job() -> None:
    page = read(ROOT / "docs" / "your-model.md")
    override = yaml.safe_load(re.search(r"```yaml\n(services:\n.*?)```", page, re.DOTALL)[1])
    compose = yaml.safe_load(read(ROOT / "docker-compose.yml"))
    bound = {
        name: dict(bind_mounts(service))
        for name, service in compose["services"].items()
        if "profiles" not in service
    }
    labelled = {
        name: {each.split(":")[1]: each.split(":")[2].startswith("ro,") for each in service["volumes"]}
        for name, service in override["services"].items()
    }
    assert labelled == bound
    assert all(each.endswith("z") for service in override["services"].values() for each in service["volumes"])


def bind_mounts(service: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Targets of a service's folders, and whether they are read-only."""
    for each in service.get("volumes", ()):
        if isinstance(each, dict) and each["type"] == "bind":
            yield each["target"], each.get("read_only", False)
        elif isinstance(each, str) and each.startswith("$"):
            yield each.removesuffix(":ro").rpartition(":")[2], each.endswith(":ro")
