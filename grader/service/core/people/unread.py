"""What people have not read yet of a lab, and answers of like wording in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.course.config import Course
from grader.course.database.records import Attempt, Correction, Score, Seen
from grader.course.reading.comments import standing
from grader.course.reading.points import holding, of_work
from grader.course.reading.rubric import checked_score, read_by, settling
from grader.course.reading.wording import Answer, Group, answer_in, grouped
from grader.course.reading.work import collected
from grader.labs.lab import Lab
from grader.labs.task import Criterion
from grader.service.core.people.reading import Collected, Given, Work
from grader.service.domain.records import Who
from grader.service.ports.clock import Clock
from grader.service.ports.store import Store

READ, UNREAD, DIFFERS = "read", "unread", "readers differ"


@dataclass(frozen=True, slots=True)
class Line:
    """Work that counts, and whether somebody is to read it or to settle where readers differ."""

    student: str
    commit: str
    state: str  # READ, UNREAD or DIFFERS

    @property
    def waits(self) -> bool:
        """Whether a person has something to do."""
        return self.state != READ


class Unread:
    """Tells what waits for a reader, and records what they decide of many at once."""

    def __init__(self, course: Course, store: Store, books: Collected, clock: Clock) -> None:
        self._course = course
        self._store = store
        self._books = books
        self._clock = clock

    def lines(self, who: Who, lab: Lab, counting: Sequence[Attempt]) -> list[Line]:
        """Say of each work that counts, in its order, what a reader has to do.

        By a rubric it is unread while it lacks readers and this one has not read all of it;
        without one while nobody has said a word, given points or noted that they have read it. Of a
        lab that people alone grade it is unread while a task without a criterion has no points.
        """
        reading, scores = self._store.reading, self._scores(lab)
        said = {(each.student, each.commit) for each in standing(reading.comments(lab.name))}
        said |= {(each.student, each.commit) for each in reading.seen(lab.name)}
        words = reading.corrections()
        said |= {(each.student, each.commit) for each in words if each.lab == lab.name}
        found: list[Line] = []
        for each in counting:
            key = each.student, each.commit
            state = READ if key in said else UNREAD
            if lab.rubric:
                state = _state(lab, scores.get(key, []), who.name)
            elif lab.is_manual:
                state = READ
            if lab.is_manual and state is READ and _lacks_points(lab, words, each):
                state = UNREAD
            found.append(Line(*key, state))
        return found

    def note(self, who: Who, work: Work) -> None:
        """Note that somebody has read work and has nothing to say of it."""
        self._store.reading.add_seen(Seen(*work.key, who.name, self._clock.now()))

    def groups(
        self, who: Who, criterion: Criterion, lab: Lab, counting: Sequence[Attempt]
    ) -> list[Group]:
        """Put answers together for which a reader has given no points yet."""
        scores = self._scores(lab)
        kept = self._books.collections(lab.name)
        answers: list[Answer] = []
        for each in counting:
            own = scores.get((each.student, each.commit), [])
            if any((s.author, s.criterion) == (who.name, criterion.id) for s in own):
                continue
            folders = [one for one in kept if one.student == each.student]
            files = collected(self._course, lab, each.commit, folders)
            text = answer_in(_text(lab, files), criterion.prompt)
            answers.append(Answer(each.student, each.commit, text))
        return grouped(answers)

    def decide(self, who: Who, lab: Lab, criterion: str, group: Group, given: Given) -> None:
        """Give every member of a group points for a criterion, each as this reader's own."""
        points = checked_score(lab, criterion, given.points)
        now = self._clock.now()
        for each in group.answers:
            key = each.student, lab.name, each.commit
            new = Score(*key, criterion, points, who.name, given.reason, now)
            self._store.reading.add_scores([new], settling(lab, new))

    def _scores(self, lab: Lab) -> Mapping[tuple[str, str], list[Score]]:
        found: dict[tuple[str, str], list[Score]] = {}
        for each in self._store.reading.scores(lab.name):
            found.setdefault((each.student, each.commit), []).append(each)
        return found


def _lacks_points(lab: Lab, words: Sequence[Correction], attempt: Attempt) -> bool:
    """Whether a task that no criterion is about has no points by hand."""
    by_rubric = {each.task for each in lab.rubric}
    given = {each.task for each in holding(of_work(words, attempt), attempt.commit)}
    return any(task.id not in by_rubric | given for task in lab.tasks)


def _text(lab: Lab, files: Mapping[str, bytes]) -> bytes:
    """Return what students wrote below prompts: of a manual lab in any of its documents."""
    names = [name for name in lab.files if name.endswith(".md")] or [lab.pseudocode.name]
    return b"\n".join(files.get(name, b"") for name in names)


def _state(lab: Lab, scores: Sequence[Score], name: str) -> str:
    found = read_by(lab, scores)
    if any(each.differs and len(each.by) >= lab.readers for each in found):
        return DIFFERS
    lacks = any(each.points is None and len(each.by) < lab.readers for each in found)
    is_mine = all(name in each.by for each in found)
    return UNREAD if lacks and not is_mine else READ
