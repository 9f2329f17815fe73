"""The demonstration: a real server, a real run, its control, and how much of it a machine has time for."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from pcevolve import verify
from pcevolve.app.first import demo
from pcevolve.public.config.data_source import CELLS
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.transcript.reader import RunReader
from support.together import NO_CHILDREN
from support.traces import find_traces
from system.test_apart import list_held
from system.test_attackers import CAN_BE_ATTACKED, IS_ATTACKED, plant, read_found

SMALLEST = 10
USUAL = demo.OF_IMAGES


SMALL = """
from dataclasses import replace
from pcevolve.app.cli import main as entry

prepare = entry._prepare

def prepare_and_shrink(*given):
    prepare(*given)  # its processes are started, and it has no network
    from pcevolve.app.first import demo, local_server

    local_server._replicas = lambda: 1  # each loads the model
    usual = demo.OF_IMAGES
    options = {**usual.options, "steps": 2, "candidates": 10}
    demo.DEMONSTRATIONS = {"image": replace(usual, options=options, probe=None)}
    demonstrate = demo._demonstrate

    def demonstrate_under_attack(*given):
        try:
            import attacked
        except ImportError:
            return demonstrate(*given)

    demo._demonstrate = demonstrate_under_attack

entry._prepare = prepare_and_shrink
entry.main()
"""


@dataclass(frozen=True)
class Shown:
    """A finished demonstration of a size that tests have time for, by real processes, an attacker in each.

    Attributes:
        holding: Which processes held a socket open, or a file beside the ledger.
        found: What each attacker got at.
    """

    out: Path
    holding: dict[str, set[str]]
    found: dict[str, dict[str, object]]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    folder = tmp_path_factory.mktemp("demo")
    script, out, own = (folder / name for name in ("bin/pcevolve", "demo", "demo-private"))
    script.parent.mkdir()
    script.write_text(SMALL)
    roles: dict[str, dict[str, object]] = {
        "launcher": {"module": "attacked", "found": own, "kind": "offline"},
        "keeper": {"module": "pcevolve.public.encoders.bundled", "found": own},
        "judge": {
            "module": "pcevolve.app.first.weighing",
            "found": own,
            "kind": "keeper",
            # How well a judge learns is asserted where judges are tested.
            "smaller": {
                "pcevolve.keeper.evaluation.heads:QUICK_STEPS": 5,
                "pcevolve.keeper.evaluation.judge:DRAWS": 2,
            },
        },
        "runner": {"module": "pcevolve.wire.showing", "found": out},
    }
    for each in roles.values():
        each["paths"] = [str(place) for place in (own, own / "ledger.sqlite", out, folder, "/etc/shadow")]
    holding: dict[str, set[str]] = {"sockets": set(), "private": set()}
    with pytest.MonkeyPatch.context() as patch:
        if CAN_BE_ATTACKED:
            plant(patch, roles)
        process = subprocess.Popen(
            [sys.executable, script, "demo", "--out", "demo", "--json"], cwd=folder, stdin=subprocess.DEVNULL
        )
    while process.poll() is None:
        with suppress(OSError):  # one has just ended
            for role, said in list_held(process.pid, (str(own),)):
                for what, who in holding.items():
                    who |= {role} if int(said[what]) else set()
        time.sleep(0.1)
    assert process.returncode == 0
    found = read_found(roles) if CAN_BE_ATTACKED else {}
    (out / "found-runner.json").unlink(missing_ok=True)  # an audit finds it
    return Shown(out, holding, found)


@pytest.fixture(scope="module")
def shown(watched: Shown) -> Path:
    return watched.out


@IS_ATTACKED
def test_no_process_of_a_demonstration_has_both_private_files_and_the_network_whoever_acts_in_it(
    watched: Shown,
):
    assert watched.holding["sockets"] == {"runner"}
    assert {"keeper"} <= watched.holding["private"] <= {"keeper", "judge"}
    out, own = str(watched.out), f"{watched.out}-private"
    ledger = f"{own}/ledger.sqlite"
    found = watched.found
    assert found["runner"] == {"read": [], "listed": [out], "written": [out]}
    assert found["launcher"] == {"read": [], "listed": [own, out], "written": [own, out]}
    assert found["judge"] == {"read": [ledger], "listed": [own, out], "written": [own, ledger]}
    assert found["keeper"]["listed"] == [own, out]
    assert set(found["keeper"]["written"]) <= {own, ledger}


def test_the_demonstration_makes_a_dataset_measures_it_beside_its_control_and_holds(shown: Path):
    summary = json.loads(OwnerFolder.of(shown).result.read_text())
    assert [(row["judge"], row["voted"]) for row in summary["accuracy"]] == [
        ("cnn", False),
        ("bundled", True),
    ]
    assert all(set(row) >= {"initial", "final", "random", "shots"} for row in summary["accuracy"])
    assert len(list(RunFolder(shown).release.rglob("*.png"))) == len(CELLS) * SMALLEST
    page = (shown.with_name("demo-private") / "report.html").read_text("utf-8")
    assert all(
        said in page
        for said in (
            "Before and after",
            "the words alone",
            "a random choice",
            "the private images",
            "Chance is 25%",
        )
    )
    assert page.index("Is it useful?") < page.index("What was sent") < page.index("Before and after")
    measured = summary["measured"]
    assert (measured["judges"], measured["ahead"].keys()) == (["cnn"], {"words alone", "a random choice"})
    assert f"<strong>{measured['word'].capitalize()}</strong>, measured: {measured['sentence']}." in page
    assert "held-out data" not in page[: page.index("What was sent")], "it was tested"
    assert measured["sentence"] not in RunFolder(shown).report.read_text("utf-8"), "a page that may be shared"
    assert verify(shown).holds
    assert find_traces(shown, (str(shown.parent), "demo-private")) == []
    assert RunReader.strict(shown).require_plan().encoder.frame


def test_its_owner_has_the_page_that_a_measured_run_has(shown: Path):
    owner = OwnerFolder.of(shown, demo._find_ledger(shown))
    assert json.loads(owner.result.read_text())["use_page"] == str(owner.use_page)
    assert owner.use_page.stat().st_mode & 0o777 == 0o600
    text = owner.use_page.read_text("utf-8")
    for name in ("chance", "words alone", "a random choice", "dataset", "private images"):
        assert f">{name}</text>" in text
    assert "Predictions of the classifier cnn after training on the dataset" in text
    assert text.count('alt="private"') == text.count('alt="of the dataset"') == len(CELLS) * 8


def test_it_asks_for_as_many_images_as_the_estimate_says(shown: Path):
    runs = (shown, shown.with_name("demo-random"))
    asked = sum(call.count for each in runs for call in RunReader.strict(each).require_plan().calls.values())
    assert asked == demo.IMAGES * SMALLEST


def test_its_control_may_be_as_poor_as_luck_makes_it_and_the_run_that_pays_may_not(shown: Path):
    plans = [RunReader.strict(each).require_plan() for each in (shown, shown.with_name("demo-random"))]
    assert [plan.method.min_usable for plan in plans] == [0.25, 0.01]


def test_the_same_command_again_shows_what_is_there(shown: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(demo, "serve_locally", None)
    assert [row["judge"] for row in demo.demonstrate(shown, NO_CHILDREN)["accuracy"]] == ["cnn", "bundled"]


def test_a_demonstration_that_was_cut_off_keeps_its_size(shown: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(demo, "measure_seconds", None)
    stage = demo.Stage(demo.error_console(), False, None)
    kept, _ = demo._affordable(shown, "http://127.0.0.1:1", USUAL, stage)
    assert kept["candidates"] == SMALLEST
    assert OwnerFolder.of(shown).require_options().method.candidates == SMALLEST


@pytest.mark.parametrize(
    ("per_image", "candidates"), [(0.01, 40), (0.019, 40), (0.02, 30), (0.026, 30), (0.027, 20), (1, 20)]
)
def test_a_slow_machine_makes_less(per_image: float, candidates: int):
    assert demo.choose_candidates(per_image) == candidates


def test_what_is_affordable_takes_a_minute_at_most():
    assert demo.estimate_seconds(0.025, demo.choose_candidates(0.025)) <= 60


def test_a_slow_machine_does_all_else_slowly_too():
    assert demo.estimate_seconds(0.02, 20) == pytest.approx(38 + 0.02 * 560)
    assert demo.estimate_seconds(0.2, 20) == pytest.approx(0.2 * (750 + 560))


def test_a_probe_that_was_on_record_tells_no_pace_and_the_demonstration_is_small():
    assert demo.choose_candidates(math.inf) == 20
