"""Files of what is alike: a table of clusters, and pages that compare answers side by side."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import tzinfo
from pathlib import Path
from urllib.parse import quote

from grader.course.database.records import Likeness
from grader.course.gradebook.exports import csv_of
from grader.course.gradebook.folders import make_folder, plain_name
from grader.course.likeness.answers import Answer, Read, read_answer
from grader.course.likeness.clusters import Cluster
from grader.course.likeness.drawn import STYLE, drawn
from grader.course.likeness.notes import Kept, Note
from grader.course.likeness.similarity import Comparison, compare_two
from grader.files import write_file
from grader.labs.lab import Lab
from grader.report.markup.web import escaped, page
from grader.text import moment_text

WIDE = "main { max-width: 90rem }"
HEAD = (
    *("cluster", "name", "is", "students", "pairs_alike", "pairs_possible", "closest", "share"),
    *("other_share", "characters", "parts", "state", "notes"),
)
MOST_PAGES = 200  # that compare two answers
MOST_OF_CLUSTER = 12
NEVER = "A reason to look, never a verdict."


def in_order(whole: Kept, said: Sequence[Note]) -> list[tuple[int, Cluster]]:
    """Return the clusters with their numbers, what is open first."""
    found = [*enumerate(whole.clusters, 1)]
    return sorted(found, key=lambda each: not whole.standing(each[1].members, said).is_open)


def clusters_csv(
    whole: Kept, pairs: Sequence[Likeness], said: Sequence[Note], zone: tzinfo
) -> bytes:
    """Return a row for each student of each cluster, and for what of the corpus it is like."""
    return csv_of([HEAD, *_rows(whole, pairs, said, zone)])


def write_html(
    lab: Lab, whole: Kept, found: Comparison, said: Sequence[Note], folder: Path, zone: tzinfo
) -> int:
    """Write index.html and a page for each student with who is closest; return how many pages."""
    make_folder(folder)
    files = {answer.name: answer for answer in found.answers}
    body = [f"<h1>Alike in {escaped(lab.name)}</h1>", *_compared(found)]
    count = 0
    for number, cluster in in_order(whole, said):
        body += _cluster(number, cluster, whole, said, zone)
        closest = _closest(cluster, found.found)
        links: list[str] = []
        for item in list(dict.fromkeys(closest.values()))[:MOST_OF_CLUSTER]:
            if count == MOST_PAGES:
                break
            reads = [
                read_answer(Answer(name, files[name].is_student, files[name].file))
                for name in (item.student, item.other)
            ]
            own = [read for read in reads if isinstance(read, Read)]
            if len(own) < 2:
                continue
            name = f"{plain_name(f'{number}-{item.student}-{item.other}')}.html"
            write_file(folder / name, _pair(lab, own[0], own[1], item).encode())
            count += 1
            told = f"{item.student} and {item.other}, {item.highest:.0%}"
            links.append(f'<li><a href="{quote(name)}">{escaped(told)}</a></li>')
        body += [f"<ul>{''.join(links)}</ul>"] if links else []
        if len(links) < len(set(closest.values())):
            body.append("<p><small>and more pairs, which have no page here</small></p>")
    # Last, so that it never links to what is not there.
    write_file(folder / "index.html", page(f"Alike in {lab.name}", body).encode())
    return count + 1


def _pair(lab: Lab, one: Read, other: Read, item: Likeness) -> str:
    names = one.answer.name, other.answer.name
    title = f"{names[0]} and {names[1]}"
    shares = f"{item.share:.0%} of the first one's code is in the other, {item.other_share:.0%} of"
    body = [
        '<p><a href="index.html">All that is alike</a></p>',
        f"<h1>{escaped(title)}</h1>",
        f"<p>{shares} the other's in the first. {NEVER}</p>",
        *drawn(compare_two(lab, one, other), names),
    ]
    return page(title, body, style=STYLE + WIDE)


def _compared(found: Comparison) -> Iterator[str]:
    yield f"<p>{found.students} students and {found.models} other answers compared. {NEVER}</p>"
    lines = [*(f"not compared: {line}" for line in found.left_out), *found.told]
    if lines:
        yield f"<details><summary>{len(lines)} remarks</summary><ul>"
        yield from (f"<li>{escaped(line)}</li>" for line in lines)
        yield "</ul></details>"
    if not found.clusters:
        yield "<p>Nothing is alike.</p>"


def _cluster(
    number: int, cluster: Cluster, whole: Kept, said: Sequence[Note], zone: tzinfo
) -> Iterator[str]:
    standing = whole.standing(cluster.members, said)
    pair = cluster.strongest
    yield f'<h2 id="c{number}">Cluster {number}: {escaped(cluster.line)}</h2>'
    yield f"<p><strong>{escaped(standing.line)}</strong></p>"
    yield f"<p>{', '.join(map(escaped, cluster.students))}</p>"
    for source in cluster.sources:
        students = "1 student" if source.students == 1 else f"{source.students} students"
        yield f"<p>{students} like {escaped(source.name)}, up to {source.share:.0%}</p>"
    told = f"{pair.student} and {pair.other} share most: {pair.tokens:,} characters"
    parts = f", in {', '.join(cluster.parts[:8])}" if cluster.parts else ""
    yield f"<p>{escaped(told + parts)}</p>"
    if cluster.passage:
        shown = "\n".join(escaped(line.expandtabs(4)) for line in cluster.passage.split("\n"))
        yield f"<pre>{shown}</pre>"
    for word in standing.notes:
        who = f"{word.author}, {moment_text(word.made, zone)}, of {word.about}: {word.state}"
        yield f'<p class="notice">{escaped(who)}<br>{_words(word.text)}</p>'


def _words(text: str) -> str:
    return "<br>".join(escaped(line) for line in text.split("\n"))


def _rows(
    whole: Kept, pairs: Sequence[Likeness], said: Sequence[Note], zone: tzinfo
) -> Iterator[Sequence[object]]:
    for number, cluster in in_order(whole, said):
        standing = whole.standing(cluster.members, said)
        closest = _closest(cluster, pairs)
        words = "\n".join(
            f"{word.author}, {moment_text(word.made, zone)}: {word.state}: {word.text}"
            for word in standing.notes
        )
        same = len(cluster.students), cluster.alike, cluster.possible
        parts = ", ".join(cluster.parts)
        for name in cluster.students:
            item = closest.get(name)
            if item is None:
                continue
            first = item.student == name
            shares = (item.share, item.other_share) if first else (item.other_share, item.share)
            other = item.other if first else item.student
            told = (other, *(f"{share:.2f}" for share in shares), item.tokens)
            yield number, name, "student", *same, *told, parts, standing.line, words
        for source in cluster.sources:
            told = ("", "", f"{source.share:.2f}", "")
            yield number, source.name, "corpus", *same, *told, "", standing.line, words


def _closest(cluster: Cluster, pairs: Sequence[Likeness]) -> dict[str, Likeness]:
    """Return the strongest pair of each student, within the cluster if there is one."""
    own = {*cluster.students}
    found: defaultdict[str, list[Likeness]] = defaultdict(list)
    for item in pairs:  # highest shares first
        if item.student in own and (item.other in own or not item.is_student):
            found[item.student].append(item)
            if item.is_student:
                found[item.other].append(item)
    return {
        name: next((item for item in items if item.is_student), items[0])
        for name, items in found.items()
    }
