"""Constants that decide privacy, an audit or a verdict, each at half and at one and a half times its value.

Tolerances are tried at a hundredfold too. A few rows are conditions with a number in them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tests.mutations.logic import Change

HALF, MORE, HUNDREDFOLD = "type({0})({0} * 0.5)", "type({0})({0} * 1.5)", "type({0})({0} * 100)"
BOTH = (HALF, MORE)
TOLERANCE = (HALF, MORE, HUNDREDFOLD)


@dataclass(frozen=True)
class Row:
    """A constant, or a condition with a number in it, and what has to notice when it moves.

    Attributes:
        module: Where it is, below ``pcevolve`` unless it says otherwise.
        name: Of the constant; or the condition as it stands in the module.
        decides: What depends on it.
        tests: Files or folders below ``tests``.
        values: What it is replaced by; ``{0}`` is a constant's own value.
    """

    module: str
    name: str
    decides: str
    tests: str
    values: tuple[str, ...] = BOTH

    def changes(self, source: str) -> Iterator[Change]:
        """Each of its values as a change of its module's text."""
        for value in self.values:
            text, instead = self.name, value
            if self.name.isidentifier():
                text, own = _assignment(source, self.name)
                instead = text.removesuffix(own) + value.format(f"({own})")
            slip = f"{self.name} := {value.format(self.name)} ({self.decides})"
            yield Change(self.module, slip, text, instead, self.tests)


def _assignment(source: str, name: str) -> tuple[str, str]:
    """The assignment to a constant as it stands in a module, and its value."""
    (found,) = [
        each
        for each in ast.parse(source).body
        if isinstance(each, ast.Assign | ast.AnnAssign)
        and ast.unparse(each.targets[0] if isinstance(each, ast.Assign) else each.target) == name
    ]
    assert found.value is not None
    whole, own = ast.get_source_segment(source, found), ast.get_source_segment(source, found.value)
    assert whole is not None
    assert own is not None
    return whole, own


