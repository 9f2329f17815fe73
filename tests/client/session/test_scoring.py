"""Who measures a run as soon as it has ended, and how it is told: a judge that voted is last and marked."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from pcevolve.encoders import load_encoder
from pcevolve.evaluation.heads import QUICK_STEPS, Training
from pcevolve.session import images
from pcevolve.session.finished import judging
from pcevolve.session.finished.judging import quick_judges
from pcevolve.session.progress import summary_table

FIGURE = {"mean": 0.614, "sem": 0.012, "seeds": [0.6, 0.61, 0.632]}
SUMMARY = {
    "method": "dp-means",
    "iterations": 1,
    "epsilon_spent": 10.0,
    "epsilon_budget": 10.0,
    "delta": 1e-5,
    "relation": "replace-one",
    "images_released": 80,
    "classes": 2,
    "requests": 20,
    "bytes_sent": 1,
    "bytes_received": 1,
    "marks": [],
}


class Named:
    """An encoder of some name; nothing is embedded."""

    dimension = 1

    def __init__(self, name: str) -> None:
        self.name = name

    def embed(self, images):
        return np.zeros((len(images), 1))


def told(*rows: dict) -> list[str]:
    """The lines of a summary about accuracy, as a wide screen shows them."""
    console = Console(width=400, record=True, quiet=False)
    with console.capture() as shown:
        console.print(summary_table({**SUMMARY, "accuracy": rows}))
    return [" ".join(line.split()) for line in shown.get().splitlines() if "accuracy" in line]


def test_each_judge_has_a_line_and_one_that_voted_says_so():
    sets = {"initial": FIGURE, "final": FIGURE, "random": FIGURE}
    lines = told({"judge": "cnn", "voted": False, **sets}, {"judge": "bundled", "voted": True, **sets})
    figures = "initial 61.4% ± 1.2%, final 61.4% ± 1.2%, random 61.4% ± 1.2%"
    assert lines == [
        f"accuracy, cnn {figures} (s.e. over 3 seeds of the head)",
        f"accuracy, bundled (voted) {figures} (s.e. over 3 seeds of the head; it saw the candidates when the run "
        "selected, which flatters)",
    ]


def test_a_run_without_a_control_has_no_figure_of_one():
    (line,) = told({"judge": "cnn", "voted": False, "initial": FIGURE, "final": FIGURE})
    assert "random" not in line


@pytest.mark.parametrize(
    ("voter", "fetched", "expected"),
    [
        ("bundled", (), [("cnn", False), ("bundled", True)]),
        ("bundled+spectrum", (), [("cnn", False), ("bundled+spectrum", True)]),
        ("bundled", ("resnet18",), [("cnn", False), ("resnet18", False), ("bundled", True)]),
        ("clip", ("clip", "resnet18"), [("cnn", False), ("resnet18", False), ("clip", True)]),
        ("clip", ("clip",), [("cnn", False), ("bundled", False), ("clip", True)]),
    ],
)
def test_the_voter_is_never_alone_and_never_first(voter, fetched, expected, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(images, "is_fetched", fetched.__contains__)
    monkeypatch.setattr(judging, "load_encoder", lambda name, *_: Named(name))
    found = quick_judges(Named(voter), voted=True, device="cpu")
    assert [(each.name, each.voted) for each in found] == expected


def test_of_texts_the_words_and_pairs_of_words_judge_first():
    found = quick_judges(Named("words"), voted=True, device="cpu", kind="text")
    assert [(each.name, each.voted) for each in found] == [("ngrams", False), ("words", True)]


def test_nobody_voted_in_a_run_that_looked_at_nothing():
    assert not any(each.voted for each in quick_judges(Named("bundled"), voted=False, device="cpu"))


def test_the_network_from_scratch_takes_its_quick_steps_whatever_the_set_s_size(
    monkeypatch: pytest.MonkeyPatch,
):
    asked = []
    monkeypatch.setattr(
        "pcevolve.evaluation.heads.train_cnn", lambda training, seed, steps: asked.append(steps)
    )
    network = quick_judges(Named("bundled"), voted=True, device="cpu")[0]
    network.train(Training(np.zeros((500, 3, 64, 64)), np.arange(500) % 2, 2), 0)
    assert asked == [QUICK_STEPS]
    assert QUICK_STEPS <= 100


@pytest.mark.models
def test_every_judge_of_a_run_learns_what_is_easy():
    shades = [Image.new("RGB", (64, 64), (tone, tone, tone)) for tone in (20, 30, 220, 230)]
    targets = np.array([0, 0, 1, 1])
    for judge in quick_judges(load_encoder("bundled"), voted=True, device="cpu"):
        said = judge.train(Training(judge.look(shades), targets, 2), 0)(judge.look(shades))
        assert said.tolist() == targets.tolist()
