"""A package with the names of DPSDA's that ``benchmarks.peers`` uses, which selects nothing; for tests only."""

from __future__ import annotations

from pathlib import Path

DP = """class Gaussian:
    _noise_multiplier = 1.5
"""
HISTOGRAM = """class NearestNeighbors:
    def __init__(self, embedding, mode, lookahead_degree, api):
        self.embedding = embedding
"""
POPULATION = """class PEPopulation:
    def __init__(self, api, histogram_threshold):
        self.api = api
"""
API = """class API:
    pass
"""
EMBEDDING = """class Embedding:
    column_name = 'PE.EMBEDDING'
"""
DATA = """class Data:
    def __init__(self, data_frame, metadata=None):
        self.data_frame, self.metadata = data_frame, metadata
"""
RUNNER = """from types import SimpleNamespace

import pandas as pd

from pe.data import Data


class PE:
    "What the published runner does, without its selection."

    def __init__(self, priv_data, population, histogram, dp):
        self.data, self.api, self.embedding = priv_data, population.api, histogram.embedding

    def run(self, num_samples_schedule, fraction_per_label_id, **options):
        assert len(self.embedding.compute_embedding(self.data).data_frame["PE.EMBEDDING"].iloc[0]) == 256
        classes = self.data.metadata["label_info"]
        each = num_samples_schedule[0] // len(classes)
        parts = [self.api.random_api(SimpleNamespace(**info), each).data_frame for info in classes]
        made = Data(pd.concat(parts, ignore_index=True), SimpleNamespace(iteration=0))
        for iteration in range(len(num_samples_schedule) - 1):
            made.metadata.iteration = iteration
            made = self.api.variation_api(made)
        return made
"""
FILES = {
    "pe/__init__.py": "",
    "pe/dp.py": DP,
    "pe/histogram.py": HISTOGRAM,
    "pe/population.py": POPULATION,
    "pe/api.py": API,
    "pe/embedding.py": EMBEDDING,
    "pe/data.py": DATA,
    "pe/runner/__init__.py": RUNNER,
}


def fake_dpsda(root: Path) -> Path:
    """Write the package into a folder that can stand on the path of modules."""
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root
