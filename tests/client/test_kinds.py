"""Nobody asks which kind of data a run has, but the rooms that know what an image or a text is.

What differs is looked up by kind in two tables: ``public.modalities.MODALITIES`` and ``run.kinds``. This test sees
comparisons, patterns, ``isinstance``, predicates and further tables. It does not see a question under another name (the
suffix of a file, a capability of a dialect, what an option varies by), nor a kind in a name that does not say so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from pcevolve.public.modalities import MODALITIES, Kind
from pcevolve.run.concerns import Parts
from pcevolve.run.kinds import of_kind

CLIENT = Path(__file__).parents[2] / "client" / "src" / "pcevolve"
ROOMS = ("encoders", "modality", "private", "providers", "public/modalities")
"""Encoder, dataset, generator and modality: there a kind is what they are about."""
TABLE = "run/kinds.py"
"""Where parts of a run are looked up by kind."""
OTHER_WORDS = {
    ("cli/options.py", "option.kind in {'int', 'number', 'path', 'text'}"),
    ("run/template.py", "option.kind == 'text'"),
}
"""What looks like a kind of data and is what an option takes, by file and code."""

KINDS = {"image", "text"}
NAMES = {"kind", "makes", "modality"}
MEMBERS = {"Images", "Texts"}
PREDICATES = {"embeds_texts", "images_of", "makes_texts", "texts_of"}
NARROWING = "public/fields.py"
"""Hands out the settings of images and of texts, each to a caller that has no other kind, and raises for any other."""


def sources() -> list[Path]:
    return [path for path in sorted(CLIENT.rglob("*.py")) if not in_room(path.relative_to(CLIENT))]


def in_room(path: Path) -> bool:
    return any(path.is_relative_to(room) for room in ROOMS)


def questions(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a file that ask for a kind of data, or choose by it."""
    return (node for node in ast.walk(tree) if _asks(node))


def _asks(node: ast.AST) -> bool:
    match node:
        case ast.Compare():
            sides = [node.left, *node.comparators]
            return (any(map(_is_kind, sides)) and any(map(_names_kind, sides))) or any(map(_is_member, sides))
        case ast.Match():
            return _names_kind(node.subject) and any(_is_kind(each) for each in ast.walk(node))
        case ast.MatchClass():
            return _is_member(node.cls)
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, classes]):
            return any(_is_member(each) for each in ast.walk(classes))
        case ast.Call(func=function):
            return _last(function) in PREDICATES
        case ast.Dict():
            return {each.value for each in node.keys if isinstance(each, ast.Constant)} >= KINDS
    return False


def _is_kind(node: ast.AST) -> bool:
    """Whether it is the word for a kind, or a row of words with one in it."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(map(_is_kind, node.elts))
    return isinstance(node, ast.Constant) and node.value in KINDS


def _names_kind(node: ast.AST) -> bool:
    """Whether it is called as a kind of data is: ``kind``, ``x.kind``, ``x["modality"]``, ``x.get("kind")``."""
    name = _last(node)
    return name in NAMES or name.endswith("_kind")


def _is_member(node: ast.AST) -> bool:
    return _last(node) in MEMBERS


def _last(node: ast.AST) -> str:
    """The last name of an expression; empty where it has none."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_]):
            return name
        case ast.NamedExpr(value=value):
            return _last(value)
    return ""


@pytest.mark.parametrize(
    "planted",
    [
        'if kind == "text": pass',
        'x = 1 if plan.modality.kind != "image" else 2',
        'if "text" == dialect.makes: pass',
        'if (kind := plan.modality.kind) == "text": pass',
        'if kind in ("text", "sound"): pass',
        'if own_kind is "image": pass',
        'if summary["modality"] == "text": pass',
        'if written.get("kind", "image") == "image": pass',
        'match kind:\n    case "text": pass',
        "match plan.modality:\n    case Texts(): pass",
        "if isinstance(plan.modality, Texts): pass",
        "if isinstance(plan.modality, str | modalities.Images): pass",
        "if isinstance(plan.modality, (Images, Texts)): pass",
        "if type(plan.modality) is Texts: pass",
        "if makes_texts(settings): pass",
        "if encoders.embeds_texts(name): pass",
        "asked = texts_of(plan.modality)",
        'word = {"image": "draw", "text": "write"}[kind]',
    ],
)
def test_a_question_for_the_kind_of_data_is_found(planted: str):
    assert len(list(questions(ast.parse(planted)))) == 1


@pytest.mark.parametrize(
    "innocent",
    [
        'vary_by == "image"',
        'if "image" not in asked: pass',
        'kind = "image"',
        "plan.unit == plan.modality.kind",
        'said = f"{kind}s"',
        "isinstance(images, StoredImages)",
        'of_kind("text").reading',
    ],
)
def test_what_asks_for_no_kind_of_data_is_let_in(innocent: str):
    assert list(questions(ast.parse(innocent))) == []


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(CLIENT)))
def test_nobody_outside_asks_which_kind_of_data_it_is(path: Path):
    name = str(path.relative_to(CLIENT))
    code = path.read_text(encoding="utf-8")
    found = [ast.unparse(each) for each in questions(ast.parse(code))]
    assert [each for each in found if not _is_allowed(name, each)] == []


@pytest.mark.parametrize("kind", get_args(Kind))
@pytest.mark.parametrize("part", [each for each in vars(Parts) if not each.startswith("_")])
def test_every_kind_has_every_part(kind: Kind, part: str):
    assert kind in MODALITIES
    assert getattr(of_kind(kind), part) is not None


def test_whatever_is_let_in_by_name_is_there():
    for name, code in OTHER_WORDS:
        assert code in {ast.unparse(each) for each in _found(name)}
    assert {_last(each.func) for each in _found(NARROWING)} == {"images_of", "texts_of"}
    assert [type(each) for each in _found(TABLE)] == [ast.Dict]


def _found(name: str) -> list[ast.AST]:
    return list(questions(ast.parse((CLIENT / name).read_text(encoding="utf-8"))))


def _is_allowed(name: str, code: str) -> bool:
    if name == TABLE:
        return code.startswith("{")
    if name == NARROWING:
        return code.startswith(("images_of(", "texts_of("))
    return (name, code) in OTHER_WORDS
