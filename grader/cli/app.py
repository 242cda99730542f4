"""The command line: parse, call, print, exit code. torch and transformers are never imported here.

Exit codes: 0 all graded tests passed, 1 some did not, 2 usage, 3 could not grade, 130 interrupted.
"""

import importlib
import io
import math
import os
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, cast

import typer

from grader import ROOT
from grader.cli import commands
from grader.cli.terminal.failures import fail, save_traceback
from grader.cli.terminal.options import (
    FILE,
    Device,
    DeviceChoice,
    LabArgument,
    Lang,
    OutFile,
    Sandbox,
    SandboxChoice,
    Seed,
    Source,
    Suite,
    Tasks,
)
from grader.errors import InferlabError, UsageError
from grader.languages.language import of_locale, speaking
from grader.prove.findings import Proof
from grader.report.formats.forms import Form, planned

Patterns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN",
        help="stub, solution, 'variants/*', 'wrong/*', wrong/NAME, 'field/*', 'controls/*'",
    ),
]
SampleDate = Annotated[
    datetime | None,
    typer.Option(formats=["%Y-%m-%d"], help="what is graded both ways is that day's sample"),
]
CORES = len(os.sched_getaffinity(0))
USAGE, CANNOT_GRADE = 2, 3
# What every wrong command line raises. typer exports the class under no name of its own.
WRONG_COMMAND_LINE = cast(type[typer.BadParameter], typer.BadParameter.__mro__[2])

