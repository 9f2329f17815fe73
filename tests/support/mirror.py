"""Where a module's own test file lies: ``client/egress/policy.py`` has ``tests/client/wire/egress/test_policy.py``."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
PARTS = {
    "pcevolve": "client",
    "pcevolve_server": "api_server",
    "pcevolve_shared": "shared",
    "pcevolve_benchmarks": "benchmarks",
}


def list_modules() -> list[str]:
    """Name every module, packages' own files left out."""
    found = []
    for package, part in PARTS.items():
        source = ROOT / part / "src"
        paths = sorted((source / package).rglob("*.py"))
        names = (each.relative_to(source).with_suffix("") for each in paths if each.stem[:2] != "__")
        found += [".".join(each.parts) for each in names]
    return found


def find_module(module: str) -> Path:
    """Return where a module lies."""
    path = ROOT / PARTS[module.partition(".")[0]] / "src" / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def narrow_file(path: Path) -> Path:
    """Return where the tests of a module's file lie, if they do."""
    part, _, _, *folders, name = path.relative_to(ROOT).parts
    return TESTS.joinpath(part, *folders, f"test_{name}")


def narrow_files(path: Path) -> list[Path]:
    """Return all test files of a module: its own, and those that its name begins, as ``test_MODULE_faults.py``."""
    own = narrow_file(path)
    return [each for each in (own, *sorted(own.parent.glob(f"{own.stem}_*.py"))) if each.is_file()]


PLAIN = {
    "pcevolve.public.clinics.messages": "values, which keeper/clinics/test_owner.py sends",
    "pcevolve.public.clinics.sync": "values, which wire/clinics/test_door.py sends",
    "pcevolve.keeper.clinics.keeping": "processes of a run: system/test_clinics.py",
    "pcevolve.public.config.providers": "declarations alone, which config/test_config.py reads",
    "pcevolve.app.interface.answering": "the process that is asked: interface/test_measuring.py, system/test_asked.py",
    "pcevolve.app.interface.values": "values alone, which app/interface/test_measuring.py asks for",
    "pcevolve.app.interface.options": "written by make docs-options, which cli/test_reference.py compares",
    "pcevolve_shared.limits": "numbers alone, written out where they bound, as in shared/test_wire.py",
    "pcevolve.app.first.weighing": "what that process measures: system/test_demo.py, system/test_texts.py",
    "pcevolve.app.session.staff": "processes of a run: system/test_apart.py",
    "pcevolve.public.run.checked": "refusals that options get: session/test_preflight.py, keeper/test_planning.py",
    "pcevolve.public.decoder": "whom public/media/images/test_elsewhere.py asks",
    "pcevolve.keeper.at_door": "a process of a run: compose/test_docker.py, system/test_apart.py",
    "pcevolve.public.loop.evolution": "whole runs: auditing/test_rerun.py, public/selectors/test_aug_pe.py",
    "pcevolve.public.transcript.irregular": "folders with what should not be there: transcript/test_layout.py",
    "pcevolve.public.loop.usable": "the rule, and what it says: public/test_usability.py",
    "pcevolve.keeper.ledger.history": "what all runs cost: ledger/test_ledger.py",
    "pcevolve.public.selectors.means_checked": "what Means answers an auditor: selectors/test_consistency.py",
    "pcevolve.keeper.private.companions": "names of files and folders: private/test_spelling.py",
    "pcevolve.keeper.private.items": "what a draw is of: private/test_subsample.py",
    "pcevolve.keeper.private.layouts": "folders that are told what to give instead: private/test_listing.py",
    "pcevolve.keeper.private.offers": "what mends a refusal: keeper/test_private_data.py",
    "pcevolve.public.publish.assessed": "figures alone, which usefulness puts into words: public/test_usefulness.py",
}
"""Modules without a test file of their own, and why."""


def list_without() -> list[str]:
    """Name the modules of client, server and wire that have no test file of their own, and no reason for it.

    The benchmarks are research on public data, tried by whole tables.
    """
    modules = (each for each in list_modules() if not each.startswith("pcevolve_benchmarks."))
    return [each for each in modules if each not in PLAIN and not narrow_file(find_module(each)).is_file()]


if __name__ == "__main__":
    print(*list_without(), sep="\n")
