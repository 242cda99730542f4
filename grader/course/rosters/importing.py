"""A roster of ours by a newer list: who is new, who is gone, what changed; and then written."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from grader.course.rosters.people import People, Person, merged
from grader.files import write_file
from grader.text import visible_line

ALWAYS = ("id", "name", "email")  # columns that each roster has; others where anybody has one
NAMES = tuple(field.name for field in fields(Person))


@dataclass(frozen=True, slots=True)
class Difference:
    """What a newer list makes of a roster."""

    new: tuple[Person, ...]
    gone: tuple[Person, ...]
    changed: tuple[tuple[Person, Person], ...]  # as it was, and as it is
    same: int
    all: tuple[Person, ...]  # by the newer list; who is gone is not among them

    @property
    def lines(self) -> Iterator[str]:
        """Each difference as a line."""
        before = {
            (name, text): person.id for person in self.gone for name, text in _contacts(person)
        }
        for person in self.new:
            yield f"new      {_who(person)}"
            for name, text in _contacts(person):
                if other := before.get((name, text)):
                    yield f"         has the {name} of {other}, who is gone: one person?"
        yield from (f"gone     {_who(person)}" for person in self.gone)
        for old, now in self.changed:
            told = ", ".join(
                f"{name} {getattr(old, name)!r} -> {getattr(now, name)!r}"
                for name in NAMES
                if getattr(old, name) != getattr(now, name)
            )
            yield f"changed  {now.id}: {visible_line(told)}"


def compare(before: Sequence[Person], newer: Sequence[Person], branch: str = "") -> Difference:
    """Say what a newer list changes; ``branch`` (with ``{id}``) is that of who is new."""
    old = {person.id: person for person in before}
    now = [
        merged(old[person.id], person)
        if person.id in old
        else replace(person, branch=person.branch or branch.replace("{id}", person.id))
        for person in newer
    ]
    ids = {person.id for person in now}
    changed = [(old[p.id], p) for p in now if p.id in old and p != old[p.id]]
    return Difference(
        tuple(person for person in now if person.id not in old),
        tuple(person for person in before if person.id not in ids),
        tuple(changed),
        sum(person.id in old for person in now) - len(changed),
        tuple(now),
    )


def write_roster(file: Path, persons: Sequence[Person], before: People | None) -> None:
    """Replace a roster in one step; columns of it that nobody here knows keep their cells."""
    used = [name for name in NAMES if name in ALWAYS or any(getattr(p, name) for p in persons)]
    others = before.others if before else ()
    kept = (before.kept if before else None) or {}
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((*used, *others))
    for person in persons:
        cells = [kept.get(person.id, {}).get(name, "") for name in others]
        writer.writerow((*(getattr(person, name) for name in used), *cells))
    write_file(file, out.getvalue().encode())


def _contacts(person: Person) -> list[tuple[str, str]]:
    pairs = [("e-mail address", person.email), ("number", person.number)]
    return [(name, text) for name, text in pairs if text]


def _who(person: Person) -> str:
    return visible_line(f"{person.id}  {person.name}", 100)
