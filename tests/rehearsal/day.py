"""A day at the desk: other rules, words of the staff, a regrade, and each mark computed anew.

After each step every mark and total is compared with ``stand_ins/terms``, which is told what this
script did and what single gradings earned, and nothing of what the program made of it.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from functools import partial

from answers import Answer, Kind
from leaving import leaving
from school import SAID, Failed, School
from stand_ins.terms import Row, Term, expected, expected_total

from grader.course.config import LateRule, MarkRule
from grader.course.database.records import Attempt
from grader.course.database.store import Store
from grader.course.rules.weights import LabRule, TotalRule

DUE = 100  # hours; what was handed in on time came before, and what came late came after
NOW = 1000
LATE = 'curve = "steps"\nsteps = [0.8, 0.5]\nslip_days = 1\nslip_per_lab = 1\n'
SHARES = (Fraction(8, 10), Fraction(5, 10))
WEIGHT = 2
ALONE = (Kind.SOLUTION_ALONE, Kind.VARIANT_ALONE)  # whom no regrade here concerns
FULL = (Kind.SOLUTION, Kind.VARIANT, Kind.NOTES)


class Desk:
    """What was done at the desk, and what that makes of each mark."""

    def __init__(self, school: School, answers: Sequence[Answer]) -> None:
        self.school = school
        self.answers = answers
        self.places = {lab.name: place for place, lab in enumerate(school.labs, 1)}
        pairs = range(0, len(school.students), 2)
        self.teams = [school.students[first : first + 2] for first in pairs]
        self.rows: list[Row] = []
        self.words: list[tuple[str, Row]] = []  # of the staff, by student
        self.graded = 0  # attempts that were told already

    def tell_attempts(self) -> None:
        """Add what was graded since: its points, and whether it was late."""
        with Store.open(self.school.database) as store:
            attempts = store.attempts()
        self.rows += [self._row(attempt) for attempt in attempts[self.graded :]]
        self.graded = len(attempts)

    def _row(self, attempt: Attempt) -> Row:
        """Tell of a grading; each student has at most one commit on time and one late."""
        assert attempt.submitted is not None
        hour = DUE + 1 if attempt.submitted > self.school.deadline else DUE - 1
        given = {"possible": int(attempt.possible), "student": attempt.student}
        return Row("attempt", self.places[attempt.lab], attempt.points, hour, **given)

    def say(self, kind: str, student: str, lab: str, value: float | None, *order: str) -> None:
        """Run a command of the gradebook, and note what it says."""
        self.school.run("gradebook", *order, *SAID)
        self.words.append((student, Row(kind, self.places[lab], value)))

    def correct(self, student: str, lab: str, task: str, points: float | None) -> None:
        """Set the points of a task by hand, or take that back; the work is worth that much then."""
        with Store.open(self.school.database) as store:
            attempt = store.attempts(lab, student)[-1]
        given = "none" if points is None else f"{points:g}"
        own = ("--commit", attempt.commit)  # a mate's may count
        self.school.run("gradebook", "points", student, lab, task, given, *own, *SAID)
        row = self._row(attempt)
        if points is not None:
            tasks = {str(each["id"]): each for each in attempt.report["tasks"]}  # type: ignore[attr-defined]
            row = replace(row, value=attempt.points - float(tasks[task]["score"]) + points)
        self.rows.append(row)

    def answer(self, student: str, lab: str, task: str, points: float) -> None:
        """Write down what a student asks, and answer it with another mark."""
        asked = ("ask", student, lab, "--task", task)
        out = self.school.run("gradebook", *asked, *SAID)
        number = re.search(r"\d+", out.partition("request")[2])
        if number is None:
            raise Failed(f"no number of a request: {out}")
        said = ("--author", "A. Teacher", "--text", "You are right.", "--points", f"{points:g}")
        self.school.run("gradebook", "answer", number[0], *said)
        self.words.append((student, Row("override", self.places[lab], points)))

    def forget(self, student: str) -> None:
        """Forget a student, whose place stays empty; teams are the course's to write anew."""
        more = self.school.more.replace(f', ["{student}"]', "").replace(f', "{student}"', "")
        self.school.set_rules(self.school.late, more)
        self.school.run("gradebook", "forget", student, *SAID)
        self.school.students.remove(student)

    def wrong(self, step: str) -> list[str]:
        """Return which marks and totals are not what the rules make of all that was done."""
        rows = self.school.marks()
        return [
            f"{step}: {student}: {told}"
            for student in self.school.students
            for told in self._differences(student, rows[student])
        ]

    def _differences(self, student: str, row: Mapping[str, str]) -> Iterator[str]:
        term = self._term(student)
        wanted = expected(term)
        for lab, place in self.places.items():
            points = wanted[place].points
            shown = row[lab]
            if (shown == "") != (points is None):
                yield f"{lab} is {shown or 'nothing'}, not {points}"
            elif points is not None and abs(float(shown) - float(points)) > 1e-3:
                yield f"{lab} is {shown}, not {float(points):g}"
        total, shown = expected_total(term), row["percent"]
        if (shown == "") != (total is None):
            yield f"the total is {shown or 'nothing'}, not {total}"
        elif total is not None and abs(float(shown) - float(total)) > 1e-2:
            yield f"the total is {shown} %, not {float(total):g} %"

    def _term(self, student: str) -> Term:
        """What was recorded of a student and, in the last lab, of their team."""
        together = len(self.school.labs)
        team = next(team for team in self.teams if student in team)
        rows = [
            replace(row, student="ada" if row.student == student else "bob", commit=hour)
            for row in self.rows
            if row.student == student or (row.lab == together and row.student in team)
            for hour in [self._hour(row, student)]
        ]
        # Of a lab of which anybody's was graded nothing counts as none.
        absent = [Row("attempt", lab, 0.0, infra=True, student="bob") for lab in self._labs()]
        return Term(
            LateRule(days=len(SHARES), steps=(0.8, 0.5), slip_days=1, slip_per_lab=1),
            SHARES,
            MarkRule.BEST,
            due=(DUE,) * len(self.school.labs),
            extended=(None,) * len(self.school.labs),
            percent=0,
            total=TotalRule({1: LabRule(weight=WEIGHT)}),
            now=NOW,
            rows=(*absent, *rows, *(row for who, row in self.words if who == student)),
            together=frozenset({together}),
        )

    def _labs(self) -> set[int]:
        return {row.lab for row in self.rows}

    def _hour(self, row: Row, student: str) -> int:
        """Two of a team have commits of their own."""
        return (
            row.commit if row.student == student else row.commit + (2 if row.commit > DUE else -2)
        )


