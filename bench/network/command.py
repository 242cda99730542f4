"""``lab bench collectives``, between its options and its exit code."""

import sys
from dataclasses import dataclass
from pathlib import Path

from bench.page import into_page, read_page, write_page
from grader.errors import UsageError
from grader.files import check_writable, write_file
from grader.labs.lab import Lab, all_labs, find_root
from grader.report.formats.terminal import make_console

TOPIC = "tp_linear"  # of the lab whose answer is timed


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was asked for; an empty backend, no ranks and no largest size mean what suits."""

    ranks: tuple[int, ...]
    backend: str
    kinds: tuple[str, ...]
    largest_mb: int
    json: str | None
    markdown: str | None
    html: str | None


def bench_collectives(wanted: Measurement) -> int:
    """Measure, print two tables and write the files asked for."""
    try:
        from bench.network import run, table
    except ModuleNotFoundError:
        raise UsageError("this tree has no benchmark", "the full repository has it") from None
    backend = wanted.backend or run.default_backend()
    if backend not in run.LARGEST:
        raise UsageError(f"there is no backend {backend!r}", "gloo or nccl")
    for kind in wanted.kinds:
        if kind not in run.KINDS:
            raise UsageError(f"there is no collective {kind!r}", f"known: {', '.join(run.KINDS)}")
    for target in (wanted.json, wanted.markdown, wanted.html):
        if target is not None:
            check_writable(target)
    # A page without the marks is refused now.
    into_page(read_page(wanted.markdown), "", table.TITLE)
    largest = wanted.largest_mb << 20 or run.LARGEST[backend]
    ranks = wanted.ranks or run.suitable_ranks(backend)
    found: list[run.Moved | run.Layer] = []
    for item in run.measure(_lab(), backend, ranks, wanted.kinds or run.KINDS, largest):
        found.append(item)
        print(table.line(item), file=sys.stderr, flush=True)
    console = make_console(sys.stdout)
    for shown in table.render_terminal(found):
        console.print(shown)
    facts = run.machine(backend)
    console.print(" · ".join(f"{key} {value}" for key, value in facts.items()), style="dim")
    if wanted.json is not None:
        write_file(Path(wanted.json), table.render_json(found, facts).encode())
    if wanted.html is not None:
        write_file(Path(wanted.html), table.render_html(found, facts).encode())
    if wanted.markdown is not None:
        write_page(wanted.markdown, table.render_markdown(found, facts), table.TITLE)
    return 0


def _lab() -> Lab:
    for lab in all_labs(find_root()):
        if lab.topic == TOPIC and lab.solutions.is_dir():
            return lab
    raise UsageError(f"no lab {TOPIC} with solutions", "use the instructors' repository")
