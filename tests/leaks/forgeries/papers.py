"""Manifest, card, summary, report and wire page that say something else than the record, or say it otherwise.

Manifest and card travel with the data: they are refused, or called NOT CHECKED. The others are views, which an audit
names as not verified and renders itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from leaks.forgeries.forging import SECRET, Act, Forgery, forged, replaced, written
from pcevolve.pages.wire.page import render_viewer
from pcevolve.public.finding import Finding
from pcevolve.transcript import RunReader

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
    "an epsilon of a folder": (claimed("epsilon_folder", 0.1), "guarantee.epsilon_folder"),
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
    "another plan": (manifest(lambda each: each["plan"].update(shots=1)), "plan.shots"),
    "another format": (manifest(lambda each: each.update(format="x")), "format"),
}


def stating(name: str, value: object) -> Change:
    """Another fact at the top of a card, whose text stays as it is."""

    def act(data: bytes) -> bytes:
        before = next(line for line in data.splitlines() if line.startswith(b"pcevolve: "))
        facts = json.loads(before.removeprefix(b"pcevolve: "))
        return data.replace(before, b"pcevolve: " + json.dumps({**facts, name: value}).encode())

    return act


NOTHING = "says nothing that can be checked"
OTHER = "not this version's words"
CARDS: dict[str, tuple[Change, str]] = {
    "epsilon = 0.1": (lambda data: data.replace(b"epsilon = 0", b"epsilon = 0.1"), "states epsilon '0.1'"),
    "an epsilon in a remark": (lambda data: data + "<!-- ε ≤ **0.5** -->\n".encode(), "states epsilon '0.5'"),
    "an epsilon in a title": (replaced(b"# Synthetic", b"# (Epsilon of 3) Synthetic"), "states epsilon '3'"),
    "another delta": (replaced(b"delta = 0", b"delta = 1e-9"), "states delta '1e-9'"),
    "another relation": (
        replaced(b"`replace-one`", b"`add-remove`"),
        "states neighbour relation 'add-remove'",
    ),
    "another unit": (replaced(b"unit: one image", b"unit: one patient"), "states privacy unit 'patient'"),
    "a fact: epsilon": (stating("epsilon", 0.1), "states epsilon 0.1, and the manifest 0.0"),
    "a fact: no epsilon": (stating("epsilon", None), "states epsilon None"),
    "a fact: delta": (stating("delta", 1e-9), "states delta 1e-09"),
    "a fact: method": (stating("method", "pe"), "states method 'pe'"),
    "a fact: relation": (stating("relation", "add-remove"), "states relation 'add-remove'"),
    "a fact: unit": (stating("unit", "patient"), "states unit 'patient'"),
    "a fact twice": (replaced(b"pcevolve: {", b'pcevolve: {"epsilon": 1, '), NOTHING),
    "facts twice": (replaced(b"pcevolve: {", b"pcevolve: {}\npcevolve: {"), NOTHING),
    "no facts": (replaced(b"pcevolve: ", b"pcevolved: "), NOTHING),
    "no card": (lambda data: b"synthetic images, epsilon = 0\n", NOTHING),
    "an assumption left out": (replaced(b"- class names: cut, good\n", b""), OTHER),
    "a remark that is not shown": (lambda data: data + b"<!-- patient 17 -->\n", OTHER),
    "an invisible character": (replaced(b"Guarantee", "Guarantee\u200b".encode()), OTHER),
    "another number of images": (replaced(b"6 synthetic images", b"7 synthetic images"), OTHER),
    "bytes behind the end": (SPELLINGS["bytes behind the end"], OTHER),
    "a space at the end": (SPELLINGS["a space at the end"], OTHER),
    "without its last line end": (SPELLINGS["without its last line end"], OTHER),
    "a byte order mark": (SPELLINGS["a byte order mark"], NOTHING),
    "other line ends": (SPELLINGS["other line ends"], NOTHING),
}
"""Cards, and what is said of them: that they state what is not so, or that nobody checked their words."""


def praised(root: Path) -> None:
    """A wire page whose verdict somebody made up."""
    flattering = [Finding("no private image has ever existed", (), 1000)]
    (root / "audit").mkdir(exist_ok=True)
    (root / "audit" / "wire.html").write_bytes(render_viewer(RunReader.lenient(root), flattering))


VIEWS: dict[str, tuple[Act, str]] = {
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
        **{
            f"card: {name}": (written(CARD, change), f"{CARD}:? {said}")
            for name, (change, said) in CARDS.items()
        },
    },
)
