"""``lab bench engine``, between its options and its exit code."""

import sys
from dataclasses import dataclass
from pathlib import Path

from bench.page import into_page, read_page, write_page
from grader.errors import UsageError
from grader.files import check_writable, write_file
from grader.labs.lab import find_root
from grader.report.formats.terminal import make_console

PAGE = "docs/engine.md"
SECONDS = {"cpu": 0, "cuda": 150}  # a GPU is lent by the minute; 0: until all is measured


@dataclass(frozen=True, slots=True)
class Decoding:
    """What was asked for; nothing named, 0 tokens and no seconds mean what suits the device."""

    device: str
    models: tuple[str, ...]
    dtypes: tuple[str, ...]
    batches: tuple[int, ...]
    tokens: int
    rounds: int
    threads: int
    seconds: int | None
    json: str | None
    write: bool


def bench_engine(wanted: Decoding) -> int:
    """Time the engine beside others, print one table and write the files asked for."""
    try:
        from bench.engine import run, table
        from bench.engine.cases import cases, chosen
        from bench.engine.lines import Line
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("bench", "reference"):
            raise
        raise UsageError("this tree has no engine to time", "the full repository has it") from None
    device = run.need_device(wanted.device)
    found = chosen(device, wanted.models, wanted.dtypes, wanted.batches, wanted.tokens)
    if not found:
        known = "; ".join(case.name for case in cases(device))
        raise UsageError("there is no such case", f"on this device: {known}")
    page = str(find_root() / PAGE) if wanted.write else None
    for target in (wanted.json, page):
        if target is not None:
            check_writable(target)
    # A page without the marks is refused now.
    into_page(read_page(page), "", table.TITLE, device)
    run.use_threads(wanted.threads)
    seconds = SECONDS[device] if wanted.seconds is None else wanted.seconds
    lines: list[Line] = []
    try:
        lines.extend(run.run_cases(found, device, wanted.rounds, seconds, _tell))
    except KeyboardInterrupt:
        _tell("stopped: the table has what was measured until then")
    facts = run.machine(device, lines)
    # Shown first: no disk that fills up may cost the table.
    make_console(sys.stdout).print(table.render_terminal(lines, facts))
    if wanted.json is not None:
        write_file(Path(wanted.json), table.render_json(lines, facts).encode())
    if page is not None:
        write_page(page, table.render_markdown(lines, facts), table.TITLE, device)
    return 0


def _tell(case: str) -> None:
    print(case, file=sys.stderr, flush=True)
