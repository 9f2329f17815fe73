"""Whatever a client that lies hands to an auditor: the audit refuses it, and says where and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from leaks.forgeries.corpus import FAMILIES, FORGERIES, first_of
from leaks.forgeries.forging import Forgery, edited, refused
from leaks.forgeries.honest import KINDS, Honest, faults, remember
from leaks.forgeries.papers import VIEWS
from leaks.forgeries.pixels import of_class, pixels_of
from leaks.owner import Count
from pcevolve.app.cli.main import main
from pcevolve.auditing import Audit
from pcevolve.public.media import find_medium
from support.forge import reissue
from support.paid import make_paid_run
from support.runs import small_plan

AuditCommand = Callable[..., tuple[int, str, str]]


@pytest.fixture
def audited(capsys: pytest.CaptureFixture[str]) -> AuditCommand:
    """Exit code and both outputs of the real command."""

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["audit", *map(str, arguments)])
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return run


@pytest.mark.parametrize("forgery", FORGERIES, ids=str)
def test_it_does_not_pass(forgery: Forgery, honest: Honest, folder: Path, count: Count):
    found, told = refused(forgery, honest.copy(forgery.kind, folder))
    count(forgery.family, found, told)


@pytest.mark.parametrize("name", VIEWS)
def test_a_forged_view_is_named_and_the_audit_s_own_pages_show_what_is_so(
    name: str, honest: Honest, folder: Path, count: Count
):
    root = honest.copy("control", folder)
    true = pages_of(root)
    act, called = VIEWS[name]
    act(root)
    named = called in Audit.of(root, lambda plan: remember()).unverified
    count("forged views", named and pages_of(root) == true, named)


def pages_of(root: Path) -> dict[str, bytes]:
    """Render an audit's own pages, and take them away again."""
    pages = Audit.of(root, lambda plan: remember()).write_pages().parent
    return {path.name: path.read_bytes() for path in pages.iterdir()}


def test_there_are_at_least_three_hundred_different_forgeries():
    assert len({str(each) for each in FORGERIES}) == len(FORGERIES) >= 300


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_told_against_an_honest_run_nor_against_a_copy_made_anew(
    kind: str, honest: Honest, folder: Path
):
    root = honest.copy(kind, folder)
    assert faults(root) == []
    reissue(root)
    assert faults(root) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_the_command_refuses_each_family_and_names_the_place(
    family: str, honest: Honest, folder: Path, audited: AuditCommand
):
    forgery = first_of(family)
    root = honest.copy(forgery.kind, folder)
    forgery.act(root)
    told = faults(root)
    code, _, said = audited(root)
    assert code == 1
    assert told[0] in said


@pytest.mark.parametrize("name", ["a pipe for the log", "a pipe for a body", "a pipe for the manifest"])
@pytest.mark.parametrize("options", [[], ["--html"], ["--json"]], ids=str)
def test_the_command_does_not_wait_for_a_pipe(
    name: str, options: list[str], honest: Honest, folder: Path, audited: AuditCommand
):
    root = honest.copy("control", folder)
    next(each for each in FORGERIES if each.name == name).act(root)
    code, out, said = audited(root, *options)
    assert code == 1
    assert "is a pipe" in out + said


def test_the_command_writes_its_pages_over_no_file_but_its_own(
    honest: Honest, folder: Path, audited: AuditCommand
):
    root, precious = honest.copy("control", folder), folder / "precious"
    precious.mkdir()
    for name in ("wire.html", "README.md", "summary.json", "mine"):
        (precious / name).write_text("mine")
    for name in ("audit", ".audit.fresh", "..audit.fresh.partial"):
        (root / name).symlink_to(precious)
    assert audited(root, "--html")[0] == 1
    assert {path.read_text() for path in precious.iterdir()} == {"mine"}
    assert len(list(precious.iterdir())) == 4


def test_the_command_prints_no_control_characters_of_a_forger(
    honest: Honest, folder: Path, audited: AuditCommand
):
    root = honest.copy("control", folder)
    edited("answered", lambda event: event.update(slot="\x1b[2Jall is well"), 2)(root)
    code, out, said = audited(root)
    assert code == 1
    assert "all is well" in said
    assert "\x1b" not in out + said


def test_an_image_is_not_exchanged_for_the_image_that_was_received(honest: Honest, folder: Path):
    root = honest.copy("matched", folder)
    path = of_class(root)[0]
    bodies = (each.read_bytes() for each in (root / "transcript" / "bodies").iterdir())
    received = [find_medium("image").encode_release(each) for each in bodies if each.startswith(b"\x89PNG")]
    gaps = [np.abs(pixels_of(path.read_bytes()).astype(int) - pixels_of(each)).sum() for each in received]
    path.write_bytes(received[int(np.argmin(gaps))])
    reissue(root)
    assert any(".png is not what the record gives" in each for each in faults(root))


@pytest.fixture(scope="module")
def insecure(memory: Path) -> Path:
    return make_paid_run(memory / "insecure", small_plan(noise="INSECURE-seeded"))


@pytest.mark.parametrize("allowed", [(), ("--allow-insecure",)])
def test_an_insecure_run_says_so_in_its_first_line_and_passes_only_where_it_is_allowed(
    insecure: Path, audited: AuditCommand, allowed: tuple[str, ...]
):
    code, out, said = audited(insecure, *allowed)
    assert out.splitlines()[0].startswith("INSECURE: noise came from a seed")
    assert (code, "an INSECURE run passes its audit only with --allow-insecure" in said) == (
        int(not allowed),
        not allowed,
    )


def test_every_family_has_several_forgeries():
    assert min(Counter(each.family for each in FORGERIES).values()) >= 8
