"""Draws docs/results/library.json as bars: what the library gives, what ten private shots select, the shots themselves.

.venv/bin/python -m benchmarks.library.chart docs/results/library.json docs/images/library.svg
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("svg")
from matplotlib import pyplot as plt

from benchmarks.judges import CNN
from benchmarks.library.cases import CASES, DEFAULT, SHOTS_THEMSELVES, T2I
from benchmarks.rows import parser_of

BARS = {
    T2I: ("the library's images as they come", "#b9b4a9"),
    DEFAULT: ("selected by ten private shots, ε = 10", "#0b5d6b"),
    SHOTS_THEMSELVES: ("the shots themselves, no privacy", "#5b616b"),
}
JUDGES = {CNN: "network from scratch", "mobilenet": "MobileNet", "squeezenet": "SqueezeNet"}
SHOWN = {each.about.domain: each for each in CASES[:2]}


def accuracies(rows: list[dict], name: str, contender: str, judge: str) -> np.ndarray:
    """Per cent, one for each seed."""
    wanted = (SHOWN[name].world, contender)
    of = [row["verdicts"] for row in rows if (row["world"], row["contender"]) == wanted]
    return np.array([100 * each["accuracy"] for row in of for each in row if each["judge"] == judge])


def draw(rows: list[dict], out: Path) -> None:
    """One group of bars for each set and judge, with standard errors and the level of chance."""
    figure, axes = plt.subplots(figsize=(9.6, 3.1), layout="constrained")
    groups = [(name, judge) for name in SHOWN for judge in JUDGES]
    drawn = defaultdict(list)
    for place, (name, judge) in enumerate(groups):
        axes.hlines(
            100 / SHOWN[name].classes,
            place - 0.42,
            place + 0.42,
            color="#a3121f",
            linestyle=":",
            linewidth=1.2,
        )
        for step, method in enumerate(BARS):
            found = accuracies(rows, name, method, judge)
            drawn[method].append(
                (place + 0.27 * (step - 1), found.mean(), found.std(ddof=1) / len(found) ** 0.5)
            )
    for method, bars in drawn.items():
        title, colour = BARS[method]
        where, means, errors = zip(*bars, strict=True)
        axes.bar(where, means, 0.25, yerr=errors, label=title, color=colour, error_kw={"linewidth": 1})
    axes.set_xticks(range(len(groups)), [f"{name}\n{JUDGES[judge]}" for name, judge in groups])
    axes.set_ylim(0, 100)
    axes.set_ylabel("accuracy on real images, %")
    axes.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.17), frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(out, metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    """Draw."""
    parser = parser_of(__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    with mpl.rc_context({"svg.hashsalt": "library"}):  # the same picture for the same figures
        draw(json.loads(given.results.read_text()), given.out)


if __name__ == "__main__":
    main()
