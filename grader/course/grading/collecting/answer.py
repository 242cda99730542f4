"""The files of a lab in a commit of a student's repository, as objects: nothing is checked out."""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from grader.course.git import LIMITS, OFFLINE, git, git_bytes
from grader.course.grading.collecting.fetch import Broken
from grader.errors import GitError, InferlabError
from grader.labs.documents.notebook import notebook_name
from grader.labs.documents.submission import (
    MAX_BYTES,
    PSEUDOCODE_NAME,
    files_of_notebook,
    is_untouched,
    shown,
)
from grader.labs.lab import Lab
from grader.readers import Budget

LFS = b"version https://git-lfs.github.com/spec/"
Entries = Mapping[str, tuple[str, str]]  # mode and object, by path
State = Entries  # of what is collected, by name
_FILE_MODES = ("100644", "100755", "100664")
_TREE_MODE = "040000"
_MOST_FOUND = 3  # places that are named where the code lies instead
LOOKING = replace(LIMITS, seconds=20.0, cpu_seconds=10)  # for them


def places(lab: Lab) -> tuple[str, ...]:
    """Return all paths on which it depends what is collected, in the order in which they count."""
    return (lab.name, f"labs/{lab.name}", *_names(lab), notebook_name(lab))


def take(repository: Path, commit: str, lab: Lab, budget: Budget) -> tuple[dict[str, bytes], str]:
    """Return the lab's files in a commit by name, and a remark; raises Broken without the code.

    A notebook stands for them where there is no code, or only the stub that nobody has touched.
    """
    entries = _entries(repository, commit, _candidates(lab))
    folder = _folder(entries, lab)
    if folder is None:
        raise Broken(_missing(repository, commit, entries, lab))
    code, told = _file(repository, folder + lab.code_name, entries)
    remarks: list[str] = []
    if folder + notebook_name(lab) in entries and (code is None or is_untouched(lab, code)):
        try:
            return _from_notebook(repository, folder, entries, lab, budget)
        except Broken as broken:
            if folder + lab.code_name not in entries:
                raise
            remarks.append(f"the stub is taken, since {broken}")
    if code is None:
        raise Broken(told)
    remark = f"{lab.code_name} is a pointer of Git LFS" if code.startswith(LFS) else ""
    text, told = _file(repository, folder + PSEUDOCODE_NAME, entries)
    files = {lab.code_name: code}
    if text is None:
        left_out = f"{told}: left out" if folder + PSEUDOCODE_NAME in entries else ""
        return files, "; ".join(filter(None, (*remarks, remark, left_out)))
    return files | {PSEUDOCODE_NAME: text}, "; ".join(filter(None, (*remarks, remark)))


def _from_notebook(
    repository: Path, folder: str, entries: Entries, lab: Lab, budget: Budget
) -> tuple[dict[str, bytes], str]:
    """Return the files that a notebook stands for, and remarks; raises Broken."""
    path = folder + notebook_name(lab)
    content, told = _file(repository, path, entries)
    if content is None:
        raise Broken(f"{told}: its outputs can be cleared" if "larger" in told else told)
    text, _ = _file(repository, folder + PSEUDOCODE_NAME, entries)
    try:
        files, notes, _ = files_of_notebook(lab, content, text, shown(path), budget)
    except InferlabError as error:
        raise Broken(error.message) from None
    return files, "; ".join((f"taken from {shown(path)}", *notes))


def state_of(repository: Path, commit: str, lab: Lab) -> State:
    """Return mode and object of each file that would be collected; two equal ones are one answer.

    Objects that were too large to be fetched are known too.
    """
    entries = _entries(repository, commit, _candidates(lab))
    folder = _folder(entries, lab)
    if folder is None:
        return {}
    names = _names(lab)
    mode, blob = entries.get(folder + lab.code_name, ("", ""))
    if not mode or blob == _stub_object(lab, blob):
        names = (*names, notebook_name(lab))
    return {name: entries[folder + name] for name in names if folder + name in entries}


