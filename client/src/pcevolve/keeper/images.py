"""A run with images: how they are asked for, read, judged, measured and shown; see ``kind.KindOfRun``.

What judges and measures needs torch, which takes seconds to load, so those functions import it themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pcevolve.errors import DataError, UsageError
from pcevolve.keeper.private.dataset import PrivateDataset, load
from pcevolve.keeper.private.listing import Listing, list_folder, shorten
from pcevolve.keeper.private.units import group_into_units, read_units, require_unit_size
from pcevolve.keeper.private_data import (
    NOTHING_LEFT,
    SPLIT_SEED,
    RunData,
    count_and_name,
    note_companions,
    note_ids,
    require_shots,
    tell_drawable,
)
from pcevolve.public import requests
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.files import REST
from pcevolve.public.dialects import Advice, ModelSize
from pcevolve.public.encoders import BUNDLED
from pcevolve.public.encoders.published import PREFERRED, is_fetched
from pcevolve.public.media import Item
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Budget
from pcevolve.public.screen import ProgressCallback, no_progress
from pcevolve.public.selectors.method import AppearanceMode, Method, Schedule
from pcevolve.public.selectors.rounds import Scope
from pcevolve.public.settings import window_ends
from pcevolve.public.sources import PICTURES, FolderSource, TermsSource, parse_source
from pcevolve.public.words import SINGLE, TEMPLATE, UNLABELLED_TEMPLATE

if TYPE_CHECKING:
    from pcevolve.keeper.evaluation.judge import Evaluator, Features
    from pcevolve.keeper.evaluation.labelled import Labelled


def choose_modality(
    settings: RunConfig, size: ModelSize, advice: Advice | None, asked: AbstractSet[str]
) -> dict[str, object]:
    """The settings of images in a plan; see ``KindOfRun``."""
    asks = settings.provider
    # A guidance of 0 is a wish, too.
    guidance = advice.guidance if advice else requests.USUAL_GUIDANCE
    settled = {
        "guidance": guidance if asks.guidance is None else asks.guidance,
        "steps": asks.steps or (advice.steps if advice else requests.USUAL_STEPS),
    }
    weighed = asks.adapter is not None and asks.adapter_scale is None
    return {
        **requests.ImageSettings.take(asks),
        **{name: value if name in asked else None for name, value in settled.items()},
        **({"adapter_scale": requests.USUAL_ADAPTER_SCALE} if weighed else {}),
        "kind": "image",
        "width": asks.size or size.width,
        "height": asks.size or size.height,
        "sized": "size" in asked,
        "graded": "strength" in asked,
    }


def choose_template(unlabelled: bool) -> str:
    """The usual prompt; what has no labels has nothing but the domain's words."""
    return UNLABELLED_TEMPLATE if unlabelled else TEMPLATE


def choose_schedule(method: Method) -> Schedule:
    """The strengths of a method's variations, unless the user says."""
    return method.schedule


def choose_appearance(method: Method, budget: Budget, scope: Scope, calibration: str) -> AppearanceMode:
    """Return how an image's look is treated where nobody says: as the method does."""
    return method.appearance_for(budget, scope, calibration)


def read_run(settings: RunConfig, told: ProgressCallback = no_progress) -> RunData:
    """Read the images that a run is asked to use."""
    source = parse_source(settings.data.private)
    if isinstance(source, PICTURES):
        from pcevolve.keeper.private.bundled import load_pictures  # scikit-learn takes seconds to load

        data, rest = load_pictures(source, settings.data.shots, SPLIT_SEED)
        return RunData(data, rest, test_is_public=True)
    if isinstance(source, TermsSource):
        raise UsageError("--private terms are texts, and this API makes images")
    listing = used = _list(settings, source)
    left: Listing | None = None
    counted = "images" if listing.units is None else f"units ({listing.units.kind})"
    if settings.data.unit_size and listing.units is not None:
        require_unit_size(listing.unit_keys, listing.names, listing.units.kind, settings.data.unit_size)
    if settings.data.subsample is not None:
        tell_drawable(settings, listing.count_drawable(), counted)
        used, left = listing.draw(settings.data.subsample, settings.data.subsample_seed)
    window = window_ends(settings.data.window)
    # Before units are counted: what cannot be read, or is there twice, has to go, and then there are fewer.
    data = group_into_units(load(used, told=told, window=window), used.units)
    require_shots(settings, used.count_units(), counted, used.count_drawable())
    return RunData(data, _test(settings, data, left), notes=tuple(_note(listing)))


