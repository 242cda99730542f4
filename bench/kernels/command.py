"""``lab bench kernels``, between its options and its exit code."""

import sys
from dataclasses import dataclass
from pathlib import Path

from bench.page import into_page, read_page, write_page
from grader.errors import UsageError
from grader.files import check_writable, write_file
from grader.labs.lab import find_lab, find_root
from grader.report.formats.terminal import make_console


@dataclass(frozen=True, slots=True)
class KernelContest:
    """What was asked for; no labs means all that have kernels to time."""

    labs: tuple[str, ...]
    rounds: int
    json: str | None
    markdown: str | None  # a page: only its table is replaced


def bench_kernels(contest: KernelContest) -> int:
    """Time our kernels beside others, print one table and write the files asked for."""
    try:
        from bench.kernels import run, table
    except ModuleNotFoundError:
        raise UsageError("this tree has no benchmark", "the full repository has it") from None
    labs = [find_lab(text, find_root()).number for text in contest.labs]
    run.check_labs(labs)
    for target in (contest.json, contest.markdown):
        if target is not None:
            check_writable(target)
    # A page without the marks is refused now.
    into_page(read_page(contest.markdown), "", table.TITLE)
    run.need_gpu()
    lines = list(run.run_kernels(labs, contest.rounds, _tell))
    facts = run.machine()
    # Shown first: no disk that fills up may cost the table.
    make_console(sys.stdout).print(table.render_terminal(lines, facts))
    if contest.json is not None:
        write_file(Path(contest.json), table.render_json(lines, facts).encode())
    if contest.markdown is not None:
        write_page(contest.markdown, table.render_markdown(lines, facts), table.TITLE)
    return 0


def _tell(case: str) -> None:
    print(case, file=sys.stderr, flush=True)
