"""What was collected of a student so far, and what newly seen work adds to it.

Work that is the same, file for file, as what was frozen in time is no late attempt, whatever was
committed beside it, and even if its branch was rewritten. What was collected is never removed.
"""

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from grader.course.config import Course
from grader.course.database.records import Frozen
from grader.course.grading.collecting.branch import Commit
from grader.course.grading.collecting.fetch import Bounds
from grader.labs.lab import Lab
from grader.text import moment_text

FOLDER = "collected"


class Outcome(StrEnum):
    """What became of one student's collection; of two moments the first in this list is told."""

    LATE = "collected late"
    FROZEN = "frozen"
    SEEN = "collected before the deadline"
    KEPT = "kept as frozen earlier"
    MISSING = "nothing to collect"


@dataclass(frozen=True, slots=True)
class Collection:
    """What to collect and how; ``now`` is one moment for the whole class."""

    course: Course
    lab: Lab
    now: datetime
    late: bool = False  # up to the last late day, beside what was in time
    refresh: bool = False
    bounds: Bounds = field(default_factory=Bounds)
    is_kept: bool = True  # else nothing is written of what is found

    def due(self, student: str) -> datetime | None:
        """Return a student's deadline; None if the lab has none."""
        return self.course.deadline(student, self.lab.number)

    def moments(self, student: str) -> list[datetime | None]:
        """Return the last moments at which commits may be dated: in time first, then late."""
        due = self.due(student)
        if due is None or not self.late or self.now < due:
            return [due]
        return [due, self.course.end(due)]


@dataclass(frozen=True, slots=True)
class Taken:
    """What a branch held up to a moment, and the last commit that changed it."""

    until: datetime | None
    newest: Commit
    change: Commit
    files: Mapping[str, bytes]
    remark: str = ""


def asked(frozen: Frozen, until: datetime | None) -> bool:
    """True if this was collected when ``until`` had passed: nothing more can come by then."""
    return frozen.until == until and (until is None or frozen.collected >= until)


class Ledger:
    """One student's collections of a lab, oldest first; only those of which there is work."""

    def __init__(self, order: Collection, student: str, before: Iterable[Frozen]) -> None:
        self.fresh: list[Frozen] = []
        self.remarks: list[str] = []
        self._order = order
        self._student = student
        self._before = list(before)
        self._due = order.due(student)

    @property
    def newest(self) -> Frozen:
        """What was collected last."""
        return self._all[-1]

    @property
    def _all(self) -> list[Frozen]:
        return [*self._before, *self.fresh]

    @property
    def _closed(self) -> dict[datetime, Frozen]:
        """What was collected first after each moment had passed."""
        found: dict[datetime, Frozen] = {}
        for item in self._before:
            if item.until is not None and asked(item, item.until):
                found.setdefault(item.until, item)
        return found

    def enter(self, work: Taken) -> Outcome:
        """Enter what was found up to a moment, the moment in time before the late one."""
        self.remarks.append(work.remark)
        is_late = self._due is not None and work.until != self._due
        known = self._known(work, is_late)
        if known is not None:
            return self._again(known, work, is_late)
        self._doubt(work)
        self._tell_moved(work, is_late)
        self.fresh.append(self._frozen(work))
        if is_late:
            return Outcome.LATE
        return Outcome.SEEN if self._is_open(work.until) else Outcome.FROZEN

    def _known(self, work: Taken, is_late: bool) -> Frozen | None:
        """Return what the work is already: what was in time, or what was collected last."""
        in_time = next(filter(self._in_time, reversed(self._all)), None)
        if is_late and in_time is not None and self._has_files(in_time, work):
            return in_time
        last = self.newest if is_late and self._all else in_time
        if last is None or last.commit == work.change.hash:
            return last
        # Whoever changes the files and changes them back hands in anew.
        is_older = last.committed is not None and work.change.date <= last.committed
        return last if is_older and self._has_files(last, work) else None

    def _in_time(self, frozen: Frozen) -> bool:
        return self._due is None or frozen.committed is None or frozen.committed <= self._due

    def _has_files(self, known: Frozen, work: Taken) -> bool:
        folder = self._order.course.folder / known.path
        try:
            return work.files == {file.name: file.read_bytes() for file in folder.iterdir()}
        except OSError:
            return False

    def _again(self, known: Frozen, work: Taken, is_late: bool) -> Outcome:
        """Enter nothing but that it was asked for once more."""
        was_frozen = is_late or any(asked(item, item.until) for item in self._before)
        _keep(self._order, known.path, work.files)
        if not any(asked(item, work.until) for item in self._all):
            now = self._order.now
            self.fresh.append(replace(known, collected=now, until=work.until, problem=work.remark))
        if was_frozen:
            return Outcome.KEPT
        return Outcome.SEEN if self._is_open(work.until) else Outcome.FROZEN

    def _is_open(self, until: datetime | None) -> bool:
        return until is not None and self._order.now < until

    def _doubt(self, work: Taken) -> None:
        """Tell of work that its dates call older than a look that did not find it."""
        for until, item in self._closed.items():
            if work.change.date <= until:
                when = moment_text(item.collected)
                told = f"its date is in time, but on {when}, after the deadline, it was not there"
                self.remarks.append(told)
                return

    def _tell_moved(self, work: Taken, is_late: bool) -> None:
        """Tell why what was frozen is followed by something else."""
        closed = self._closed
        if not is_late and work.until is not None and closed and work.until not in closed:
            self.remarks.append(f"taken anew: the deadline is {moment_text(work.until)} now")

    def _frozen(self, work: Taken) -> Frozen:
        order = self._order
        path = Path(FOLDER, order.lab.name, self._student, work.change.hash[:16])
        _keep(order, str(path), work.files)
        return Frozen(
            student=self._student,
            lab=order.lab.name,
            commit=work.change.hash,
            committed=work.change.date,
            collected=order.now,
            path=str(path),
            problem=work.remark,
            until=work.until,
        )


def _keep(order: Collection, path: str, files: Mapping[str, bytes]) -> None:
    """Write the files of a commit, all or none; what is there already is left as it is."""
    place = order.course.folder / path
    if not order.is_kept or place.is_dir():
        return
    (order.course.folder / FOLDER).mkdir(mode=0o700, exist_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=place.parent))
    try:
        for name, content in files.items():
            with open(draft / name, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        draft.rename(place)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
