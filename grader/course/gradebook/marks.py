"""The mark of a student in a lab: a rule over attempts that are never changed.

Of each commit the newest grading counts, so that a regrade takes effect; a grading that failed by
our fault counts for nothing, and neither does one on a machine that could judge less (no GPU) than
an earlier one did. What the public tests alone judged counts until the hidden ones have judged
anything of the student in that lab. Then the course's rule picks a commit, and a person's word
stands above it.

What is newer is what was recorded later: the clocks of machines that grade prove nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from grader.course.config import Course, MarkRule
from grader.course.database.records import Attempt, Override
from grader.text import moment_text, number, visible_line

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
    place: tuple[datetime, int]  # among the commits, by when they were handed in
    notes: Sequence[str]  # of later gradings of this commit that do not count


def mark(
    attempts: Iterable[Attempt],
    overrides: Iterable[Override],
    course: Course,
    student: str,
    lab: str,
) -> Mark:
    """Apply the course's rule to what there is of one student in one lab ("01_llama").

    Both come in the order in which they were recorded; those of others may be among them.
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
    graded = list(_candidates(attempts, deadline, course))
    if not graded:
        why = "its grading failed by our fault" if attempts else "nothing was graded"
        return Mark(student, lab, None, 100.0, None, 0, None, why)
    chosen = _choose(graded, course.mark)
    why = _reason(chosen, graded, course, deadline)
    attempt = chosen.attempt
    return Mark(student, lab, chosen.points, attempt.possible, attempt, chosen.late_days, None, why)


def _candidates(
    attempts: Sequence[Attempt], deadline: datetime | None, course: Course
) -> Iterator[Candidate]:
    by_all = [attempt for attempt in attempts if attempt.suite != PUBLIC]
    if any(not attempt.infra for attempt in by_all):
        attempts = by_all
    commits: dict[str, list[Attempt]] = {}
    known = datetime.min.replace(tzinfo=UTC)
    places: dict[str, tuple[datetime, int]] = {}
    for attempt in attempts:
        commits.setdefault(attempt.commit, []).append(attempt)
        # One without a date comes after all that were there before it.
        known = max(known, attempt.submitted or known)
        places.setdefault(attempt.commit, (attempt.submitted or known, len(places)))
    for commit, gradings in commits.items():
        attempt, notes = _newest(gradings)
        if attempt is not None:
            late = course.late_days(deadline, attempt.submitted)
            counts = late <= course.late.days or late == 0
            kept = max(0.0, 1.0 - course.late.per_day * late) if counts else 0.0
            points = round(attempt.points * kept, 4)
            yield Candidate(attempt, late, points, counts, places[commit], notes)


def _newest(gradings: Iterable[Attempt]) -> tuple[Attempt | None, list[str]]:
    """Return the grading of a commit that counts, and what is to be said of later ones."""
    found: Attempt | None = None
    notes: list[str] = []
    for grading in gradings:
        if grading.infra:
            notes.append("failed by our fault")
        elif found is not None and grading.possible < found.possible:
            notes.append(f"could judge {number(grading.possible)} points only")
        else:
            found, notes = grading, []
    return found, notes


def _choose(graded: Sequence[Candidate], rule: MarkRule) -> Candidate:
    if rule is MarkRule.BEST:
        return max(graded, key=lambda c: (c.points, c.counts, c.place))
    # The last on time; a late one takes its place only where it earns more in spite of that.
    last = [
        max(group, key=lambda c: c.place)
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
    of = moment_text(attempt.submitted, course.zone)
    commit = f"{which}, {attempt.commit[:SHOWN_COMMIT]} of {of}"
    parts = [f"{commit}, in run {attempt.run}"]
    if chosen.late_days:
        late = f"{days(chosen.late_days)} late (due {moment_text(deadline, course.zone)})"
        earned = f"of its {number(attempt.points)} points"
        share = f"{number(100 * min(1.0, course.late.per_day * chosen.late_days))} %"
        limit = f"nothing counts after {days(course.late.days)}" if course.late.days else "too late"
        parts.append(f"{late}: {share} {earned} are lost" if chosen.counts else f"{late}: {limit}")
    elif deadline is not None and attempt.submitted is None:
        parts.append("taken as on time")
    parts += [f"a later grading of it, which {note}, does not count" for note in chosen.notes]
    if attempt.possible < 100:
        parts.append(f"{number(attempt.possible)} points could be judged on that machine")
    return "; ".join(parts)


def _said(word: Override) -> str:
    author, reason = visible_line(word.author), visible_line(word.reason)
    return f"by {author} on {moment_text(word.made)}: {reason}"


def _taken_back(word: Override) -> str:
    return f"a mark set by hand was taken back {_said(word)}"
