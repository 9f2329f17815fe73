"""Writes what the trials found: one JSON file, one page of tables, one picture."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from grid import CHOSEN_EPSILON, CHOSEN_SHOTS, DEVELOPMENT, EPSILONS, METHODS, SHOTS, WORLDS
from matplotlib import pyplot as plt

MEASURES = {
    "linear": "linear head, %",
    "cnn": "CNN, %",
    "frechet": "Fréchet distance",
    "diversity": "diversity",
    "recall": "recall",
    "best_tenth": "best tenth, %",
    "images": "API images",
}
PERCENT = {"linear", "cnn", "best_tenth", "recall"}
Results = Sequence[dict]


def write(out: Path, results: Results) -> None:
    """Write ``selectors.json``, ``selectors.md`` and ``selectors.png``."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "selectors.json").write_text(json.dumps(list(results), indent=0) + "\n")
    parts = [HEADER]
    for world in WORLDS:
        rows = [each for each in results if each["world"] == world and _headline(each)]
        if rows:
            parts.append(f"\n## {TITLES.get(world, world)}\n\n{_headline_table(rows)}")
    parts.append(f"\n## Every ε at {CHOSEN_SHOTS} shots\n\n{_grid(results, 'epsilon', EPSILONS)}")
    parts.append(f"\n## Every K at ε = {CHOSEN_EPSILON}\n\n{_grid(results, 'shots', SHOTS)}")
    (out / "selectors.md").write_text("\n".join(parts) + "\n")
    _picture(out / "selectors.png", results)


HEADER = """# Selectors at equal budget

Written by `make bench-selectors`; every figure is mean ± standard error over seeds, and every seed is another draw
of the private shots, other images from the generator and other noise. Neighbour relation replace-one, δ = 1e-5 (0
for PCEvolve's exponential mechanism), N = 40 images per class, bundled generator and encoder. Accuracy is measured
on held-out real images, for a linear head on the encoder and for a small CNN that is trained on the synthetic pixels
from scratch.
`random` is the control, `t2i` the prompt's images as they come, `shots` training on the private images themselves,
`noise-free` the same method without its noise; the last two protect nobody. "Best tenth" is the share of
the first round's prototypes that are among the tenth of the first pool which lies closest to real held-out images.
"""
TITLES = {
    DEVELOPMENT: "Digits 3, 5, 8, named in the prompt (development data: methods were tuned on it)",
    "digits:0,4,7": "Digits 0, 4, 7, named in the prompt (looked at: that subjects' places matter was seen here)",
    "digits:1,6,9": "Digits 1, 6, 9, named in the prompt (not tuned on, but two forms of the place were compared here)",
    "marks:3=type A,8=type B": "Digits 3 and 8 under names that say nothing (not tuned on)",
    "mnist:1,2,6": "MNIST 1, 2, 6, named in the prompt (looked at: matching harmed)",
    "steel:crazing,patches,scratches": "Steel: crazing, patches, scratches (looked at: matching harmed)",
    "mnist:3,5,8": "MNIST 3, 5, 8, named in the prompt (measured once all was settled)",
    "steel:inclusion,pitted_surface,rolled-in_scale": "Steel: three other defects (measured once all was settled)",
}


EMPTY = "– / –"
SEEDS = 10
"""A cell with fewer says so."""


def _swept(result: dict) -> bool:
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
        result["appearance"] and f"appearance {result['appearance']}",
        None if result["noise"] else "noise-free",
    )
    return ", ".join(part for part in parts if part)


def _summary(values: Iterable[float | None], percent: bool) -> str:
    numbers = np.array([value for value in values if value is not None], dtype=float) * (
        100 if percent else 1
    )
    if len(numbers) == 0:
        return "–"
    if len(numbers) == 1:
        return f"{numbers[0]:.1f} (one seed)"
    return f"{numbers.mean():.1f} ± {numbers.std(ddof=1) / np.sqrt(len(numbers)):.1f}"


def _headline_table(rows: Results) -> str:
    methods = defaultdict(list)
    for each in rows:
        methods[_name(each)].append(each)
    lines = [
        "| method | seeds | " + " | ".join(MEASURES.values()) + " |",
        "|---|---|" + "---|" * len(MEASURES),
    ]
    for name, found in methods.items():
        cells = [_summary([each.get(key) for each in found], key in PERCENT) for key in MEASURES]
        lines.append(f"| {name} | {len(found)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _grid(results: Results, axis: str, values: Sequence) -> str:
    """Both accuracies of every method along one axis."""
    lines = [
        f"| linear head / CNN, % | {' | '.join(str(value) for value in values)} |",
        "|---|" + "---|" * len(values),
    ]
    for method in METHODS:
        cells = [
            _cell([each for each in found if each["method"] == method])
            for found in _along(results, axis, values)
        ]
        if any(cell != EMPTY for cell in cells):
            lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _along(results: Results, axis: str, values: Sequence) -> list[list[dict]]:
    """The results at each value of one axis, the other as chosen."""
    fixed, at = ("shots", CHOSEN_SHOTS) if axis == "epsilon" else ("epsilon", CHOSEN_EPSILON)
    swept = [each for each in results if _swept(each) and each[fixed] == at]
    return [[each for each in swept if each[axis] == value] for value in values]


def _cell(found: Results) -> str:
    shown = " / ".join(_summary([each[key] for each in found], True) for key in ("linear", "cnn"))
    return shown if len(found) in (0, SEEDS) else f"{shown} ({len(found)} seeds)"


def _picture(path: Path, results: Results) -> None:
    figure, axes = plt.subplots(2, 2, figsize=(11, 7.5), sharey="row", layout="constrained")
    for row, measure in zip(axes, ("linear", "cnn"), strict=True):
        for panel, (axis, values) in zip(row, (("epsilon", EPSILONS), ("shots", SHOTS)), strict=True):
            _panel(panel, results, measure, axis, values)
    axes[0, 1].legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    figure.suptitle("Accuracy on held-out real digits 3, 5, 8; mean ± s.e.")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _panel(panel: plt.Axes, results: Results, measure: str, axis: str, values: Sequence) -> None:
    own = [each for each in results if _swept(each)]
    for method in METHODS:
        places, means, errors = [], [], []
        for value, there in zip(values, _along(results, axis, values), strict=True):
            found = [each[measure] for each in there if each["method"] == method]
            if found:
                places.append(float(value))
                means.append(100 * np.mean(found))
                errors.append(100 * np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0)
        if places:
            panel.errorbar(places, means, errors, marker="o", capsize=2, label=method)
    for method, style in (("t2i", "--"), ("random", ":")):
        found = [each[measure] for each in own if each["method"] == method]
        if found:
            panel.axhline(100 * np.mean(found), linestyle=style, color="grey", label=method)
    panel.set_xscale("log")
    panel.set_xticks([float(value) for value in values], [str(value) for value in values])
    panel.minorticks_off()
    panel.set_xlabel("ε at K = 10 shots" if axis == "epsilon" else "shots per class K at ε = 10")
    panel.set_ylabel({"linear": "linear head, %", "cnn": "CNN from scratch, %"}[measure])
