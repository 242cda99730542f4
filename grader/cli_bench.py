"""``lab bench``: what the judge costs, and our kernels beside those of others."""

from typing import Annotated

import typer

from grader import commands
from grader.bench_kernels import KernelContest, bench_kernels

app = typer.Typer(
    help="Measure the judge itself, or our kernels.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def start(context: typer.Context) -> None:
    """Measure the judge itself, or our kernels."""
    if context.invoked_subcommand is None:
        raise typer.Exit(commands.bench())


@app.command()
def judge() -> None:
    """Measure what the judge itself costs (also without a subcommand)."""
    raise typer.Exit(commands.bench())


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
