"""Membership inference by the provider: how well he tells neighbouring datasets apart by all that crosses the wire.

    .venv/bin/python -m benchmarks.membership
    .venv/bin/python -m benchmarks.membership --timing 40

It writes docs/results/membership.{md,json}. With ``--timing`` the attacker has nothing but a clock, and the rows of the
other attack stay as they are. Every bet follows a whole run of the client's own loop, judge, ledger and
gate, against a provider that chooses its images for the attack (tests/membership). Noise is seeded, so that the
figures can be made again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from benchmarks.rows import parser_of
from membership.attack import Bare, Bet, Result, attack, rehearse, too_quiet
from membership.stopwatch import (
    IMAGE_SIZE,
    LARGE,
    PATIENT,
    PATIENT_SIZE,
    Verdict,
    take_defences_away,
    time_runs,
)
from membership.stopwatch import Client as Timed
from membership.world import Setting
from pcevolve.public.dp.mechanisms import Noise, SeededNoise

METHODS = ("random", "pcevolve", "jvem", "pe", "dp-means")
EPSILONS = (1, 2, 4, 10)
TICK = 1.0  # --pad-selection's default
ROUNDS = {"dp-means": 1}  # it looks at the data once, whatever the rounds


@dataclass(frozen=True)
class Client:
    """How a client draws.

    Attributes:
        name: In the tables.
        noise_of: Its noise, by the run's number.
        epsilons: For which it is attacked.
        share: Of the runs: what leaks plainly needs few.
    """

    name: str
    noise_of: Callable[[int], Noise]
    epsilons: tuple[int, ...]
    share: float = 1.0


CLIENTS = (
    Client("as calibrated", SeededNoise, EPSILONS),
    Client("30 % too small", too_quiet, (4,)),
    Client("none (leaky client)", lambda number: Bare(), (1, 10), share=0.2),
)


def main() -> None:
    """Attack every method, or play with a clock, and write the tables."""
    given = _arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "membership.json"
    fresh = {"runs": 0, "seconds": 0, "results": []}
    facts: dict[str, Any] = json.loads(path.read_text()) if path.exists() else fresh
    started = time.monotonic()
    if given.timing:
        facts["timing"] = [each.as_dict() for each in _time(given.timing)]
    else:
        found = [each.as_dict() for each in _results(given)]
        facts |= {"runs": given.runs, "results": join(facts["results"], found)}
        facts["seconds"] = round(time.monotonic() - started)
    path.write_text(json.dumps(facts, indent=1) + "\n")
    names = {each.name for each in fields(Result)}
    results = [Result(**{k: v for k, v in row.items() if k in names}) for row in facts["results"]]
    page = _page(results, facts["runs"]) + _timing(facts.get("timing", []))
    (given.out / "membership.md").write_text(page)


def join(known: list[dict[str, Any]], fresh: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fresh rows in the place of all that is known of their methods, in the order of ``METHODS``."""
    measured = {row["method"] for row in fresh}
    kept = [row for row in known if row["method"] not in measured]
    return sorted([*kept, *fresh], key=lambda row: METHODS.index(row["method"]))


def _arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--runs", type=int, default=500, help="whole runs on each of two datasets, per row")
    parser.add_argument(
        "--methods", nargs="+", default=METHODS, choices=METHODS, help="rows of the others stay as they are"
    )
    parser.add_argument("--epsilons", nargs="+", type=int, default=EPSILONS)
    parser.add_argument("--rounds", type=int, default=2, help="T")
    parser.add_argument("--timing", type=int, help="judge an attacker with a clock by so many runs, per row")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    return parser.parse_args()


def _results(given: argparse.Namespace) -> Iterator[Result]:
    for name in given.methods:
        for epsilon in given.epsilons:
            setting = Setting(name, Fraction(epsilon), ROUNDS.get(name, given.rounds))
            bet, off = rehearse(setting), rehearse(setting, too_quiet)
            for client in CLIENTS:
                if epsilon not in client.epsilons or (
                    setting.parts.selector is None and client is not CLIENTS[0]
                ):
                    continue
                result = _attack(setting, client, given.runs, bet, off)
                print(_row(result), file=sys.stderr, flush=True)
                yield result


def _attack(setting: Setting, client: Client, runs: int, bet: Bet, off: Bet) -> Result:
    many = max(int(client.share * runs), 1)
    off_if_noisy = off if client.share == 1 else None
    return attack(setting, many, bet, off_if_noisy, client.noise_of, client.name)


