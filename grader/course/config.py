"""``course.toml`` as frozen data: who takes part, where their work lies, what counts until when."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from grader.course.database.records import Grant
from grader.course.days import days_after, days_begun
from grader.course.mail import MailRule, mail_rule
from grader.course.policy import ServicePolicy, service_policy
from grader.course.rules.assistants import Assistants
from grader.course.rules.canned import canned
from grader.course.rules.extra_time import extended, extra_time
from grader.course.rules.hosts import Kind, workflows
from grader.course.rules.keys import lab_of_key
from grader.course.rules.late import LateRule, late_rule
from grader.course.rules.regrades import RegradeRule
from grader.course.rules.teams import Teams, teams
from grader.course.rules.weights import TotalRule, total_rule
from grader.errors import CourseError, LabError
from grader.labs.toml import Table, kind_of
from grader.languages.language import Language
from grader.questions.graded import question_rule

YEARS = range(1971, 9000)  # before 1970 git counts no seconds
MOMENT_HINT = "a moment is written without quotes and with its offset: 2026-10-01T23:59:00+02:00"
ENGINES = ("local", "ray")
_SQLITE = re.compile(r"(sqlite(?:\+\w+)?:///)(?!/|:memory:|file:)([^?]+)(\?.*)?", re.DOTALL)
_SCHEME_OR_HOST = re.compile(r"[^/]*:")  # as git reads it: a URL, or host:path


class MarkRule(StrEnum):
    """Which of a student's attempts counts."""

    BEST = "best"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Granted:
    """What staff granted a student in a lab, beside course.toml; None: nothing of it."""

    extension: Grant | None = None
    waiver: Grant | None = None


NOTHING = Granted()


@dataclass(frozen=True, slots=True)
class Course:
    """A course; paths are absolute, and all moments know their offset and are kept in UTC."""

    folder: Path  # where course.toml lies
    title: str
    roster: Path
    zone: tzinfo = UTC  # whose calendar counts days, and in which moments are shown
    remote: str = ""  # of all students; "" where the roster names a repository for each
    branch: str = "student/{id}"
    publish_remote: str = ""
    publish_branch: str = "main"
    workflows: tuple[Kind, ...] = ()  # hosts that run the public tests at each push
    language: Language = Language.ENGLISH  # of what students get
    assistants: Assistants = Assistants.TUTOR  # what published trees ask of them
    deadlines: Mapping[int, datetime] = field(default_factory=dict[int, datetime])
    extensions: Mapping[tuple[str, int], datetime] = field(
        default_factory=dict[tuple[str, int], datetime]
    )
    extra_time: Mapping[str, int] = field(default_factory=dict[str, int])  # percent, by student
    grants: Mapping[tuple[str, int], Granted] = field(
        default_factory=dict[tuple[str, int], Granted]
    )
    late: LateRule = field(default_factory=LateRule)
    mark: MarkRule = MarkRule.BEST
    regrade: RegradeRule = RegradeRule.NEWEST
    total: TotalRule | None = None  # None: the plain sum of the marks
    questions: float = 0.0  # points of the questions of a lab, beside its own; 0: they give none
    hide_answers: bool = False  # model answers are shown once nobody can hand a lab in any more
    teams: Teams = field(default_factory=dict[tuple[str, int], tuple[str, ...]])
    engine: str = "local"
    database: str = "sqlite:///course.db"
    service: ServicePolicy = field(default_factory=ServicePolicy)
    mail: MailRule | None = None
    corpus: tuple[Path, ...] = ()  # folders of answers that students' are compared with
    canned: Mapping[str, str] = field(default_factory=dict[str, str])  # comments, by short names

    def deadline(self, student: str, lab: int) -> datetime | None:
        """Return the moment until which a student has time; None if the lab has no deadline.

        Of the deadline, extensions and extra time it is the latest.
        """
        due = self.deadlines.get(lab)
        if due is None:
            return None
        due = max(due, self.extensions.get((student, lab), due))
        word = self.granted(student, lab).extension
        return max(due, word.until) if word and word.until else due

    def granted(self, student: str, lab: int) -> Granted:
        """Return what staff granted a student in a lab by command."""
        return self.grants.get((student, lab), NOTHING)

    def team(self, student: str, lab: int) -> tuple[str, ...]:
        """Return all who hand a lab in together with a student, themselves included."""
        return self.teams.get((student, lab), (student,))

    def is_team(self, one: str, other: str) -> bool:
        """Whether two students hand in any lab together."""
        return any(one in team and other in team for team in self.teams.values())

    def counts(self, lab: int) -> bool:
        """Whether a lab is part of the course's total."""
        return self.total is None or self.total.of(lab).counts

    def late_days(self, deadline: datetime | None, submitted: datetime | None) -> int:
        """Return how many days late a commit is, each that has begun; 0 where nobody knows."""
        if deadline is None or submitted is None:
            return 0
        return days_begun(deadline + self.late.grace, submitted, self.zone)

    def end(self, deadline: datetime) -> datetime:
        """Return the moment after which nothing counts: when the last late day ends."""
        days = self.late.days + self.late.slip_per_lab
        return days_after(deadline + self.late.grace, days, self.zone)


