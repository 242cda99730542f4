"""The instructor's page: each lab of the class in numbers and pictures, and a table of students.

It stands by itself; its only script is the one that sorts the table, named by its hash. What a
student wrote, a name included, is escaped like everywhere in ``grader/report/markup/web.py``.
"""

import math
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from grader.course.database.records import Likeness, Student
from grader.course.gradebook.charts import histogram, task_bars
from grader.course.gradebook.folders import plain_name
from grader.course.gradebook.gradebook import Gradebook
from grader.course.gradebook.marks import UNREAD, Mark
from grader.course.gradebook.overview import Failing, Overview, Tried, overview
from grader.course.gradebook.review import Review, reviews
from grader.course.likeness.clusters import Cluster
from grader.report.markup.chart import tick_step
from grader.report.markup.web import escaped, figures, page, table
from grader.text import number

STUDENTS = "students"  # the folder of their pages
MOST_LISTED = 50
MOST_NAMED = 8  # students of a cluster
SIGNS = "* late, ! set by hand, ? to review, - nothing graded, unread: waiting for a reader"
STYLE = """
main { max-width: 64rem }
h3 { color: inherit; margin: 1.2rem 0 .2rem }
.sortable th { padding: 0 }
.sortable td, .sortable th { white-space: nowrap }
.sortable td.name { white-space: normal; min-width: 8rem; overflow-wrap: anywhere }
.sortable button { all: unset; cursor: pointer; font-weight: 600; padding: .3rem .6rem .3rem 0 }
.sortable button:focus-visible { outline: 2px solid }
.sortable th[aria-sort=ascending] button::after { content: " \\2191" }
.sortable th[aria-sort=descending] button::after { content: " \\2193" }
.points { text-align: right; font-variant-numeric: tabular-nums }
.flag { color: var(--mild) }
.failing td:first-child { width: 6rem }
.failing td:nth-child(2) { white-space: normal; overflow-wrap: anywhere }
details h3 { display: inline }
"""
# A click sorts by that column, a second one the other way; what is empty comes last both ways.
SCRIPT = """
for (const table of document.querySelectorAll('table.sortable')) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  const compare = (a, b) => a.num && b.num ? a.num[0] - b.num[0] : a.text.localeCompare(b.text);
  heads.forEach((head, column) => head.firstElementChild.addEventListener('click', () => {
    const up = head.ariaSort !== 'ascending';
    heads.forEach(other => other.removeAttribute('aria-sort'));
    head.ariaSort = up ? 'ascending' : 'descending';
    const rows = [...body.rows].map(row => {
      const { value } = row.cells[column].dataset, text = row.cells[column].textContent.trim();
      return { row, text, empty: value === '', num: value ? [Number(value)] : null };
    });
    rows.sort((a, b) => a.empty - b.empty || (up ? compare(a, b) : compare(b, a)));
    body.append(...rows.map(item => item.row));
  }));
}
"""


def class_page(book: Gradebook) -> str:
    """The instructor's page as HTML."""
    many = "1 student" if len(book.students) == 1 else f"{len(book.students)} students"
    handed_in = [lab for lab in book.labs if lab in book.handed_in]
    open = reviews(book)
    labs = "one lab" if len(book.labs) == 1 else f"{len(book.labs)} labs"
    body = [
        f"<h1>{escaped(book.course.title)}</h1>",
        f'<p class="score">{many}, {labs}</p>',
        f"<nav>{' · '.join(_link(name) for name in (*handed_in, 'Students'))}</nav>",
        *_reviews(open),
        *_remarks(book),
        *(line for lab in handed_in for line in _lab(overview(book, lab), book.title(lab))),
        '<h2 id="Students">Students</h2>',
        *_students(book, {review.mark for review in open}),
    ]
    return page(book.course.title, body, style=STYLE, script=SCRIPT)


def _reviews(waiting: Sequence[Review]) -> Iterable[str]:
    """What a person has to decide, first of all: until then it counts as missed."""
    if not waiting:
        return
    yield '<h2 id="Review">To review</h2>'
    rows = ((item.student, item.lab, item.case, item.seen) for item in waiting[:MOST_LISTED])
    yield table(("Student", "Lab", "Case", "What was seen"), rows)
    if len(waiting) > MOST_LISTED:
        yield f"<p>and {len(waiting) - MOST_LISTED} more</p>"
    told = "These tiers count as missed until you decide, also where the points stay as they are:"
    yield f"<p>{told} <code>{escaped(waiting[0].decided_by)}</code></p>"


def _remarks(book: Gradebook) -> Iterable[str]:
    """What collecting gave a person to look at; no page of a student's has it."""
    rows = [
        (student.id, lab, told)
        for student in book.students
        for lab in book.labs
        if (told := book.remark(student.id, lab))
    ]
    if rows:
        many = "1 remark" if len(rows) == 1 else f"{len(rows)} remarks"
        yield f"<details><summary><h3>Look at what was collected: {many}</h3></summary>"
        yield table(("Student", "Lab", "What was seen"), rows[:MOST_LISTED])
        if len(rows) > MOST_LISTED:
            yield f"<p>and {len(rows) - MOST_LISTED} more: <code>--csv long</code> has all</p>"
        yield "</details>"


def _link(name: str) -> str:
    return f'<a href="#{quote(name)}">{escaped(name)}</a>'


