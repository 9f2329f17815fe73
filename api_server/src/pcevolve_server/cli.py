"""The command ``pcevolve-server``. Flags and variables come from the declared settings."""

import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin

import typer
from annotated_types import Ge, Le
from pydantic.fields import FieldInfo
from typer import Option

from pcevolve_server import __version__
from pcevolve_server.errors import ServerError
from pcevolve_server.model_settings import FlagSpelling, ModelSettings
from pcevolve_server.settings import API_KEY_VARIABLE, LogLevel, Settings, read_keys
from pcevolve_shared.quiet import keep_quiet

PREFIX = "PCEVOLVE_SERVER_"
HELP = {"help_option_names": ["-h", "--help"]}
Command = TypeVar("Command", bound=Callable[..., None])
Made = TypeVar("Made", ModelSettings, Settings)
# Rich markup, typer's default, is off: it would remove extras in brackets, such as [ray], from the help.
app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False, context_settings=HELP
)


def split_models(names: list[str]) -> list[str]:
    """Return the models' names. In the environment, blanks separate names, unless the value is one existing path."""
    whole = os.environ.get(PREFIX + "MODEL", "").strip()
    path = Path(whole.removeprefix("library:").removeprefix("text:"))
    return [whole] if names == whole.split() and path.expanduser().exists() else names


_MODEL = (
    "'bundled', a diffusers directory, a hub id, library:DIR for a folder of public images, or"
    " text:NAME for a language model, where NAME is a directory or a hub id."
)
_SEVERAL = (
    " May be repeated. A request that names no model gets the first model. --model-id,"
    " --compile, --lora, --scheduler and --ip-adapter apply only to the first model."
)
Models = Annotated[
    list[str],
    Option("--model", envvar=PREFIX + "MODEL", callback=split_models, metavar="TEXT", help=_MODEL + _SEVERAL),
]
Model = Annotated[str, Option(envvar=PREFIX + "MODEL", metavar="TEXT", help=_MODEL)]
ApiKeyFile = Annotated[
    Path | None,
    Option(
        envvar=PREFIX + "API_KEY_FILE",
        metavar="PATH",
        help="File with an API key, or with NAME KEY on each line. The file's mode must be 0600.",
    ),
]
MinLogLevel = Annotated[
    LogLevel,
    Option(
        envvar=PREFIX + "LOG_LEVEL",
        help="Least severe level that is logged. The log is written to stderr, as JSON lines, or as"
        " plain text on a terminal.",
    ),
]
AsJson = Annotated[bool, Option("--json", help="Print JSON instead of a table.")]


def takes(*names: str) -> Callable[[Command], Command]:
    """Give a command a flag for each declared setting of a model, and for the named settings of the server.

    Without names, the command gets all settings of the server. It receives the values as keyword arguments for
    :func:`settings_of`.
    """

    def extend(command: Command) -> Command:
        own = [
            each for each in inspect.signature(command).parameters.values() if each.kind != each.VAR_KEYWORD
        ]
        server = [each for each, _ in _flags(Settings) if not names or each.name in names]
        flags = [each for each, _ in _flags(ModelSettings)] + server
        # typer reads a command's options from here.
        command.__signature__ = inspect.Signature([*own[:1], *flags, *own[1:]])  # type: ignore[attr-defined]
        return command

    return extend


def settings_of(kind: type[Made], given: dict[str, Any], **more: Any) -> Made:  # noqa: ANN401 - settings of any type
    """Make settings of one kind from a command's keyword arguments, and from more values that have no flag.

    Raises:
        SettingsError: The values are impossible or unsafe.
    """
    for parameter, flag in _flags(kind):
        if (value := given.get(parameter.name)) is not None:
            more[parameter.name] = tuple(map(flag.read, value)) if isinstance(value, list) else value
    return kind(**more)


_VALUES = {str: "TEXT", int: "INT", float: "NUMBER", Path: "PATH"}


def _flags(kind: type[ModelSettings | Settings]) -> list[tuple[inspect.Parameter, FlagSpelling]]:
    """Return a parameter for each setting with a help text. typer makes a flag of each parameter."""
    fields: dict[str, FieldInfo] = vars(kind)["__pydantic_fields__"]
    return [_flag(name, info) for name, info in fields.items() if info.description]


def _flag(setting: str, info: FieldInfo) -> tuple[inspect.Parameter, FlagSpelling]:
    noted = {type(each): each for each in info.metadata}
    flag = noted.get(FlagSpelling, FlagSpelling())
    name = flag.name or setting.replace("_", "-")
    # A setting that may be given several times is a tuple. The flag's function parses each item.
    repeated = get_origin(info.annotation) is tuple
    kinds = {str} if repeated else {*get_args(info.annotation), info.annotation}
    option = Option(
        f"--{name}",
        envvar=PREFIX + (flag.variable or name.replace("-", "_").upper()),
        help=info.description,
        metavar=next((word for kind, word in _VALUES.items() if kind in kinds), None),
        min=noted[Ge].ge if Ge in noted else None,
        max=noted[Le].le if Le in noted else None,
    )
    shown = Annotated[list[str] if repeated else info.annotation, option]  # type: ignore[valid-type]
    default = list(info.default) if repeated else info.default
    return inspect.Parameter(setting, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=shown), flag


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Serve a diffusion model, or a folder of public images, behind a getimg-style HTTP API."""


@app.command(
    context_settings=HELP,
    epilog="The API key comes from PCEVOLVE_SERVER_API_KEY or --api-key-file, never from the command line."
    " Exit codes: 0 stopped by a signal, 2 wrong settings, 3 model not loaded, 4 address not available.",
)
@takes()
def serve(
    *,
    model: Models = ["bundled"],  # noqa: B006 - the command line's way to say it
    api_key_file: ApiKeyFile = None,
    log_level: MinLogLevel = LogLevel.INFO,
    **given: Any,  # noqa: ANN401 - the settings
) -> None:
    """Load one or more models, and answer requests until SIGTERM."""
    first = settings_of(ModelSettings, given, model=model[0])
    keys = read_keys(api_key_file, os.environ.get(API_KEY_VARIABLE, ""))
    settings = settings_of(Settings, given, model=first, others=first.others(model[1:]), keys=keys)
    # Imported here, because FastAPI and uvicorn take most of a second to import, and --help does not need them.
    from pcevolve_server import logs, server

    logs.configure(log_level)
    server.run(settings)


@app.command(context_settings=HELP, epilog="Exit codes: 0 measured, 2 wrong settings, 3 model not loaded.")
@takes("engine", "replicas")
def bench(
    *,
    model: Model = "bundled",
    as_json: AsJson = False,
    **given: Any,  # noqa: ANN401 - the settings
) -> None:
    """Measure how many images an hour this machine makes with a model. The options are those of serve."""
    settings = settings_of(Settings, given, model=settings_of(ModelSettings, given, model=model))
    from pcevolve_server import benching, logs

    logs.configure(LogLevel.WARNING)
    benching.run(settings, as_json)


def main() -> None:
    """Run the command line. Every expected failure prints one line on stderr and has an exit code."""
    # By default, Torch's threads spin while they wait for each other. On a shared machine, spinning costs more
    # time than the work.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    keep_quiet()
    try:
        app()
    except ServerError as error:
        typer.echo(f"pcevolve-server: {error}", err=True)
        sys.exit(error.exit_code)