def load_course(path: Path) -> Course:
    """Read and validate ``course.toml``; a mistake raises ``CourseError`` with file and key."""
    try:
        return course_of(Table(path.name, "", _read(path)), path.absolute().parent)
    except LabError as error:  # what a Table raises
        raise CourseError(error.message, error.hint) from None


def course_of(top: Table, folder: Path) -> Course:
    """Read a course from the table of a file in that folder; a mistake raises ``LabError``."""
    collect, publish, likeness = map(top.table, ("collect", "publish", "likeness"))
    deadlines = _moments(top.table("deadlines"))
    service = service_policy(top.table("service"), _moments)
    percents = extra_time(longer := top.table("extra_time"))
    asked = question_rule(top.table("questions"))
    course = Course(
        folder=folder,
        title=top.text("title"),
        roster=folder / Path(top.text("roster", "roster.csv")).expanduser(),
        zone=_zone(top),
        remote=_remote(collect.text("remote", ""), folder),
        branch=_branch(collect, "branch", "student/{id}", ("id",)),
        publish_remote=_remote(publish.text("remote", ""), folder),
        publish_branch=_branch(publish, "branch", "main", ("NN",)),
        workflows=workflows(publish),
        language=Language(_one_of(top, "language", tuple(Language), Language.ENGLISH)),
        assistants=Assistants(_one_of(top, "assistants", tuple(Assistants), Assistants.TUTOR)),
        deadlines=deadlines,
        extensions=_later(
            _extensions(top, deadlines), extended(longer, percents, service.opens, deadlines)
        ),
        extra_time=percents,
        late=late_rule(top.table("late")),
        total=total_rule(top, deadlines),
        questions=asked.points,
        hide_answers=asked.hide_answers,
        teams=teams(top.table("teams"), folder),
        mark=MarkRule(_one_of(top, "mark", tuple(MarkRule), MarkRule.BEST)),
        regrade=RegradeRule(_one_of(top, "regrade", tuple(RegradeRule), RegradeRule.NEWEST)),
        engine=_one_of(top, "engine", ENGINES, "local"),
        database=_database(top.text("database", "sqlite:///course.db"), folder),
        service=service,
        mail=mail_rule(top.table("mail")),
        corpus=tuple(folder / Path(text).expanduser() for text in likeness.texts("corpus", ())),
        canned=canned(top.table("canned")),
    )
    for table in (collect, publish, likeness, top):
        table.finish()
    if "{id}" not in course.branch:
        raise collect.error("branch", "must contain {id}: else all students share one branch")
    return course


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        hint = "name it with --course, or begin with the example in docs/course.md"
        raise CourseError(f"there is no {path}", hint) from None
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise CourseError(f"{path} is not valid TOML: {error}", MOMENT_HINT) from None


