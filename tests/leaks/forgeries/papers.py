"""Manifest, card, summary, report and wire page that say something else than the record, or say it otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from leaks.forgeries.forging import SECRET, Act, Forgery, of_family, replaced, written
from pcevolve.auditing import audit
from pcevolve.pages.wire import rendered_viewer
from pcevolve.public.finding import Finding
from pcevolve.transcript import RunReader

MANIFEST, CARD = "release/manifest.json", "release/README.md"
BOM = b"\xef\xbb\xbf"
Change = Callable[[bytes], bytes]


def with_values(change: Callable[[dict[str, Any]], object], **options: Any) -> Change:
    """The same JSON, spelled as ours, with other values."""

    def act(data: bytes) -> bytes:
        values = json.loads(data)
        change(values)
        return json.dumps(values, indent=1, **options).encode() + b"\n"

    return act


def claimed(name: str, value: object) -> Change:
    """Another figure or claim in the manifest's guarantee."""
    return with_values(lambda values: values["guarantee"].update({name: value}), sort_keys=True)


def reversed_keys(data: bytes) -> bytes:
    return json.dumps(dict(reversed(json.loads(data).items())), indent=1).encode() + b"\n"


def spelled(**options: Any) -> Change:
    return lambda data: json.dumps(json.loads(data), **options).encode() + b"\n"


SPELLINGS: dict[str, Change] = {
    "bytes behind the end": lambda data: data + SECRET,
    "a space at the end": lambda data: data + b" ",
    "without its last line end": lambda data: data[:-1],
    "a byte order mark": lambda data: BOM + data,
    "other line ends": lambda data: data.replace(b"\n", b"\r\n"),
}
JSON_SPELLINGS: dict[str, Change] = {
    "another indent": spelled(indent=2, sort_keys=True),
    "another order of keys": reversed_keys,
    "a key twice": lambda data: b'{\n "marks": ["patient 17"],' + data[1:],
    "an escaped letter": replaced(b'"marks"', b'"m\\u0061rks"'),
}
MANIFESTS: dict[str, tuple[Change, str]] = {
    "a smaller epsilon": (claimed("epsilon_spent", 0.1), "guarantee.epsilon_spent"),
    "an epsilon of a folder": (claimed("epsilon_folder", 0.1), "guarantee.epsilon_folder"),
    "other public assumptions": (claimed("assumed_public", ["nothing"]), "guarantee.assumed_public"),
    "another statement": (claimed("statement", "epsilon = 0"), "guarantee.statement"),
    "fewer events": (claimed("events", []), "guarantee.events"),
    "another unit": (claimed("unit", "hospital"), "guarantee.unit"),
    "a key of its own": (with_values(lambda each: each.update(note="patient 17"), sort_keys=True), "note"),
    "a key of its own in the guarantee": (claimed("note", "patient 17"), "guarantee.note"),
    "another end of the transcript": (
        with_values(lambda each: each["transcript"].update(head="0" * 64), sort_keys=True),
        "transcript.head",
    ),
    "another number of lines": (
        with_values(lambda each: each["transcript"].update(lines=3), sort_keys=True),
        "transcript.lines",
    ),
    "another order of files": (with_values(lambda each: each["files"].reverse(), sort_keys=True), "files"),
    "an unreadable candidate": (
        with_values(lambda each: each["unreadable"].append("patient-17"), sort_keys=True),
        "unreadable",
    ),
    "a mark of its own": (with_values(lambda each: each["marks"].append("SECURE"), sort_keys=True), "marks"),
    "another plan": (with_values(lambda each: each["plan"].update(shots=1), sort_keys=True), "plan.shots"),
    "another format": (with_values(lambda each: each.update(format="x"), sort_keys=True), "format"),
}
CARDS: dict[str, Change] = {
    "epsilon = 0.1": lambda data: data.replace(b"epsilon = 0", b"epsilon = 0.1"),
    "an assumption left out": replaced(b"- class names: cut, good\n", b""),
    "another relation": replaced(b"`replace-one`", b"`add-remove`"),
    "a remark that is not shown": lambda data: data + b"<!-- patient 17 -->\n",
    "an invisible character": replaced(b"Guarantee", "Guarantee\u200b".encode()),
    "another number of images": replaced(b"6 synthetic images", b"7 synthetic images"),
}
SUMMARIES: dict[str, Change] = {
    "a figure": with_values(lambda each: each.update(epsilon_spent=0.1)),
    "a figure of traffic": with_values(lambda each: each.update(bytes_sent=each["bytes_sent"] + 17)),
    "a key of its own": with_values(lambda each: each.update(accuracy=0.71)),
    "no mark": with_values(lambda each: each.pop("marks")),
    "a float for a whole number": replaced(b'"classes": 2', b'"classes": 2.0'),
}
REPORTS: dict[str, Change] = {
    "a letter": replaced(b"images", b"Images"),
    "a remark that is not shown": lambda data: data + b"<!-- patient 17 -->",
    "a picture of its own": replaced(b"</body>", b'<img src="data:image/png;base64,AAAA"></body>'),
    "a space": replaced(b"<body", b"<body "),
}