def _lab(found: Overview, title: str) -> Iterable[str]:
    yield f'<h2 id="{escaped(found.lab)}">{escaped(title)}</h2>'
    yield f"<p>{escaped(found.points_line)}</p>"
    pictures: list[dict[str, str]] = []
    if found.points:
        top = max(100.0, *found.points)
        svg = histogram(found.points, 0.0, top, "points")
        pictures.append({"title": f"Points in {found.lab}", "svg": svg})
    if found.tasks:
        title = f"Tasks of {found.lab}: students who earned all, some or none of the points"
        pictures.append({"title": title, "svg": task_bars(found.tasks)})
    yield from figures(pictures)
    if found.failing:
        yield "<h3>Most failed</h3>"
        yield _failing(found)
    if found.tests:
        yield f"<details><summary><h3>All {len(found.tests)} tests</h3></summary>"
        head = ("Task", "Test", "passed", "failed", "not run")
        yield table(head, (_tried(item) for item in found.tests))
        yield "</details>"
    if found.seconds:
        yield f"<h3>Time per submission</h3><p>{escaped(found.seconds_line)}</p>"
        longest = max(0.1, *found.seconds)
        top = tick_step(longest) * math.ceil(longest / tick_step(longest))
        svg = histogram(found.seconds, 0.0, top, "seconds")
        yield from figures([{"title": f"Time per submission in {found.lab}", "svg": svg}])
    yield from _clusters(found.clusters)


def _failing(found: Overview) -> str:
    head = "<tr><th>Students</th><th>Test, and what most of them are told</th></tr>"
    rows = "\n".join(_failing_row(item) for item in found.failing)
    return f'<table class="failing">\n{head}\n{rows}\n</table>'


def _failing_row(item: Failing) -> str:
    test = f"<code>{escaped(item.test)}</code> <small>{escaped(item.task)}</small>"
    told = f"{escaped(item.message)} <small>({item.told})</small>"
    return f"<tr><td>{item.students}</td><td>{test}<br>{told}</td></tr>"


def _tried(item: Tried) -> tuple[str, ...]:
    return (item.task, item.test, str(item.passed), str(item.failed), str(item.other))


def _clusters(found: Sequence[Cluster]) -> Iterable[str]:
    if not found:
        return
    many = "1 cluster" if len(found) == 1 else f"{len(found)} clusters"
    yield f"<details><summary><h3>Alike: {many}</h3></summary>"
    yield table(
        ("Students", "How they hang together", "Share most", "Of the first", "Of the other"),
        (_cluster_row(item) for item in found[:MOST_LISTED]),
    )
    if len(found) > MOST_LISTED:
        yield f"<p>and {len(found) - MOST_LISTED} more clusters</p>"
    told = "A reason to look, never a verdict. Side by side: lab similarity LAB --html FOLDER"
    yield f"<p><small>{told}</small></p></details>"


def _cluster_row(item: Cluster) -> tuple[str, ...]:
    pair = item.strongest
    more = len(item.students) - MOST_NAMED
    names = ", ".join(item.students[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    shares = f"{pair.share:.0%}", f"{pair.other_share:.0%}"
    return names, item.line, f"{pair.student}, {pair.other}", *shares


def _students(book: Gradebook, open: set[tuple[str, str]]) -> Iterable[str]:
    flags = {name for item in book.likenesses for name in _named(item)}
    names = ("Id", "Name", *book.labs, "Total", "Alike")
    head = "".join(
        f'<th scope="col"><button type="button">{escaped(name)}</button></th>' for name in names
    )
    rows = "\n".join(_student_row(book, student, flags, open) for student in book.students)
    yield '<div class="wide"><table class="sortable">'
    yield f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>"
    yield f"<p><small>{SIGNS}</small></p>"


def _named(item: Likeness) -> tuple[str, ...]:
    return (item.student, item.other) if item.is_student else (item.student,)


def _student_row(
    book: Gradebook, student: Student, flags: set[str], open: set[tuple[str, str]]
) -> str:
    name = quote(plain_name(student.id))
    link = f'<a href="{STUDENTS}/{name}.html">{escaped(student.id)}</a>'
    alike = "alike" if student.id in flags else ""
    cells = [f"<td>{link}</td>", f'<td class="name">{escaped(student.name)}</td>']
    cells += [_mark_cell(mark, name, open) for mark in book.of(student.id)]
    cells += [_total_cell(book, student)]
    cells += [f'<td class="flag" data-value="{alike and 1}">{alike}</td>']
    return f"<tr>{''.join(cells)}</tr>"


def _total_cell(book: Gradebook, student: Student) -> str:
    found, shown = book.totals.get(student.id), book.total_shown(student.id)
    if found is None:
        return f'<td class="points" data-value="{book.total(student.id)}">{shown}</td>'
    value = "" if found.percent is None else found.percent
    return f'<td class="points" data-value="{value}" title="{escaped(found.line)}">{shown}</td>'


def _mark_cell(mark: Mark, name: str, open: set[tuple[str, str]]) -> str:
    if mark.points is None:
        shown = UNREAD if mark.is_unread else "-"
        return f'<td class="points" data-value="" title="{escaped(mark.why)}">{shown}</td>'
    sign = "!" if mark.override else "*" if mark.late_days else ""
    sign += "?" if (mark.student, mark.lab) in open else ""
    shown = f"{number(mark.points)}{sign}"
    if mark.attempt is not None:
        shown = f'<a href="{STUDENTS}/{name}/{quote(mark.lab)}.html">{shown}</a>'
    return f'<td class="points" data-value="{mark.points}" title="{escaped(mark.why)}">{shown}</td>'
