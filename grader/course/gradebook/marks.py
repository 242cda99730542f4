"""The mark of a student in a lab: a rule over attempts that are never changed.

Of each commit the newest grading counts, so that a regrade takes effect, or the better, as the
course says; a grading that failed by our fault counts for nothing, and neither does one on a
machine that could judge less (no GPU) than an earlier one did. What the public tests alone judged
counts until the hidden ones have judged anything of the student in that lab. Then the course's rule
picks a commit, and a person's word stands above it. Points that people gave single tasks of a
commit stand in place of the machine's, in whatever grading of it counts.

A late day costs a slip day while a student has one. They are spent lab by lab in the order of the
student's deadlines, by the commit that counts, and none where it would change nothing.

What is newer is what was recorded later: the clocks of machines that grade prove nothing.

Work that people alone grade has no mark until each of its tasks has points. They read what was
handed in last; by the rule of the best an earlier mark stands meanwhile.

What anybody of a team handed in is the work of each of them, late by each member's own deadline.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from grader.course.config import Course, MarkRule
from grader.course.database.records import Attempt, Correction, Grant, Override
from grader.course.gradebook.gradings import counting
from grader.course.reading.points import Corrected, as_read, corrected, of_work
from grader.labs.results import Report
from grader.text import moment_text, number, visible_line

SHOWN_COMMIT = 10  # characters
PUBLIC = "public"  # the suite of an attempt that no hidden test judged
UNREAD = "unread"  # in a table, where a mark waits for a reader


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
    slip_days: int = 0  # that the student spent on it
    waiting: Attempt | None = None  # for a reader, without whom it has no mark, or no newer one

    words: tuple[Correction, ...] = ()  # on the work of the attempt

    @property
    def report(self) -> Report:
        """The report of the attempt, if there is one, with the points where people alone grade."""
        assert self.attempt is not None
        return as_read(self.attempt, () if self.is_unread else self.words)

    @property
    def is_unread(self) -> bool:
        """Whether there is no mark because nobody has read what was handed in."""
        return self.points is None and self.waiting is not None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One graded commit and what it is worth under the late rule."""

    attempt: Attempt
    late_days: int
    slip_days: int  # spent on it, if it is the one that counts
    kept: float  # share of its points
    points: float
    counts: bool
    place: tuple[datetime, int]  # among the commits, by when they were handed in
    notes: Sequence[str]  # of later gradings of this commit that do not count
    worth: Corrected  # with what people gave its tasks


def mark(
    attempts: Iterable[Attempt],
    overrides: Iterable[Override],
    course: Course,
    student: str,
    lab: str,
    slip_days: int = 0,
    corrections: Iterable[Correction] = (),
) -> Mark:
    """Apply the course's rule to what there is of one student in one lab ("01_llama").

    All come in the order in which they were recorded; those of others may be among them.
    ``slip_days`` are those that the student has left.
    """
    team = course.team(student, lab_number(lab))
    own = [a for a in attempts if a.student in team and a.lab == lab]
    newest = [o for o in overrides if o.student == student and o.lab == lab][-1:]
    is_set = bool(newest) and newest[0].points is not None
    spends = course.counts(lab_number(lab)) and not is_set
    words = [c for c in corrections if c.student in team and c.lab == lab]
    earned = _earned(own, words, course, student, lab, slip_days if spends else 0)
    if not newest or newest[0].points is None:
        taken_back = f"; {_taken_back(newest[0])}" if newest else ""
        return replace(earned, why=earned.why + taken_back)
    word = newest[0]
    given, by = number(word.points or 0.0), _said(word)
    if earned.points is None:
        why = f"set to {given} {by} ({earned.why})"
    else:
        why = f"set to {given} {by} (else {number(earned.points)}: {earned.why})"
    return replace(earned, points=word.points, override=word, why=why, waiting=None)


def lab_number(lab: str) -> int:
    """The number of a lab's folder name, by which ``course.toml`` names it."""
    return int(lab[:2])


def days(count: int) -> str:
    """For example "1 day" and "2 days"."""
    return f"{count} day" if count == 1 else f"{count} days"


def _earned(
    attempts: Sequence[Attempt],
    corrections: Sequence[Correction],
    course: Course,
    student: str,
    lab: str,
    slips: int,
) -> Mark:
    granted = course.granted(student, lab_number(lab))
    deadline = course.deadline(student, lab_number(lab))
    is_waived = granted.waiver is not None
    graded = list(_candidates(attempts, corrections, deadline, course, slips, is_waived))
    if not graded:
        why = "its grading failed by our fault" if attempts else "nothing was graded"
        return Mark(student, lab, None, 100.0, None, 0, None, why)
    newest = max([c for c in graded if c.counts] or graded, key=lambda c: c.place)
    waiting = newest if newest.worth.unread else None
    chosen = _choose(_readable(graded, newest, course.mark), course.mark)
    why = "; ".join(
        [
            _which(chosen, graded, course),
            *_by_another(chosen, student),
            *_lateness(chosen, course, deadline, slips, granted.waiver),
            *_extension(course, granted.extension, deadline),
            *_notes(chosen),
            *([] if chosen.worth.unread else chosen.worth.said),
            *_unread(chosen, waiting, course),
        ]
    )
    points, possible = (
        (None, 100.0) if chosen.worth.unread else (chosen.points, chosen.worth.possible)
    )
    found = Mark(student, lab, points, possible, chosen.attempt, chosen.late_days, None, why)
    unread = waiting.attempt if waiting else None
    words = tuple(of_work(corrections, chosen.attempt))
    return replace(found, slip_days=chosen.slip_days, waiting=unread, words=words)


