"""Answers that are alike beyond what everyone was given, as copydetect measures it.

Code is compared by its tokens: names, comments, strings and layout do not count. What it finds is
a reason to look, never a verdict: short right answers resemble each other by nature.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.course.database.records import Frozen, Likeness
from grader.course.likeness.answers import Read, gather, published
from grader.course.likeness.clusters import Cluster, clusters
from grader.course.likeness.fingerprints import (
    FEWEST,
    FEWEST_KINDS,
    Print,
    Table,
    common,
    numbered,
    print_of,
    together,
    without,
)
from grader.course.likeness.lexing import Part, Unread, significant_parts
from grader.course.likeness.passages import (
    MOST_COMPARED,
    Beside,
    Passage,
    beside,
    parts_of,
)
from grader.course.likeness.tokens import lines_of
from grader.errors import JudgeError, UsageError
from grader.labs.lab import Lab

# Our own answers to labs 01 to 05 share at most 35 % of their code, renamed copies nearly all.
THRESHOLD = 0.6
TOTAL = 24 << 20  # characters of filtered code, of a class and its corpus together
APART = 8  # answers written apart, of which half must have what counts as everybody's
LONGEST_SHOWN = 12  # lines of a passage that a list shows


Team = Callable[[str], Collection[str]]  # who hands in together with a student


def alone(student: str) -> Collection[str]:
    """Say that nobody does."""
    return ()


@dataclass(frozen=True, slots=True)
class Compared:
    """An answer that was compared."""

    name: str
    is_student: bool
    key: str  # of who wrote what
    file: Path
    told: Sequence[str] = ()  # what was cut, or may hide something


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was compared, what is alike, and who could not be compared and why."""

    answers: Sequence[Compared]
    found: Sequence[Likeness]  # highest shares first
    clusters: Sequence[Cluster]  # what a person should look at first
    left_out: Sequence[str]

    @property
    def students(self) -> int:
        """How many answers of students were compared."""
        return sum(answer.is_student for answer in self.answers)

    @property
    def models(self) -> int:
        """How many answers of the corpus they were compared with."""
        return len(self.answers) - self.students

    @property
    def told(self) -> list[str]:
        """What was cut of single answers, or may hide something, as "s17: …"."""
        return [f"{answer.name}: {word}" for answer in self.answers for word in answer.told]


@dataclass(frozen=True, slots=True)
class _Item:
    read: Read
    part: Part


def compare_class(
    lab: Lab,
    frozen: Iterable[Frozen],
    folder: Path,
    threshold: float = THRESHOLD,
    corpus: Sequence[Path] = (),
    team: Team = alone,
) -> Comparison:
    """Compare all students with each other, but for those of a team, and with the corpus.

    A relative path of what was collected starts at ``folder``. Raises UsageError if a folder of the
    corpus is not there.
    """
    gathered = gather(lab, frozen, folder, corpus)
    given = given_prints(lab)
    items, left_out = _read(gathered.answers)
    items, told = _cut(items)
    prints = [print_of(item.part.text, given) for item in items]
    for item, one in zip(items, prints, strict=True):
        if len(one.known) < FEWEST_KINDS <= FEWEST <= one.tokens:
            told[item.read.key] = [*told[item.read.key], "repeats itself: nothing to compare"]
    found = _alike(lab.name, items, prints, threshold, team)
    everybodys = _everybodys(items, prints, found)
    if len(everybodys):
        prints = [without(one, everybodys) for one in prints]
        found = _alike(lab.name, items, prints, threshold, team)
    found.sort(key=lambda item: (-item.highest, item.student, item.other))
    by_name = {item.read.answer.name: item for item in items}
    lines = published_lines(lab)
    groups = [_told(cluster, by_name, given, lines) for cluster in clusters(found)]
    answers = [
        Compared(item.read.answer.name, item.read.answer.is_student, item.read.key,
                 item.read.answer.file, (*item.read.told, *told[item.read.key]))
        for item in items
    ]  # fmt: skip
    return Comparison(answers, found, groups, [*gathered.left_out, *left_out])


def compare_two(lab: Lab, one: Read, other: Read) -> Beside:
    """Put two answers beside each other; raises UsageError if one of them cannot be read."""
    parts = significant_parts([one.text, other.text])
    for read, part in zip((one, other), parts, strict=True):
        if isinstance(part, Unread):
            raise UsageError(f"{read.answer.name} cannot be compared: {part.why}")
    found = [part for part in parts if isinstance(part, Part)]
    texts, lines = (one.text, other.text), published_lines(lab)
    return beside(texts, (found[0], found[1]), given_prints(lab), lines)


