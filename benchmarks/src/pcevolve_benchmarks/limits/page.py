"""The page about what PCEvolve can do: its figures as JSON, and the page and the picture that are views of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.resources import files
from statistics import fmean
from typing import Any

import numpy as np

from pcevolve.public.pages.report.charts import Chart, FigureOverSeeds, Series
from pcevolve.public.selectors.rounds import best_tenth
from pcevolve.public.selectors.votes import kept_votes
from pcevolve_benchmarks.limits import chances, measured
from pcevolve_benchmarks.limits.chances import PAPER
from pcevolve_benchmarks.svg import draw_svg

EPSILON = 10.0
EPSILONS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
TAUS = (1.0, 5.0, 10.0, 20.0, 100.0)
"""The paper's Table 4."""
TEST_SETS = (("27 (MVTec AD leather)", 27, 3), ("600 (KVASIR-f)", 600, 3), ("8,482 (COVIDx)", 8482, 2))
README_EPSILON = 0.2
"""Of one iteration, in the official code's example."""
NAMES = {"pcevolve": "PCEvolve", "pe": "PE", "dp-means": "dp-means (ours)"}
THREE_CLASSES = replace(PAPER, classes=3)
"""MVTec AD, on which the paper's accuracy differs most by τ."""
MEASURED = replace(PAPER, iterations=3, candidates=40)
"""T and N of the comparison of selectors."""
HALF = np.repeat([[0.0, 1.0]], PAPER.candidates // 2, axis=1)
"""A pool whose draws are farthest from blind ones: half of all candidates are perfect, and half useless."""
NOT_DRAWN = {chances.COMPOSED, chances.ONE_ROUND, chances.PAPERS_NOISE}
"""Lines of the table that would lie on others of the picture."""
Found = Mapping[str, Any]


def figures(rows: Sequence[measured.Row], by_iteration: Found) -> dict[str, Any]:
    """All figures of the page; chances are shares, 0 to 1.

    Args:
        rows: Of the comparison of selectors.
        by_iteration: What ``pcevolve-bench table figure7`` says.
    """
    lines = chances.lines()
    draws = PAPER.iterations * PAPER.classes
    pools = chances.calibrate_pools(PAPER.candidates)
    best = lines[chances.AT_BEST](EPSILON)
    tenth = best_tenth(PAPER.candidates)
    return {
        "setting": {**asdict(PAPER), "epsilon": EPSILON, "delta": chances.DELTA},
        "epsilon_of_draw": EPSILON / draws,
        "best_case": best,
        "bits": chances.bits_of_a_run(best, PAPER),
        "published": lines[chances.PUBLISHED](EPSILON),
        "utility": float(pools[:, :tenth].mean()),
        "by_tau": {f"{tau:g}": _at_tau(tau) for tau in TAUS},
        "most_difference": chances.most_difference(pools, PAPER, EPSILON),
        "any_difference": chances.most_difference(HALF, PAPER, EPSILON),
        "readme": chances.of_method("pcevolve", README_EPSILON * PAPER.iterations, PAPER),
        "best_of": {name: chances.best_of(20, tested, 1 / classes) for name, tested, classes in TEST_SETS},
        "epsilons": EPSILONS,
        "lines": {
            name: {
                "at_10": chance(EPSILON),
                "half_at": chances.least_epsilon(chance),
                "by_epsilon": [chance(each) for each in EPSILONS],
            }
            for name, chance in lines.items()
        },
        "votes": _votes(),
        "signal_votes": chances.signal_of_votes(EPSILON, PAPER),
        "signal_means": chances.signal_of_means(EPSILON, PAPER),
        "measured": {name: _measure(rows, name) for name in measured.COMPARED},
        "means_over_pe": asdict(measured.gain(rows, "dp-means", "pe")),
        "over_prompt": {name: asdict(measured.gain(rows, name, "t2i")) for name in measured.COMPARED},
        "by_iteration": {
            name: by_iteration["also"]["best"]["bundled"]["rows"][row]
            for name, row in (("random", "random"), ("pcevolve", "PCEvolve"))
        },
    }


def _at_tau(tau: float) -> dict[str, float]:
    pools = chances.calibrate_pools(PAPER.candidates, tau)
    return {
        "chance": chances.as_published(pools, EPSILON / (PAPER.iterations * PAPER.classes)),
        "most_difference": chances.most_difference(pools, THREE_CLASSES, EPSILON),
    }


def _measure(rows: Sequence[measured.Row], name: str) -> dict[str, Any]:
    ideal = fmean(
        chances.of_method(name, EPSILON, replace(MEASURED, classes=classes))
        for classes in measured.count_classes(rows)
    )
    gain, first = measured.gain(rows, name), measured.measure_first_choice(rows, name)
    return {"gain": asdict(gain), "first": asdict(first), "ideal": ideal}


def _votes() -> dict[str, dict[str, float]]:
    few = replace(PAPER, iterations=3)
    kinds = {
        "T = 20, the papers' noise": (
            chances.compute_published_deviation(EPSILON, PAPER),
            chances.PAPERS_NOISE,
        ),
        "T = 20, composed tightly": (1 / chances.signal_of_votes(EPSILON, PAPER), chances.PE_20),
        "T = 3, composed tightly": (1 / chances.signal_of_votes(EPSILON, few), chances.PE_3),
    }
    lines = chances.lines()
    return {
        name: {"sigma": sigma, "left": 90 * kept_votes(0.0, sigma), "best_tenth": lines[line](EPSILON)}
        for name, (sigma, line) in kinds.items()
    }


def page(found: Found) -> str:
    """The page, of figures as ``figures`` finds them or JSON has kept them."""
    share = 100 * found["best_case"]
    facts = {
        "best_case": share,
        "half_epsilon": found["epsilon_of_draw"] / 2,
        "odds": _odds(found["best_case"]),
        "published": 100 * found["published"],
        "readme": 100 * found["readme"],
        "least_tau": 100 * min(each["chance"] for each in found["by_tau"].values()),
        "most_tau": 100 * max(each["chance"] for each in found["by_tau"].values()),
        "most_difference": 100 * found["most_difference"],
        "two_taus": 100 * sum(found["by_tau"][tau]["most_difference"] for tau in ("1", "10")),
        "means_over_pe": _spell(found["means_over_pe"]),
        "ratio": found["signal_means"] / found["signal_votes"],
        **_gains(found),
        **_tables(found),
        **_by_iteration(found["by_iteration"]),
    }
    template = files(__package__).joinpath("page.md").read_text(encoding="utf-8")
    return template.format(**{**found, **facts})


def _gains(found: Found) -> dict[str, str]:
    """Accuracies that were measured beside blind draws and beside the prompt's images."""
    names = {"pcevolve": "pcevolve", "pe": "pe", "means": "dp-means"}
    return {
        key: value
        for name, method in names.items()
        for key, value in (
            (f"gain_{name}", _spell(found["measured"][method]["gain"], "+")),
            (f"{name}_over_prompt", _spell(found["over_prompt"][method], "+")),
        )
    }


def _tables(found: Found) -> dict[str, str]:
    return {
        "best_of": _rows(
            (name, f"{100 / classes:.1f} %", f"{100 * found['best_of'][name]:.1f} %")
            for name, _, classes in TEST_SETS
        ),
        "measured": _rows(
            (
                NAMES[name],
                _spell(each["gain"], "+"),
                _spell(each["first"]),
                f"{100 * each['ideal']:.1f}",
            )
            for name, each in found["measured"].items()
        ),
        "changes": _rows(
            (name, f"{100 * each['at_10']:.1f}", f"{each['half_at']:.3g}")
            for name, each in found["lines"].items()
        ),
        "votes": _rows(
            (name, f"{each['sigma']:.1f}", f"{each['left']:.0f}", f"{100 * each['best_tenth']:.1f}")
            for name, each in found["votes"].items()
        ),
    }


def picture(found: Found) -> bytes:
    """The chance of the best tenth by ε, as SVG."""
    series = [
        Series(name, tuple(enumerate(each["by_epsilon"])))
        for name, each in found["lines"].items()
        if name not in NOT_DRAWN
    ]
    luck = Series("luck", tuple((place, 0.1) for place in range(len(found["epsilons"]))))
    title = "Chance that a choice is of the best tenth, by ε"
    shown = Chart(title, title, [*series, luck], 1.0, "{:.0%}".format)
    return draw_svg(shown, [f"{each:g}" for each in found["epsilons"]])


def _by_iteration(found: Found) -> dict[str, str]:
    return {
        f"{method}_{said}": _spell(value, scale=100)
        for method, columns in found.items()
        for said, column in (("last", "digits, last"), ("best", "digits, best on the test images"))
        for value in (columns[column],)
    }


def _odds(share: float) -> float:
    """How much likelier one of the best ten is than one of the other ninety."""
    return 9 * share / (1 - share)


def _spell(value: Found, sign: str = "", scale: float = 1) -> str:
    """A mean with its interval."""
    known = FigureOverSeeds(value["mean"], value["half"], value["seeds"])
    half = "" if known.half is None else f" ± {scale * known.half:.1f}"
    return f"{scale * known.mean:{sign}.1f}{half}".replace("-", "−")


def _rows(rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(each)} |" for each in rows)
