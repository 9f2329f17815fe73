"""Runs in whose folders lies what is no part of a run."""

from __future__ import annotations

import os
import shutil
import socket
import stat
from collections.abc import Callable
from pathlib import Path

from leaks.forgeries.forging import SECRET, Act, Forgery, of_family

STRAY = "is not part of the dataset"
UNNAMED = "belongs to no record"


def file(path: str, data: bytes = SECRET) -> Act:
    """A file that a run would not write."""

    def act(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)

    return act


def folder(path: str) -> Act:
    return lambda root: (root / path).mkdir(parents=True)


def instead(path: str, make: Callable[[Path], object]) -> Act:
    """Something else in the place of a file or folder of the run."""

    def act(root: Path) -> None:
        found = next(iter(sorted(root.glob(path))), root / path)
        if found.is_dir():
            shutil.rmtree(found)
        else:
            found.unlink(missing_ok=True)
        make(found)

    return act


def moved_behind_a_link(path: str) -> Act:
    """The same content, reached through a link: what it leads to may be another tomorrow."""

    def act(root: Path) -> None:
        found = next(iter(sorted(root.glob(path))))
        elsewhere = root.parent / "elsewhere"
        found.rename(elsewhere)
        found.symlink_to(elsewhere)

    return act


def linked(path: str, to: str) -> Act:
    return lambda root: (root / path).symlink_to(to)


def listening(path: Path) -> None:
    """A socket's name; bound from its folder, for such names must be short."""
    here = os.open(path.parent, os.O_DIRECTORY)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(f"/proc/self/fd/{here}/{path.name}")
    os.close(here)


def device(path: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))


STRAYS: dict[str, str] = {
    "a hidden file in a class": "release/cut/.hidden",
    "a thumbnail cache": "release/cut/Thumbs.db",
    "a file of another system": "release/good/desktop.ini",
    "a picture nobody listed": "release/cut/extra.png",
    "a file at the top": "release/labels.csv",
    "a file in a folder of its own": "release/other/0.png",
    "a file below a class": "release/cut/deep/0.png",
    "half of a publication": "release/.release.partial",
}
UNNAMED_FILES: dict[str, str] = {
    "a body that no line names": "transcript/bodies/" + "0" * 64,
    "a hidden body": "transcript/bodies/.partial",
    "a second log": "transcript/log.jsonl.bak",
    "a file below the bodies": "transcript/bodies/more/x",
}
BESIDE: dict[str, str] = {
    "a picture beside the run": "original.png",
    "a hidden file beside the run": ".notes",
    "a half-written page": ".report.html.partial",
    "an evaluation beside the run": "evaluation/scores.json",
}

