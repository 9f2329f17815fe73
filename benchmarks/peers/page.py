"""Writes what the comparison found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.rows import Row, accuracy, summary, table

HEADER = """# Against the peers

Written by `python -m benchmarks.peers --checkout DPSDA`: DPSDA's published Private Evolution and our methods on the
same private images, the same API server (the bundled model, two processes), the same encoder (`bundled`) and the
same guarantee (δ = 1e-5, add-remove), N = 40 images per class; means and standard errors over seeds, each another
draw of the private images, other images of the provider's and other noise. Linear heads on encoders that did not
vote and a small network from scratch judge on held-out real images; the last judge **voted**. The Fréchet distance
is to held-out images and of few samples, so it compares rows of one table and nothing else. Seconds are by the
clock from the start of a process to its end, private work padded to whole seconds in ours. `pe` has the same
settings as DPSDA: three rounds at strengths 0.9, 0.75, 0.6, no lookahead, H = 0, every image varied once, 16 images
under way at once on both sides. The last three rows ask no server; their releases are at the same ε and δ, under
replace-one.

"""
FOOTER = """## What is compared, and what was seen

DPSDA is not on the package registry, and no checkout could be cloned where this was measured: its runner,
population, histogram, mechanism and data classes were put together from the files of its main branch as a public
store had them on 2026-11-24, without their docstrings and without the modules that these do not use. API class and
embedding class are what the package asks its users to write (`benchmarks/peers/published.py`). It needs omegaconf
2.3; with 2.4 it stops.

- The two implementations of Private Evolution are not told apart by any judge that did not vote, as they should not be.
  Sent one after the other, our requests took six times as long as DPSDA's with 16 under way; since `--at-once` what is
  left of the difference is the record on disk, padding of private work, and the report
  ([decision 18](../decisions/0018-the-gate-builds.md)).
- `dp-means` selects once out of as many images as the others make in all, in a twentieth of the requests. By the
  network from scratch it is ahead by 15 points on the second and the third set and not told apart on the first; by
  linear heads it is ahead by a few points or not told apart. Steel is not drawn by the bundled model: MobileNet's head
  is at chance (33 %) there whatever was selected.
- Beside the yardsticks: by the CNN neither implementation of Private Evolution is told apart from the prompt's images
  (`t2i`) as being ahead on any of the three sets; `dp-means` is ahead by 10 and 15 points on the second and the third
  and by 4, which is not told apart, on the first. On digits and MNIST the private images themselves are far ahead of
  all. On steel random phases under a released spectrum, without any generator, are ahead of everything that a generator
  drew. (`t2i` and the last three rows were measured later than the others, beside other work: its seconds say little.)
- DPSDA's noise comes from NumPy's global generator in floating point; ours from the operating system and exact.
- With its default H (none) DPSDA draws by negative counts and stops; without `fraction_per_label_id` it takes the
  classes' proportions from the private data, and says so.
"""


def render(rows: Sequence[Row], eye: str, voter: str) -> str:
    """The page."""
    settings = dict.fromkeys(row["setting"] for row in rows)
    return HEADER + "".join(_part(name, rows, eye, voter) for name in settings) + FOOTER


def _part(setting: str, rows: Sequence[Row], eye: str, voter: str) -> str:
    here = [row for row in rows if row["setting"] == setting]
    columns = _columns(here, eye, voter)
    return f"## {setting}\n\n" + table(("", "seeds", *columns.values()), _lines(here, list(columns))) + "\n"


def _columns(rows: Sequence[Row], eye: str, voter: str) -> dict[str, str]:
    others = [each for each in ("cnn", "mobilenet", "squeezenet") if accuracy(rows[0], each) is not None]
    return {
        **{each: f"{each}, %" for each in others},
        voter: f"{voter}, %: **voted**",
        "frechet": f"Fréchet distance ({eye})",
        "images": "API images",
        "requests": "requests",
        "seconds": "seconds",
    }


def _lines(rows: Sequence[Row], columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for name in dict.fromkeys(row["contender"] for row in rows):
        own = [row for row in rows if row["contender"] == name]
        yield (name, str(len(own)), *(summary(_figures(own, each)) for each in columns))


def _figures(rows: Sequence[Row], column: str) -> np.ndarray:
    """Return the rows' figures in a column, accuracies in percent; NaN where they say nothing."""
    said = [100 * each for row in rows if (each := accuracy(row, column)) is not None]
    return np.array(said or [row.get(column, np.nan) for row in rows])
