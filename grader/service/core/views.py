"""What somebody may see of hand-ins: their own, or all for the staff.

What one may not know of raises the same NotFound as what does not exist, after the same look-up.
"""

from grader.course.config import Course
from grader.course.database.records import Attempt
from grader.course.gradebook.marks import lab_number
from grader.course.grading.batch import files_of
from grader.course.grants import granted
from grader.course.policy import Feedback
from grader.labs.lab import Lab
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
        """Return a hand-in that somebody may see; raises NotFound."""
        found = self._store.hand_in(number) if 0 < number <= MOST_NUMBER else None
        if found is None or not (who.is_staff or found.student == who.name):
            raise NotFound("there is no such hand-in")
        return found

    def attempt(self, item: HandIn) -> Attempt | None:
        """Return the newest grading of a hand-in that did not fail by our fault."""
        return self.gradings(item.student, item.lab).get(item.key)

    def gradings(self, student: str, lab: str) -> dict[str, Attempt]:
        """Return a student's newest gradings of a lab, by the keys of their hand-ins."""
        found = self._store.attempts(lab, student)
        return {each.commit: each for each in found if not each.infra}

    def report(self, who: Who, attempt: Attempt) -> Report:
        """Return what somebody may read of a grading."""
        report = report_of(attempt.report)
        if who.is_staff:
            return report
        return shown_to_student(report, self._feedback(attempt.student, attempt.lab))

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

    def _feedback(self, student: str, lab: str) -> Feedback:
        policy = self._course.service
        course = granted(self._course, self._store.grants())
        deadline = course.deadline(student, lab_number(lab))
        after = deadline is not None and self._clock.now() > deadline
        return policy.feedback_after if after else policy.feedback


def told(event: Event) -> dict[str, object]:
    """Return what anybody may read of an event's data."""
    return {key: event.data[key] for key in _TOLD.get(event.kind, ()) if key in event.data}
