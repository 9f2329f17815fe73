"""What has to be trusted not to give private data away: all that the keeper of a run has loaded at the run's end.

``make trusted`` carries out a small run of dp-means on images against an API on loopback, with test data, and prints
the modules of each process, their lines, and the packages of others. The judge measures on test data when the run is
over; it spends nothing and answers nobody but the owner.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path

from support import online
from support.folders import class_folders

COMMAND = Path(sys.executable).with_name("pcevolve")
OURS = ("pcevolve", "pcevolve_shared")
OF_THE_ENVIRONMENT = ("sitecustomize", "_distutils_hack")
"""What every Python of a development environment loads when it starts."""


@dataclass(frozen=True)
class Loaded:
    """The code of a process.

    Attributes:
        lines: Of each module of ours.
        packages: Distributions of others.
    """

    lines: dict[str, int]
    packages: tuple[str, ...]

    @property
    def total(self) -> int:
        """Lines of ours."""
        return sum(self.lines.values())


def measure(folder: Path, *, judged: bool = False) -> dict[str, Loaded]:
    """Carry out a run in an empty folder; what its processes have loaded, by role.

    Args:
        judged: Whether the run has test data, on which a process of its own measures it.
    """
    class_folders(folder / "private", 2, ("cut", "good"))
    class_folders(folder / "test", 3, ("cut", "good"))
    api = online.LocalServer(online.a1111)
    options = {
        "--private": "private", "--domain": "scratch", "--shots": "2", "--out": "run", "--method": "dp-means",
        "--delta": "1e-5", "--candidates": "3", "--iterations": "1", "--api": api.address, "--dialect": "a1111",
        "--model": "v1-5",
    }  # fmt: skip
    settings = {
        "privacy.ledger": "own/ledger.sqlite", "privacy.pad_selection": 0.1, "provider.batch": 2, "provider.size": 16,
    }  # fmt: skip
    words = [each for pair in options.items() for each in pair]
    words += [each for name, value in settings.items() for each in ("--set", f"{name}={value}")]
    files = {"keeper": folder / "own" / "loaded.json", "runner": folder / "run" / "loaded.json"}
    if judged:
        words += ["--test", "test"]
        files["judge"] = folder / "own" / "judge.json"
    try:
        done = subprocess.run(
            [COMMAND, "run", *words, "--yes"],
            cwd=folder,
            env=_describe(folder, {role: str(path) for role, path in files.items()}),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    finally:
        api.close()
    assert done.returncode == 0, done.stderr
    return {role: _read(path) for role, path in files.items()}


def _describe(folder: Path, files: dict[str, str]) -> dict[str, str]:
    paths = [str(Path(__file__).parent / "loaded"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "PCEVOLVE_API_KEY": online.LOGIN,
        "HOME": str(folder),
        "LOADED": json.dumps(files),
        "PYTHONPATH": os.pathsep.join(paths),
    }


def _read(path: Path) -> Loaded:
    files: dict[str, str] = json.loads(path.read_text())
    known = packages_distributions()
    tops = {name.partition(".")[0] for name in files} - {*OURS, *OF_THE_ENVIRONMENT}
    packages = {known[each][0] for each in tops if each in known}
    lines = {
        name: len(Path(file).read_text().splitlines())
        for name, file in files.items()
        if name.partition(".")[0] in OURS
    }
    return Loaded(dict(sorted(lines.items())), tuple(sorted(packages)))


def main() -> None:
    """Print the modules of keeper, runner and judge, and how much that is."""
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), judged=True)
    for role, loaded in found.items():
        print(f"{role}: {loaded.total:,} lines of ours in {len(loaded.lines)} modules")
        for name, lines in loaded.lines.items():
            print(f"{lines:7,}  {name}")
        print(f"         and {len(loaded.packages)} packages: {', '.join(loaded.packages)}\n")


if __name__ == "__main__":
    main()