def _candidates(
    attempts: Sequence[Attempt],
    corrections: Sequence[Correction],
    deadline: datetime | None,
    course: Course,
    slips: int,
    is_waived: bool,
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
        attempt, notes = counting(gradings, course.regrade, corrections)
        if attempt is not None:
            late, place = course.late_days(deadline, attempt.submitted), places[commit]
            worth = corrected(attempt, corrections)
            # What earned nothing loses nothing.
            spent = 0 if is_waived or not worth.points else course.late.spent(late, slips)
            kept = 1.0 if is_waived else course.late.kept(late - spent)
            counts = is_waived or late - spent <= course.late.days
            points = round(worth.points * kept, 4)
            yield Candidate(attempt, late, spent, kept, points, counts, place, notes, worth)


def _readable(
    graded: Sequence[Candidate], newest: Candidate, rule: MarkRule
) -> Sequence[Candidate]:
    """Return of which commits one counts: by the rule of the best of those that were read."""
    if rule is MarkRule.LAST or not newest.worth.unread:
        return graded
    return [c for c in graded if not c.worth.unread] or [newest]


def _choose(graded: Sequence[Candidate], rule: MarkRule) -> Candidate:
    if rule is MarkRule.BEST:
        return max(graded, key=lambda c: (c.points, c.counts, -c.slip_days, c.place))
    # The last on time; a late one takes its place only where it earns more in spite of that.
    last = [
        max(group, key=lambda c: c.place)
        for group in ([c for c in graded if not c.late_days], [c for c in graded if c.late_days])
        if group
    ]
    return max(last, key=lambda c: (c.points, -c.late_days))


def _which(chosen: Candidate, graded: Sequence[Candidate], course: Course) -> str:
    attempt, many = chosen.attempt, len(graded)
    which = f"the {course.mark} of {many} graded commits" if many > 1 else "the commit"
    of = moment_text(attempt.submitted, course.zone)
    return f"{which}, {attempt.commit[:SHOWN_COMMIT]} of {of}, in run {attempt.run}"


def _by_another(chosen: Candidate, student: str) -> Iterator[str]:
    if chosen.attempt.student != student:
        yield f"handed in by {chosen.attempt.student}, for their team"


def _lateness(
    chosen: Candidate,
    course: Course,
    deadline: datetime | None,
    slips: int,
    waiver: Grant | None,
) -> Iterator[str]:
    """Say how late a commit is, and what that cost."""
    if not chosen.late_days:
        if deadline is not None and chosen.attempt.submitted is None:
            yield "taken as on time"
        return
    late, due = days(chosen.late_days), moment_text(deadline, course.zone)
    if waiver is not None:
        yield f"{late} late (due {due}): waived {_said(waiver)}"
        return
    rule = course.late
    share = f"{number(100 * (1.0 - chosen.kept))} %"
    limit = f"nothing counts after {days(rule.days)}" if rule.days else "too late"
    points = "points" if chosen.worth.unread else f"{number(chosen.worth.points)} points"
    end = f"{share} of its {points} are lost" if chosen.counts else limit
    if chosen.slip_days:
        of, left = rule.slip_days, slips - chosen.slip_days
        slip = _slips(chosen.slip_days)
        yield f"{late} late (due {due}): {slip} spent, {left} of {of} left: {end}"
    else:
        yield f"{late} late (due {due}): {end}"


def _slips(count: int) -> str:
    return "1 slip day" if count == 1 else f"{count} slip days"


def _extension(course: Course, word: Grant | None, deadline: datetime | None) -> Iterator[str]:
    if word is not None and word.until == deadline:
        yield f"extended to {moment_text(deadline, course.zone)} {_said(word)}"


def _notes(chosen: Candidate) -> Iterator[str]:
    for note in chosen.notes:
        yield f"a later grading of it, which {note}, does not count"
    if chosen.worth.possible < 100 and not chosen.worth.unread:
        yield f"{number(chosen.worth.possible)} points could be judged on that machine"


def _unread(chosen: Candidate, waiting: Candidate | None, course: Course) -> Iterator[str]:
    if chosen.worth.unread:
        yield chosen.worth.waits
    if waiting is not None and waiting is not chosen:
        of = moment_text(waiting.attempt.submitted, course.zone)
        yield f"{waiting.attempt.commit[:SHOWN_COMMIT]} of {of} is {waiting.worth.waits}"


def _said(word: Override | Grant) -> str:
    author, reason = visible_line(word.author), visible_line(word.reason)
    return f"by {author} on {moment_text(word.made)}: {reason}"


def _taken_back(word: Override) -> str:
    return f"a mark set by hand was taken back {_said(word)}"