def _note(listing: Listing) -> Iterator[tuple[str, str]]:
    """Yield what the owner may not expect of the names of files and units."""
    if listing.skipped:
        yield "passed over", f"no images, {count_and_name([shorten(file) for file in listing.skipped])}"
    if listing.units is not None:
        yield from (("NOTE", each) for each in note_ids(listing.unit_keys, listing.units.kind))
    yield from (("NOTE", each) for each in note_companions(listing))


def read_owned(given: str, plan: PublicPlan, option: str, began: RunConfig | None) -> PrivateDataset:
    """The owner's images that an option of ``evaluate`` names; see ``KindOfRun``."""
    source = parse_source(given)
    if isinstance(source, TermsSource):
        raise UsageError(f"{option} {given}: these are texts, and the run is of images")
    if isinstance(source, PICTURES):
        from pcevolve.keeper.private.bundled import load_pictures  # scikit-learn's data take seconds to load

        shots, rest = load_pictures(source, plan.data.shots, SPLIT_SEED)
        return shots if option == "--private" else rest
    # Where a map said whose each image of the run is, the owner's may lie in folders of units too.
    listing = list_folder(source.path, nested=plan.unit not in SINGLE)
    return load(listing, unique=False, window=window_ends(plan.data.window))


def count_drawable(folder: Path, unit_map: Path | None) -> int:
    """Units of each class that can be drawn of a folder of class folders, all classes alike; 0 for none."""
    return min(_map_units(list_folder(folder, None), unit_map).count_drawable().values())


def _list(settings: RunConfig, source: FolderSource) -> Listing:
    """The images by name, with their units where several images are one."""
    label = settings.data.domain if settings.data.unlabelled else None
    # A map says of every image in a folder of its own whose it is.
    listing = list_folder(source.path, label, nested=settings.data.unit_map is not None)
    return _map_units(listing, settings.data.unit_map)


def _map_units(listing: Listing, unit_map: Path | None) -> Listing:
    return replace(listing, units=read_units(unit_map, listing.names)) if unit_map else listing


def _test(settings: RunConfig, data: PrivateDataset, rest: Listing | None) -> PrivateDataset | None:
    """Held-out images of the same classes."""
    if settings.data.test is None:
        return None
    if len(data.labels) == 1:
        raise UsageError("--test measures a classifier, which a single class has no use for: leave it out")
    if settings.data.test == REST and rest is not None:
        if len(set(rest.targets)) < len(rest.labels):
            raise DataError(NOTHING_LEFT.format(kind="image"))
        return load(rest, unique=False, window=window_ends(settings.data.window))
    there = list_folder(Path(settings.data.test), None, nested=settings.data.unit_map is not None)
    test = load(there, unique=False, window=window_ends(settings.data.window))
    if test.labels != data.labels:
        raise UsageError(f"--test {settings.data.test} must have the same class folders as --private")
    return test


STRANGER = "cnn"
"""The name of a small network that is trained on the pixels from scratch; it never voted."""


def list_encoders() -> list[str]:
    """Encoders that are at hand, better first."""
    return [*filter(is_fetched, PREFERRED), BUNDLED]


def list_judges() -> list[str]:
    """Judges of a dataset where nobody names any."""
    return [*filter(is_fetched, PREFERRED), STRANGER, BUNDLED]


def make_stranger(quick: bool = False) -> Evaluator:
    """The network, or with ``quick`` one that takes a quarter of its steps."""
    from pcevolve.keeper.evaluation.heads import QUICK_STEPS, train_cnn
    from pcevolve.keeper.evaluation.judge import Evaluator

    train = partial(train_cnn, steps=QUICK_STEPS) if quick else train_cnn
    return Evaluator(STRANGER, voted=False, look=_pixels, train=train)


def _pixels(images: Iterable[Item | None]) -> Features:
    from pcevolve.keeper.evaluation.heads import CNN_SIDE
    from pcevolve.public.encoders.singly import pixel_array

    return pixel_array(list(images), CNN_SIDE)


def find_copied_words(dataset: Labelled, private: Labelled) -> dict[str, object]:
    """Nothing: images have no words; see ``KindOfRun``."""
    return {}


def require_drawable(name: str) -> None:
    """Refuse nothing: images can be drawn on a sheet."""
