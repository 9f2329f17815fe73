"""Linear probe of the bundled encoder on scikit-learn's handwritten digits (evaluation only)."""

from __future__ import annotations

import argparse
import json

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from torch.nn import functional as tf

from pcevolve.encoders.bundled import load_bundled


def few_shot(features: np.ndarray, target: np.ndarray, classes: list[int], shots: int, seed: int) -> float:
    """Return test accuracy of a linear head fitted on ``shots`` images per class."""
    rng = np.random.default_rng(seed)
    train = np.concatenate([rng.permutation(np.flatnonzero(target == c))[:shots] for c in classes])
    test = np.setdiff1d(np.flatnonzero(np.isin(target, classes)), train)
    mean, scale = features[train].mean(0), features[train].std()
    head = LogisticRegression(max_iter=2000).fit((features[train] - mean) / scale, target[train])
    return float(head.score((features[test] - mean) / scale, target[test]))


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shots", type=int, default=10)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    digits, net = load_digits(), load_bundled()
    cells = torch.from_numpy(digits.images).float()[:, None] / 16
    large = tf.interpolate(cells, size=64, mode="bilinear").repeat(1, 3, 1, 1)
    embedded = torch.cat([net(part) for part in large.split(256)]).numpy()
    pixels = digits.data / 16
    for classes in ([3, 5, 8], list(range(10))):
        for name, features in (("encoder", embedded), ("pixels", pixels)):
            scores = [few_shot(features, digits.target, classes, args.shots, s) for s in range(args.draws)]
            error = float(np.std(scores) / np.sqrt(args.draws))
            print(json.dumps({"classes": classes, "features": name, "mean": np.mean(scores), "error": error}))


if __name__ == "__main__":
    main()
