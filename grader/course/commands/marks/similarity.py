"""What ``lab similarity`` does between its options and its exit code."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from rich.table import Table
from rich.text import Text

from grader.course.commands.marks.book import NOT_YET, open_store, write_data
from grader.course.commands.marks.similarity_files import clusters_csv, in_order, write_html
from grader.course.config import load_course
from grader.course.database.records import Likeness
from grader.course.likeness.answers import folders_of
from grader.course.likeness.clusters import Cluster
from grader.course.likeness.notes import (
    Kept,
    Note,
    State,
    add_note,
    comparison,
    kept,
    notes,
    put_comparison,
)
from grader.course.likeness.similarity import Comparison, compare_class
from grader.errors import UsageError
from grader.files import check_writable, json_bytes
from grader.labs.lab import find_lab, find_root
from grader.report.formats.forms import STDOUT
from grader.report.formats.terminal import make_console
from grader.text import moment_text, visible_line

MOST_PAIRS = 30  # on a screen; the JSON has all
MOST_CLUSTERS = 30
MOST_NAMED = 8  # students of a cluster
MOST_TEXT = 4000  # characters of a note


@dataclass(frozen=True, slots=True)
class Order:
    """A comparison as asked for."""

    course: Path
    lab: str
    threshold: float
    pairs: bool = False
    corpus: tuple[Path, ...] = ()
    json: str | None = None
    csv: str | None = None
    html: Path | None = None


@dataclass(frozen=True, slots=True)
class Word:
    """A note as typed."""

    course: Path
    lab: str
    names: tuple[str, ...]
    state: str
    author: str
    text: str


def similarity(order: Order) -> int:
    """Compare the answers to a lab, keep what is alike for the class page; 1 if anything is."""
    course = load_course(order.course)
    lab = find_lab(order.lab, find_root())
    if lab.code_name not in lab.handed_in:
        raise UsageError(
            f"people read {lab.name}: of code alone it is told what is alike",
            f"lab collect {lab.number} keeps what was handed in",
        )
    if order.json == order.csv == STDOUT:
        raise UsageError("--json and --csv cannot both be printed", "name a file for one of them")
    for target in (order.json, order.csv):
        if target is not None and target != STDOUT:
            check_writable(target)
    with open_store(course) as store:
        frozen = store.frozen(lab.name)
        if not frozen:
            raise UsageError(f"nothing of {lab.name} was collected", NOT_YET)
        corpus = folders_of(course, order.corpus)
        team = partial(course.team, lab=lab.number)
        found = compare_class(lab, frozen, course.folder, order.threshold, corpus, team)
        now = datetime.now(UTC)
        whole = kept(lab.name, found, order.threshold, now, str(course.folder))
        store.put_likenesses(lab.name, found.found)
        put_comparison(store, whole)
        said = notes(store, lab.name)
    if order.json is not None:
        write_data(order.json, json_bytes(_json(found, order.threshold, whole, said)))
    if order.csv is not None:
        write_data(order.csv, clusters_csv(whole, found.found, said, course.zone))
    if order.html is not None:
        count = write_html(lab, whole, found, said, order.html, course.zone)
        print(f"{count} pages: {order.html / 'index.html'}", file=sys.stderr)
    if STDOUT not in (order.json, order.csv):
        _print(found, order, whole, said)
    return 1 if found.found else 0


def note(word: Word) -> int:
    """Record what somebody decided about answers that are alike; nothing else is changed."""
    course = load_course(word.course)
    lab = find_lab(word.lab, find_root())
    author, text = word.author.strip(), word.text.strip()
    if word.state not in [*State]:
        states = ", ".join(f'"{state}"' for state in State)
        raise UsageError(f"there is no state {visible_line(word.state)!r}", f"one of {states}")
    if not author or not text or len(text) > MOST_TEXT:
        told = f"a note has an author and a text of at most {MOST_TEXT} characters"
        raise UsageError(told, "--author NAME --text TEXT")
    with open_store(course) as store:
        found = comparison(store, lab.name)
        if found is None:
            raise UsageError(
                f"answers to {lab.name} were not compared", f"lab similarity {lab.number}"
            )
        names = [*dict.fromkeys(word.names)]
        known = {answer.name for answer in found.answers}
        for name in names:
            if name not in known:
                told = f"no answer of {visible_line(name)} was compared"
                raise UsageError(told, f"lab similarity {lab.number} lists who was")
        if len(names) < 2:
            raise UsageError("a note is about two answers or more", "name them all")
        now, about = datetime.now(UTC), ", ".join(names)
        members = found.keys(names)
        add_note(store, Note(lab.name, members, about, State(word.state), author, text, now))
    print(f"{visible_line(about)}: {word.state}")
    return 0


def _json(
    found: Comparison, threshold: float, whole: Kept, said: Sequence[Note]
) -> dict[str, object]:
    clusters = [
        asdict(cluster)
        | {"state": whole.standing(cluster.members, said).line}
        | {"notes": [_note(word) for word in whole.standing(cluster.members, said).notes]}
        for cluster in found.clusters
    ]
    return {
        "lab": whole.lab,
        "threshold": threshold,
        "students": found.students,
        "models": found.models,
        "pairs": [asdict(item) for item in found.found],
        "clusters": clusters,
        "left_out": [*found.left_out],
        "told": found.told,
    }


def _note(word: Note) -> dict[str, object]:
    return {**asdict(word), "made": word.made.isoformat()}


def _print(found: Comparison, order: Order, whole: Kept, said: Sequence[Note]) -> None:
    for line in found.left_out:
        print(f"not compared: {visible_line(line)}", file=sys.stderr)
    for line in found.told:
        print(f"note: {visible_line(line)}", file=sys.stderr)
    students = "1 student" if found.students == 1 else f"{found.students} students"
    compared = f"{students} and {found.models} model answers compared"
    if found.models != sum(_is_ours(whole, answer.name) for answer in whole.answers):
        compared = f"{students} and {found.models} answers of the corpus compared"
    if not found.found:
        print(f"{compared}: no two share {order.threshold:.0%} of their code")
        return
    print(f"{compared}; pairs that share {order.threshold:.0%} or more: {len(found.found)}")
    if order.pairs:
        make_console(sys.stdout).print(_table(found.found[:MOST_PAIRS]))
        if len(found.found) > MOST_PAIRS:
            print(f"and {len(found.found) - MOST_PAIRS} more: --json FILE has all")
        return
    many = "1 cluster" if len(found.clusters) == 1 else f"{len(found.clusters)} clusters"
    print(f"{many}, what is open first; a reason to look, never a verdict\n")
    for line in _lines(in_order(whole, said)[:MOST_CLUSTERS], whole, said):
        print(line)
    if len(found.clusters) > MOST_CLUSTERS:
        print(f"and {len(found.clusters) - MOST_CLUSTERS} more: --csv FILE has all")


def _is_ours(whole: Kept, name: str) -> bool:
    return name.startswith(f"{whole.lab}/")


def _lines(
    clusters: Sequence[tuple[int, Cluster]], whole: Kept, said: Sequence[Note]
) -> Iterable[str]:
    for number, cluster in clusters:
        standing = whole.standing(cluster.members, said)
        pair = cluster.strongest
        yield f"{number}. {cluster.line} ({standing.line})"
        yield f"   {visible_line(_named(cluster.students))}"
        shares = f"{pair.share:.0%} and {pair.other_share:.0%}, {pair.tokens:,} characters"
        yield f"   strongest: {visible_line(f'{pair.student} and {pair.other}')}, {shares}"
        if cluster.sources:
            told = [f"{source.name} ({source.students})" for source in cluster.sources[:3]]
            more = len(cluster.sources) - len(told)
            yield f"   like: {visible_line(', '.join(told))}{f' and {more} more' if more else ''}"
        if cluster.parts:
            yield f"   in: {visible_line(', '.join(cluster.parts), 100)}"
        for word in standing.notes[-3:]:
            who = f"{word.author}, {moment_text(word.made)}"
            yield f"   {visible_line(f'{who}: {word.state}: {word.text}')}"
        yield ""


def _named(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _table(found: Sequence[Likeness]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("student", "other", "of the student's", "of the other's", "characters"):
        table.add_column(name)
    for item in found:
        shares = f"{item.share:.0%}", f"{item.other_share:.0%}"
        cells = (visible_line(item.student), visible_line(item.other), *shares, str(item.tokens))
        table.add_row(*map(Text, cells))
    return table
