"""Handing in: what the course allows a student now, and the receipt for what was taken.

Files are on disk, flushed, before the store knows of them: a hand-in that has a number has its
files, whatever dies between. A folder that no row names is left of a request that was cut off.
"""

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from grader.course.config import Course
from grader.course.database.records import HAND_INS
from grader.course.days import day_of, next_day
from grader.course.grants import granted
from grader.course.policy import Hidden
from grader.errors import CannotGrade
from grader.labs.documents.submission import fingerprint
from grader.labs.lab import Lab
from grader.service.core.views import of_team
from grader.service.domain.records import HandIn, Origin, State, Who, Work
from grader.service.domain.refusals import BadWork, NotFound, NotNow
from grader.service.ports.clock import Clock
from grader.service.ports.store import Store
from grader.text import moment_text


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a student, and with them their team, may do in a lab now.

    ``refusal`` None: they may hand in.
    """

    refusal: NotNow | None
    left: int | None  # hand-ins of today, None: any number
    deadline: datetime | None
    late: bool  # whether what is handed in now is late


class Desk:
    """Takes work in. ``labs`` are those of the course, by their folder's name."""

    def __init__(self, course: Course, labs: Sequence[Lab], store: Store, clock: Clock) -> None:
        self.course = course
        self.labs = {lab.name: lab for lab in labs}
        self._store = store
        self._clock = clock

    def lab(self, name: str) -> Lab:
        """Return a lab by its folder's name or number; raises NotFound."""
        for lab in self.labs.values():
            if name in (lab.name, str(lab.number), f"{lab.number:02d}"):
                return lab
        raise NotFound("there is no such lab")

    def terms(self) -> Course:
        """Return the course with what staff granted students until now."""
        return granted(self.course, self._store.grants())

    def allowance(self, student: str, lab: Lab) -> Allowance:
        """Say what the policy allows a student in a lab at this moment."""
        before = of_team(self.course, self._store, student, lab)
        return self._allowance(student, lab, before, self._clock.now())

    def _allowance(
        self, student: str, lab: Lab, before: Sequence[HandIn], now: datetime
    ) -> Allowance:
        policy = self.course.service
        deadline = self.terms().deadline(student, lab.number)
        late = deadline is not None and now > deadline
        own = [item for item in before if _counts(item)]
        today = [item for item in own if item.received >= day_of(now, self.course.zone)]
        left = max(policy.per_day - len(today), 0) if policy.per_day else None
        return Allowance(self._refusal(lab, own, left, now, deadline), left, deadline, late)

    def take(
        self,
        who: Who,
        lab: Lab,
        files: dict[str, bytes],
        origin: Origin,
        *,
        device: str = "cpu",
        note: str = "",
        commit: str = "",
    ) -> HandIn:
        """Take a student's files in and queue them.

        ``files`` are what ``labs/documents/submission`` made of what came: by name, of allowed
        sizes. Raises NotNow, BadWork, and CannotGrade where the disk or the database refuse.
        """
        student = self._student(who)
        refusal = self.allowance(student, lab).refusal
        if refusal is not None:
            raise refusal
        missing = [name for name in lab.needed if name not in files]
        if missing:
            all_of_them = "all" if lab.is_manual else "both"
            raise BadWork(
                f"{missing[0]} is not among the files", f"hand in {all_of_them} files of the lab"
            )
        now, number = self._clock.now(), fingerprint(files)
        path = self._keep(student, lab, files, now)
        work = Work(student, lab.name, files, number, now, origin, device, note, commit)

        team = of_team(self.course, self._store, student, lab)
        others = [item for item in team if item.student != student]

        def check(before: Sequence[HandIn]) -> None:  # again: two requests may have come at once
            refusal = self._allowance(student, lab, [*others, *before], now).refusal
            if refusal is not None:
                raise refusal

        return self._store.receive(work, path, check)

    def suite(self, student: str, lab: Lab) -> str:
        """Return the suites that judge what a student hands in now: "all" or "public"."""
        deadline = self.terms().deadline(student, lab.number)
        if self.course.service.hidden is Hidden.ALWAYS or deadline is None:
            return "all"
        return "all" if self._clock.now() > deadline else "public"

    def _student(self, who: Who) -> str:
        if who.is_staff or who.name not in {student.id for student in self._store.students()}:
            raise NotFound("only students of the course hand in")
        return who.name

    def _refusal(
        self,
        lab: Lab,
        own: Sequence[HandIn],
        left: int | None,
        now: datetime,
        deadline: datetime | None,
    ) -> NotNow | None:
        policy = self.course.service
        opens = policy.opens.get(lab.number)
        if opens is not None and now < opens:
            told = f"lab {lab.number} opens {self._shown(opens)}"
            return NotNow(told, "hand in from then on", opens)
        ends = deadline and self.course.end(deadline)
        if ends is not None and now > ends:
            return NotNow(f"lab {lab.number} closed {self._shown(ends)}", "ask your instructor")
        if left == 0:
            again = next_day(now, self.course.zone)
            told = f"you have handed in lab {lab.number} {policy.per_day} times today"
            return NotNow(told, f"again from {self._shown(again)}", again)
        last = max((item.received for item in own), default=None)
        if last is not None and now < last + policy.cooldown:
            again = last + policy.cooldown
            return NotNow(
                f"you handed in lab {lab.number} at {self._shown(last)}",
                f"again from {self._shown(again)}",
                again,
            )
        return None

    def _shown(self, moment: datetime) -> str:
        return moment_text(moment, self.course.zone)

    def _keep(self, student: str, lab: Lab, files: dict[str, bytes], now: datetime) -> str:
        """Write the files to a folder of their own, the course's alone to read."""
        name = f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(8)}"
        path = Path(HAND_INS) / lab.name / name
        folder = self.course.folder / path
        try:
            for above in (self.course.folder / HAND_INS, folder.parent):
                above.mkdir(mode=0o700, exist_ok=True)
            folder.mkdir(mode=0o700)
            for each, content in files.items():
                _write_through(folder / each, content)
            _flush(folder)
            _flush(folder.parent)
        except OSError as error:
            told = f"the hand-in cannot be kept: {error.strerror}"
            raise CannotGrade(told, "nothing was taken; tell your instructor") from None
        return str(path)


def _write_through(path: Path, content: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush(folder: Path) -> None:
    """Let the names in a folder outlast a loss of power."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _counts(item: HandIn) -> bool:
    """Whether a hand-in counts for quotas: what failed by our fault costs no attempt."""
    return item.state is not State.HELD
