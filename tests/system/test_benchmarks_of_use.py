"""Where usefulness stops, and how often the word about it is right: both benchmarks on a few digits, without models."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benchmarks.oracles.cases import AS_IT_IS, CASES, PARTS, SHOTS_THEMSELVES, Subject, figures, ideal
from benchmarks.oracles.stops import Stop, share
from benchmarks.release.data import real_set
from benchmarks.release.seen import VOTER, Draw, Seen
from benchmarks.usefulness.__main__ import halves, rows
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


def test_candidates_that_all_classes_share_count_once_in_the_frame_and_change_nothing(subject):
    pool = subject.seen.real[VOTER][:50]
    once, thrice = _frame("profiles", [pool] * 3), Frame.of(np.concatenate([pool] * 3))
    assert np.allclose(once.points(pool), thrice.points(pool), atol=0.02 * thrice.radius)