def _zone(table: Table) -> tzinfo:
    name = table.text("zone", "UTC")
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        error = table.error("zone", f"{name!r} is no time zone that this machine knows")
        raise CourseError(error.message, "such as Europe/Berlin or Asia/Shanghai") from None


def _remote(text: str, folder: Path) -> str:
    """Return a URL as it is, and a path as one that starts at ``folder``."""
    if not text.strip() or _SCHEME_OR_HOST.match(text):
        return text.strip()
    return str((folder / Path(text.strip()).expanduser()).resolve())


def _branch(table: Table, key: str, default: str, fields: tuple[str, ...]) -> str:
    """Read a branch, in which ``{field}`` stands for what differs."""
    text = plain = table.text(key, default)
    for name in fields:
        plain = plain.replace(f"{{{name}}}", "0")
    if not is_branch(plain):
        allowed = ", ".join(f"{{{name}}}" for name in fields)
        raise table.error(key, f"{text!r} is no name of a branch (it may contain {allowed})")
    return text


def is_branch(name: str) -> bool:
    """True if git takes the name for a branch; the rules of ``git check-ref-format``."""
    bad = re.search(r"[\x00-\x20\x7f~^:?*\[\\{}]|\.\.|//|@\{|^[/-]|/$|\.$", name)
    parts = name.split("/")
    return not bad and name not in ("", "@", "HEAD") and not any(map(_is_bad_part, parts))


def _is_bad_part(part: str) -> bool:
    return part.startswith(".") or part.endswith(".lock")


def _moments(table: Table) -> dict[int, datetime]:
    """Read a table of one moment a lab."""
    found: dict[int, datetime] = {}
    for key in table.data:
        number = lab_of_key(table, key)
        if number in found:
            raise table.error(key, f"lab {number} has a moment already")
        found[number] = _moment(table, key)
    return found


def _extensions(top: Table, deadlines: Mapping[int, datetime]) -> dict[tuple[str, int], datetime]:
    students = top.table("extensions")
    found: dict[tuple[str, int], datetime] = {}
    for student in students.data:
        table = students.table(student)
        for key in table.data:
            number = lab_of_key(table, key)
            moment = _moment(table, key)
            if (student, number) in found:
                raise table.error(key, f"lab {number} is extended already")
            if number not in deadlines:
                raise table.error(key, f"lab {number} has no deadline to extend")
            if moment < deadlines[number]:
                raise table.error(key, f"is before the deadline of lab {number}")
            found[student, number] = moment
    return found


def _later(
    one: Mapping[tuple[str, int], datetime], other: Mapping[tuple[str, int], datetime]
) -> dict[tuple[str, int], datetime]:
    """Return the later moment of each student and lab."""
    return {**one, **{key: max(moment, one.get(key, moment)) for key, moment in other.items()}}


def _moment(table: Table, key: str) -> datetime:
    value = table.value(key)
    if not isinstance(value, datetime):
        found = kind_of(value) if isinstance(value, str | int | float | list | dict) else str(value)
        raise _hinted(table.error(key, f"must be a date with a time, not {found}"))
    if value.tzinfo is None:
        raise _hinted(table.error(key, f"{value} does not say its offset from UTC"))
    if value.year not in YEARS:
        raise _hinted(table.error(key, f"{value} is out of range"))
    return value.astimezone(UTC)


def _hinted(error: LabError) -> CourseError:
    return CourseError(error.message, MOMENT_HINT)


def _one_of(table: Table, key: str, choices: tuple[str, ...], default: str) -> str:
    text = table.text(key, default)
    if text not in choices:
        raise table.error(key, f"must be {' or '.join(choices)}, not {text!r}")
    return text


def _database(url: str, folder: Path) -> str:
    """Let a relative SQLite path start at ``folder``."""
    match = _SQLITE.fullmatch(url)
    return f"{match[1]}{folder / match[2]}{match[3] or ''}" if match else url
