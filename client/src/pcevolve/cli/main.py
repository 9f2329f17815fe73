"""The command line: reads options, calls, prints. No logic lives here."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from pcevolve.cli.audit_dp import audit_dp
from pcevolve.cli.budget import budget_app
from pcevolve.cli.tables import Json, print_table
from pcevolve.errors import ClientError, UsageError, plain
from pcevolve.public.plan import TEMPLATE
from pcevolve.run.settings import RunSettings, option, read_toml

if TYPE_CHECKING:
    from pcevolve.public.finding import Finding

app = typer.Typer(
    name="pcevolve",
    help="Turn a few private images per class into a synthetic dataset with somebody else's generative model, "
    "without sending a private image.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(budget_app, name="budget")
app.command("audit-dp")(audit_dp)

DIALECT_HELP = "How the API speaks: getimg (native), openai, openai-plain, siliconflow, stability or a1111."
METHODS_HELP = (
    "auto (chosen from public sizes), dp-means, jvem, pe, pe-em, pcevolve, pcevolve-g, pcevolve-h, pcevolve-exp, "
    "pcevolve-pf, pcevolve-gm, random (control) or t2i (no evolution)."
)


def _config(context: typer.Context, path: Path | None) -> Path | None:
    """Take defaults from a TOML file; flags on the command line win.

    Raises:
        UsageError: The file cannot be read, or holds what is not an option.
    """
    if path is not None:
        known = {option(name): name for name in RunSettings.model_fields}
        values = {f"--{name.replace('_', '-')}": value for name, value in read_toml(path).items()}
        values = {
            "--image-host" if name == "--image-hosts" else name: value for name, value in values.items()
        }
        for name in values.keys() - known.keys():
            raise UsageError(
                f"configuration {path}: '{name[2:]}' is not an option; pcevolve run --help lists them"
            )
        given = {known[name]: value for name, value in values.items()}
        context.default_map = {**(context.default_map or {}), **given}
    return path


def _is_default(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is None or source.name == "DEFAULT"


@app.command()
def run(
    context: typer.Context,
    private: Annotated[
        str, typer.Option(help="Folder of class folders, or 'digits' for scikit-learn's handwritten digits.")
    ],
    domain: Annotated[str, typer.Option(help="Public words for what the images show: 'leather texture'.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; nothing in it is ever overwritten.")],
    epsilon: Annotated[str, typer.Option(help="Total privacy budget of the run, > 0.")] = "10",
    delta: Annotated[
        float | None, typer.Option(min=0, help="Total delta, < 1; the method's own if not given (0 or 1e-5).")
    ] = None,
    method: Annotated[str, typer.Option(help=METHODS_HELP)] = "auto",
    calibration: Annotated[
        str, typer.Option(help="tight, or published: the paper's own looser calibration of its noise.")
    ] = "tight",
    relation: Annotated[
        str, typer.Option(help="Neighbour relation: replace-one or add-remove.")
    ] = "replace-one",
    unit_map: Annotated[
        Path | None,
        typer.Option(
            help="CSV file that groups images into privacy units, e.g. patients: columns file,patient."
        ),
    ] = None,
    unit_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Most images that one patient (unit) has; public. Needed under add-remove where runs count the same "
            "patients by name and by image.",
        ),
    ] = None,
    unlabelled: Annotated[
        bool,
        typer.Option("--unlabelled", help="Take all images of --private as one class, whatever the folders."),
    ] = False,
    api: Annotated[str, typer.Option(help="Address of the image API.")] = "http://127.0.0.1:8000",
    api_key_file: Annotated[
        Path | None, typer.Option(help="File with the API key (mode 600); or set PCEVOLVE_API_KEY.")
    ] = None,
    dialect: Annotated[str, typer.Option(help=DIALECT_HELP)] = "getimg",
    image_hosts: Annotated[
        list[str] | None,
        typer.Option(
            "--image-host", help="Host from which images may be fetched, of an API that sends links."
        ),
    ] = None,
    max_requests: Annotated[
        int | None, typer.Option(min=1, help="Most requests that the run may make, retries included.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="Most that it may cost, in the provider's currency.")
    ] = None,
    price: Annotated[
        float | None, typer.Option(min=0, help="Cost of one image, for an API that does not say.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before an online API is used.")] = False,
    model: Annotated[str, typer.Option(help="Model that the API shall use.")] = "bundled",
    candidates: Annotated[int, typer.Option(min=1, help="Synthetic images per class, N.")] = 100,
    iterations: Annotated[
        int | None, typer.Option(min=1, help="Evolution rounds, T; the method's own if not given.")
    ] = None,
    initial: Annotated[
        int | None,
        typer.Option(min=1, help="Text-to-image candidates per class to begin with; the method's own."),
    ] = None,
    prototypes: Annotated[
        int | None, typer.Option(min=1, help="Prototypes per class and round; the method's own if not given.")
    ] = None,
    lookahead: Annotated[
        int,
        typer.Option(min=0, help="Judge each candidate by the mean embedding of this many variations of it."),
    ] = 0,
    more: Annotated[
        int,
        typer.Option(min=0, help="Enlarge the dataset by this many variations of every image, at no cost."),
    ] = 0,
    pool: Annotated[
        str | None, typer.Option(help="What may be chosen: the latest generation, or all; the method's own.")
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(help="The dataset: the last generation, or selected from all; the method's own."),
    ] = None,
    appearance: Annotated[
        str | None,
        typer.Option(
            help="The dataset's tone, colour, sharpness and place: matched to the private images', as-is, or auto: "
            "whichever lies nearer to what is released about the classes."
        ),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, help="H of Private Evolution, subtracted from noisy votes.")
    ] = None,
    shots: Annotated[
        int,
        typer.Option(
            min=1,
            help="Nominal private units (images, or patients with --unit-map) per class, K; assumed public.",
        ),
    ] = 10,
    test: Annotated[
        str | None, typer.Option(help="Folder of held-out real images to measure accuracy on; stays private.")
    ] = None,
    prompt_template: Annotated[str, typer.Option(help="Prompt with {domain} and {label}.")] = TEMPLATE,
    negative_prompt: Annotated[str, typer.Option(help="What images should not show.")] = "",
    strength_start: Annotated[
        float | None, typer.Option(min=0, max=1, help="Image-to-image strength at first; the method's own.")
    ] = None,
    strength_end: Annotated[
        float | None, typer.Option(min=0, max=1, help="And in the last iteration.")
    ] = None,
    guidance: Annotated[float, typer.Option(min=0, help="Guidance scale.")] = 7.5,
    steps: Annotated[int, typer.Option(min=1, help="Denoising steps.")] = 50,
    size: Annotated[int | None, typer.Option(help="Pixels per side; the model's own if not given.")] = None,
    batch: Annotated[int, typer.Option(min=1, max=64, help="Images per request.")] = 32,
    seed: Annotated[int | None, typer.Option(min=0, help="Public seed of what goes over the wire.")] = None,
    encoder: Annotated[
        str, typer.Option(help="bundled; after fetch-encoder also resnet18, clip, inception, vit.")
    ] = "bundled",
    encoder_weights: Annotated[str | None, typer.Option(help="File with the encoder's weights.")] = None,
    device: Annotated[str, typer.Option(help="Where the encoder runs: auto, cpu or cuda.")] = "auto",
    ledger: Annotated[
        Path | None,
        typer.Option(help="Privacy ledger; one for all runs, because the budget belongs to the data."),
    ] = None,
    lifetime_epsilon: Annotated[
        str | None,
        typer.Option(help="Most that all runs together may spend on these data; --epsilon if not given."),
    ] = None,
    lifetime_delta: Annotated[
        float | None,
        typer.Option(min=0, help="Delta at which --lifetime-epsilon holds; --delta if not given."),
    ] = None,
    forget_insecure: Annotated[
        bool,
        typer.Option(
            "--forget-insecure",
            help="Leave INSECURE runs (noise from a seed) on these data out of the sum; card and report say so.",
        ),
    ] = False,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for one answer.")] = 600.0,
    patience: Annotated[float, typer.Option(help="Seconds to keep retrying one request.")] = 300.0,
    first_contact: Annotated[float, typer.Option(help="The same for the first request.")] = 10.0,
    pad_selection: Annotated[
        float,
        typer.Option(
            min=0,
            help="Seconds: private work between two requests lasts a whole multiple of this, so that its length does "
            "not show; longer than any of it, if the console warns. 0: not hidden.",
        ),
    ] = 1.0,
    pace: Annotated[float, typer.Option(min=0, help="Least seconds between an answer and a request.")] = 0.0,
    insecure_noise_seed: Annotated[
        int | None, typer.Option(help="INSECURE, for tests: noise from a seed. The run has no privacy.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run in --out where it was cut off.")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(callback=_config, is_eager=True, help="TOML file with these options; flags win."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Evolve a synthetic dataset under differential privacy and print what it cost."""
    given = {name: value for name, value in locals().items() if name in RunSettings.model_fields}
    values = {name: value for name, value in given.items() if not _is_default(context, name)}
    from pcevolve.run import execution as composition  # torch takes seconds to load; --help should not
    from pcevolve.run.scoring import scored

    _show(scored(composition.execute(RunSettings.of(values), resume)), as_json)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder of the run.")] = Path("runs/demo"),
    as_json: Json = False,
) -> None:
    """Run the main job end to end on this machine: API server as its own process, client against it over HTTP."""
    from pcevolve.run.demo import demonstrate

    _show(demonstrate(out), as_json)