USE = "client/selectors/test_usefulness.py"
FOLLOWS = "client/selectors/test_consistency.py"
REVIEWED = "client/test_constants.py"
USABLE = "client/test_usability.py"
READ = "client/modality/images/test_files.py client/test_constants.py"
WARNING = ("longest <= tick / 2", "longest <= tick * 1.5", "longest <= tick * 2", "longest < tick")
CONSTANTS = (
    # what is released: sensitivities, rounding, calibration
    Row("dp.calibration", "DEVIATION_RADIUS", "clip of deviations, and the noise on them", REVIEWED),
    Row(
        "dp.calibration", "DIGITS", "digits of a scale of noise", "client/dp/test_calibration.py " + REVIEWED
    ),
    Row("dp.curves", "ROUNDING_SHARE", "rounding that the accountant adds", REVIEWED, TOLERANCE),
    Row("dp.curves", "SMALL_RANGE", "where the accountant uses the simple bound", REVIEWED, TOLERANCE),
    Row("dp.attacks", "_DOWN", "which way a promise is rounded", REVIEWED, ("{0} * 0.5", "1.0", "2 - {0}")),
    Row("selectors.sums", "ROUNDING_SHARE", "rounding of sums in float64", REVIEWED, TOLERANCE),
    Row("selectors.scene", "GRID", "the grid of what is measured", REVIEWED),
    Row(
        "selectors.sums",
        "CLIP_RADIUS",
        "clip of a released look",
        "client/selectors/test_appearance.py " + REVIEWED,
    ),
    Row("selectors.sums", "PRIOR_VARIANCE", "how a noisy look is drawn to the middle", REVIEWED),
    Row(
        "geometry.frame",
        "CANDIDATES_SHARE",
        "the frame of what is measured",
        "client/geometry/test_frame.py",
    ),
    Row("geometry.frame", "MOST_AXES", "axes of what is measured", "client/geometry/test_frame.py"),
    Row("geometry.frame", "STEP", "digits that a frame may say", "client/geometry/test_frame.py"),
    Row("geometry.frame", "IDLE", "digits of a measurement", REVIEWED),
    Row("selectors.cells", "LEAST", "what an emptied cell counts", REVIEWED),
    Row("selectors.joint", "CLOSE_WORTH", "utility of a tuple", REVIEWED),
    Row("selectors.joint", "CLOSE_SHARE", "utility of a tuple", REVIEWED, ("{0} * 0.5", "{0} * 1.5")),
    Row("selectors.joint", "BLOCK", "images of a tuple", REVIEWED),
    Row("selectors.means", "REPULSION", "order of candidates", REVIEWED),
    Row("selectors.means", "BEST_SHARE", "candidates that are spread over", REVIEWED),
    Row("geometry.distances", "ROUNDOFF", "whether a nearest neighbour is proved", REVIEWED, TOLERANCE),
    Row("public.settings", "TAU", "PCEvolve's calibrator", REVIEWED),
    Row("selectors.rounds", "APPEARANCE_SHARE", "budget of a look", REVIEWED),
    Row("selectors.rounds", "CENTRE_SHARE", "budget of a centre", REVIEWED),
    Row("selectors.rounds", "COUNT_SHARE", "budget of class counts", REVIEWED),
    Row("public.settings", "USUAL_DELTA", "δ where none is given", REVIEWED),
    Row("public.settings", "VOTES", "votes of an image", REVIEWED, ("2",)),
    Row("selectors", "MAX_NOISE_TO_CLIP_RATIO", "which method is taken", REVIEWED),
    # what an audit forgives, and what it says of that
    Row("geometry.ruler", "MACHINE_SHARE", "what another processor explains", FOLLOWS, ("0.0", "{0} * 100")),
    Row("geometry.ruler", "STEP_SHARE", "what is a tie", FOLLOWS, ("{0} / 512",)),
    Row("auditing.comparing", "LONGEST_KEY", "length of a key that was hidden", REVIEWED),
    Row("auditing.rebuilt", "FOOTER", "how much of a file's end is believed", REVIEWED),
    Row("transcript.layout", "MOST_OPENING_BYTES", "how much is read before a record is refused", REVIEWED),
    # verdicts and warnings
    Row("dp_audit.claim", "FEWEST_RUNS", "runs that an empirical audit needs", REVIEWED),
    Row("dp_audit.bound", "THRESHOLDS", "events that an empirical audit tries", REVIEWED),
    Row(
        "public.usefulness",
        "told_apart: float = 5.0",
        "whether classes differ",
        USE,
        ("told_apart: float = 2.5", "told_apart: float = 7.5"),
    ),
    Row(
        "public.usefulness",
        "near: float = 0.75",
        "whether a result is useful",
        USE,
        ("near: float = 0.37", "near: float = 1.12"),
    ),
    Row(
        "public.usefulness",
        "far: float = 1.1",
        "whether it is doubtful",
        USE,
        ("far: float = 0.55", "far: float = 1.65"),
    ),
    Row(
        "public.usefulness",
        "alike: float = 0.75",
        "whether a result is useful",
        USE,
        ("alike: float = 0.375", "alike: float = 1.125"),
    ),
    Row(
        "selectors.usefulness",
        "10.0**digits < 1.5",
        "what another processor explains",
        USE,
        ("10.0**digits < 0.75", "10.0**digits < 2.25", "10.0**digits < 150"),
    ),
    Row(
        "session.progress",
        "longest <= tick",
        "whether the owner is warned",
        "client/session/test_told.py",
        WARNING,
    ),
    Row("session.progress", "SLOW_DAY", "how long a tick is", "client/session/test_told.py"),
    Row("public.figures", "ROUNDING_SHARE", "what is printed as ε", REVIEWED, TOLERANCE),
    # whether there is anything to see, and anything to choose
    *(
        Row(
            "modality.images.levels",
            name,
            "whether a picture is flat",
            "client/modality/images/test_levels.py",
        )
        for name in ("WIDE", "NARROW", "FEW", "FEW_HIGH", "GAP", "LEAST_SHARE")
    ),
    Row("modality.images.medium", "FLAT_LEVELS", "whether a candidate is usable", USABLE),
    Row("modality.images.medium", "SIGNATURE_SIDE", "whether candidates differ", USABLE),
    Row("public.fields", "FEWEST", "candidates that are needed", USABLE),
    Row("usability", "MOST_COMPARED", "candidates that have to differ", USABLE),
    Row("usability", "MANY_REPEATS", "of how many repeats the owner is told", USABLE),
    # what may leave, and what is read
    *(
        Row("modality.images.files", name, "which pictures are read", READ)
        for name in (
            "MAX_FILE_BYTES",
            "MAX_PIXELS",
            "_LEAST_SIDE",
            "_MOST_RATIO",
            "_LEAST_ALPHA",
            "_COUNTED_BYTES",
        )
    ),
    Row("modality.images.dicom", "MOST_READS", "elements of a DICOM file", REVIEWED),
    Row("modality.images.dicom", "MOST_ELEMENT_BYTES", "bytes of a DICOM element", REVIEWED),
    *(
        Row("private.tables", name, "which tables are read", REVIEWED)
        for name in ("MOST_TEXTS", "MOST_FILE_BYTES", "MOST_ROW", "LEAST_UNPACKED", "ROW_BYTES", "MOST_BATCH")
    ),
    Row("pcevolve_benchmarks.datasets.pickles", "MOST_BYTES", "bytes of a pickle", REVIEWED),
    Row("pcevolve_benchmarks.datasets.pickles", "MOST_READS", "elements of a pickle", REVIEWED),
    Row("egress.allowance", "_ROUNDING", "what a price may miss its limit by", REVIEWED, TOLERANCE),
    Row("egress.address", "SHORTEST_SECRET", "which keys are hidden", REVIEWED),
    Row("private.secrets", "SHORTEST", "which secrets are looked for", REVIEWED),
    Row("ledger.store", "SIZE", "bytes of the ledger's key", REVIEWED),
    Row("pcevolve_shared.limits", "MAX_PIXELS", "pixels of an image that is decoded", REVIEWED),
    Row("pcevolve_shared.limits", "MAX_SIDE", "side of an image that is decoded", REVIEWED),
    Row("pcevolve_shared.limits", "MAX_IMAGE_BYTES", "bytes of an image", REVIEWED),
    Row("pcevolve_shared.limits", "MAX_RESPONSE_BYTES", "bytes of an answer", REVIEWED),
)
