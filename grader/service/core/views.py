"""What somebody may see of hand-ins: their own, or all for the staff.

What one may not know of raises the same NotFound as what does not exist, after the same look-up.
"""

from collections.abc import Iterable
from datetime import datetime

from grader.course.config import Course
from grader.course.database.giving.records import Hold, held
from grader.course.database.records import Attempt
from grader.course.gradebook.gradings import counting
from grader.course.gradebook.marks import lab_number
from grader.course.grading.batch import files_of
from grader.course.grants import granted
from grader.course.policy import Feedback
from grader.course.reading.points import as_read, corrected, of_work
from grader.course.rules.regrades import RegradeRule
from grader.labs.lab import Lab
from grader.labs.manual import PEOPLE
from grader.labs.results import Report
from grader.report.facts.stored import report_of
from grader.service.core.feedback import shown_to_student
from grader.service.core.outlook import Lookout, Outlook
from grader.service.domain.records import Event, HandIn, State, Who
from grader.service.domain.refusals import NotFound
from grader.service.ports.clock import Clock
from grader.service.ports.store import Store

MOST_NUMBER = 2**31 - 1  # of a hand-in
# What one may read of an event's data while a grading runs: no name of a test, no word of one.
_TOLD = {
    "begun": ("tries",),
    "task": ("task", "tests", "ended"),
    "graded": ("points", "possible"),
}


class Views:
    """Looks hand-ins up for whoever asks."""

    def __init__(self, course: Course, store: Store, clock: Clock) -> None:
        self._course = course
        self._store = store
        self._clock = clock
        self._lookout = Lookout(store, clock)

    def hand_in(self, who: Who, number: int) -> HandIn:
        """Return a hand-in that somebody may see, as their team's; raises NotFound."""
        found = self._store.hand_in(number) if 0 < number <= MOST_NUMBER else None
        if found is None or not (who.is_staff or who.name in self._team(found)):
            raise NotFound("there is no such hand-in")
        return found

    def hand_ins(self, student: str, lab: Lab) -> list[HandIn]:
        """Return what a student and their team handed in of a lab, oldest first."""
        return of_team(self._course, self._store, student, lab)

    def attempt(self, who: Who, item: HandIn) -> Attempt | None:
        """Return the newest grading of a hand-in that did not fail by our fault.

        To its student there is none while it is held back.
        """
        return self.gradings(who, item.student, item.lab).get(item.key)

    def held(self, who: Who, student: str, lab: str) -> bool:
        """Whether somebody may see nothing of what a student earned in a lab; staff always may.

        Of a team's work nobody sees anything from whom, or from whose mate who did it, it is held.
        """
        if who.is_staff:
            return False
        return any(
            (name, lab) in held(self._store.returns.holds(name)) for name in {student, who.name}
        )

    def hold(self, item: HandIn) -> Hold | None:
        """Return by whom and why what came of a hand-in is held back, for the staff."""
        return held(self._store.returns.holds(item.student)).get((item.student, item.lab))

    def gradings(self, who: Who, student: str, lab: str) -> dict[str, Attempt]:
        """Return a student's gradings of a lab, by the keys of their hand-ins: the newest of each.

        Where the better of two counts, it is that.

        To the student there are none while the lab is held back.
        """
        if self.held(who, student, lab):
            return {}
        found = [each for each in self._store.attempts(lab, student) if not each.infra]
        newest = {each.commit: each for each in found}
        if self._course.regrade is RegradeRule.NEWEST:
            return newest
        said = self._store.reading.corrections(student)
        own = {key: [each for each in found if each.commit == key] for key in newest}
        better = {
            key: counting(gradings, self._course.regrade, of_work(said, gradings[0]))[0]
            for key, gradings in own.items()
        }
        return {key: each for key, each in better.items() if each is not None}

    def gradings_of(self, who: Who, items: Iterable[HandIn]) -> dict[str, Attempt]:
        """Return what somebody may see of the newest gradings of hand-ins, by their keys."""
        found: dict[str, Attempt] = {}
        for student, lab in {(item.student, item.lab) for item in items}:
            found |= self.gradings(who, student, lab)
        return found

    def report(self, who: Who, attempt: Attempt) -> Report:
        """Return what somebody may read of a grading.

        Of work that people alone grade a student reads no points before all of it is read.
        """
        report = report_of(attempt.report)
        if attempt.suite == PEOPLE and (who.is_staff or self.points(attempt) is not None):
            report = as_read(attempt, self._store.reading.corrections(attempt.student))
        if who.is_staff:
            return report
        return shown_to_student(report, self._feedback(attempt.student, attempt.lab))

    def points(self, attempt: Attempt) -> tuple[float, float] | None:
        """Return the points of a grading, and of how many; None while it waits for a reader."""
        if attempt.suite != PEOPLE:
            return attempt.points, attempt.possible
        said = self._store.reading.corrections(attempt.student)
        found = corrected(attempt, of_work(said, attempt))
        return None if found.unread else (found.points, found.possible)

    def judged(self, attempt: Attempt) -> datetime:
        """Return when a grading was made, or when people last gave points for it."""
        if attempt.suite != PEOPLE:
            return attempt.graded
        said = of_work(self._store.reading.corrections(attempt.student), attempt)
        return max([attempt.graded, *(word.made for word in said)])

    def before(self, item: HandIn) -> HandIn | None:
        """Return what the student handed in of the lab before this, None: it was the first."""
        older = [
            each
            for each in self._store.hand_ins(item.student, item.lab)
            if each.number < item.number
        ]
        return older[-1] if older else None

    def files(self, item: HandIn, lab: Lab) -> dict[str, bytes]:
        """Return the files that were handed in; raises NotFound if none is left."""
        found = files_of(self._course, lab, item.path)
        if not found:
            raise NotFound("the files of this hand-in are gone")
        return found

    def outlook(self, item: HandIn | None = None) -> Outlook:
        """Return the queue as it is now, or was a second ago; it knows of ``item``, if it waits."""
        return self._lookout.look(item)

    def place(self, item: HandIn) -> int | None:
        """Return the place among what waits for the same device, from 1; None if it does not."""
        if item.state is not State.WAITING:
            return None
        return self.outlook(item).places.get(item.number)

    def _team(self, item: HandIn) -> tuple[str, ...]:
        return self._course.team(item.student, lab_number(item.lab))

    def _feedback(self, student: str, lab: str) -> Feedback:
        course = granted(self._course, self._store.grants())
        return feedback_of(course, student, lab, self._clock.now())


def feedback_of(course: Course, student: str, lab: str, now: datetime) -> Feedback:
    """Return how much a student may read of a verdict; the course knows what was granted.

    While anybody of a team may still hand in, nobody of it learns more.
    """
    number = lab_number(lab)
    due = [course.deadline(member, number) for member in course.team(student, number)]
    after = all(moment is not None and now > moment for moment in due)
    return course.service.feedback_after if after else course.service.feedback


def of_team(course: Course, store: Store, student: str, lab: Lab) -> list[HandIn]:
    """Return what a student and their team handed in of a lab, oldest first."""
    team = course.team(student, lab.number)
    found = [item for member in team for item in store.hand_ins(member, lab.name)]
    return sorted(found, key=lambda item: item.number)


def told(event: Event, *, is_held: bool = False) -> dict[str, object]:
    """Return what anybody may read of an event's data; of a verdict held back nothing."""
    keys = () if is_held and event.kind == "graded" else _TOLD.get(event.kind, ())
    return {key: event.data[key] for key in keys if key in event.data}
