"""Writes what the trials found: one JSON file, one page of tables, one picture."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from benchmarks.rows import accuracy
from benchmarks.selectors.grid import (
    BY_WEIGHT,
    CHOSEN_EPSILON,
    CHOSEN_SHOTS,
    DEVELOPMENT,
    EPSILONS,
    METHODS,
    NEAREST_MEAN,
    RANDOM_PHASE,
    SHOTS,
    Trial,
)
from benchmarks.split import LOOKED_AT_ONCE, SETS

MEASURES = {
    "frechet": "Fréchet distance (voter)",
    "diversity": "diversity (voter)",
    "recall": "recall (voter)",
    "best_tenth": "best tenth, % (voter)",
    "images": "API images",
}
PERCENT = {"best_tenth", "recall"}
JUDGES = {
    "cnn": "CNN from scratch",
    "mobilenet": "MobileNet",
    "squeezenet": "SqueezeNet",
    "resnet18": "ResNet-18",
    "clip": "CLIP",
}
"""Judges that took no part, in the order of the columns; an encoder has a linear head."""
VOTER = "bundled"
YARDSTICKS = {
    "shots": ("the shots themselves\n(not private)", "-", "black"),
    NEAREST_MEAN: ("nearest released mean,\nno images, by the voter", "-.", "grey"),
    "t2i": ("t2i", "--", "grey"),
    "random": ("random", ":", "grey"),
    RANDOM_PHASE: ("random phases", ":", "tab:purple"),
}
"""What every panel shows beside the methods: label, line, colour. Level lines are at ten shots and ε = 10."""
Results = Sequence[dict]


def write(out: Path, results: Results, heads: Sequence[str] = ()) -> None:
    """Write ``selectors.json``, ``selectors.md`` and ``selectors.png``.

    Args:
        out: Folder.
        results: What the trials measured.
        heads: Judges that every table and the picture show, beside the voter; all that did not vote unless given.
    """
    out.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in results)
    (out / "selectors.json").write_text(f"[\n{lines}\n]\n")
    results = _complete(results)
    heads = [*heads] or strangers(results)
    parts = [HEADER, f"\n## In short\n\n{OVERVIEW}\n{_overview(results, heads)}"]
    for world in BY_WEIGHT:
        rows = [each for each in results if each["world"] == world and _headline(each)]
        if rows:
            about = SETS[world]
            title = f"{about.title} ({about.role}; the bundled generator was trained on {about.known})"
            parts.append(f"\n## {title}\n\n{_headline_table(rows, heads)}")
    parts.append(f"\n## Every ε at {CHOSEN_SHOTS} shots\n\n{_grid(results, 'epsilon', EPSILONS, heads)}")
    parts.append(f"\n## Every K at ε = {CHOSEN_EPSILON}\n\n{_grid(results, 'shots', SHOTS, heads)}")
    (out / "selectors.md").write_text("\n".join(parts) + "\n")
    _picture(out / "selectors.png", results, heads)


def strangers(results: Results) -> list[str]:
    """The judges that measured something and took no part in it, in the order of the columns."""
    known = {each["judge"] for result in results for each in result["verdicts"] if not each["voted"]}
    return [*(each for each in JUDGES if each in known), *sorted(known - JUDGES.keys())]


HEADER = """# Selectors at equal budget