def day(school: School, answers: Sequence[Answer], tell: Callable[[str, str], None]) -> list[str]:
    """Go through a day; return each mark that was not what the rules say."""
    desk = Desk(school, answers)
    before = school.run("gradebook", "--csv", "wide")
    _items(school, answers)
    rules = _rules(desk)
    other = school.folder / "other.toml"
    other.write_text((school.folder / "course.toml").read_text())
    school.set_rules(LATE, rules)
    (school.folder / "course.toml").rename(school.folder / "new.toml")
    other.rename(school.folder / "course.toml")
    school.run("gradebook", "--policy", "new.toml")
    if school.run("gradebook", "--csv", "wide") != before:
        raise Failed("rules on trial changed marks")
    (school.folder / "new.toml").rename(school.folder / "course.toml")
    desk.tell_attempts()
    wrong = desk.wrong("other rules, teams and weights")
    steps = [
        *_words(desk),
        *_reading(desk),
        *_regrade(desk),
        *leaving(school, desk.teams),
        *_going(desk),
    ]
    for step, act in steps:
        act()
        wrong += desk.wrong(step)
    tell(
        "a day at the desk", f"{len(steps) + 1} steps, {len(wrong)} marks other than the rules say"
    )
    return wrong


def _rules(desk: Desk) -> str:
    teams = ", ".join(str(team).replace("'", '"') for team in desk.teams)
    first, last = desk.school.labs[0], desk.school.labs[-1]
    return f"[labs.{first.number}]\nweight = {WEIGHT}\n\n[teams]\n{last.number} = [{teams}]\n"


