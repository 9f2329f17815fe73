"""Settings of a run: options and environment, read once and kept with the run."""

from __future__ import annotations

import os
import re
import secrets
import stat
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import tomli_w
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from pcevolve.durable import write_durably
from pcevolve.encoders.choice import AUTO
from pcevolve.errors import UsageError
from pcevolve.public import settings as public
from pcevolve.public.fields import TEMPLATE
from pcevolve.public.options import EXACT, Panel, Setting, checked, flag
from pcevolve.transcript.layout import Form
from pcevolve_shared.reading import read_file

USUAL_STEPS, USUAL_GUIDANCE, USUAL_ADAPTER_SCALE = 50, 7.5, 0.5
"""Of Stable Diffusion, where neither the user nor the API says anything."""
USUAL_TOKENS, USUAL_TEMPERATURE = 128, 1.0
NEAR_AT_ONCE, FAR_AT_ONCE = 16, 4
"""Of a language model, where the user says nothing."""
KEY_VARIABLE = "PCEVOLVE_API_KEY"
LEDGER_VARIABLE = "PCEVOLVE_LEDGER"
VOLUME_VARIABLE = "PCEVOLVE_LEDGER_VOLUME"
DAY = 86400.0
"""Seconds: longer than anybody waits, and short enough for every clock."""
SHORTEST_TICK = 0.001
MOST_TOML_BYTES = 2**17
_DEEP_KEY = re.compile(r"""(?<![\w"'-])(?:[\w"'-]+[ \t]*\.[ \t]*){16}""")
"""A key of many parts, on which Python's reader of TOML spends their number squared."""
MOST_KEY_BYTES = 2**16
REST = "rest"
"""The value of ``--test`` that measures on the images that ``--subsample`` did not draw."""
DIGITS, TERMS = "digits", "terms"


def _tick(seconds: float) -> float:
    if 0 < seconds < SHORTEST_TICK:
        raise ValueError(f"must be 0 or at least {SHORTEST_TICK:g} seconds")
    return seconds


def _absolute(text: str) -> str:
    """A path that is the same from wherever a run is continued; names that are no paths stay as they are."""
    kind = text.partition(":")[0]
    return text if kind in (DIGITS, TERMS, REST) or not text.strip() else str(Path(text).absolute())


FileText = Annotated[str, AfterValidator(_absolute)]
AbsolutePath = Annotated[Path, AfterValidator(Path.absolute)]
Seconds = Annotated[float, Field(ge=0, le=DAY, allow_inf_nan=False)]
Epsilon = Annotated[
    str,
    EXACT,
    Field(description="Total privacy budget of the run, > 0."),
    Setting(Panel.MOST_USED, public=True),
]
MethodName = Annotated[
    str,
    Field(
        description="auto (chosen from public sizes), dp-means, jvem, pe, pe-em, aug-pe, secpe, pcevolve, or a "
        "control: random, t2i (no evolution)."
    ),
    Setting(Panel.MOST_USED, public=True),
]


TextColumn = Annotated[
    str,
    Field(min_length=1, description="Column of a table that holds the texts; text if not given."),
    Setting(Panel.DATA),
]
LabelColumn = Annotated[
    str,
    Field(min_length=1, description="Column of a table that holds their labels; label if not given."),
    Setting(Panel.DATA),
]
UnitColumn = Annotated[
    str,
    Field(
        min_length=1,
        description="Column of a table that groups texts into privacy units, e.g. patients; its name is public.",
    ),
    Setting(Panel.PRIVACY),
]


MaxCost = Annotated[
    float,
    Field(ge=0, allow_inf_nan=False, description="Most that it may cost, in the provider's currency."),
    Setting(Panel.API, resumable=True),
]
Price = Annotated[
    float,
    Field(ge=0, allow_inf_nan=False, description="Cost of one image or text, for an API that does not say."),
    Setting(Panel.API, resumable=True),
]