Written by `make bench-selectors`; every figure is mean ± standard error over seeds, and every seed is another draw
of the private shots, other images from the generator and other noise. Neighbour relation replace-one, δ = 1e-5 (0
for PCEvolve's exponential mechanism), N = 40 images per class, bundled generator and encoder. Accuracy is measured
on held-out real images: for a small CNN that is trained on the synthetic pixels from scratch, and for linear heads on
encoders. **The last accuracy column voted**: it is the encoder that selected, which flatters whatever it selected;
the others took no part, and they count. A dash: not measured with that judge. Measures of distance are on the voter.
`random` is the control, `t2i` the prompt's images as they come, `shots` training on the private images themselves,
`noise-free` the same method without its noise; the last two protect nobody. `nearest-mean` (the released
means as a classifier, by the encoder that they were made with) and `random-phase` (images of random phases under a
released spectrum) ask no generator at all. `dpimg` is the PCEvolve paper's baseline of that name: variations of the
private images under noise on their pixels, less of it than a run would need. "Best tenth" is the share
of the first round's prototypes that are among the tenth of the first pool which lies closest to real held-out images.
PCEvolve's mechanism cannot pay for a released appearance; where it has one, it was **lent** that of a run of
`dp-means`, at no charge.
"""
OVERVIEW = """Mean over the judges that did not vote, %, at ε = 10 with ten shots, on the sets that were looked at
once. Methods in the released appearance; `t2i`, `random` and `PE, plain` as the images come. The nearest
released mean is no images but the release as a classifier, by the encoder that it was made with.
"""
IN_SHORT = {
    "random": "random",
    "t2i": "t2i",
    "pe, appearance matched": "PE",
    "pe": "PE, plain",
    "pcevolve, appearance lent": "PCEvolve, lent",
    "dp-means": "**dp-means**",
    "random-phase": "random phases",
    "nearest-mean": "nearest released mean (voter)",
    "shots": "ten shots (not private)",
}
"""Methods by ``_name``, as the overview calls them."""


SEEDS = 10
"""What is measured with fewer stays in the JSON file, once something has as many."""


def _complete(results: Results) -> Results:
    """Those of trials that have all their seeds; all of them where none has."""
    seeds = Counter(_of_all_seeds(each) for each in results)
    return [each for each in results if seeds[_of_all_seeds(each)] >= min(SEEDS, max(seeds.values()))]


def _of_all_seeds(result: dict) -> tuple:
    """Return the key that a trial has in common with those of other seeds."""
    return tuple(result[each.name] for each in fields(Trial) if each.name != "seed")


def _is_swept(result: dict) -> bool:
    return (
        result["world"] == DEVELOPMENT and result["noise"] and not (result["initial"] or result["appearance"])
    )


def _headline(result: dict) -> bool:
    return result["epsilon"] == CHOSEN_EPSILON and result["shots"] == CHOSEN_SHOTS


def _name(result: dict) -> str:
    if result["initial"] is not None:
        return "t2i in the released appearance"
    parts = (
        result["method"],
        result["appearance"] and f"appearance {_appearance(result)}",
        None if result["noise"] else "noise-free",
    )
    return ", ".join(part for part in parts if part)


def _appearance(result: dict) -> str:
    lent = result["appearance"] == "matched" and result["method"].startswith("pcevolve")
    return "lent" if lent else result["appearance"]


def _overview(results: Results, heads: Sequence[str]) -> str:
    lines = ["| set | " + " | ".join(IN_SHORT.values()) + " |", "|---|" + "---|" * len(IN_SHORT)]
    for world in (each for each in BY_WEIGHT if SETS[each].role == LOOKED_AT_ONCE):
        rows = [each for each in results if each["world"] == world and _headline(each)]
        found = {
            name: [_mean_accuracy(each, heads) for each in rows if _name(each) == name] for name in IN_SHORT
        }
        if any(found.values()):
            cells = " | ".join(_summary(values, True) for values in found.values())
            lines.append(f"| {SETS[world].title} | {cells} |")
    return "\n".join(lines)


def _mean_accuracy(result: dict, heads: Sequence[str]) -> float | None:
    """Mean over the judges that are shown; of what is no images, by the voter, who classifies with it."""
    if all(each["voted"] for each in result["verdicts"]):
        return float(np.mean([each["accuracy"] for each in result["verdicts"]]))
    said = [each for judge in heads if (each := accuracy(result, judge)) is not None]
    return float(np.mean(said)) if said else None


def _summary(values: Iterable[float | None], percent: bool) -> str:
    numbers = np.array([value for value in values if value is not None], dtype=float) * (
        100 if percent else 1
    )
    if len(numbers) == 0:
        return "–"
    if len(numbers) == 1:
        return f"{numbers[0]:.1f} (one seed)"
    return f"{numbers.mean():.1f} ± {numbers.std(ddof=1) / np.sqrt(len(numbers)):.1f}"


def _headline_table(rows: Results, heads: Sequence[str]) -> str:
    methods = defaultdict(list)
    for each in rows:
        methods[_name(each)].append(each)
    shown = [each for each in heads if any(accuracy(row, each) is not None for row in rows)]
    voters = list(dict.fromkeys(each["encoder"] for each in rows))
    titles = [
        *(f"{JUDGES.get(each, each)}, %" for each in shown),
        *(f"{each}, %: **voted**" for each in voters),
        *MEASURES.values(),
    ]
    lines = ["| method | seeds | " + " | ".join(titles) + " |", "|---|---|" + "---|" * len(titles)]
    for name, found in methods.items():
        cells = [_summary([accuracy(each, judge) for each in found], True) for judge in (*shown, *voters)]
        cells += [_summary([each.get(key) for each in found], key in PERCENT) for key in MEASURES]
        lines.append(f"| {name} | {len(found)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _grid(results: Results, axis: str, values: Sequence, heads: Sequence[str]) -> str:
    """Accuracies of every method along one axis."""
    lines = [
        f"| {' / '.join(JUDGES.get(each, each) for each in heads)}, % | {' | '.join(str(value) for value in values)} |",
        "|---|" + "---|" * len(values),
    ]
    for method in METHODS:
        cells = [
            _cell([each for each in found if each["method"] == method], heads)
            for found in _along(results, axis, values)
        ]
        if any(set(cell) - set("– /") for cell in cells):
            lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _along(results: Results, axis: str, values: Sequence) -> list[list[dict]]:
    """The results at each value of one axis, the other as chosen."""
    fixed, at = ("shots", CHOSEN_SHOTS) if axis == "epsilon" else ("epsilon", CHOSEN_EPSILON)
    swept = [each for each in results if _is_swept(each) and each[fixed] == at]
    return [[each for each in swept if each[axis] == value] for value in values]


def _cell(found: Results, heads: Sequence[str]) -> str:
    return " / ".join(_summary([accuracy(each, judge) for each in found], True) for judge in heads)


def _picture(path: Path, results: Results, heads: Sequence[str]) -> None:
    figure, axes = plt.subplots(
        len(heads), 2, figsize=(11, 3.8 * len(heads)), sharey="row", layout="constrained", squeeze=False
    )
    for row, judge in zip(axes, heads, strict=True):
        for panel, (axis, values) in zip(row, (("epsilon", EPSILONS), ("shots", SHOTS)), strict=True):
            _panel(panel, results, judge, axis, values)
    handles = {
        label: handle
        for panel in axes[0]
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    axes[0, 1].legend(
        handles.values(), handles.keys(), loc="center left", bbox_to_anchor=(1, 0.5), frameon=False
    )
    figure.suptitle("Accuracy on held-out real digits 3, 5, 8, by judges that did not vote; mean ± s.e.")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _panel(panel: Axes, results: Results, judge: str, axis: str, values: Sequence) -> None:
    for method in METHODS:
        _curve(panel, _by_value(results, method, judge, axis, values), method)
    if axis == "shots":
        by_shots = _by_value(results, "shots", judge, axis, values)
        _curve(panel, by_shots, YARDSTICKS["shots"][0], "black")
    chosen = [each for each in results if _is_swept(each) and _headline(each)]
    for method, (label, style, colour) in YARDSTICKS.items():
        found = _accuracies(chosen, method, VOTER if method == NEAREST_MEAN else judge)
        if found and (method, axis) != ("shots", "shots"):
            panel.axhline(100 * float(np.mean(found)), linestyle=style, color=colour, label=label)
    panel.set_xscale("log")
    panel.set_xticks([float(value) for value in values], [str(value) for value in values])
    panel.minorticks_off()
    panel.set_xlabel("ε at K = 10 shots" if axis == "epsilon" else "shots per class K at ε = 10")
    panel.set_ylabel(f"{JUDGES.get(judge, judge)}, %")


def _by_value(
    results: Results, method: str, judge: str, axis: str, values: Sequence
) -> dict[float, list[float]]:
    """A method's accuracies at each value of one axis where it has any."""
    found = (_accuracies(there, method, judge) for there in _along(results, axis, values))
    return {float(value): each for value, each in zip(values, found, strict=True) if each}


def _curve(panel: Axes, found: dict[float, list[float]], label: str, colour: str | None = None) -> None:
    """Means and standard errors, %; nothing where nothing was measured."""
    if not found:
        return
    means = [100 * np.mean(each) for each in found.values()]
    errors = [
        100 * np.std(each, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else 0 for each in found.values()
    ]
    panel.errorbar(list(found), means, errors, marker="o", capsize=2, label=label, color=colour)


def _accuracies(results: Results, method: str, judge: str) -> list[float]:
    found = (accuracy(each, judge) for each in results if each["method"] == method)
    return [each for each in found if each is not None]
