"""Hand-ins by ``git push``: what a hook tells of is collected as ``lab collect`` does it.

A hook says that a branch moved, and nothing of what it says is taken for work: the branch is asked
for at the remote that the course or the roster names. One push after the other, in a thread, so
that a thousand hooks wait in a line and not on the machine; a branch that is in the line already is
not put there again.
"""

import logging
import queue
import threading
from collections.abc import Callable

from grader.course.database.records import Student
from grader.course.grading.collecting.answer import take
from grader.course.grading.collecting.branch import newest
from grader.course.grading.collecting.collect import location
from grader.course.grading.collecting.fetch import Bounds, Broken, fetched
from grader.errors import GitError, InferlabError
from grader.labs.documents.submission import fingerprint
from grader.labs.lab import Lab
from grader.readers import Budget
from grader.service.core.desk import Desk
from grader.service.domain.records import Origin, Role, Who
from grader.service.ports.store import Store
from grader.text import visible_line

MOST_WAITING = 1000  # branches; more than that are refused, and whoever sent the hook sends again
_log = logging.getLogger(__name__)


class Pushes:
    """Collects the branches that hooks tell of."""

    def __init__(self, desk: Desk, store: Store, device_of: Callable[[Lab], str]) -> None:
        self._desk = desk
        self._store = store
        self._device_of = device_of
        self._line: queue.Queue[str | None] = queue.Queue(MOST_WAITING)
        self._waiting: set[str] = set()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="pushes", daemon=True)
        self._thread.start()

    def pushed(self, branch: str) -> bool:
        """Take note that a branch moved; False if it is nobody's, or the line is full."""
        mine = [student.id for student in self._store.students() if student.branch == branch]
        with self._lock:
            try:
                for student in mine:
                    if student not in self._waiting:
                        self._line.put_nowait(student)
                        self._waiting.add(student)
            except queue.Full:
                return False
        return bool(mine)

    def close(self) -> None:
        """End the thread, after what it is at."""
        self._line.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (id := self._line.get()) is not None:
            with self._lock:
                self._waiting.discard(id)
            try:
                student = next(each for each in self._store.students() if each.id == id)
                self._collect(student)
            except StopIteration:
                continue  # who has left the roster meanwhile
            except (Broken, InferlabError, OSError) as error:
                told = error.line if isinstance(error, InferlabError) else str(error)
                _log.warning("a push of %s was not collected: %s", id, visible_line(told))

    def _collect(self, student: Student) -> None:
        remote = location(self._desk.course, student)
        budget = Budget()  # of all labs: it is one submission's reading
        with fetched(remote, student.branch, Bounds()) as repository:
            commit = newest(repository, None)
            if commit is None:
                return
            for lab in self._desk.labs.values():
                try:
                    files, remark = take(repository, commit.hash, lab, budget)
                except (Broken, GitError):
                    continue  # nothing of this lab lies there, or the stub as it was given out
                self._hand_in(student, lab, files, remark, commit.hash)

    def _hand_in(
        self, student: Student, lab: Lab, files: dict[str, bytes], remark: str, commit: str
    ) -> None:
        """Hand in what is new, not what was handed in last, by whatever way."""
        before = self._store.hand_ins(student.id, lab.name)
        if before and before[-1].sha256 == fingerprint(files):
            return
        who, device = Who(student.id, Role.STUDENT), self._device_of(lab)
        try:
            self._desk.take(who, lab, files, Origin.GIT, device=device, note=remark, commit=commit)
        except InferlabError as error:
            _log.warning("a push of %s to %s was refused: %s", student.id, lab.name, error.line)
