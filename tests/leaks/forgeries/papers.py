"""Manifest, card, summary, report and wire page that say something else than the record, or say it otherwise.

The manifest is data, and refused. The others are views, which an audit names as not verified and renders itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from leaks.forgeries.forging import SECRET, Act, Forgery, forged, replaced, written
from pcevolve.public.finding import Finding
from pcevolve.public.pages.wire.page import render_viewer
from pcevolve.public.transcript.reader import RunReader

MANIFEST, CARD = "release/manifest.json", "release/README.md"
BOM = b"\xef\xbb\xbf"
Change = Callable[[bytes], bytes]


def with_values(change: Callable[[dict[str, Any]], object], **options: Any) -> Change:
    """Changes values of a paper's JSON, and spells it as we do."""

    def act(data: bytes) -> bytes:
        values = json.loads(data)
        change(values)
        return json.dumps(values, indent=1, **options).encode() + b"\n"

    return act


def manifest(change: Callable[[dict[str, Any]], object]) -> Change:
    return with_values(change, sort_keys=True)


def claimed(name: str, value: object) -> Change:
    """Another figure or claim in the manifest's guarantee."""
    return manifest(lambda values: values["guarantee"].update({name: value}))


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
    "an epsilon of who was drawn": (claimed("epsilon_drawn", 0.1), "guarantee.epsilon_drawn"),
    "other public assumptions": (claimed("assumed_public", ["nothing"]), "guarantee.assumed_public"),
    "another statement": (claimed("statement", "epsilon = 0"), "guarantee.statement"),
    "fewer events": (claimed("events", []), "guarantee.events"),
    "another unit": (claimed("unit", "hospital"), "guarantee.unit"),
    "a key of its own": (manifest(lambda each: each.update(note="patient 17")), "note"),
    "a key of its own in the guarantee": (claimed("note", "patient 17"), "guarantee.note"),
    "another end of the transcript": (
        manifest(lambda each: each["transcript"].update(head="0" * 64)),
        "transcript.head",
    ),
    "another number of lines": (
        manifest(lambda each: each["transcript"].update(lines=3)),
        "transcript.lines",
    ),
    "another order of files": (manifest(lambda each: each["files"].reverse()), "files"),
    "an unreadable candidate": (manifest(lambda each: each["unreadable"].append("patient-17")), "unreadable"),
    "a mark of its own": (manifest(lambda each: each["marks"].append("SECURE")), "marks"),
    "another plan": (manifest(lambda each: each["plan"]["data"].update(shots=1)), "plan.data"),
    "another format": (manifest(lambda each: each.update(format="x")), "format"),
}


def praised(root: Path) -> None:
    """A wire page whose verdict somebody made up."""
    flattering = [Finding("no private image has ever existed", (), 1000)]
    (root / "audit").mkdir(exist_ok=True)
    (root / "audit" / "wire.html").write_bytes(render_viewer(RunReader.lenient(root), flattering))


CARDS: dict[str, Change] = {
    "another epsilon": replaced(b"epsilon = 0", b"epsilon = 0.1"),
    "another fact at its top": replaced(b'"epsilon": 0.0', b'"epsilon": 0.1'),
    "another relation": replaced(b"`replace-one`", b"`add-remove`"),
    "an assumption left out": replaced(b"- class names: cut, good\n", b""),
    "an invisible character": replaced(b"Guarantee", "Guarantee\u200b".encode()),
    **SPELLINGS,
}
VIEWS: dict[str, tuple[Act, str]] = {
    **{f"card: {name}": (written(CARD, change), CARD) for name, change in CARDS.items()},
    "summary": (
        written("summary.json", with_values(lambda each: each.update(epsilon_spent=0.1))),
        "summary.json",
    ),
    "report": (written("report.html", lambda data: data + b"<!-- patient 17 -->"), "report.html"),
    "wire page": (praised, "audit/"),
}
"""Forged views, and as what each is named among what was not verified."""
FALSE = f"{MANIFEST} is not what the record gives"
FORGERIES: list[Forgery] = forged(
    "forged papers",
    {
        **{
            f"manifest: {name}": (written(MANIFEST, change), f"{FALSE}: .*{said}")
            for name, (change, said) in MANIFESTS.items()
        },
        **{
            f"manifest: {name}": (written(MANIFEST, change), FALSE)
            for name, change in {**SPELLINGS, **JSON_SPELLINGS}.items()
        },
    },
)
