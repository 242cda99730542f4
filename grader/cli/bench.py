"""``lab bench``: kernels of a submission, what the judge and a grading cost, and more of ours."""

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from bench.engine.command import Decoding, bench_engine
from bench.grading import account, render
from bench.kernels.command import KernelContest, bench_kernels
from bench.network.command import Measurement, bench_collectives
from grader.cli import commands
from grader.cli.kernels.gauge import Wish, bench_lab
from grader.cli.terminal.options import Source, Tasks
from grader.files import json_bytes
from grader.labs.lab import find_lab, find_root
from grader.report.formats.terminal import make_console

app = typer.Typer(
    help="Measure your kernels, the judge, a grading, our kernels, our engine, or collectives.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def register(lab: typer.Typer) -> None:
    """Add the commands to the program."""
    lab.add_typer(app, name="bench")


@app.callback(invoke_without_command=True)
def start(context: typer.Context) -> None:
    """Measure your kernels, the judge, a grading, our kernels, our engine, or collectives."""
    if context.invoked_subcommand is None:
        raise typer.Exit(commands.bench())


@app.command("lab")
def bench_submission(
    lab: Annotated[str, typer.Argument(metavar="LAB", help="6, 7, 9 or 12")],
    source: Source = None,
    script: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="a script that launches kernels")
    ] = None,
    task: Tasks = None,
    device: Annotated[str, typer.Option(metavar="auto|cpu|cuda", help="cpu: only count")] = "auto",
    sandbox: Annotated[str, typer.Option(metavar="auto|required|none")] = "auto",
    json: Annotated[bool, typer.Option("--json", help="print all of it as JSON")] = False,
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE", help="the roofline, or speeds, as a picture")
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="picture and tables")] = None,
) -> None:
    """Time your kernels on a GPU; without one, count what they move and compute."""
    wish = Wish(lab, source, script, tuple(task or ()), device, sandbox, json, svg, html)
    raise typer.Exit(bench_lab(wish))


@app.command()
def judge() -> None:
    """Measure what the judge itself costs (also without a subcommand)."""
    raise typer.Exit(commands.bench())


@app.command()
def grading(
    lab: Annotated[str, typer.Argument(metavar="LAB")],
    source: Annotated[
        Path | None, typer.Option("--from", metavar="PATH", help="default: labs/")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda")] = "auto",
    json: Annotated[bool, typer.Option("--json", help="every number, for a program")] = False,
) -> None:
    """Grade an answer once and tell what the seconds went to: workers, calls, races, the judge.

    What is interrupted, or ended by a time limit, tells what they went to until then.
    """
    chosen = find_lab(lab, find_root())
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    found = account(chosen, source, device)
    if json:
        print(json_bytes(found.to_json()).decode())
    else:
        console = make_console(sys.stdout)
        for table in render(found):
            console.print(table)
    raise typer.Exit(0 if found.report is not None else commands.INTERRUPTED)


@app.command()
def kernels(
    labs: Annotated[list[str] | None, typer.Argument(metavar="[LAB…]", help="6 or 7")] = None,
    rounds: Annotated[int, typer.Option(min=2, max=1000, help="rounds of each case")] = 10,
    json: Annotated[str | None, typer.Option(metavar="FILE")] = None,
    markdown: Annotated[
        str | None, typer.Option(metavar="FILE", help="a page: only its table is replaced")
    ] = None,
) -> None:
    """Time the kernels of labs 06 and 07 beside torch's and others, on this machine's GPU."""
    contest = KernelContest(tuple(labs or ()), rounds, json, markdown)
    raise typer.Exit(bench_kernels(contest))


@app.command()
def collectives(
    kinds: Annotated[
        list[str] | None, typer.Argument(metavar="[KIND…]", help="all_reduce, all_gather, …")
    ] = None,
    ranks: Annotated[
        list[int] | None, typer.Option(min=1, max=16, help="group size; may be repeated")
    ] = None,
    backend: Annotated[str, typer.Option(help="gloo or nccl; nccl where there are GPUs")] = "",
    largest_mb: Annotated[int, typer.Option(min=0, max=8192, help="0: what suits")] = 0,
    json: Annotated[str | None, typer.Option(metavar="FILE")] = None,
    markdown: Annotated[
        str | None, typer.Option(metavar="FILE", help="a page: only its table is replaced")
    ] = None,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="tables and a plot")] = None,
) -> None:
    """Measure bandwidth and latency between ranks in the sandbox, and an MLP split over them."""
    wanted = Measurement(
        tuple(ranks or ()), backend, tuple(kinds or ()), largest_mb, json, markdown, html
    )
    raise typer.Exit(bench_collectives(wanted))


@app.command()
def engine(
    device: Annotated[str, typer.Option(help="auto, cpu or cuda")] = "auto",
    model: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="only this one; may be repeated")
    ] = None,
    dtype: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="only this one; may be repeated")
    ] = None,
    batch: Annotated[
        list[int] | None, typer.Option(min=1, help="only this size; may be repeated")
    ] = None,
    tokens: Annotated[
        int, typer.Option(min=0, max=1000, help="of each sequence in a round; 0: what suits")
    ] = 0,
    rounds: Annotated[int, typer.Option(min=2, max=1000, help="rounds of each case")] = 5,
    threads: Annotated[int, typer.Option(min=0, help="of torch; 0: its own choice")] = 0,
    seconds: Annotated[
        int | None,
        typer.Option(min=0, help="begin no case after them; 0: begin all; on a GPU 150"),
    ] = None,
    json: Annotated[str | None, typer.Option(metavar="FILE")] = None,
    write: Annotated[
        bool, typer.Option("--write", help="write the table of this device into docs/engine.md")
    ] = False,
) -> None:
    """Time the reference engine beside transformers and the roofline, on a GPU or a CPU."""
    named = tuple(model or ()), tuple(dtype or ()), tuple(batch or ())
    wanted = Decoding(device, *named, tokens, rounds, threads, seconds, json, write)
    raise typer.Exit(bench_engine(wanted))
