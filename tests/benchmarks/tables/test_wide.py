"""Private Evolution's classifier from scratch, and ensembles of it."""

from __future__ import annotations

import numpy as np
import pytest

from pcevolve.errors import UsageError
from pcevolve.evaluation.heads import Training
from pcevolve_benchmarks.tables.judges import has_embeddings, table_judges
from pcevolve_benchmarks.tables.wide import WideNetwork, ensembled, train_wide, wide_judge


def reds_and_greens() -> Training:
    targets = np.repeat([0, 1], 12)
    features = np.random.default_rng(0).random((24, 3, 16, 16)).astype(np.float32) * 0.4
    features[targets == 0, 0] += 0.5
    features[targets == 1, 1] += 0.5
    return Training(features, targets, 2)


def test_the_published_network_has_the_published_number_of_weights():
    shapes = Training(np.zeros((1, 3, 8, 8), np.float32), np.zeros(1, np.int64), 10)
    network = train_wide(shapes, 0, depth=40, width=4, epochs=0).network
    assert sum(each.numel() for each in network.parameters()) == 8_949_210, (
        "8.9 million in its paper's Table 3"
    )


def test_it_learns_what_an_untrained_one_does_not_know():
    training = reds_and_greens()
    heads = [train_wide(training, 0, 10, 1, epochs) for epochs in (0, 8)]
    right = [float((head(training.features) == training.targets).mean()) for head in heads]
    assert right[1] == 1.0 > right[0]


def test_a_seed_gives_the_same_network_once_more():
    training = reds_and_greens()
    one, same, other = (train_wide(training, seed, 10, 1, 1).scores(training.features) for seed in (0, 0, 1))
    assert (one == same).all()
    assert (one != other).any()


def test_an_ensemble_goes_by_the_mean_of_the_scores():
    class Fixed(WideNetwork):
        def scores(self, features):
            return np.array(self.network, dtype=np.float32)

    sure, unsure = Fixed([[9.0, 0.0], [0.0, 1.0]]), Fixed([[0.0, 1.0], [0.0, 2.0]])
    assert ensembled([sure, unsure, unsure], np.zeros(2)).tolist() == [0, 1]


def test_a_wide_network_judges_beside_others_and_sees_pixels():
    names = [each.name for each in table_judges(["wrn-16-2", "cnn"], "bundled")]
    assert names == ["wrn-16-2", "cnn"]
    assert [has_embeddings(name) for name in (*names, "bundled")] == [False, False, True]


@pytest.mark.parametrize("name", ["wrn-", "wrn-12-4", "wrn-40", "wrn-4-1", "wrn-16-0"])
def test_a_network_that_there_is_not_is_refused(name: str):
    with pytest.raises(UsageError, match="wrn-DEPTH-WIDTH"):
        wide_judge(name)
