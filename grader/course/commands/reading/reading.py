"""What people say when they read, by command: the same rows as on the service's pages."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.course.commands.marks.book import check_said, known_student, open_store
from grader.course.config import Course, load_course
from grader.course.database.records import Comment, Correction, Frozen, Score
from grader.course.database.store import Store
from grader.course.gradebook.gradebook import read_gradebook
from grader.course.gradebook.pages import points_of
from grader.course.reading.comments import (
    checked_place,
    checked_text,
    open_comment,
    place_of,
    said,
)
from grader.course.reading.points import checked_points, holding
from grader.course.reading.rubric import checked_score, read_by, settling
from grader.course.reading.shelf import Shelf
from grader.course.reading.work import collected
from grader.errors import UsageError
from grader.labs.lab import Lab, find_lab, find_root
from grader.text import moment_text, visible_line


@dataclass(frozen=True, slots=True)
class Order:
    """Whose work is meant, and who speaks, as typed; ``commit`` "" is the work that counts."""

    course: Path
    student: str
    lab: str
    author: str
    commit: str


@dataclass(frozen=True, slots=True)
class Words:
    """A comment as typed; ``withdraw`` is the number of one that is taken back."""

    text: str
    canned: str
    task: str
    line: str
    withdraw: int | None


def comment(order: Order, words: Words) -> int:
    """Say something of a student's work, or take such a word back."""
    course, lab = load_course(order.course), find_lab(order.lab, find_root())
    check_said(order.author, words.text if words.withdraw is not None else "-")
    author = order.author.strip()
    with open_store(course) as store:
        student = known_student(store.students(), order.student).id
        shelf = Shelf(store)
        if words.withdraw is not None:
            number = words.withdraw
            old = open_comment(store.comments(lab.name, student), number)
            text = checked_text(course, words.text)
            key = (old.student, old.lab, old.commit, author, text, datetime.now(UTC))
            shelf.add_comment(Comment(*key, withdraws=number))
            print(f"comment {number} on {student}, {lab.name} is withdrawn")
            return 0
        commit = work_of(course, store, student, lab, order.commit)
        files = collected(course, lab, commit, _kept(store, lab, student))
        file, _, line = words.line.rpartition(":")
        place = checked_place(lab, files, words.task, file, line)
        text = checked_text(course, words.text, words.canned)
        about = (place.task, place.file, place.line)
        key = (student, lab.name, commit, author, text, datetime.now(UTC))
        number = shelf.add_comment(Comment(*key, *about))
    where = f", {place.shown}" if place.shown else ""
    print(f"comment {number} on {student}, {lab.name}, {visible_line(commit[:10])}{where}")
    return 0


def points(order: Order, task: str, value: str, reason: str) -> int:
    """Give a task of a student's work points, or take them back."""
    course, lab = load_course(order.course), find_lab(order.lab, find_root())
    check_said(order.author, reason)
    given = checked_points(lab, task, value)
    with open_store(course) as store:
        student = known_student(store.students(), order.student).id
        commit = work_of(course, store, student, lab, order.commit)
        known = store.corrections(student)
        own = [each for each in known if (each.lab, each.task) == (lab.name, task)]
        if given is None and not holding(own, commit):
            told = f"{student} has no points by hand in {task} of {visible_line(commit[:10])}"
            raise UsageError(told, "so none can be taken back")
        said = (order.author.strip(), reason.strip(), datetime.now(UTC))
        Shelf(store).add_correction(Correction(student, lab.name, commit, task, given, *said))
        mark = read_gradebook(course, store, [lab.name]).marks[student, lab.name]
    print(f"{student}, {lab.name}: {points_of(mark)}: {visible_line(mark.why, 1000)}")
    return 0


def score(order: Order, criterion: str, value: str, reason: str, *, settles: bool) -> int:
    """Give points for a criterion of the rubric, or the last word on it."""
    course, lab = load_course(order.course), find_lab(order.lab, find_root())
    check_said(order.author, reason if settles else "-")
    given = checked_score(lab, criterion, value)
    with open_store(course) as store:
        student = known_student(store.students(), order.student).id
        commit = work_of(course, store, student, lab, order.commit)
        said = (order.author.strip(), reason.strip(), datetime.now(UTC), settles)
        new, shelf = Score(student, lab.name, commit, criterion, given, *said), Shelf(store)
        shelf.add_scores([new], settling(lab, new))
        scores = [each for each in shelf.scores(lab.name, student) if each.commit == commit]
    [at] = [each for each in read_by(lab, scores) if each.criterion.id == criterion]
    print(f"{student}, {lab.name}, {criterion}: {at.state}")
    return 0


def comments(course_file: Path, lab: str, student: str) -> int:
    """List what was said of work in a lab."""
    course, name = load_course(course_file), find_lab(lab, find_root()).name
    with open_store(course) as store:
        if student:
            known_student(store.students(), student)
        found = said(store.comments(name, student or None))
    for each in found:
        word, place = each.comment, place_of(each.comment).shown
        where = f"{word.student}, {word.commit[:10]}" + (f", {place}" if place else "")
        when = moment_text(word.made, course.zone)
        text = " / ".join(part for part in word.text.split("\n") if part)
        print(visible_line(f"{word.number}  {where}: {word.author}, {when}: {text}", 1000))
        if each.withdrawn:
            by = f"withdrawn by {each.withdrawn.author}: {each.withdrawn.text}"
            print(visible_line(f"    {by}", 1000))
    if not found:
        print(f"nothing was said of {name} yet")
    return 0


def work_of(course: Course, store: Store, student: str, lab: Lab, commit: str = "") -> str:
    """Return the work that is meant, by its first characters; "" is the one that counts.

    Raises UsageError if there is none, or more than one.
    """
    known = [each.commit for each in store.attempts(lab.name, student) if not each.infra]
    known += [each.commit for each in _kept(store, lab, student)]
    known = list(dict.fromkeys(known))
    if not known:
        raise UsageError(f"{student} has no work in {lab.name}", "collect it: lab collect LAB")
    if commit:
        found = [each for each in known if each == commit] or [
            each for each in known if each.startswith(commit)
        ]
        if len(found) != 1:
            told = "no work" if not found else f"{len(found)} works"
            named = ", ".join(visible_line(each[:10]) for each in known)
            raise UsageError(f"{told} of {student} begins with {commit!r}", f"there is: {named}")
        return found[0]
    mark = read_gradebook(course, store, [lab.name], student=student).marks.get((student, lab.name))
    return mark.attempt.commit if mark and mark.attempt else known[-1]


def _kept(store: Store, lab: Lab, student: str) -> list[Frozen]:
    return [each for each in store.collections(lab.name) if each.student == student]