def given_prints(lab: Lab) -> Any:
    """Return the fingerprints of what a student was given: they are nobody's."""
    found: list[str] = []
    for part in significant_parts(published(lab)):
        if isinstance(part, Unread):
            raise JudgeError(f"what students were given cannot be compared: {part.why}")
        found.append(part.text)
    return together(found)


def published_lines(lab: Lab) -> frozenset[str]:
    """Return the lines of what a student was given, without what is around them."""
    return frozenset(line.strip() for text in published(lab) for line in lines_of(text))


def _read(answers: Sequence[Read]) -> tuple[list[_Item], list[str]]:
    items: list[_Item] = []
    left_out: list[str] = []
    parts = significant_parts([answer.text for answer in answers])
    for read, part in zip(answers, parts, strict=True):
        if isinstance(part, Unread):
            left_out.append(f"{read.answer.name}: {part.why}")
        else:
            items.append(_Item(read, part))
    return items, left_out


def _cut(items: Sequence[_Item]) -> tuple[list[_Item], dict[str, list[str]]]:
    """Keep so much of each answer that all are within ``TOTAL``; what was cut is told by key."""
    students = sum(item.read.answer.is_student for item in items)
    most = min(MOST_COMPARED, TOTAL // max(students, 1))
    found: list[_Item] = []
    told: dict[str, list[str]] = {}
    left = TOTAL
    for item in items:  # students come first
        many = most if item.read.answer.is_student else min(most, left)
        told[item.read.key] = []
        if len(item.part.text) > many:
            why = f"only the first {many:,} of {len(item.part.text):,} characters were compared"
            told[item.read.key] = [why]
            item = replace(item, part=Part(item.part.text[:many], item.part.starts))
        left -= len(item.part.text)
        found.append(item)
    return found, told


def _alike(
    lab: str, items: Sequence[_Item], prints: Sequence[Print], threshold: float, team: Team
) -> list[Likeness]:
    short, size = numbered(prints)
    table = Table(size)
    answers = [item.read.answer for item in items]
    found: list[Likeness] = []
    for at, one in enumerate(answers):
        if not one.is_student or not short[at].tokens:
            continue
        pairs = zip(answers[at + 1 :], prints[at + 1 :], strict=True)
        shared = table.shared(short[at], short[at + 1 :])
        partners = team(one.name)
        for (other, second), (ours, theirs) in zip(pairs, shared, strict=True):
            if not ours or (other.is_student and other.name in partners):
                continue
            shares = ours / prints[at].tokens, theirs / second.tokens
            item = Likeness(lab, one.name, other.name, other.is_student, *shares, ours)
            found += [item] if item.highest >= threshold else []
    return found


def _everybodys(items: Sequence[_Item], prints: Sequence[Print], found: Sequence[Likeness]) -> Any:
    """Return the fingerprints that over half of the answers have that were written apart.

    Of a cluster its longest answer speaks for all: what many copied is not everybody's.
    """
    by_name = {item.read.answer.name: one for item, one in zip(items, prints, strict=True)}
    students = [item.read.answer.name for item in items if item.read.answer.is_student]
    grouped = [cluster.students for cluster in clusters(found)]
    alone = [[name] for name in students if not any(name in group for group in grouped)]
    apart = [
        max((by_name[name] for name in group), key=lambda one: one.tokens)
        for group in (*grouped, *alone)
    ]
    apart = [one for one in apart if one.tokens >= FEWEST]
    return common(apart, len(apart) // 2 + 1) if len(apart) >= APART else ()


def _told(
    cluster: Cluster, by_name: dict[str, _Item], given: Any, given_lines: frozenset[str]
) -> Cluster:
    """Say which parts the strongest pair of a cluster shares, and show its longest passage."""
    pair = cluster.strongest
    items = by_name[pair.student], by_name[pair.other]
    texts = items[0].read.text, items[1].read.text
    found = beside(texts, (items[0].part, items[1].part), given, given_lines)
    longest: Passage | None = max(found.passages, key=lambda each: each.tokens, default=None)
    if longest is None:
        return cluster
    first, last = longest.one
    shown = [line.text for line in found.one[first - 1 : last]]
    if len(shown) > LONGEST_SHOWN:
        shown = [*shown[:LONGEST_SHOWN], "..."]
    parts = parts_of(found.one, [passage.one for passage in found.passages])
    return replace(cluster, parts=parts, passage="\n".join(line[:200] for line in shown))