def _stub_object(lab: Lab, like: str) -> str:
    """Return the name that git gives to the stub, by the algorithm of another name."""
    content = lab.stub.read_bytes()
    algorithm = "sha1" if len(like) == 40 else "sha256"
    return hashlib.new(algorithm, b"blob %d\0" % len(content) + content).hexdigest()


def _names(lab: Lab) -> tuple[str, ...]:
    return (lab.code_name, PSEUDOCODE_NAME)


def _folders(lab: Lab) -> tuple[str, ...]:
    return (f"{lab.name}/", f"labs/{lab.name}/", "")


def _candidates(lab: Lab) -> list[str]:
    names = (*_names(lab), notebook_name(lab))
    return [*places(lab)[:2], *(folder + name for folder in _folders(lab) for name in names)]


def _folder(entries: Entries, lab: Lab) -> str | None:
    """Return the first folder, with a slash, that holds code or notebook; "" is the top."""
    names = (lab.code_name, notebook_name(lab))
    return next((f for f in _folders(lab) if any(f + name in entries for name in names)), None)


def _missing(repository: Path, commit: str, entries: Entries, lab: Lab) -> str:
    """Say which places were tried, and where a file of that name lies instead."""
    for place in places(lab)[:2]:
        if place in entries and entries[place][0] != _TREE_MODE:
            return f"{place} is not a folder"
    told = f"there is no {lab.code_name} in {lab.name}/, in labs/{lab.name}/ or at the top"
    found = [shown(path) for path in _elsewhere(repository, commit, lab)]
    if not found:
        return told
    more = f" and in {len(found) - _MOST_FOUND} more places" if len(found) > _MOST_FOUND else ""
    return f"{told}; it lies in {', '.join(found[:_MOST_FOUND])}{more}"


def _elsewhere(repository: Path, commit: str, lab: Lab) -> list[str]:
    """Return paths of that name, in any case; none where there are too many files to look at."""
    line = ("ls-tree", "-r", "-z", "--name-only", commit)
    try:
        listing = git_bytes(*line, folder=repository, limits=LOOKING, env=OFFLINE)
    except GitError:
        return []
    wanted = re.compile(rb"(?:[^\0]*/)?" + re.escape(lab.code_name.encode()), re.IGNORECASE)
    # One after the other: a list of all would take many times what the listing does.
    found = (item[0] for item in re.finditer(rb"[^\0]+", listing) if wanted.fullmatch(item[0]))
    # Given code of that name lies in labs/ itself.
    return [os.fsdecode(path) for path in found if path.rpartition(b"/")[0] != b"labs"]


def _entries(repository: Path, commit: str, paths: Iterable[str]) -> Entries:
    """Return mode and object of those paths that the commit has."""
    listing = git("ls-tree", "-z", commit, "--", *paths, folder=repository, env=OFFLINE)
    found: dict[str, tuple[str, str]] = {}
    for line in filter(None, listing.split("\0")):
        meta, _, path = line.partition("\t")
        mode, _, blob = meta.split()
        found[path] = (mode, blob)
    return found


def _file(repository: Path, path: str, entries: Entries) -> tuple[bytes | None, str]:
    """Return the bytes of a file, or None and why not."""
    name = shown(path)
    if path not in entries:
        return None, f"there is no {name}"
    mode, blob = entries[path]
    if mode not in _FILE_MODES:
        return None, f"{name} is not a regular file"
    try:
        size = int(git("cat-file", "-s", blob, folder=repository, env=OFFLINE))
    except GitError:
        size = MAX_BYTES + 1  # it was left out of what was fetched
    if size > MAX_BYTES:
        return None, f"{name} is larger than {MAX_BYTES >> 10} KiB"
    return git_bytes("cat-file", "blob", blob, folder=repository, env=OFFLINE), ""
