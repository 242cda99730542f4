"""What earlier publications gave out of a lab: who hands that in has handed in nothing.

The history of the branch that ``lab publish`` writes has it, which students may hold for years.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from grader.course.config import Course
from grader.course.git import OFFLINE, OWN, git, git_bytes
from grader.course.publishing.publish import LAB_FIELD
from grader.course.publishing.remote import fetch_history, look_at
from grader.labs.documents.regular import MAX_BYTES
from grader.labs.documents.untouched import digest, own_lines
from grader.labs.lab import Lab
from grader.labs.published import Earlier

MOST_CHANGES = 100  # publications that changed files of a lab, the newest first
MOST_TEXTS = 60  # of one lab that are read


def with_earlier(labs: Sequence[Lab], course: Course, root: Path) -> list[Lab]:
    """Return labs that know what was given out of them before, by the course's publications.

    Raises UsageError or GitError where these cannot be read. A course that names no remote to
    publish to knows nothing of it.
    """
    if not course.publish_remote:
        return [*labs]
    remote = look_at(course.publish_remote, root)
    with tempfile.TemporaryDirectory(prefix="inferlab-published-") as name:
        folder = Path(name)
        git("init", "-q", "--bare", ".", folder=folder)
        branches = {_branch(course, lab) for lab in labs}
        tips = {branch: fetch_history(folder, remote, branch) for branch in sorted(branches)}
        return [
            replace(lab, before=_before(folder, tips[_branch(course, lab)], lab)) for lab in labs
        ]


def _branch(course: Course, lab: Lab) -> str:
    return course.publish_branch.replace(LAB_FIELD, f"{lab.number:02d}")


def _before(folder: Path, tip: str, lab: Lab) -> Earlier:
    texts = [*_texts(folder, tip, lab)] if tip else []
    prompts = [text for name, text in texts if name == lab.pseudocode.name]
    return Earlier(
        frozenset((name, digest(text)) for name, text in texts),
        frozenset(line for text in prompts for line in own_lines(text)),
    )


def _texts(folder: Path, tip: str, lab: Lab) -> Iterator[tuple[str, bytes]]:
    """Yield name and text of each version of the files that students edit."""
    paths = [f"labs/{lab.name}/{name}" for name in lab.handed_in]
    log = ("log", f"-n{MOST_CHANGES}", "--format=", "--raw", "--no-abbrev", "--no-renames", "-m")
    found = git(*log, tip, "--", *paths, folder=folder, limits=OWN, env=OFFLINE)
    seen: set[tuple[str, str]] = set()
    for line in found.splitlines():
        entry, _, path = line.partition("\t")
        blob, name = entry.split(" ")[3], path.rpartition("/")[2]
        if not blob.strip("0") or (name, blob) in seen or len(seen) >= MOST_TEXTS:
            continue  # it was withdrawn, or is known
        seen.add((name, blob))
        if int(git("cat-file", "-s", blob, folder=folder, env=OFFLINE)) <= MAX_BYTES:
            yield name, git_bytes("cat-file", "blob", blob, folder=folder, env=OFFLINE)