def _words(desk: Desk) -> Iterator[tuple[str, Callable[[], None]]]:
    """Extensions, waivers and marks set by hand; each is taken back of somebody."""
    lab = desk.school.labs[0]
    late = [a.student for a in desk.answers if a.lab is lab and a.kind is Kind.LATE_SOLUTION]
    first, last = desk.school.students[0], desk.school.students[-1]
    until = f"{desk.school.deadline + timedelta(hours=20):%Y-%m-%dT%H:%M:%S+00:00}"

    def said(step: str, kind: str, who: str, value: float | None, command: str, *rest: str):
        return step, partial(
            desk.say, kind, who, lab.name, value, command, who, str(lab.number), *rest
        )

    for who in late[:1]:
        yield said("an extension", "extend", who, DUE + 20, "extend", until)
        yield said("no extension", "extend", who, None, "extend", "none")
    for who in late[-1:]:
        yield said("a waiver", "waive", who, 1, "waive")
        yield said("no waiver", "waive", who, None, "waive", "--take-back")
        yield said("a waiver again", "waive", who, 1, "waive")
    yield said("a mark set by hand", "override", first, 42.5, "override", "42.5")
    yield said("a mark of nothing", "override", last, 7.0, "override", "7")
    yield said("a mark taken back", "override", first, None, "override", "none")


def _reading(desk: Desk) -> Iterator[tuple[str, Callable[[], None]]]:
    """What people say who read, and what students ask; only points change a mark."""
    lab = desk.school.labs[0]
    task = lab.tasks[0].id
    who = next((a.student for a in desk.answers if a.lab is lab and a.kind in ALONE), None)
    if who is None:
        return
    own = (who, lab.name)
    run = desk.school.run
    yield "points of a task", partial(desk.correct, *own, task, 1.5)
    yield "a comment", partial(run, "gradebook", "comment", *own, "Why?", "--author", "B. Tutor")
    yield "held back", partial(run, "gradebook", "hold", *own, *SAID)
    # Nothing leaves: all share one repository, which others could read.
    given = ("give-back", lab.name, "--branch", "--dry-run")
    yield "reports given back", partial(run, *given, codes=(0, 1))
    yield "held back no more", partial(run, "gradebook", "release", *own, *SAID)
    yield "a request that is answered", partial(desk.answer, *own, task, 66.0)
    back = ("override", who, str(lab.number), "none")
    yield "its answer taken back", partial(desk.say, "override", *own, None, *back)
    yield "points of the task taken back", partial(desk.correct, *own, task, None)


def _going(desk: Desk) -> Iterator[tuple[str, Callable[[], None]]]:
    """A class that goes out and comes in, and somebody who is forgotten."""
    canvas = desk.school.folder / "canvas.csv"
    last = desk.school.students[-1]

    def back() -> None:
        desk.school.run("gradebook", "--canvas", "-o", str(canvas))
        out = desk.school.run("roster", "import", str(canvas), "--dry-run")
        if "Canvas" not in out:
            raise Failed(f"what Canvas would export is not known as that: {out}")

    yield "a roster that comes back", back
    yield "somebody forgotten", partial(desk.forget, last)


def _regrade(desk: Desk) -> Iterator[tuple[str, Callable[[], None]]]:
    """A regrade on trial of some right answers, published; and one that is discarded."""
    lab = desk.school.labs[0]
    right = [a.student for a in desk.answers if a.lab is lab and a.kind in FULL][:2]
    some = [part for student in right for part in ("--student", student)]
    runs: list[str] = []

    def try_again() -> None:
        order = ("--on-trial", "rehearsal", "--author", "A. Teacher", *some)
        out = desk.school.run("grade-all", lab.name, "--device", "cpu", *order)
        runs.append(out.partition("gradebook --trial ")[2].split()[0])
        desk.school.run("gradebook", "--trial", runs[-1], "--nobody-loses", codes=(0,))

    def decide(word: str) -> Callable[[], None]:
        def act() -> None:
            desk.school.run("gradebook", word, runs[-1], *SAID)
            desk.tell_attempts()

        return act

    if right:
        yield "a regrade on trial", try_again
        yield "a regrade discarded", decide("discard")
        yield "another regrade on trial", try_again
        yield "a regrade published", decide("publish")


def _items(school: School, answers: Sequence[Answer]) -> None:
    """Those who handed in wrong answers failed something; who was right failed nothing."""
    for lab in school.labs:
        out = school.run("gradebook", "items", str(lab.number), "--csv")
        found = {
            student
            for row in csv.DictReader(io.StringIO(out))
            for student in row["failed_by"].split()
        }
        own = [answer for answer in answers if answer.lab is lab]
        wrong = {answer.student for answer in own if answer.kind is Kind.WRONG}
        right = {answer.student for answer in own if answer.kind in FULL}
        if not wrong <= found or found & right:
            told = sorted(wrong - found) + sorted(found & right)
            raise Failed(f"items of {lab.name} do not fit what was handed in: {', '.join(told)}")
