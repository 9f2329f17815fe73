"""A provider that says its images are real public ones: quoted wherever a reader is told, and trusted for nothing."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from pcevolve.errors import ProviderReplyError
from pcevolve.public.parts import Library, Licence
from pcevolve.wire.egress.transport import Incoming, Outgoing
from pcevolve.wire.providers import dialect
from pcevolve_shared import wire
from support.forge import faults_of, find_event, forge
from support.paid import make_paid_run
from support.provider import FakeProvider, ok
from support.runs import small_plan

EVIL = "MIT](javascript:x) `</code><script>alert(1)</script>\x1b[31m\u202e"
TEXT = "Permission is granted\n\n# to everybody\n```\n<img src=x onerror=y>\n" + "\x00"
SAID: dict[str, Any] = {
    "images": 7331,
    "licences": [{"name": "CC0-1.0", "images": 7000}, {"name": EVIL, "images": 331}],
    "licence_files": [{"name": "LICENSE", "sha256": hashlib.sha256(b"").hexdigest(), "text": TEXT}],
}


def models(library: object = None, **more: object) -> bytes:
    model = {"id": "bundled", "name": "b", "base_resolution": {"width": 16, "height": 16}, **more}
    return json.dumps([model | ({} if library is None else {"library": library})]).encode()


def read_library(library: object) -> Library | None:
    return dialect("getimg").library("bundled", models(library))


def saying(request: Outgoing) -> Incoming | None:
    return ok(json.loads(models(SAID))) if request.url.endswith(wire.MODELS) else None


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A finished run with such a provider."""
    return make_paid_run(tmp_path / "run", small_plan(library=read_library(SAID)), FakeProvider(saying))


def test_what_the_provider_says_is_read_and_made_readable():
    library = read_library(SAID)
    assert library is not None
    assert (library.images, library.licences[0]) == (7331, Licence(name="CC0-1.0", images=7000))
    assert library.licences[1].name.endswith("</script>\\x1b[31m\\u202e")
    assert library.files[0].text == TEXT.replace("\x00", "\\x00")


@pytest.mark.parametrize(
    "change",
    [
        {"images": 0},
        {"images": 10**13},
        {"images": "many"},
        {"licences": [{"name": "x" * 257, "images": 1}]},
        {"licences": [{"name": "x", "images": 1}] * 33},
        {"licence_files": [SAID["licence_files"][0] | {"text": "x" * 4097}]},
        {"licence_files": [SAID["licence_files"][0] | {"sha256": "x"}]},
        {"licence_files": SAID["licence_files"] * 5},
    ],
)
def test_a_claim_that_breaks_the_contract_is_refused(change: dict[str, object]):
    with pytest.raises(ProviderReplyError, match=r"breaks the contract at 0\.library"):
        read_library(SAID | change)


def test_text_that_grows_when_it_is_spelled_out_is_cut():
    file = {"name": "\u202e" * 256, "sha256": "0" * 64, "text": "\x01" * 4096}
    named = {"name": "\x01" * 256, "images": 1}
    library = read_library({"images": 1, "licences": [named], "licence_files": [file]})
    assert library is not None
    (licence,), (found,) = library.licences, library.files
    assert (len(licence.name), len(found.name), len(found.text)) == (256, 256, 4096)


def test_no_request_depends_on_it():
    silent, said = small_plan(), small_plan(library=read_library(SAID))
    assert silent.calls == said.calls
    spoken = dialect("getimg")
    for call in silent.calls.values():
        image = None if call.purpose == "create" else b"image"
        assert spoken.encode(silent, call, image) == spoken.encode(said, call, image)


def test_the_card_calls_no_real_image_synthetic_and_quotes_the_licence(run: Path):
    card = (run / "release" / "README.md").read_text()
    assert "\n---\n\n# Dataset of public images: leather texture\n" in card
    assert (
        "**They are not synthetic**: the provider says that they are real public images from a library of 7,331"
        in card
    )
    assert "The provider makes the following statements. Nobody has checked them." in card
    assert "- 7,000 images: `CC0-1.0`" in card
    assert (
        "\n    Permission is granted\n    \n    # to everybody\n    ```\n    <img src=x onerror=y>\n" in card
    )
    assert "synthetic images" not in card


def test_nothing_that_the_provider_says_is_markup_in_the_card(run: Path):
    card = (run / "release" / "README.md").read_text()
    assert "\x1b" not in card
    for line in card.partition("\n---\n")[2].splitlines():
        if "<" in line and not line.startswith("    "):
            spans = line.split("`")
            assert len(spans) % 2 == 1, line
            assert not any("<" in outside or "](" in outside for outside in spans[::2]), line


def test_the_run_passes_the_audit_and_a_plan_that_says_otherwise_does_not(run: Path):
    assert faults_of(run) == []

    forge(run, lambda events: find_event(events, "planned")["plan"].update(library=None))
    assert "the plan says another thing of the provider's images than the provider did" in faults_of(run)


@pytest.mark.parametrize("planned", ["alone", None, "shared"])
def test_a_plan_records_what_the_provider_says_is_exact_and_the_audit_compares_it(tmp_path: Path, planned):
    """As the API server says of the device that it runs on."""

    def saying(request: Outgoing) -> Incoming | None:
        return ok(json.loads(models(exact="alone"))) if request.url.endswith(wire.MODELS) else None

    run = make_paid_run(tmp_path / "run", small_plan(exact=planned), FakeProvider(saying))
    complaint = "the plan says another thing of the provider's images than the provider did"
    assert (complaint in faults_of(run)) == (planned != "alone")