def default_ledger() -> Path:
    """One ledger per user, because the budget belongs to the data and not to a run."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(os.environ.get(LEDGER_VARIABLE) or Path(state) / "pcevolve" / "ledger.sqlite").absolute()


def ledger_volume() -> Path | None:
    """The folder that keeps ledgers where everything else is thrown away, as in a container; None elsewhere."""
    folder = os.environ.get(VOLUME_VARIABLE)
    return Path(folder) if folder else None


class RunSettings(BaseModel):
    """All options of ``pcevolve run``, each declared here or in ``public.settings``; stored with the run.

    None in an optional field means: decided when the run starts, from public facts only.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    private: Annotated[
        FileText,
        Field(
            description="Folder of class folders; for texts also a .csv, .tsv, .jsonl or .parquet file; or 'digits' "
            "for scikit-learn's handwritten digits, 'terms' for meanings of nouns."
        ),
        Setting(Panel.MOST_USED),
    ]
    out: Annotated[
        Path,
        Field(description="Folder of the run; nothing in it is ever overwritten."),
        Setting(Panel.MOST_USED),
    ]
    domain: public.Domain
    epsilon: Epsilon = "10"
    delta: public.Delta | None = None
    relation: public.Relation = "replace-one"
    unit_map: Annotated[
        AbsolutePath | None,
        Field(
            description="CSV file that groups images into privacy units, e.g. patients: columns file,patient."
        ),
        Setting(Panel.PRIVACY),
    ] = None
    unit_size: public.UnitSize | None = None
    unlabelled: Annotated[
        bool,
        Field(description="Take all images of --private as one class, whatever the folders."),
        Setting(Panel.DATA),
    ] = False
    window: public.Window | None = None
    text_column: TextColumn | None = None
    label_column: LabelColumn | None = None
    unit_column: UnitColumn | None = None
    secrets: Annotated[
        AbsolutePath | None,
        Field(
            description="Text file with secrets in the private texts, one a line, for secpe; stays private. A prior "
            "and a bound of its own may follow each, with tabs between."
        ),
        Setting(Panel.PRIVACY),
    ] = None
    secret_columns: Annotated[
        tuple[str, ...],
        Field(
            description="Column of a table in which every value is a secret of the texts that have it, for secpe; once "
            "for each."
        ),
        Setting(Panel.PRIVACY, flag="--secret-column"),
    ] = ()
    detect_secrets: Annotated[
        bool,
        Field(
            description="Take what looks like a number, a code, a date or an address in a text for a secret, for secpe."
        ),
        Setting(Panel.PRIVACY),
    ] = False
    secret_prior: public.SecretPrior | None = None
    secret_bound: public.SecretBound | None = None
    secret_size: public.SecretSize | None = None
    method: MethodName = "auto"
    calibration: public.Calibration = "tight"
    subsample: public.Subsample | None = None
    subsample_seed: Annotated[
        int,
        Field(
            ge=0,
            lt=2**63,
            description="Which units --subsample draws; secret, a new one from the operating system if not given. It "
            "stays in config.toml.",
        ),
        Setting(Panel.DATA),
    ] = Field(default_factory=lambda: secrets.randbelow(2**63))
    test: Annotated[
        FileText | None,
        Field(
            description="Folder of held-out real images to measure accuracy on, or 'rest' for those that --subsample "
            "did not draw; stays private."
        ),
        Setting(Panel.DATA),
    ] = None
    api: Annotated[
        str, Field(description="Address of the image API."), Setting(Panel.MOST_USED, public=True)
    ] = "http://127.0.0.1:8000"
    api_key_file: Annotated[
        AbsolutePath | None,
        Field(description=f"File with the API key (mode 600); or set {KEY_VARIABLE}."),
        Setting(Panel.API, resumable=True, variable=KEY_VARIABLE),
    ] = None
    dialect: Annotated[
        str,
        Field(
            description="How the API speaks: getimg (native), openai, openai-plain, siliconflow, stability or a1111; "
            "for texts chat."
        ),
        Setting(Panel.API, public=True),
    ] = "getimg"
    model: public.Model = "bundled"
    candidates: public.Candidates = 100
    iterations: public.Iterations | None = None
    initial: public.Initial | None = None
    prototypes: public.Prototypes | None = None
    min_usable: public.MinUsable = 0.25
    lookahead: public.Lookahead = 0
    more: public.More = 0
    pool: public.Pool | None = None
    keep: public.Keep | None = None
    appearance: public.Appearance | None = None
    threshold: public.Threshold | None = None
    threshold_end: public.ThresholdEnd | None = None
    votes: public.Votes | None = None
    selection: public.Selection | None = None
    variations: public.Variations | None = None
    class_counts: public.ClassCounts = False
    cells: public.Cells | None = None
    tau: public.Tau | None = None
    shots: public.Shots = 10
    prompt_template: public.PromptTemplate = TEMPLATE
    prompts: Annotated[
        FileText | None,
        Field(
            description="JSON file with several prompts for each class, as 'pcevolve prompts' writes it: the first "
            "images are asked for with them, in equal shares; variations with --prompt-template, or --vary-by prompt. "
            "They go out as they stand."
        ),
        Setting(Panel.IMAGES, public=True),
    ] = None
    vary_by: public.VaryBy = "image"
    negative_prompt: public.NegativePrompt = ""
    strengths: Annotated[
        tuple[public.Strength, ...],
        Field(
            description="Image-to-image strength (variation degree) of an iteration, once for each: as many iterations "
            "as strengths."
        ),
        Setting(Panel.EVOLUTION, public=True, flag="--strength"),
    ] = ()
    strength_start: Annotated[
        public.Strength | None,
        Field(description="Image-to-image strength at first; the method's own if not given."),
        Setting(Panel.EVOLUTION, public=True),
    ] = None
    strength_end: Annotated[
        public.Strength | None,
        Field(description="Image-to-image strength in the last iteration; the method's own if not given."),
        Setting(Panel.EVOLUTION, public=True),
    ] = None
    guidance: Annotated[
        public.Guidance | None,
        Field(description=f"Guidance scale; what the API recommends, or {USUAL_GUIDANCE:g}, if not given."),
        Setting(Panel.IMAGES, public=True),
    ] = None
    steps: Annotated[
        public.Steps | None,
        Field(description=f"Denoising steps; what the API recommends, or {USUAL_STEPS}, if not given."),
        Setting(Panel.IMAGES, public=True),
    ] = None
    adapter: public.Adapter | None = None
    adapter_scale: Annotated[
        public.AdapterScale | None,
        Field(description=f"Weight of the image prompt (--adapter); {USUAL_ADAPTER_SCALE:g} if not given."),
        Setting(Panel.IMAGES, public=True),
    ] = None
    size: public.Pixels | None = None
    batch: public.Batch = 32
    tokens: Annotated[
        public.Tokens | None,
        Field(
            description=f"Most tokens of one text, of an API that writes texts; {USUAL_TOKENS} if not given."
        ),
        Setting(Panel.TEXTS, public=True),
    ] = None
    temperature: Annotated[
        public.Temperature | None,
        Field(
            description="Temperature of the language model, of an API that writes texts; "
            f"{USUAL_TEMPERATURE:g} if not given."
        ),
        Setting(Panel.TEXTS, public=True),
    ] = None
    licence: public.Licence = public.UNKNOWN_LICENCE
    formats: Annotated[
        tuple[Form, ...],
        Field(
            description="Also write the dataset as parquet or webdataset, beside the images; once for each."
        ),
        Setting(Panel.IMAGES, resumable=True, flag="--format"),
    ] = ()
    seed: public.PublicSeed = Field(default_factory=lambda: secrets.randbelow(2**32))
    encoder: Annotated[
        str,
        Field(
            description="auto (clip or resnet18, if fetch-encoder was asked for it, else bundled), bundled, "
            "bundled+spectrum (surfaces and textures), resnet18, resnet34, resnet50, resnet101, resnet152, "
            "clip, inception, vit, vit-b32, vit-l16 or vit-l32; for texts words (bundled) or transformer:HUB_ID."
        ),
        Setting(Panel.ENCODER, public=True),
    ] = AUTO
    encoder_weights: Annotated[
        FileText | None,
        Field(
            description="File with the encoder's weights, or directory of an encoder of texts; the plan has its digest."
        ),
        Setting(Panel.ENCODER, public=True),
    ] = None
    device: Annotated[
        str,
        Field(description="Where the encoder runs: auto, cpu or cuda."),
        Setting(Panel.ENCODER),
    ] = "auto"
    engine: Annotated[
        Literal["local", "ray"],
        Field(
            description="Where private images are embedded and vote: in this process, or on Ray (pcevolve[ray]); the "
            "same numbers."
        ),
        Setting(Panel.ENCODER, resumable=True),
    ] = "local"
    ray_address: Annotated[
        str | None,
        Field(
            min_length=1,
            description="HOST:PORT of your own Ray cluster for --engine ray; it sees private images. One on this "
            "machine, for the run alone, if not given.",
        ),
        Setting(Panel.ENCODER, resumable=True),
    ] = None
    ledger: Annotated[
        AbsolutePath,
        Field(description="Privacy ledger; one for all runs, because the budget belongs to the data."),
        Setting(Panel.PRIVACY, variable=LEDGER_VARIABLE),
    ] = Field(default_factory=default_ledger)
    lifetime_epsilon: Annotated[
        str | None,
        EXACT,
        AfterValidator(lambda text: text or None),
        Field(description="Most that all runs together may spend on these data; --epsilon if not given."),
        Setting(Panel.PRIVACY),
    ] = None
    lifetime_delta: Annotated[
        float | None,
        Field(ge=0, lt=1, description="Delta at which --lifetime-epsilon holds; --delta if not given."),
        Setting(Panel.PRIVACY),
    ] = None
    forget_insecure: Annotated[
        bool,
        Field(
            description="Leave runs on these data out of the sum whose noise came from a seed (INSECURE); card and "
            "report say so."
        ),
        Setting(Panel.PRIVACY, public=True),
    ] = False
    timeout: Annotated[
        Seconds,
        Field(gt=0, description="Seconds to wait for one answer."),
        Setting(Panel.API, resumable=True),
    ] = 600.0
    at_once: Annotated[
        public.AtOnce | None,
        Field(
            description="Images that requests under way at the same time may ask for together; a single request may "
            f"ask for more. {NEAR_AT_ONCE} for an API on this machine or at a private address, {FAR_AT_ONCE} for any "
            "other, if not given."
        ),
        Setting(Panel.API, public=True),
    ] = None
    patience: Annotated[
        Seconds,
        Field(description="Seconds to keep retrying one request."),
        Setting(Panel.API, resumable=True),
    ] = 300.0
    first_contact: Annotated[
        Seconds,
        Field(
            description="Seconds to keep trying to reach the API at first; one that answers that it is loading is "
            "waited for as long as --patience says."
        ),
        Setting(Panel.API, resumable=True),
    ] = 10.0
    image_hosts: public.ImageHosts = ()
    max_requests: Annotated[
        int | None,
        Field(ge=1, description="Most requests that the run may make, retries included."),
        Setting(Panel.API, resumable=True),
    ] = None
    max_cost: MaxCost | None = None
    price: Price | None = None
    yes: Annotated[
        bool,
        Field(
            description="Do not ask: not before an online API is used, an epsilon above 20 or a selection that cannot "
            "be told from luck."
        ),
        Setting(Panel.API, resumable=True),
    ] = False
    pad_selection: Annotated[
        Seconds,
        AfterValidator(_tick),
        Field(
            description="Seconds: private work between two requests lasts a whole multiple of this, so that its length "
            "does not show; longer than any of it, if the console warns. 0: not hidden."
        ),
        Setting(Panel.TIMING, resumable=True),
    ] = 1.0
    pace: Annotated[
        Seconds,
        Field(description="Least seconds between an answer and a request."),
        Setting(Panel.TIMING, resumable=True),
    ] = 0.0
    insecure_noise_seed: Annotated[
        int | None,
        Field(description="INSECURE, for tests: noise from a seed. The run has no privacy."),
        Setting(Panel.PRIVACY),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _shots_are_those_that_are_drawn(cls, values: dict[str, Any]) -> dict[str, Any]:
        if values.get("subsample") is None or "shots" in values:
            return values
        return {**values, "shots": values["subsample"]}

    @model_validator(mode="before")
    @classmethod
    def _iterations_are_as_many_as_strengths(cls, values: dict[str, Any]) -> dict[str, Any]:
        if not values.get("strengths") or values.get("iterations") is not None:
            return values
        return {**values, "iterations": len(values["strengths"])}

    @model_validator(mode="after")
    def _say_one_schedule(self) -> Self:
        if self.strengths and (self.strength_start is not None or self.strength_end is not None):
            start, end = self._typed("strength_start"), self._typed("strength_end")
            raise ValueError(f"{self._typed('strengths')} says each iteration's: leave {start} and {end} out")
        if self.strengths and self.iterations != len(self.strengths):
            raise ValueError(
                f"{self._typed('strengths')} is given {len(self.strengths)} times for {self.iterations} iterations"
            )
        return self

    @model_validator(mode="after")
    def _say_one_number(self) -> Self:
        if self.subsample is not None and int(self.shots) != self.subsample:
            raise ValueError(
                f"{self._typed('subsample')} {self.subsample} and {self._typed('shots')} {self.shots} differ: "
                f"leave {self._typed('shots')} out, it follows"
            )
        if self.test == REST and self.subsample is None:
            raise ValueError(
                f"{self._typed('test')} {REST} is for what {self._typed('subsample')} leaves: give "
                f"{self._typed('subsample')} K; a folder of that name is ./{REST}"
            )
        return self

    @classmethod
    def _typed(cls, name: str) -> str:
        """Return what a message calls one of these options."""
        return flag(name, cls)

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """Validate options.

        Raises:
            UsageError: One is missing, unknown or out of bounds.
        """
        return checked(cls, values)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a stored ``config.toml``.

        Raises:
            UsageError: It is missing or not a configuration.
        """
        return cls.of(read_toml(path))

    def save(self, path: Path) -> None:
        """Store as TOML, for ``--resume`` and for the record. Holds no key."""
        values = self.model_dump(mode="json", exclude_none=True)
        write_durably(path, tomli_w.dumps(values).encode(), 0o600)

    def key(self) -> str | None:
        """The API key, from the environment or a file that nobody else can read.

        Raises:
            UsageError: The file is missing, or others may read it.
        """
        return key_in(self.api_key_file)


def key_in(path: Path | None) -> str | None:
    """An API's key, from a file that nobody else can read, or from the environment if there is no file.

    Raises:
        UsageError: The file is missing, or others may read it.
    """
    return os.environ.get(KEY_VARIABLE) or None if path is None else key_in_file(path)


def key_in_file(path: Path | None) -> str | None:
    """A key from a file that nobody else can read; none without a file, whatever the environment has.

    Raises:
        UsageError: The file is missing, or others may read it.
    """
    if path is None:
        return None
    try:
        mode = path.stat().st_mode
        text = read_file(path, MOST_KEY_BYTES).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the key file {path} cannot be read: {error}") from error
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        raise UsageError(f"others can read {path}: run chmod 600 on it")
    return text


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file of options.

    Raises:
        UsageError: It is missing or not TOML.
    """
    try:
        text = read_file(path, MOST_TOML_BYTES).decode()
        if _DEEP_KEY.search(text):
            raise RecursionError
        return tomllib.loads(text)
    except RecursionError:
        raise UsageError(f"configuration {path} cannot be read: it is nested too deeply") from None
    except (OSError, ValueError) as error:  # TOML's and Unicode's errors are ValueErrors
        raise UsageError(f"configuration {path} cannot be read: {error}") from error