@app.command()
def audit(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    capture: Annotated[
        Path | None,
        typer.Option(help="What an independent recorder between client and API saw; compared byte for byte."),
    ] = None,
    html: Annotated[
        bool,
        typer.Option("--html", help="Also write RUN/wire.html: everything that left, to scroll through."),
    ] = False,
    allow_insecure: Annotated[
        bool,
        typer.Option("--allow-insecure", help="Let a run pass whose noise came from a seed (INSECURE)."),
    ] = False,
    encoder_weights: Annotated[
        str | None, typer.Option(help="The file that the run was given as --encoder-weights, if it was.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check from the record alone that nothing left without a reason, and that all that may be shared follows from it.

    Exit code 1 if anything does not hold, if the run is unfinished, or if it is INSECURE.
    """
    from pcevolve.audit import Audit, encoder_of
    from pcevolve.run.progress import error_console

    with error_console().status("making everything again from the record ..."):
        audited = Audit.of(folder, lambda plan: encoder_of(plan, encoder_weights), capture)
    if html:
        typer.echo(f"page: {audited.write_wire_page()}", err=True)
    else:
        audited.check_wire_page()
    _verdict(folder, audited.findings, audited.marks, audited.secure or allow_insecure, as_json)


def _verdict(
    folder: Path, findings: Sequence[Finding], marks: Sequence[str], allowed: bool, as_json: bool
) -> None:
    """Print what an audit found, what speaks against the run's privacy first; exit 1 if a claim does not hold."""
    holds = all(each.holds for each in findings) and allowed
    if as_json:
        found = {"marks": list(marks), "holds": holds, "findings": [asdict(each) for each in findings]}
        typer.echo(json.dumps(found, indent=1))
    else:
        for mark in marks:
            typer.echo(mark)
        rows = [(each.claim, str(each.checked), "holds" if each.holds else "BROKEN") for each in findings]
        print_table(f"Audit of {folder}", ("claim", "checked", "verdict"), rows)
    for each in findings:
        for fault in each.faults[:20]:
            typer.echo(f"{each.claim}: NO, {plain(fault)}", err=True)
    if not allowed:
        typer.echo("an INSECURE run passes only with --allow-insecure", err=True)
    if not holds:
        raise typer.Exit(1)


@app.command("fetch-encoder")
def fetch_encoder(
    encoder: Annotated[
        str, typer.Argument(metavar="ENCODER", help="resnet18, inception, vit, clip or clip:MODEL:TAG.")
    ],
) -> None:
    """Download an encoder's published weights; a run itself talks to the configured API and to nobody else."""
    from pcevolve.encoders.fetch import fetch_encoder as fetch

    fetch(encoder)
    typer.echo(f"encoder {encoder} is ready: pcevolve run --encoder {encoder}")


@app.command()
def report(folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]) -> None:
    """Write the page about a finished run anew."""
    from pcevolve.pages.report import write_report

    typer.echo(write_report(folder))


def _show(summary: dict[str, Any], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(summary, indent=1))
        return
    from pcevolve.run.progress import summary_table

    Console().print(summary_table(summary))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; every expected error is one line on stderr and an exit code."""
    # Torch's threads would spin while they wait for each other, and on a shared machine that costs more than the work.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        app(arguments)
    except ClientError as error:
        print(f"error: {plain(str(error))}", file=sys.stderr)
        sys.exit(error.exit_code)
    except OSError as error:  # a full disk, a folder that may not be written
        running = (sys.argv[1:] if arguments is None else arguments)[:1] == ["run"]
        hint = "; what was paid for is on record, continue with --resume" if running else ""
        print(f"error: {error}{hint}", file=sys.stderr)
        sys.exit(1)
