"""``pcevolve audit``: checks a finished run independently, and prints the verdict."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from pcevolve.app.cli.options import Json, RunPath, Verbose, leave_files, require_run
from pcevolve.app.cli.parameters import Flag
from pcevolve.errors import ModelError, printable
from pcevolve.public.screen import lay_out, print_table

if TYPE_CHECKING:
    from pcevolve.auditing import Audit

UNFINISHED = 9
"""Exit code of an audit of an unfinished run in which nothing is broken."""
VIEW = "differs from what this version makes from the record; --html writes the audit's own copy"
UNREADABLE = "not compared, because the record itself failed the audit"
UNVERIFIED = {
    ".lock": "lock file, used only while a run is in progress",
    "audit/": "pages of an audit",
    "summary.json": VIEW,
    "report.html": VIEW,
    "preview.html": "page of the first images, for the owner",
    "live.html": "page that showed the progress of the run, for the owner",
}
"""Entries of a run's folder that do not follow from its record, or are views of the record."""
EncoderWeights = Annotated[
    str | None,
    Flag(
        ("--encoder-weights",),
        help="File of the encoder's weights, if the run was given one with --set encoder.weights=FILE.",
    ),
]


def audit(
    folder: RunPath,
    capture: Annotated[
        Path | None,
        Flag(
            help="File that an independent recorder between client and API wrote. It is compared with "
            "the record byte for byte."
        ),
    ] = None,
    sources: Annotated[
        list[Path] | None,
        Flag(
            ("--from",),
            metavar="RUN",
            help="Folder of the run whose release this run varies, if it varies one. That run is audited "
            "too. For a chain of such runs, give --from once for each.",
        ),
    ] = None,
    html: Annotated[
        bool,
        Flag(
            ("--html",),
            help=(
                "Also write pages into RUN/audit. wire.html, which shows everything that was sent, is "
                "always written. The card, the report and the summary are written only if no check fails."
            ),
        ),
    ] = False,
    allow_insecure: Annotated[
        bool,
        Flag(
            ("--allow-insecure",),
            help="Accept an INSECURE run, that is, a run whose noise came from a seed.",
        ),
    ] = False,
    encoder_weights: EncoderWeights = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Check from the record that nothing was sent without a reason, and that the dataset follows from the record.

    No private data are read. Exit codes: 0 if all claims hold; 1 if a check fails, or if the run is INSECURE; 2 if
    another version of pcevolve made the run; 8 if no check fails, but something was NOT CHECKED, because the run's
    encoder, or the run whose release this run varies, is not available; 9 if no check fails, but the run is UNFINISHED.
    """
    require_run(folder)
    leave_files([folder, capture, encoder_weights, *(sources or ())], [folder] * html)
    from pcevolve.auditing import Audit, find_encoder
    from pcevolve.public.run.folder import RunFolder
    from pcevolve.public.run.progress import error_console

    with RunFolder(folder).hold(as_found=True) if html else nullcontext():
        with error_console().status("recomputing everything from the record ..."):
            audited = Audit.of(
                folder, lambda plan: find_encoder(plan, encoder_weights), capture, sources or ()
            )
        if html:
            click.echo(f"page: {audited.write_pages()}", err=True)
    files = {"--capture": capture, "--encoder-weights": encoder_weights}
    again = [word for name, path in files.items() if path is not None for word in (name, str(path))]
    again += [word for each in sources or () for word in ("--from", str(each))]
    again += ["--allow-insecure"] * allow_insecure
    more = shlex.join(["pcevolve", "audit", str(folder), *again, "--verbose"])
    more += "" if html else ", or --html for pages"
    _verdict(folder, audited, audited.secure or allow_insecure, as_json, verbose, more)


def pack(
    folder: RunPath,
    out: Annotated[Path | None, Flag(help="Zip file to write. Default: RUN.zip.")] = None,
    encoder_weights: EncoderWeights = None,
) -> None:
    """Write the shareable part of a finished run, and nothing else, to a zip file that can be audited when unzipped.

    The run is audited first. The zip file contains the release, the record, and the pages that the audit makes from
    them.
    """
    require_run(folder)
    path = folder.absolute().with_name(f"{folder.absolute().name}.zip") if out is None else out
    leave_files([folder, encoder_weights], [path.parent])
    from pcevolve import auditing
    from pcevolve.public.run.progress import error_console

    with error_console().status("recomputing everything from the record ..."):
        audited = auditing.Audit.of(folder, lambda plan: auditing.find_encoder(plan, encoder_weights))
    click.echo(auditing.pack(audited, path))
    unzipped = auditing.name_packed(audited)
    click.echo(
        f"to check the zip file: unzip {shlex.quote(path.name)}, then pcevolve audit {unzipped}", err=True
    )
    from pcevolve.public.transcript.layout import EXPORTS  # pydantic is slow to load, and help needs none

    if exported := [each for each in EXPORTS.values() if (folder / each).exists()]:
        again = f"pcevolve export {unzipped} --format ..."
        click.echo(
            f"not in the zip file: {', '.join(exported)}; to write it again after unzipping: {again}",
            err=True,
        )


def _verdict(folder: Path, audited: Audit, allowed: bool, as_json: bool, verbose: bool, more: str) -> None:
    """Print an audit's findings, those against the run's privacy first; exit with code 1 if a claim does not hold.

    ``more`` tells where to read more.
    """
    holds = all(each.holds for each in audited.findings) and allowed
    if as_json:
        findings = [asdict(each) for each in audited.findings]
        facts = {"findings": findings, "claims": audited.claims, "unverified": audited.unverified}
        result = {"marks": audited.marks, "holds": holds, **facts, "summary": audited.summary}
        click.echo(json.dumps(result, indent=1))
    elif verbose:
        rows = [(each.claim, str(each.checked), each.verdict) for each in audited.findings]
        print_table(f"Audit of {folder}", ("claim", "checked", "verdict"), rows)
        view = _say_view(audited)
        rest = [(name, view if _is_view(name) else UNVERIFIED.get(name, "")) for name in audited.unverified]
        print_table("Not verified", ("in the run's folder", "what it is"), rest)
        claims = [(name, printable(_spell(value))) for name, value in audited.claims.items()]
        print_table("Stated by the owner, and not verifiable", ("of the plan", "what it says"), claims)
    if not as_json:
        for mark in audited.marks:
            click.echo(mark)
    for each in audited.findings:
        for fault in each.faults[:20]:
            click.echo(f"{each.claim}: NO, {printable(fault)}", err=True)
        if each.pending:
            click.echo(f"{each.claim}: UNFINISHED, {printable(each.pending)}", err=True)
        if each.unchecked:
            click.echo(f"{each.claim}: NOT CHECKED, {printable(each.unchecked)}", err=True)
    if not (as_json or verbose):
        from rich.console import Console

        Console(highlight=False).print(lay_out([*_lines(audited, holds), ("more", more)]))
    if not allowed:
        click.echo("an INSECURE run passes its audit only with --allow-insecure", err=True)
    if not holds:
        raise click.exceptions.Exit(_exit_code(audited, allowed))


def _spell(value: object) -> str:
    """Return a value of the plan as text for people; an empty value becomes "none"."""
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {_spell(each)}" for name, each in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(_spell, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None or value == "" else str(value)


def _lines(audited: Audit, holds: bool) -> Iterator[tuple[str, str]]:
    """Yield what was sent, the guarantee, whether it holds, and what was not checked."""
    from pcevolve.app.cli.summary import describe_traffic

    if audited.summary is not None:
        yield from describe_traffic(audited.summary)
    broken = [each.claim for each in audited.findings if each.faults]
    unfinished = [each.claim for each in audited.findings if each.pending]
    unchecked = [each.claim for each in audited.findings if each.unchecked]
    checked = f"all {len(audited.findings)} claims, recomputed from the record,"
    if holds:
        yield "holds", f"yes: {checked} are true"
    elif broken:
        yield "holds", f"NO: {', '.join(broken)}"
    else:
        why = (("UNFINISHED", unfinished), ("NOT CHECKED", unchecked))
        text = "; ".join(f"{word}: {', '.join(claims)}" for word, claims in why if claims)
        yield "holds", text or "the run is INSECURE"
    # Pages for people: another version of the client may have made them, so a difference is no fault of the
    # record.
    changed = [each for each in audited.unverified if _is_view(each)]
    if changed:
        title = "not checked" if audited.broken else "DIFFERS"
        yield title, f"{', '.join(changed)}: {_say_view(audited)}"
    others = [each for each in audited.unverified if each not in changed]
    claims = f"{len(audited.claims)} statements in the plan, which only the owner can vouch for"
    left = [", ".join(others)] * bool(others) + [claims] * bool(audited.claims)
    if left:
        yield "not checked", "; ".join(left)


def _say_view(audited: Audit) -> str:
    return UNREADABLE if audited.broken else VIEW


def _is_view(name: str) -> bool:
    """True for a card or page that an audit renders itself; if it is unverified, it differs from the audit's own."""
    return UNVERIFIED.get(name) == VIEW or name.endswith("/README.md")


def _exit_code(audited: Audit, allowed: bool) -> int:
    """Return the exit code of an audit with faults; a missing step or check has its own code."""
    if audited.broken or not allowed:
        return 1
    if audited.unfinished:
        return UNFINISHED
    return ModelError.exit_code
