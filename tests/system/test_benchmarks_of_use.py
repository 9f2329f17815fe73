"""Where usefulness stops, and how often the word about it is right: both benchmarks on a few digits, without models."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benchmarks.oracles.__main__ import SAYS
from benchmarks.oracles.__main__ import SEEDS as ALL_SEEDS
from benchmarks.oracles.__main__ import write as write_oracles
from benchmarks.oracles.cases import AS_IT_IS, CASES, PARTS, SHOTS_THEMSELVES, Subject, figures, ideal
from benchmarks.oracles.stops import HALF, Stop, share
from benchmarks.release.data import real_set
from benchmarks.release.seen import VOTER, Draw, Seen
from benchmarks.rows import appended
from benchmarks.split import SETS, TUNED_ON, by_role
from benchmarks.usefulness.__main__ import halves, other_domain, rows
from benchmarks.usefulness.__main__ import write as write_usefulness
from benchmarks.usefulness.again import classes_apart
from benchmarks.usefulness.cases import EPSILONS, SOURCES, Study, Verdict, _frame
from benchmarks.usefulness.page import alarms
from pcevolve.encoders import load_encoder
from pcevolve.geometry.frame import Frame

MARKS, DIGITS = "marks:3=type A,8=type B", "digits:0,4,7"
SEEDS = 2
ROOT = Path(__file__).parents[2]


def thumbnails(pictures):
    """A judge: small grey copies."""
    return np.array([np.asarray(each.convert("L").resize((12, 12)), np.float64).ravel() for each in pictures])


def profiles(pictures):
    """Another judge: ink by row and by column."""
    grey = [np.asarray(each.convert("L"), np.float64) for each in pictures]
    return np.array([np.concatenate([each.mean(axis=0), each.mean(axis=1)]) for each in grey])


def static(count: int, seed: int) -> list[Image.Image]:
    """What a generator sends that draws nothing."""
    pixels = np.random.default_rng(seed).integers(0, 256, (count, 64, 64, 3), dtype=np.uint8)
    return [Image.fromarray(each) for each in pixels]


LOOKS = {VOTER: load_encoder("bundled").embed, "thumbnails": thumbnails, "profiles": profiles}
JUDGES = {name: look for name, look in LOOKS.items() if name != VOTER}


def seen(name: str) -> tuple[Seen, Subject]:
    real = real_set(name, 60)
    drawn = [static(60, seed) for seed in range(len(real.labels))]
    found = Seen(
        {name: np.asarray(look(real.images), np.float64) for name, look in LOOKS.items()},
        {name: [np.asarray(look(each), np.float64) for each in drawn] for name, look in LOOKS.items()},
        real.targets,
    )
    return found, Subject(name, real, found, Draw.of(real.targets, 0), JUDGES)


@pytest.fixture(scope="module")
def subject() -> Subject:
    return seen(MARKS)[1]


@pytest.fixture(scope="module")
def measured(subject):
    draws = [replace(subject, draw=Draw.of(subject.seen.targets, seed)) for seed in range(SEEDS)]
    return [row for draw in draws for case in CASES for row in figures(case, draw)]


@pytest.fixture(scope="module")
def verdicts(subject):
    study = Study({MARKS: subject.seen, DIGITS: seen(DIGITS)[0]}, tuple(JUDGES), {MARKS: DIGITS})
    return [row for source in SOURCES for row in rows(study, MARKS, VOTER, source, 0)]


def test_a_set_is_capped_per_class_and_its_images_are_the_same_in_every_run():
    few, again, whole = real_set(MARKS, 60), real_set(MARKS, 60), real_set(MARKS)
    assert np.bincount(few.targets).tolist() == [60, 60]
    assert [each.tobytes() for each in few.images] == [each.tobytes() for each in again.images]
    assert len(whole.images) > len(few.images)


def test_every_figure_of_the_oracles_says_whether_its_judge_voted(measured):
    assert {(row["judge"], row["voted"]) for row in measured} == {
        (VOTER, True),
        ("thumbnails", False),
        ("profiles", False),
    }
    assert {row["case"] for row in measured} == {case.title for case in CASES}
    assert all(0 <= row["accuracy"] <= 1 for row in measured)


def test_a_set_that_the_generator_does_not_draw_stops_at_the_generator(measured):
    stop = Stop.of(measured)
    assert stop.part == "generator"
    assert stop.closed["generator"][0] > 0.5 > stop.closed["noise"][0]


def test_an_interval_of_a_share_is_as_wide_as_draws_say():
    """Against the spread of the estimate itself, over many samples of ten draws whose parts and wholes go together."""
    random = np.random.default_rng(0)
    wholes = random.normal(40, 6, (4000, 10))
    parts = 0.6 * wholes + random.normal(0, 5, wholes.shape)
    shares = np.array([share(*each) for each in zip(parts, wholes, strict=True)])
    covered = np.abs(shares[:, 0] - 0.6) <= shares[:, 1]
    assert 0.94 < covered.mean() < 0.96


def test_the_page_of_the_oracles_has_a_line_for_each_case_and_says_what_stops_a_set(measured, tmp_path):
    write_oracles(tmp_path, measured)
    page = (tmp_path / "oracles.md").read_text()
    assert all(f"| {case.title} | " in page for case in CASES)
    assert "Of 1 sets that were tuned on: generator 1." in page
    published = json.loads((tmp_path / "oracles.json").read_text())
    assert all(row["seeds"] == SEEDS and row["role"] == TUNED_ON and "voted" in row for row in published)


def test_what_the_oracles_say_is_said_of_all_sets_and_seeds_alone(measured, tmp_path):
    def page(names, seeds):
        first = [row for row in measured if row["seed"] == 0]
        write_oracles(
            tmp_path, [row | {"set": name, "seed": seed} for name in names for seed in seeds for row in first]
        )
        return (tmp_path / "oracles.md").read_text()

    assert SAYS in page(SETS, range(ALL_SEEDS))
    assert "What it says" not in page(SETS, range(ALL_SEEDS - 1))
    assert "What it says" not in page(list(SETS)[1:], range(ALL_SEEDS))


@pytest.fixture(scope="module")
def published():
    """Of each set and case, %, the mean of the published judges."""
    found = {}
    for row in json.loads((ROOT / "docs" / "results" / "oracles.json").read_text()):
        found.setdefault((row["set"], row["case"]), []).append(100 * row["accuracy"])
    return {key: sum(values) / len(values) for key, values in found.items()}


def test_what_the_oracles_say_of_the_release_itself_is_what_was_published(published):
    of = {
        name: published[name, next(case.title for case in CASES if "no images" in case.title)]
        for name in SETS
    }

    def alike(*domains):
        return [of[name] for name in by_role() if name.split(":")[0] in domains]

    unseen = [f"{each:.0f}" for each in alike("malaria", "waste", "leaf")]
    assert f"right in {unseen[0]}, {unseen[1]} and {unseen[2]} %" in " ".join(SAYS.split())
    written = alike("mnist", "digits", "marks", "steel")
    assert f"right in {min(written):.0f} to {max(written):.0f} %" in SAYS


def test_what_the_oracles_say_of_images_and_parts_is_what_was_published(published):
    def closed(name, case, start=AS_IT_IS):
        begun = published[name, start]
        return (published[name, case] - begun) / (published[name, SHOTS_THEMSELVES] - begun)

    first = next(case.title for case in CASES if case.title.startswith("t2i"))
    assert max(closed(name, AS_IT_IS, first) for name in SETS) < 0.5
    assert sum(published[name, AS_IT_IS] < published[name, first] for name in SETS) > 2
    assert max(closed(name, ideal(part).title) for name in SETS for part in ("frame", "noise")) < 0.25
    share = {name: closed(name, ideal("generator").title) for name in SETS}
    well = ("steel", "xray", "blood", "mnist", "digits", "marks")
    assert min(each for name, each in share.items() if name.split(":")[0] in well) > 0.9
    assert all(0.5 < share[name] < 0.6 for name in SETS if name.split(":")[0] in ("leaf", "machine"))


def test_what_the_oracles_say_of_their_rule_is_what_was_published():
    rows = [
        {**row, "seed": seed, "accuracy": accuracy}
        for row in json.loads((ROOT / "docs" / "results" / "oracles.json").read_text())
        for seed, accuracy in enumerate(row["by_seed"])
    ]
    found = {name: Stop.of([row for row in rows if row["set"] == name]).closed["generator"] for name in SETS}
    unsettled = {name.split(":")[0] for name, (middle, half) in found.items() if abs(middle - HALF) <= half}
    assert unsettled == {"machine", "leaf", "waste", "malaria"}


def stopped(**accuracies: float) -> Stop:
    """Of accuracies by case; ideals that are not given are worth what a dataset as it is."""
    titles = [ideal(part).title for part in PARTS] + [ideal("generator", part).title for part in PARTS[1:]]
    known = {AS_IT_IS: 0.5, SHOTS_THEMSELVES: 0.9} | {
        f"ideal {part}": each for part, each in accuracies.items()
    }
    return Stop.of(
        [
            {"case": case, "judge": "a", "voted": False, "seed": seed, "accuracy": known.get(case, 0.5)}
            for case in (AS_IT_IS, SHOTS_THEMSELVES, *titles)
            for seed in range(SEEDS)
        ]
    )


def test_a_part_stops_a_set_if_its_ideal_alone_closes_half_of_the_gap():
    assert stopped(voter=0.72, noise=0.6).part == "voter"
    assert stopped(voter=0.68, noise=0.6).part == "no part alone"


def test_nothing_stops_a_set_whose_dataset_is_worth_its_shots(measured):
    even = [{**row, "accuracy": 0.8} for row in measured]
    assert Stop.of(even).part == "nothing"
    assert Stop.of(even).closed == {}


def test_a_measurement_that_was_cut_off_goes_on_where_it_was(tmp_path):
    file, calls = tmp_path / "rows.jsonl", []

    def step(name):
        return lambda: calls.append(name) or [{"name": name}]

    assert appended(file, {"a": step("a")}) == [{"name": "a"}]
    assert appended(file, {"a": step("a"), "b": step("b")}) == [{"name": "a"}, {"name": "b"}]
    assert calls == ["a", "b"]


def test_real_candidates_are_worth_more_than_static_and_than_another_domain(verdicts):
    closed = {(row["source"], row["epsilon"]): row["closed"] for row in verdicts}
    assert len(closed) == len(SOURCES) * len(EPSILONS)
    assert closed["real", 10] > 0.5 > max(closed["bundled", 10], closed["other", 10])


def test_static_is_never_called_useful(verdicts):
    words = {row["word"] for row in verdicts if row["source"] == "bundled"}
    assert "useful" not in words


def test_a_verdict_is_read_back_from_its_row(verdicts):
    assert [Verdict.of_row(row).row for row in verdicts] == verdicts


def test_false_alarms_and_misses_are_counted_for_each_half_apart(verdicts, tmp_path):
    read = [Verdict.of_row(row) for row in verdicts]
    one_of_two = [replace(read[0], closed=worth, assessment=_USEFUL) for worth in (0.4, 0.6)]
    missed = replace(read[0], closed=0.6, assessment=_FAR)
    assert alarms([*one_of_two, missed]) == ["3", "1 of 2: 50 %", "1 of 2: 50 %"]
    assert [len(half) for half in halves(read).values()] == [0, len(read)]
    write_usefulness(tmp_path, verdicts)
    page = (tmp_path / "usefulness.md").read_text()
    assert "| looked at once | all | 0 | 0 of 0 | 0 of 0 |" in page
    assert "## Sets that were tuned on" in page
    assert "## Sets that were looked at once" not in page


@pytest.mark.parametrize(
    ("separation", "classes", "apart"),
    [(2.0, 3, 4.0), (2.0, 2, 4.76), (16.97, 3, 11.65), (-1.2, 2, 0.0), (2031.6, 2, 151.61)],
)
def test_a_standardised_chi_squared_becomes_the_distance_of_two_classes(separation, classes, apart):
    assert classes_apart(separation, classes) == pytest.approx(apart, abs=0.01)


@pytest.mark.parametrize("name", ["usefulness", "usefulness-texts"])
def test_the_published_words_are_those_of_today_s_bounds(name: str):
    published = json.loads((ROOT / "docs" / "results" / f"{name}.json").read_text())
    assert published
    assert [row["word"] for row in published] == [Verdict.of_row(row).assessment.word for row in published]


_USEFUL = Verdict.of_row(
    {
        "set": MARKS,
        "voter": VOTER,
        "source": "real",
        "epsilon": 10,
        "seed": 0,
        "classes_apart": 9.0,
        "distance": 0.5,
        "agreement": 0.9,
        "closed": 1.0,
    }
).assessment
_FAR = _USEFUL.model_copy(update={"distance": 2.0, "agreement": 0.1})


@pytest.mark.parametrize("name", SETS)
def test_another_domain_is_another_in_its_first_word(name):
    assert SETS[other_domain(name)].domain.split()[0] != SETS[name].domain.split()[0]


def test_candidates_that_all_classes_share_count_once_in_the_frame_and_change_nothing(subject):
    pool = subject.seen.real[VOTER][:50]
    once, thrice = _frame("profiles", [pool] * 3), Frame.of(np.concatenate([pool] * 3))
    assert np.allclose(once.points(pool), thrice.points(pool), atol=0.02 * thrice.radius)
