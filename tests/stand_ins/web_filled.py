"""A class on the web in which each kind of page has something on it."""

from datetime import timedelta

from stand_ins.sample_reports import measured, mixed, speed_entry
from stand_ins.web_class import CODE, LAB, NOW, WebClass

from grader.course.database.giving.records import Address
from grader.course.database.records import Comment
from grader.service.core.door import hashed
from grader.service.core.people.requests import Reply
from grader.service.domain.records import Alias, Role, Who

SECRET = "s" * 43  # of an address at which a report was given


def fill(lesson: WebClass) -> None:
    """Hand in, grade, comment, hold and let wait, so that each kind of page has something on it.

    Of s18 hand-in 1 is graded and measured, 2 failed; of s17 3 is held; 4 of s18 waits.
    """
    lesson.grade(lesson.hand_in("s18"), measured(*(speed_entry(c, size=1) for c in "ab")))
    lesson.grade(lesson.hand_in("s18", code=CODE + b"# " + b"long" * 200), mixed("a\n  b"))
    lesson.hand_in("s17")
    lesson.store.claim("worker", "cpu", NOW, timedelta(hours=1))
    lesson.store.fail(3, "worker", "the machine lost power", NOW, most=1)
    lesson.hand_in("s18", code=CODE + b"# again\n")
    lesson.store.put_alias(Alias("s18", "90_echo", "quick"))
    said = Comment("s17", LAB, "handin-1", "tutor", "See the contract.\n\nIt says so.", NOW)
    lesson.store.reading.add_comment(said)
    ask(lesson)
    lesson.store.returns.add_address(Address(hashed(SECRET), "s18", "90_echo", "boss", NOW))


def ask(lesson: WebClass) -> None:
    """Let s18 ask about attempt 2: 1 is corrected, 2 is open."""
    who, item = Who("s18", Role.STUDENT), lesson.store.hand_in(2)
    assert item is not None
    first = lesson.site.requests.ask(who, item, "rope", "The handout says otherwise:\nsee 2.1.")
    reply = Reply("You are right.", points=40.0, before=10.0)
    lesson.site.requests.answer(Who("boss", Role.INSTRUCTOR), first, reply, "cpu")
    lesson.site.requests.ask(who, item, "norm", "l" + "o" * 300 + "ng")
