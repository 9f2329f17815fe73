"""All datasets that can be read, by name."""

from __future__ import annotations

from pcevolve.errors import UsageError
from pcevolve_benchmarks.datasets import (
    camelyon17,
    cifar10,
    class_folders,
    covidx,
    hugging_face,
    medmnist,
    mnist,
)
from pcevolve_benchmarks.datasets.items import Dataset

DATASETS: dict[str, Dataset] = {
    each.name: each
    for each in (
        covidx.DATASET,
        covidx.AS_PUBLISHED,
        camelyon17.DATASET,
        class_folders.KVASIR_DATASET,
        class_folders.LEATHER_DATASET,
        class_folders.MVTEC_DATASET,
        class_folders.CATS_DATASET,
        cifar10.DATASET,
        mnist.DATASET,
        medmnist.DATASET,
        hugging_face.DATASET,
        class_folders.FOLDER_DATASET,
    )
}


def dataset(name: str) -> Dataset:
    """Find a dataset.

    Raises:
        UsageError: There is none of that name.
    """
    if name not in DATASETS:
        raise UsageError(f"there is no dataset '{name}': choose one of {', '.join(DATASETS)}")
    return DATASETS[name]
