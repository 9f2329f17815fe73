"""What a finished run's owner is told in the end: of whom accuracies are, and whether anybody has measured."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pcevolve.app.cli.summary import detail_result, summarise

SETS = {
    "initial": {"mean": 0.3, "sem": 0.012},
    "final": {"mean": 0.834, "sem": 0.012, "seeds": [0.8, 0.8, 0.9]},
}
SUMMARY = {
    "marks": [], "dataset": "r/release", "images_released": 4, "classes": 2, "requests": 1, "bytes_sent": 1,
    "bytes_received": 2_500_000, "epsilon_spent": 1.0, "epsilon_budget": 2.0, "delta": 0.0, "report": "r/p",
    "unit": "image", "relation": "replace-one", "method": "random", "iterations": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("voted", "said"),
    [(False, "(accuracy of cnn on held-out data; guessing gives 50 %)"), (True, "the figures are too high")],
)
def test_accuracies_are_those_of_a_judge_that_did_not_vote_if_there_is_one(voted, said):
    row = {"judge": "cnn", "voted": voted, **SETS}
    voter = {"judge": "own", "voted": True, "initial": {"mean": 0.9}, "final": {"mean": 0.99}}
    lines = [" ".join(line) for line in summarise({**SUMMARY, "accuracy": [row, voter]})]
    assert "accuracy words alone 30 %, this dataset 83 %" in lines
    assert any(said in line for line in lines)
    assert "sent 1 request, 1 B; 2.5 MB came back" in lines


ASSESSED = {
    "usefulness": {
        "word": "doubtful",
        "by": "bundled",
        "classes_apart": 9.0,
        "distance": 0.8,
        "nearest": 0.5,
        "agreement": 0.9,
        "words_agree": 0.1,
        "alike": None,
    }
}
MEASURED = {
    "word": "not useful",
    "sentence": "it goes 12 % (3 to 20) of the way",
    "advice": "another provider may draw it",
}


def test_without_held_out_data_the_verdict_is_called_an_estimate():
    told = dict(summarise({**SUMMARY, **ASSESSED}))
    assert told["verdict"].startswith(
        "ESTIMATED DOUBTFUL (by bundled, the encoder that also selected): the images do not lie near your"
    )


def test_a_run_from_a_release_has_spent_nothing_and_says_what_that_release_has():
    told = dict(summarise({**SUMMARY, "starts_from": "5" * 64}))
    assert told["privacy"].startswith("nothing was spent; the release that the run varied has epsilon ")
    assert " was spent (" not in told["privacy"]


def test_the_verdict_is_what_was_measured_where_held_out_data_were_given():
    row = {"judge": "cnn", "voted": False, **SETS}
    lines = [
        " ".join(line) for line in summarise({**SUMMARY, **ASSESSED, "accuracy": [row], "measured": MEASURED})
    ]
    place = lines.index("verdict NOT USEFUL, measured: it goes 12 % (3 to 20) of the way")
    assert lines[place + 1] == " another provider may draw it"
    assert not any("DOUBTFUL" in line or "on your own held-out data" in line for line in lines)


def test_each_judge_has_a_line_among_the_figures_and_one_that_voted_says_so():
    rows = [{"judge": "cnn", "voted": False, **SETS}, {"judge": "bundled", "voted": True, **SETS}]
    told = detail_result({**SUMMARY, "accuracy": rows})
    one, other = [figures for title, figures in told if "accuracy" in title]
    assert one.startswith("initial 30.0% ± 1.2%, final 83.4% ± 1.2%")
    assert ("too high" in one, "too high" in other) == (False, True)


def test_the_command_of_a_run_loads_no_numpy_for_what_it_does_itself():
    places = (
        "cli.run",
        "cli.summary",
        *(f"session.{each}" for each in ("containers", "joining", "orders", "preflight", "staff")),
    )
    code = "\n".join(
        [*(f"import pcevolve.app.{each}" for each in places), "import sys; print('numpy' in sys.modules)"]
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