def _time(judged: int) -> Iterator[Verdict]:
    """Both pairs, without rounds and with one, against the client as it is and without its defence."""
    for pair in (IMAGE_SIZE, PATIENT_SIZE):
        for rounds in (0, 1):
            yield _report(time_runs(pair, Timed(rounds, TICK), max(judged // 3, 4), judged))
            with take_defences_away():
                yield _report(time_runs(pair, Timed(rounds, 0), max(judged // 3, 4), judged, "no defence"))


def _report(verdict: Verdict) -> Verdict:
    print(_timing_row(verdict.as_dict()), file=sys.stderr, flush=True)
    return verdict


def _timing(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return ""
    head = "differs | client | T | tick | right | 99.9 % limits | median silence | verdict"
    lines = [
        "",
        "## Nothing but a clock",
        "",
        "Made by `.venv/bin/python benchmarks/membership --timing "
        f"{rows[0]['judged']}`. The attacker sees only when requests arrive and when the connection closes. Two "
        "neighbouring datasets differ in one patient: one image of 64 x 64 against one of "
        f"{LARGE[0]} x {LARGE[1]}, or one image against {PATIENT}. The client is whole, but for an encoder that is "
        "slow on purpose. He trains a threshold on some runs, and is judged by others; 50 % is chance. *Median "
        "silence*: of the pause that he chose to look at, on the first and on the second dataset, in seconds. *No "
        "defence*: no tick, the connection stays open until the run ends, and images are looked at when needed.",
        "",
        f"| {head} |",
        "|" + "---|" * 8,
        *map(_timing_row, rows),
    ]
    return "\n".join(lines) + "\n"


def _timing_row(row: dict[str, Any]) -> str:
    low, high = row["limits"]
    first, second = row["medians"][row["bet"]["silence"]]
    cells = (
        row["pair"],
        row["client"],
        str(row["rounds"]),
        f"{row['tick']:g} s",
        f"{row['right']} of {row['judged']}",
        f"{low:.0%} … {high:.0%}",
        f"{first:.3f} / {second:.3f}",
        "knows nothing" if row["knows_nothing"] else "**knows**",
    )
    return "| " + " | ".join(cells) + " |"


def _page(results: list[Result], runs: int) -> str:
    of = {client.name: [each for each in results if each.noise == client.name] for client in CLIENTS}
    lines = [
        "# Membership inference by the provider",
        "",
        "Made by `.venv/bin/python benchmarks/membership`; figures in `membership.json`. The attacker is the provider: "
        "he sees every request, knows the client's code and two datasets that differ in one image (`replace-one`), "
        "sends candidates that lie exactly where that image decides, and bets after each whole run on one of the two "
        "by the likelihood ratio of all that came back. *Advantage* is the share of right bets on the second dataset "
        f"less that of wrong ones; {runs} runs on each dataset (a fifth for the leaky client), with 95 % "
        "Clopper-Pearson limits of both shares together. *Expected* is what this attacker reaches by his own "
        "rehearsals of the selectors' code with honest noise; *events allow* is the most that the events that were "
        "paid for allow to anybody who asks the same in every round, which knows nothing of the code; *bound* is "
        "`(e^ε - 1 + 2δ)/(e^ε + 1)`, the most that (ε, δ)-DP allows to any attacker. The verdict names the strongest "
        "of the three that the lower limit refutes. *Power*: the probability that a client whose noise is 30 % too "
        "small would be caught by this many runs, its lower limit being above *expected*.",
        "",
        *_table("Noise as calibrated", of["as calibrated"]),
        *_table("Noise that is 30 % too small: to be found out", of["30 % too small"]),
        "A row that holds here is one that its runs were too few for: see its power.",
        "",
        *_table("No noise: to be seen through", of["none (leaky client)"]),
        "What the figures do not say: that no better attack exists. The datasets are bad ones and the bet is the best "
        "for them, but only the accountants' proofs hold for all.",
    ]
    return "\n".join(lines) + "\n"


def _table(title: str, results: list[Result]) -> list[str]:
    head = "method | ε | δ | T | runs | advantage | 95 % limits | expected | events allow | bound | verdict | power"
    return [f"## {title}", "", f"| {head} |", "|" + "---|" * 12, *map(_row, results), ""]


def _row(each: Result) -> str:
    cells = (
        f"`{each.method}`",
        f"{each.epsilon:g}",
        f"{each.delta:g}",
        str(each.rounds),
        str(each.runs),
        f"{each.advantage:.3f}",
        f"{each.low:.3f} … {each.high:.3f}",
        f"{each.expected:.3f}",
        f"{each.ceiling:.3f}",
        f"{each.bound:.3f}",
        _verdict(each),
        "" if each.power is None else f"{each.power:.2f}",
    )
    return "| " + " | ".join(cells) + " |"


def _verdict(each: Result) -> str:
    """The strongest thing that the lower limit refutes."""
    if not each.holds:
        return "**(ε, δ) refuted**"
    if not each.as_paid:
        return "**events refuted**"
    return "holds" if each.as_expected else "**noise refuted**"


if __name__ == "__main__":
    main()