def manifests(name: str, change: Change, said: str) -> tuple[str, str, Act, str]:
    return (
        f"manifest: {name}",
        "control",
        written(MANIFEST, change),
        f"{MANIFEST} is not what the record gives{said}",
    )


def paged(change: Change) -> Act:
    """The wire page of an honest audit, changed."""

    def act(root: Path) -> None:
        honest = rendered_viewer(RunReader.lenient(root), audit(root))
        (root / "wire.html").write_bytes(change(honest))
        if change(honest) == honest:
            raise ValueError("that page was not changed")

    return act


def praised(root: Path) -> None:
    """A wire page whose verdict somebody made up."""
    flattering = [Finding("no private image has ever existed", (), 1000)]
    (root / "wire.html").write_bytes(rendered_viewer(RunReader.lenient(root), flattering))


def of_another_record(root: Path) -> None:
    """A wire page without the last lines of the record."""
    log = root / "transcript" / "log.jsonl"
    whole = log.read_bytes()
    log.write_bytes(b"".join(whole.splitlines(keepends=True)[:-3]))
    (root / "wire.html").write_bytes(rendered_viewer(RunReader.lenient(root), []))
    log.write_bytes(whole)


PAGE = "is not what this version makes of the record"
FORGERIES: list[Forgery] = of_family(
    "forged papers",
    [
        *(manifests(name, change, f": .*{said}") for name, (change, said) in MANIFESTS.items()),
        *(manifests(name, change, "") for name, change in {**SPELLINGS, **JSON_SPELLINGS}.items()),
        *(
            (f"card: {name}", "control", written(CARD, change), f"{CARD} is not what the record gives")
            for name, change in {**CARDS, **SPELLINGS}.items()
        ),
        *(
            (f"summary: {name}", "control", written("summary.json", change), f"^summary.json {PAGE}")
            for name, change in {**SUMMARIES, **SPELLINGS, **JSON_SPELLINGS}.items()
        ),
        *(
            (f"report: {name}", "control", written("report.html", change), f"^report.html {PAGE}")
            for name, change in {**REPORTS, "a byte order mark": SPELLINGS["a byte order mark"]}.items()
        ),
        ("wire page: a letter", "control", paged(replaced(b"request", b"reqvest")), f"^wire.html {PAGE}"),
        ("wire page: a remark", "control", paged(lambda page: page + b"<!-- 17 -->"), f"^wire.html {PAGE}"),
        ("wire page: another verdict", "control", praised, f"^wire.html {PAGE}"),
        ("wire page: of a shorter record", "control", of_another_record, f"^wire.html {PAGE}"),
    ],
)
