"""Runs in whose folders lies what is no part of a run."""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
from collections.abc import Callable
from pathlib import Path

from leaks.forgeries.forging import SECRET, Act, Forgery, Row, forged

STRAY, UNNAMED = "is not part of the dataset", "belongs to no record"
BY_SYSTEM = r" \(systems make such unasked: delete it\)"
NO_RELEASE = "but the folder contains summary.json, report.html"
BODY = "transcript/bodies/" + "0" * 64


def instead(path: str, make: Callable[[Path], object]) -> Act:
    """Something else at a path, which may have wildcards, than what the run wrote there, if it wrote anything."""

    def act(root: Path) -> None:
        found = next(iter(sorted(root.glob(path))), root / path)
        if found.is_dir():
            shutil.rmtree(found)
        else:
            found.unlink(missing_ok=True)
        found.parent.mkdir(parents=True, exist_ok=True)
        make(found)

    return act


def note(path: Path) -> None:
    path.write_bytes(SECRET)


def nothing(path: Path) -> None:
    """Leave nothing of what was there."""


def listening(path: Path) -> None:
    """A socket's name; bound from its folder, for such names must be short."""
    here = os.open(path.parent, os.O_DIRECTORY)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(f"/proc/self/fd/{here}/{path.name}")
    os.close(here)


def device(path: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))


def to(target: str) -> Callable[[Path], object]:
    return lambda path: path.symlink_to(target)


def behind_a_link(path: str) -> Act:
    """Reaches the content through a link: what it leads to may be another tomorrow."""

    def act(root: Path) -> None:
        found = next(iter(sorted(root.glob(path))))
        elsewhere = root.parent / "elsewhere"
        found.rename(elsewhere)
        found.symlink_to(elsewhere)

    return act


def named(path: str) -> str:
    """An expression that finds a path in what an audit says; one at the top stands at the beginning."""
    return ("" if "/" in path else "^") + re.escape(path).replace(r"\*", ".*")


def placed(name: str, path: str, make: Callable[[Path], object], said: str) -> tuple[str, Row]:
    return name, (instead(path, make), f"{named(path)} {said}")


FILES = {
    "a hidden file in a class": ("release/cut/.hidden", STRAY),
    "a thumbnail cache": ("release/cut/Thumbs.db", STRAY + BY_SYSTEM),
    "a file of another system": ("release/good/@eaDir/x", STRAY + BY_SYSTEM),
    "a picture nobody listed": ("release/cut/extra.png", STRAY),
    "a file at the top": ("release/labels.csv", STRAY),
    "a file in a folder of its own": ("release/other/0.png", STRAY),
    "a file below a class": ("release/cut/deep/0.png", STRAY),
    "half of a publication": ("release/.release.partial", STRAY),
    "a body that no line names": (BODY, UNNAMED),
    "a hidden body": ("transcript/bodies/.partial", UNNAMED),
    "a second log": ("transcript/log.jsonl.bak", UNNAMED),
    "a file below the bodies": ("transcript/bodies/more/x", UNNAMED),
}
FOLDERS = {
    "an empty folder": ("release/positive", STRAY),
    "an empty folder in a class": ("release/cut/1", STRAY),
    "an empty folder of the transcript": ("transcript/positive", UNNAMED),
    "a folder named as a body that no line names": (BODY, UNNAMED),
    "a folder in the place of a body": ("transcript/bodies/*", UNNAMED),
    "a folder in the place of an image": ("release/cut/*.png", STRAY),
    "a folder in the place of the card": ("release/README.md", STRAY),
}
GONE = {"a body": "transcript/bodies/*", "a card": "release/README.md"}
BESIDE = {
    "a picture beside the run": "original.png",
    "a hidden file beside the run": ".notes",
    "a half-written page": ".report.html.partial",
    "an evaluation beside the run": "evaluation/scores.json",
    "the owner's options": "options.json",
    "a private folder": "private/judgement.json",
}
MOVED = {
    "an image": "release/cut/*.png",
    "a class": "release/cut",
    "the release": "release",
    "the transcript": "transcript",
    "the bodies": "transcript/bodies",
    "a body": "transcript/bodies/*",
    "the log": "transcript/log.jsonl",
    "the manifest": "release/manifest.json",
    "the summary": "summary.json",
    "the report": "report.html",
}
LINKS = {
    "a link to the private folder": ("release/cut/private", "../../private"),
    "a link that leads nowhere": ("release/x.png", "nowhere"),
    "a link in the transcript": ("transcript/private", "../private"),
    "the audit's pages behind a link": ("audit", "private"),
    "a summary behind a link": ("summary.json", "/etc/hostname"),
}
PIPES = {
    "in a class": "release/cut/0.png",
    "for a body": "transcript/bodies/*",
    "for the log": "transcript/log.jsonl",
    "for the manifest": "release/manifest.json",
    "for the summary": "summary.json",
    "for the report": "report.html",
    "for the audit's pages": "audit",
}
STRAYS: dict[str, Row] = dict(
    [
        *(placed(name, path, note, said) for name, (path, said) in FILES.items()),
        placed("an empty file", "release/cut/0", Path.touch, STRAY),
        *(
            placed(name, path, Path.mkdir, f"is a folder that {said}")
            for name, (path, said) in FOLDERS.items()
        ),
        *(placed(f"{name} that is gone", path, nothing, "is missing") for name, path in GONE.items()),
    ]
)
ELSEWHERE: dict[str, Row] = dict(
    [
        *(placed(name, path, to(target), "is a link") for name, (path, target) in LINKS.items()),
        *(placed(f"a pipe {name}", path, os.mkfifo, "is a pipe") for name, path in PIPES.items()),
        placed("a socket in the release", "release/x", listening, "is a socket"),
        placed("a folder for the report", "report.html", Path.mkdir, "is a folder"),
    ]
)
if os.geteuid() == 0:
    ELSEWHERE |= [placed("a device in the release", "release/x", device, "is a device")]
LINKED = "links, pipes and devices"
FORGERIES: list[Forgery] = [
    *forged("stray files and folders", STRAYS),
    *forged("stray files and folders", {"a release that is gone": (instead("release", nothing), NO_RELEASE)}),
    *forged(
        "stray files and folders",
        {name: instead(path, note) for name, path in BESIDE.items()},
        fault=r"^'.*' does not belong to a run",
    ),
    *forged(LINKED, ELSEWHERE),
    *forged(
        LINKED,
        {
            f"{name} behind a link": (behind_a_link(path), f"{named(path)} is a link")
            for name, path in MOVED.items()
        },
    ),
]
