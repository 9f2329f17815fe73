"""The command ``pcevolve-server``; options in, settings out, no logic."""

import os
import sys
from typing import Annotated

import typer

from pcevolve_server import __version__, model_options, options
from pcevolve_server.errors import ServerError
from pcevolve_server.keys import API_KEY_VARIABLE, read_keys
from pcevolve_server.settings import (
    WHOLE,
    Batching,
    EngineKind,
    Lora,
    ModelSettings,
    Precision,
    SafetyPolicy,
    Settings,
)
from pcevolve_shared.quiet import keep_quiet

HELP = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, context_settings=HELP)


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
    " Exit codes: 0 stopped, 2 settings, 3 model, 4 address.",
)
def serve(
    model: model_options.Models = ["bundled"],  # noqa: B006 - the command line's way to say it
    model_id: model_options.ModelId = "",
    model_memory_mib: model_options.ModelMemoryMib = 0,
    device: options.Device = "auto",
    precision: options.Precision = Precision.AUTO,
    threads: options.Threads = 0,
    engine: options.Engine = EngineKind.THREAD,
    replicas: options.Replicas = 0,
    max_replicas: options.MaxReplicas = 0,
    ray_address: options.RayAddress = "",
    compile_: options.Compile = False,
    offline: model_options.Offline = False,
    allow_pickle: model_options.AllowPickle = False,
    library_clip: model_options.LibraryClip = "",
    library_cache: model_options.LibraryCache = "",
    lora: model_options.Loras = [],  # noqa: B006 - the command line's way to say none
    scheduler: model_options.Scheduler = None,
    default_steps: options.DefaultSteps = None,
    default_guidance: options.DefaultGuidance = None,
    guidance_interval: model_options.GuidanceInterval = WHOLE,
    vae_tiling: model_options.Tiling = False,
    ip_adapter: model_options.IpAdapter = "",
    ip_adapter_scale: model_options.IpAdapterScale = 0.5,
    safety_checker: model_options.SafetyChecker = SafetyPolicy.AUTO,
    safety_retries: model_options.SafetyRetries = 3,
    host: options.Host = "127.0.0.1",
    port: options.Port = 8000,
    api_key_file: options.ApiKeyFile = None,
    max_batch: options.MaxBatch = 16,
    batching: options.BatchingMode = Batching.EXACT,
    queue_steps: options.QueueSteps = 200_000,
    key_steps: options.KeySteps = 100_000,
    deadline_seconds: options.DeadlineSeconds = 3600,
    max_pixels: options.MaxPixels = 2048 * 2048,
    max_connections: options.MaxConnections = 256,
    header_seconds: options.HeaderSeconds = 10,
    body_seconds: options.BodySeconds = 30,
    max_buffered_mib: options.MaxBufferedMib = 128,
    allowed_host: options.AllowedHosts = [],  # noqa: B006 - the command line's way to say none
    shutdown_seconds: options.ShutdownSeconds = 30,
    log_level: options.MinLogLevel = options.LogLevel.INFO,
) -> None:
    """Load one model or several and answer requests until SIGTERM."""
    loading = ModelSettings(
        model=model[0], model_id=model_id, device=device, precision=precision, scheduler=scheduler,
        loras=tuple(map(Lora.read, lora)),
        adapter=ip_adapter, adapter_scale=ip_adapter_scale, safety=safety_checker, safety_retries=safety_retries,
        offline=offline, allow_pickle=allow_pickle, threads=threads, compiled=compile_,
        batching=batching, library_clip=library_clip, library_cache=library_cache,
        guidance_interval=guidance_interval, tiling=vae_tiling,
    )  # fmt: skip
    settings = Settings(
        model=loading, others=loading.others(model[1:]), model_memory_mib=model_memory_mib, host=host, port=port,
        keys=read_keys(api_key_file, os.environ.get(API_KEY_VARIABLE, "")),
        engine=engine, replicas=replicas, max_replicas=max_replicas, ray_address=ray_address,
        max_batch=max_batch, queue_steps=queue_steps, key_steps=key_steps,
        deadline_seconds=deadline_seconds, max_pixels=max_pixels,
        max_connections=max_connections, header_seconds=header_seconds, body_seconds=body_seconds,
        max_buffered_mib=max_buffered_mib, allowed_hosts=tuple(allowed_host),
        default_steps=default_steps, default_guidance=default_guidance, shutdown_seconds=shutdown_seconds,
    )  # fmt: skip
    # FastAPI and uvicorn take most of a second to import: not for --help.
    from pcevolve_server import logs, server

    logs.configure(log_level)
    server.run(settings)


@app.command(context_settings=HELP, epilog="Exit codes: 0 measured, 2 settings, 3 model.")
def bench(
    model: model_options.Model = "bundled",
    device: options.Device = "auto",
    precision: options.Precision = Precision.AUTO,
    threads: options.Threads = 0,
    engine: options.Engine = EngineKind.THREAD,
    replicas: options.Replicas = 0,
    compile_: options.Compile = False,
    offline: model_options.Offline = False,
    allow_pickle: model_options.AllowPickle = False,
    library_clip: model_options.LibraryClip = "",
    library_cache: model_options.LibraryCache = "",
    lora: model_options.Loras = [],  # noqa: B006 - the command line's way to say none
    scheduler: model_options.Scheduler = None,
    guidance_interval: model_options.GuidanceInterval = WHOLE,
    vae_tiling: model_options.Tiling = False,
    ip_adapter: model_options.IpAdapter = "",
    max_batch: options.MaxBatch = 16,
    batching: options.BatchingMode = Batching.EXACT,
    compare: options.Compare = False,
    as_json: options.AsJson = False,
) -> None:
    """Measure how many images this machine makes of a model, with the options that it would be served with."""
    loading = ModelSettings(
        model=model, device=device, precision=precision, scheduler=scheduler, loras=tuple(map(Lora.read, lora)),
        adapter=ip_adapter, offline=offline, allow_pickle=allow_pickle, threads=threads, compiled=compile_,
        batching=batching, library_clip=library_clip, library_cache=library_cache,
        guidance_interval=guidance_interval, tiling=vae_tiling,
    )  # fmt: skip
    from pcevolve_server import benching, logs

    logs.configure(options.LogLevel.WARNING)
    settings = Settings(model=loading, engine=engine, replicas=replicas, max_batch=max_batch)
    benching.run(settings, as_json, compare)


def main() -> None:
    """Run the command line; one clear line on stderr and an exit code for every expected failure."""
    # Torch's threads would spin while they wait for each other, and on a shared machine that costs more than the work.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    keep_quiet()
    try:
        app()
    except ServerError as error:
        typer.echo(f"pcevolve-server: {error}", err=True)
        sys.exit(error.exit_code)
