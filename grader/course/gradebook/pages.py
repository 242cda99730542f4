"""Files of a class: the instructor's page, a page per student, and each student's HTML reports."""

from pathlib import Path
from urllib.parse import quote

from grader.course.database.records import Attempt, Comment, Student
from grader.course.gradebook.class_page import STUDENTS, class_page
from grader.course.gradebook.folders import make_folder, plain_name
from grader.course.gradebook.gradebook import Gradebook
from grader.course.gradebook.marks import Mark
from grader.course.reading.comments import place_of, standing
from grader.files import write_file
from grader.labs.manual import WAITING
from grader.report.formats.html import render_html
from grader.report.markup.web import escaped, page
from grader.text import number

STYLE = "section p { margin: .3rem 0; overflow-wrap: anywhere } section h2 { margin: 1.5rem 0 0 }"


def write_pages(book: Gradebook, folder: Path) -> int:
    """Write index.html, a page per student and one per report into ``folder``; return how many."""
    make_folder(folder)
    count = 1
    for student in book.students:
        count += _write_student(book, student, folder / STUDENTS)
    # Last, so that it never links to what is not there.
    write_file(folder / "index.html", class_page(book).encode())
    return count


def _write_student(book: Gradebook, student: Student, folder: Path) -> int:
    name = plain_name(student.id)
    make_folder(folder / name)
    marks = book.told(student.id)
    for mark in marks:
        if mark.attempt is not None:
            above = _above(student, mark, f"../{name}.html")
            above += _comments(book, mark.attempt)
            report = render_html(mark.report, above)
            write_file(folder / name / f"{mark.lab}.html", report.encode())
    write_file(folder / f"{name}.html", student_page(book, student).encode())
    return 1 + sum(mark.attempt is not None for mark in marks)


def student_page(book: Gradebook, student: Student) -> str:
    """A student's page as HTML: each mark, where it comes from, and a link to the report."""
    folder = plain_name(student.id)
    body = [
        f"<h1>{escaped(student.name or student.id)}</h1>",
        f'<p class="score">{escaped(book.total_line(student.id))}</p>',
        *([f"<p>{escaped(why)}</p>"] if (why := book.total_why(student.id)) else []),
        *(_mark(mark, book.title(mark.lab), folder) for mark in book.told(student.id)),
        f"<p><small>{escaped(book.course.title)}, {escaped(student.id)}</small></p>",
    ]
    return page(f"{student.name or student.id}: marks", body, style=STYLE)


def _above(student: Student, mark: Mark, back: str) -> list[str]:
    """A way back, and the mark where the report's own points are not it."""
    found = [f'<p><a href="{quote(back)}">{escaped(student.name or student.id)}: all marks</a></p>']
    if mark.attempt is not None and mark.points != mark.attempt.points:
        why = f"<strong>The mark is {points_of(mark)}:</strong> {escaped(mark.why)}"
        found.append(f'<p class="notice note">{why}</p>')
    return found


def _comments(book: Gradebook, attempt: Attempt) -> list[str]:
    """What the staff said of this work, and nobody took back."""
    own = [
        each
        for each in standing(book.comments, attempt.commit)
        if (each.student, each.lab) == (attempt.student, attempt.lab)
    ]
    return [_comment(each) for each in own]


def _comment(word: Comment) -> str:
    place = place_of(word).shown
    about = f" on {escaped(place)}" if place else ""
    text = "<br>".join(escaped(line) for line in word.text.split("\n"))
    said = f"<strong>{escaped(word.author)}{about}:</strong> {text}"
    return f'<p class="notice note comment">{said}</p>'


def _mark(mark: Mark, title: str, folder: str) -> str:
    lab = escaped(title)
    if mark.attempt is not None:
        lab = f'<a href="{quote(folder)}/{quote(mark.lab)}.html">{lab}</a>'
    words = f"<p><strong>{points_of(mark)}</strong></p><p>{escaped(mark.why)}</p>"
    return f"<section><h2>{lab}</h2>{words}</section>"


def points_of(mark: Mark) -> str:
    """For example "71.5 / 75", or a dash where there is no mark."""
    if mark.is_unread:
        return WAITING
    if mark.points is None:
        return "-"
    return f"{number(mark.points)} / {number(mark.possible)}"
