"""The mark of a student in a lab: a rule over attempts that are never changed.

Of each commit the newest grading counts, so that a regrade takes effect; a grading that failed by
our fault counts for nothing, and neither does one on a machine that could judge less (no GPU) than
an earlier one did. What the public tests alone judged counts until the hidden ones have judged
anything of the student in that lab. Then the course's rule picks a commit, and a person's word
stands above it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from grader.course.config import Course, MarkRule
from grader.course.database.records import Attempt, Override
from grader.text import moment_text, number, visible_line

DAY = timedelta(days=1)
SHOWN_COMMIT = 10  # characters
PUBLIC = "public"  # the suite of an attempt that no hidden test judged


@dataclass(frozen=True, slots=True)
class Mark:
    """What a student has in a lab; ``points`` None: nothing was graded and nobody set a mark."""

    student: str
    lab: str
    points: float | None
    possible: float
    attempt: Attempt | None  # that counts, or that would but for the override
    late_days: int
    override: Override | None
    why: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """One graded commit and what it is worth under the late rule."""

    attempt: Attempt
    late_days: int
    points: float
    counts: bool

    @property
    def moment(self) -> datetime:
        """When it was handed in; when it was graded, where nobody knows."""
        return self.attempt.submitted or self.attempt.graded


def mark(
    attempts: Iterable[Attempt],
    overrides: Iterable[Override],
    course: Course,
    student: str,
    lab: str,
) -> Mark:
    """Apply the course's rule to what there is of one student in one lab ("01_llama").

    Attempts and overrides of others may be among them.
    """
    own = [a for a in attempts if a.student == student and a.lab == lab]
    earned = _earned(own, course, student, lab)
    newest = [o for o in overrides if o.student == student and o.lab == lab][-1:]
    if not newest or newest[0].points is None:
        taken_back = f"; {_taken_back(newest[0])}" if newest else ""
        return replace(earned, why=earned.why + taken_back)
    word = newest[0]
    instead = "" if earned.points is None else f"else {number(earned.points)}: "
    why = f"set to {number(word.points or 0.0)} {_said(word)} ({instead}{earned.why})"
    return replace(earned, points=word.points, override=word, why=why)


def lab_number(lab: str) -> int:
    """The number of a lab's folder name, by which ``course.toml`` names it."""
    return int(lab[:2])


def days(count: int) -> str:
    """For example "1 day" and "2 days"."""
    return f"{count} day" if count == 1 else f"{count} days"


def _earned(attempts: Sequence[Attempt], course: Course, student: str, lab: str) -> Mark:
    deadline = course.deadline(student, lab_number(lab))
    graded = [_candidate(a, deadline, course) for a in _newest_gradings(attempts)]
    if not graded:
        why = "its grading failed by our fault" if attempts else "nothing was graded"
        return Mark(student, lab, None, 100.0, None, 0, None, why)
    chosen = _choose(graded, course.mark)
    why = _reason(chosen, graded, course, deadline)
    attempt = chosen.attempt
    return Mark(student, lab, chosen.points, attempt.possible, attempt, chosen.late_days, None, why)


def _newest_gradings(attempts: Iterable[Attempt]) -> list[Attempt]:
    graded = [attempt for attempt in attempts if not attempt.infra]
    by_all = [attempt for attempt in graded if attempt.suite != PUBLIC]
    found: dict[str, Attempt] = {}
    for attempt in by_all or graded:
        known = found.get(attempt.commit)
        if known is None or _supersedes(attempt, known):
            found[attempt.commit] = attempt
    return [*found.values()]


def _supersedes(attempt: Attempt, known: Attempt) -> bool:
    if attempt.possible != known.possible:
        return attempt.possible > known.possible
    return attempt.graded >= known.graded


def _candidate(attempt: Attempt, deadline: datetime | None, course: Course) -> Candidate:
    late = 0
    if deadline is not None and attempt.submitted is not None and attempt.submitted > deadline:
        late = math.ceil((attempt.submitted - deadline) / DAY)
    counts = late <= course.late.days or late == 0
    kept = max(0.0, 1.0 - course.late.per_day * late) if counts else 0.0
    return Candidate(attempt, late, round(attempt.points * kept, 4), counts)


def _choose(graded: Sequence[Candidate], rule: MarkRule) -> Candidate:
    if rule is MarkRule.BEST:
        return max(graded, key=lambda c: (c.points, c.counts, c.moment))
    # The last on time; a late one takes its place only where it earns more in spite of that.
    last = [
        max(group, key=lambda c: c.moment)
        for group in ([c for c in graded if not c.late_days], [c for c in graded if c.late_days])
        if group
    ]
    return max(last, key=lambda c: (c.points, -c.late_days))


def _reason(
    chosen: Candidate, graded: Sequence[Candidate], course: Course, deadline: datetime | None
) -> str:
    attempt = chosen.attempt
    which = (
        f"the {course.mark} of {len(graded)} graded commits" if len(graded) > 1 else "the commit"
    )
    commit = f"{which}, {attempt.commit[:SHOWN_COMMIT]} of {moment_text(attempt.submitted)}"
    parts = [f"{commit}, in run {attempt.run}"]
    if chosen.late_days:
        late = f"{days(chosen.late_days)} late"
        earned = f"of its {number(attempt.points)} points"
        share = f"{number(100 * min(1.0, course.late.per_day * chosen.late_days))} %"
        limit = f"nothing counts after {days(course.late.days)}" if course.late.days else "too late"
        parts.append(f"{late}: {share} {earned} are lost" if chosen.counts else f"{late}: {limit}")
    elif deadline is not None and attempt.submitted is None:
        parts.append("taken as on time")
    if attempt.possible < 100:
        parts.append(f"{number(attempt.possible)} points could be judged on that machine")
    return "; ".join(parts)


def _said(word: Override) -> str:
    author, reason = visible_line(word.author), visible_line(word.reason)
    return f"by {author} on {moment_text(word.made)}: {reason}"


def _taken_back(word: Override) -> str:
    return f"a mark set by hand was taken back {_said(word)}"