FORGERIES: list[Forgery] = of_family(
    "stray files and folders",
    [
        *(
            (name, "control", file(path), rf"{path.replace('.', '[.]')} {STRAY}")
            for name, path in STRAYS.items()
        ),
        ("an empty file", "control", file("release/cut/0", b""), f"release/cut/0 {STRAY}"),
        (
            "an empty folder",
            "control",
            folder("release/positive"),
            f"release/positive is a folder that {STRAY}",
        ),
        (
            "an empty folder in a class",
            "control",
            folder("release/cut/1"),
            f"release/cut/1 is a folder that {STRAY}",
        ),
        *((name, "control", file(path), f"{path} {UNNAMED}") for name, path in UNNAMED_FILES.items()),
        (
            "an empty folder of the transcript",
            "control",
            folder("transcript/positive"),
            f"transcript/positive is a folder that {UNNAMED}",
        ),
        (
            "a folder named as a body that no line names",
            "control",
            folder("transcript/bodies/" + "0" * 64),
            f"transcript/bodies/0{{64}} is a folder that {UNNAMED}",
        ),
        (
            "a folder in the place of a body",
            "control",
            instead("transcript/bodies/*", Path.mkdir),
            f"transcript/bodies/[0-9a-f]{{64}} is a folder that {UNNAMED}",
        ),
        (
            "a folder in the place of an image",
            "control",
            instead("release/cut/*.png", Path.mkdir),
            rf"release/cut/.*\.png is a folder that {STRAY}",
        ),
        (
            "a folder in the place of the card",
            "control",
            instead("release/README.md", Path.mkdir),
            f"release/README.md is a folder that {STRAY}",
        ),
        (
            "a body that is gone",
            "control",
            instead("transcript/bodies/*", lambda path: None),
            "transcript/bodies/.* is missing",
        ),
        (
            "a card that is gone",
            "control",
            instead("release/README.md", lambda path: None),
            "release/README.md is missing",
        ),
        (
            "a release that is gone",
            "control",
            instead("release", lambda path: None),
            "and yet there is summary.json, report.html",
        ),
        *((name, "control", file(path), r"^'.*' belongs to no run") for name, path in BESIDE.items()),
    ],
) + of_family(
    "links, pipes and devices",
    [
        (
            "a link to the private folder",
            "control",
            linked("release/cut/private", "../../private"),
            "release/cut/private is a link",
        ),
        (
            "a link that leads nowhere",
            "control",
            linked("release/x.png", "nowhere"),
            "release/x.png is a link",
        ),
        (
            "a link in the transcript",
            "control",
            linked("transcript/private", "../private"),
            "transcript/private is a link",
        ),
        (
            "an image behind a link",
            "control",
            moved_behind_a_link("release/cut/*.png"),
            r"release/cut/.*\.png is a link",
        ),
        ("a class behind a link", "control", moved_behind_a_link("release/cut"), "release/cut is a link"),
        ("the release behind a link", "control", moved_behind_a_link("release"), "^release is a link"),
        (
            "the transcript behind a link",
            "control",
            moved_behind_a_link("transcript"),
            "^transcript is a link",
        ),
        (
            "the bodies behind a link",
            "control",
            moved_behind_a_link("transcript/bodies"),
            "transcript/bodies is a link",
        ),
        (
            "a body behind a link",
            "control",
            moved_behind_a_link("transcript/bodies/*"),
            "transcript/bodies/.* is a link",
        ),
        (
            "the log behind a link",
            "control",
            moved_behind_a_link("transcript/log.jsonl"),
            "transcript/log.jsonl is a link",
        ),
        (
            "the manifest behind a link",
            "control",
            moved_behind_a_link("release/manifest.json"),
            "release/manifest.json is a link",
        ),
        (
            "the summary behind a link",
            "control",
            moved_behind_a_link("summary.json"),
            "^summary.json is a link",
        ),
        ("the report behind a link", "control", moved_behind_a_link("report.html"), "^report.html is a link"),
        ("the audit's pages behind a link", "control", linked("audit", "private"), "^audit is a link"),
        (
            "options behind a link",
            "control",
            linked("config.toml", "private/config.toml"),
            "^config.toml is a link",
        ),
        ("a private folder behind a link", "control", linked("private", "/tmp"), "^private is a link"),
        (
            "a pipe in a class",
            "control",
            lambda root: os.mkfifo(root / "release/cut/0.png"),
            "release/cut/0.png is a pipe",
        ),
        (
            "a pipe for a body",
            "control",
            instead("transcript/bodies/*", os.mkfifo),
            "transcript/bodies/.* is a pipe",
        ),
        (
            "a pipe for the log",
            "control",
            instead("transcript/log.jsonl", os.mkfifo),
            "transcript/log.jsonl is a pipe",
        ),
        (
            "a pipe for the manifest",
            "control",
            instead("release/manifest.json", os.mkfifo),
            "release/manifest.json is a pipe",
        ),
        ("a pipe for the summary", "control", instead("summary.json", os.mkfifo), "^summary.json is a pipe"),
        ("a pipe for the report", "control", instead("report.html", os.mkfifo), "^report.html is a pipe"),
        ("a pipe for the audit's pages", "control", instead("audit", os.mkfifo), "^audit is a pipe"),
        (
            "a socket in the release",
            "control",
            lambda root: listening(root / "release/x"),
            "release/x is a socket",
        ),
        (
            "a folder for the report",
            "control",
            instead("report.html", Path.mkdir),
            "^report.html is a folder",
        ),
    ],
)
if os.geteuid() == 0:
    FORGERIES += of_family(
        "links, pipes and devices",
        [
            (
                "a device in the release",
                "control",
                lambda root: device(root / "release/x"),
                "release/x is a device",
            )
        ],
    )
