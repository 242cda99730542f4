"""A report as one HTML file: see ``web`` for what keeps it harmless."""

import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from grader.labs.lab import PSEUDOCODE
from grader.labs.results import Report, TestResult, Verdict
from grader.languages.language import labelled, say
from grader.report.facts.contracts import (
    contract_line,
    contract_lines,
    head_and_rows,
    message_of,
)
from grader.report.facts.measured import listed, speed_cases, table_of, text_of
from grader.report.facts.notices import notices
from grader.report.facts.origins import BUILDS_ON, origin_line
from grader.report.facts.speed import (
    HEAD,
    RATIO_MEANS,
    gpu_line,
    row,
    speed_notes,
    suspicions,
)
from grader.report.facts.summary import (
    AT_FAULT,
    SHOWN_AS,
    TaskSummary,
    ahead,
    score_line,
    summarize,
)
from grader.report.markup.chart import speed_figures
from grader.report.markup.heatmap import STYLE as DIFFERENCES
from grader.report.markup.heatmap import difference_of
from grader.report.markup.plots import plots_of
from grader.report.markup.web import embedded, escaped, facts_list, figures, page
from grader.text import number, visible

# Extras with a place of their own.
DRAWN = (
    *("figures", "speed", "gpu", "plots", "differences", PSEUDOCODE, BUILDS_ON),
    *("grading", "status"),
)


def render_html(report: Report, above: Sequence[str] = ()) -> str:
    """The page, as text that encodes to UTF-8 whatever the report holds.

    ``above`` are lines of HTML that stand first.
    """
    title = say(f"Lab {report.lab:02d} · {report.topic}")
    body = [*above, f"<h1>{escaped(title)}</h1>", *report_body(report)]
    return page(title, body, style=DIFFERENCES)


def report_body(report: Report, source: Callable[[str], str] = embedded) -> list[str]:
    """What stands below a page's heading; ``source`` gives the address of a picture (SVG)."""
    parts = summarize(report)
    return [
        f'<p class="score">{escaped(score_line(report))}</p>',
        *_notices(report),
        _tasks(parts),
        *_contracts(report),
        *_speed(report, source),
        *(_failure(report, part) for part in parts if part.begun),
        *(f"<p>{escaped(line)}</p>" for line in ahead(parts)),
        *figures([plot.figure for plot in plots_of(report)], source),
        *figures(report.extras.get("figures"), source),
        f"<h2>{say('All tests')}</h2>",
        *(_tests(report, part) for part in parts),
        *_pseudocode(report),
        *facts_list(say("Also measured, never scored"), _flat(report.extras, skip=DRAWN)),
        *facts_list(say("About this grading"), _flat(report.provenance)),
    ]


def _block(text: str) -> str:
    return html.escape(visible(text))


def _notices(report: Report) -> list[str]:
    return [
        f'<p class="notice {notice.level}"><strong>{labelled(notice.level, "")}</strong> '
        + escaped(notice.text)
        + (f"<br><small>{labelled('hint', escaped(notice.hint))}</small>" if notice.hint else "")
        + "</p>"
        for notice in (*notices(report), *suspicions(report))
    ]


def _tasks(parts: Sequence[TaskSummary]) -> str:
    head = (
        f"<tr><th>{say('Task')}</th><th></th><th>{say('Points')}</th><th>{say('Tests')}</th></tr>"
    )
    rows = "\n".join(_task(part) for part in parts)
    return f'<h2>{say("Tasks")}</h2>\n<div class="wide"><table>\n{head}\n{rows}\n</table></div>'