app = typer.Typer(
    name="lab",
    help="Graded labs on LLM inference.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# Here, not anywhere: an instructor's installation must not show through in a student's tree,
# which is without the course's folder.
for _folder, _module in (
    ("grader/client", "grader.cli.handing.app"),
    ("grader/start", "grader.cli.start"),
    ("bench", "grader.cli.bench"),
    ("grader/course/commands", "grader.course.commands.app"),
    ("grader/service/commands", "grader.service.commands.app"),
):
    if (ROOT / _folder).is_dir():
        importlib.import_module(_module).register(app)


@app.callback(invoke_without_command=True)
def start(context: typer.Context) -> None:
    """Graded labs on LLM inference: write the stub, run the judge, read why."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def grade(
    lab: LabArgument,
    source: Source = None,
    device: DeviceChoice = Device.AUTO,
    seed: Seed = None,
    sandbox: SandboxChoice = Sandbox.AUTO,
    suite: Annotated[Suite, typer.Option(help="public: only the tests you can read")] = Suite.ALL,
    task: Tasks = None,
    json: Annotated[str | None, typer.Option(metavar=FILE, help="- prints it alone")] = None,
    html: OutFile = None,
    markdown: OutFile = None,
    junit: OutFile = None,
    gradescope: OutFile = None,
    lang: Lang = None,
) -> None:
    """Grade one submission."""
    targets = dict(zip(Form, (json, html, markdown, junit, gradescope), strict=True))
    outputs = planned(targets)
    order = commands.Order(lab, source, device, seed, sandbox, suite, tuple(task or ()))
    raise typer.Exit(commands.grade_one(order, outputs))


@app.command()
def check(
    labs: Annotated[list[str] | None, typer.Argument(metavar="[LAB…]")] = None,
    # One more than cores: each of them waits now and then.
    jobs: Annotated[int, typer.Option(min=1, max=256, help="gradings at a time")] = CORES + 1,
    seeds: Annotated[int, typer.Option(min=1, max=100, help="seeds per right answer")] = 2,
    wrong_seeds: Annotated[int, typer.Option(min=1, max=100, help="seeds per wrong one")] = 1,
    device: DeviceChoice = Device.AUTO,
    sandbox: SandboxChoice = Sandbox.AUTO,
    only: Patterns = None,
    brief: Annotated[
        bool, typer.Option("--brief", help="of wrong answers, only what they should lose")
    ] = False,
    whole: Annotated[
        bool, typer.Option("--whole", help="of wrong answers, also what a right one has proven")
    ] = False,
    sample_date: SampleDate = None,
    share: Annotated[
        int, typer.Option(min=1, max=31, help="of variants and wrong ones, one in so many a day")
    ] = 1,
    within: Annotated[
        float, typer.Option(min=0, help="seconds after which no more of these are begun")
    ] = math.inf,
    margins: Annotated[
        bool, typer.Option("--margins", help="print how far answers stay from each test's limit")
    ] = False,
    public: Annotated[
        bool, typer.Option("--public", help="tell which wrong answers the public tests catch")
    ] = False,
    messages: Annotated[
        bool, typer.Option("--messages", help="print what a student sees first of each wrong one")
    ] = False,
    mutants: Annotated[
        bool, typer.Option("--mutants", help="tell which small changes of a right answer pass")
    ] = False,
    sample: Annotated[
        int, typer.Option(min=0, help="so many mutants of a lab, drawn by --sample-date; 0: all")
    ] = 0,
    anew: Annotated[
        bool, typer.Option("--anew", help="grade also what was proven before, by the same files")
    ] = False,
) -> None:
    """Prove labs: right answers earn everything, wrong ones lose what they should."""
    proof = Proof(
        *(jobs, seeds, wrong_seeds, device, sandbox, tuple(only or ()), brief, whole),
        sample_date=f"{sample_date:%Y-%m-%d}" if sample_date else "",
        share=share,
        within=within,
        margins=margins,
        public=public,
        messages=messages,
        mutants=mutants,
        sample=sample,
        anew=anew,
    )
    raise typer.Exit(commands.check(labs or (), proof))


@app.command()
def notebook(
    lab: LabArgument,
    show: Annotated[bool, typer.Option("--open/--no-open", help="in JupyterLab")] = True,
    lang: Lang = None,
) -> None:
    """Write the notebook of a lab, or bring it up to date, and open it."""
    from grader.cli.notebook import write_and_open

    raise typer.Exit(write_and_open(lab, show=show))


@app.command(context_settings={"ignore_unknown_options": True})
def python(
    lab: LabArgument,
    file: Annotated[Path, typer.Argument(metavar=FILE, help="a script of yours")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[ARGS…]")] = None,
    device: DeviceChoice = Device.AUTO,
    sanitize: Annotated[
        bool,
        typer.Option(help="without a GPU, tell at the end of races, wrong bounds and the like"),
    ] = False,
) -> None:
    """Run a script as the judge runs a submission of the lab: with its Triton interpreter."""
    from grader.cli.kernels.python import run_script

    raise typer.Exit(run_script(lab, file, arguments or (), device, sanitize=sanitize))


@app.command()
def repeat(
    lab: LabArgument,
    test: Annotated[
        str | None, typer.Argument(metavar="[TEST]", help="a public one, as a report names it")
    ] = None,
    source: Source = None,
    device: DeviceChoice = Device.AUTO,
    seed: Seed = None,
) -> None:
    """Write what a public test asks of your code as a script, for a debugger to step through."""
    from grader.cli.repeating.repeat import Wish, repeat

    raise typer.Exit(repeat(Wish(lab, test, source, device, seed)))


@app.command("compile")
def compile_kernels(
    lab: LabArgument,
    source: Source = None,
    task: Tasks = None,
    sandbox: SandboxChoice = Sandbox.AUTO,
    json: Annotated[bool, typer.Option("--json", help="print each result as JSON")] = False,
) -> None:
    """Compile the kernels that the public tests launch for GPUs; none is needed."""
    from grader.cli.kernels.compile import compile_lab

    raise typer.Exit(compile_lab(lab, source, tuple(task or ()), sandbox, as_json=json))


@app.command()
def trace(
    lab: LabArgument,
    task: Annotated[
        str | None, typer.Option("--task", metavar="TASK", help="such as forward")
    ] = None,
    source: Source = None,
    script: Annotated[
        Path | None, typer.Option("--file", metavar=FILE, help="a script that launches kernels")
    ] = None,
    launch: Annotated[int, typer.Option(metavar="N", min=1, help="that the picture shows")] = 1,
    svg: Annotated[Path | None, typer.Option(metavar=FILE)] = None,
    html: Annotated[Path | None, typer.Option(metavar=FILE)] = None,
) -> None:
    """Draw a small launch of your kernels: who touches what of which tensor, step by step."""
    from grader.cli.kernels.trace import Wish, show

    raise typer.Exit(show(Wish(lab, task, source, script, launch, svg, html)))


@app.command()
def hint(
    lab: LabArgument,
    task: Annotated[str | None, typer.Argument(metavar="[TASK]", help="such as norm")] = None,
    lang: Lang = None,
) -> None:
    """Show a task's hint, or the lab's tasks."""
    raise typer.Exit(commands.hint(lab, task))


@app.command()
def watch(
    lab: LabArgument,
    source: Source = None,
    device: DeviceChoice = Device.AUTO,
    lang: Lang = None,
) -> None:
    """Grade the public tests again at each save, until Ctrl-C."""
    order = commands.Order(lab, source, device, None, Sandbox.AUTO, Suite.PUBLIC)
    raise typer.Exit(commands.watch(order))


@app.command()
def status(lang: Lang = None) -> None:
    """Show the last points of every lab and what comes next."""
    raise typer.Exit(commands.status())


@app.command()
def doctor(lang: Lang = None) -> None:
    """Tell a broken environment from a wrong answer."""
    raise typer.Exit(commands.doctor())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; every error is one line and perhaps a hint."""
    with speaking(of_locale()):
        return _main(arguments)


def _main(arguments: Sequence[str] | None) -> int:
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character gets an escape, not an exception of ours.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        return int(app(arguments, prog_name="lab", standalone_mode=False) or 0)
    except InferlabError as error:
        code = USAGE if isinstance(error, UsageError) else CANNOT_GRADE
        return fail(code, error.message, error.hint)
    except WRONG_COMMAND_LINE as error:
        return fail(USAGE, error.format_message(), "lab --help, or lab COMMAND --help")
    except (KeyboardInterrupt, typer.Abort):
        return fail(commands.INTERRUPTED, "interrupted")
    except Exception as error:
        told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return fail(CANNOT_GRADE, f"the judge broke ({told})", f"traceback in {save_traceback()}")