def _contracts(report: Report) -> list[str]:
    """Which contracts hold, by number, and behind that each with its points."""
    lines = contract_lines(report)
    if not lines:
        return []
    _, *rows = head_and_rows(report.contracts)
    cells = "\n".join(
        "<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    names = (say("What holds"), say("Here"), say("Points"))
    heads = "".join(f"<th>{name}</th>" for name in names)
    head = f"<tr><th></th>{heads}</tr>"
    table = f'<div class="wide"><table class="contracts">\n{head}\n{cells}\n</table></div>'
    told = "<br>".join(escaped(line) for line in lines)
    return [
        f"<h2>{say('Contracts')}</h2>\n<p>{told}</p>",
        f"<details><summary>{say('Each of them, with its points')}</summary>{table}</details>",
    ]


def _task(part: TaskSummary) -> str:
    task = part.task
    points = number(task.points)
    if task.graded:
        bar = f'<meter min="0" max="{task.points}" value="{task.score}"></meter>'
        earned = f"{number(task.score)} / {points}"
    else:
        bar, earned = say("not graded"), f"- / {points}"
    name = f"<code>{escaped(task.id)}</code> {escaped(say(task.title))}"
    return f"<tr><td>{name}</td><td>{bar}</td><td>{earned}</td><td>{escaped(part.share)}</td></tr>"


def _speed(report: Report, source: Callable[[str], str]) -> list[str]:
    """The measured cases as a table and a plot per group; nothing where nothing was measured."""
    cases = speed_cases(report)
    line = gpu_line(report)
    found = [f"<h2>{say('Speed')}</h2>"] if cases or line else []
    found += [f"<p>{escaped(line)}</p>"] if line else []
    if cases:
        head = "".join(f"<th>{escaped(say(name))}</th>" for name in HEAD)
        rows = "\n".join(_cells(row(case), bool(case.suspicious)) for case in cases)
        found += [
            f'<div class="wide"><table class="speed">\n<tr>{head}</tr>\n{rows}\n</table></div>'
        ]
        found += [
            f"<p><small>{escaped(say(RATIO_MEANS))}</small></p>",
            *figures(speed_figures(cases), source),
        ]
    return found + [f"<p><small>{escaped(note)}</small></p>" for note in speed_notes(report)]


def _cells(cells: Sequence[str], suspicious: bool) -> str:
    shown = "".join(f"<td>{escaped(cell)}</td>" for cell in cells)
    return f'<tr class="suspicious">{shown}</tr>' if suspicious else f"<tr>{shown}</tr>"


def _failure(report: Report, part: TaskSummary) -> str:
    test = part.first
    assert test is not None
    command = f"make hint LAB={report.lab} TASK={part.task.id}"
    origin = origin_line(report, part)
    lines = [line for line in (contract_line(report, test), origin) if line]
    told = "".join(f"<p>{escaped(line)}</p>" for line in lines)
    differs = difference_of(report, test)
    shown = _texts(test, message_of(report, test)) + (differs.classed if differs else "")
    return (
        f'<section class="failure"><h3>{escaped(part.task.id)}: {say(SHOWN_AS[test.verdict])}</h3>'
        f"<p><code>{escaped(test.id)}</code></p>{told}{shown}"
        f"<p><small>{labelled('hint', f'<code>{escaped(command)}</code>')}</small></p></section>"
    )


def _texts(test: TestResult, message: str) -> str:
    shown = f"<pre>{_block(message)}</pre>" if test.message.strip() else ""
    if test.output.strip():
        shown += f"<p><small>{say('it printed')}</small></p><pre>{_block(test.output)}</pre>"
    return shown


def _tests(report: Report, part: TaskSummary) -> str:
    rows = "\n".join(_test(report, test) for test in part.tests)
    summary = (
        f"<summary>{escaped(part.task.id)}: {escaped(part.counted or say('no results'))}</summary>"
    )
    return f"<details>{summary}<ul>\n{rows}\n</ul></details>"


def _test(report: Report, test: TestResult) -> str:
    kind = "passed" if test.verdict is Verdict.PASSED else "other"
    kind = "lost" if test.verdict in AT_FAULT else kind
    return (
        f'<li class="{kind}"><code>{escaped(test.id)}</code> {say(SHOWN_AS[test.verdict])}'
        f" <small>{escaped(test.suite)}, {test.seconds:.2f} s</small>"
        f"{_texts(test, message_of(report, test))}</li>"
    )


def _pseudocode(report: Report) -> list[str]:
    """What was handed in beside the code, for a person to read."""
    text = text_of(table_of(report.extras.get(PSEUDOCODE)).get("text"))
    if not text.strip():
        return []
    summary = f"<summary>{say('Pseudocode as handed in')}</summary>"
    return [f"<details>{summary}<pre>{_block(text)}</pre></details>"]


def _told(item: Any) -> str:
    """An entry of a list in words: a table as its facts, not as Python writes it."""
    if not isinstance(item, dict):
        return str(item)
    return " ".join(f"{name} {told}" for name, told in _flat(table_of(item)).items())


def _flat(facts: Mapping[str, Any], skip: Sequence[str] = ()) -> dict[str, str]:
    """Facts by their names; those of a table by both names, and none that is not known."""
    found: dict[str, str] = {}
    for key, value in facts.items():
        if key not in skip and value is not None:
            name = str(key).replace("_", " ")
            if isinstance(value, dict):
                inner = _flat(table_of(value))
                found |= {f"{name}: {part}": told for part, told in inner.items()}
            elif isinstance(value, list | tuple):
                found[name] = ", ".join(_told(item) for item in listed(value))
            else:
                found[name] = str(value)
    return found
