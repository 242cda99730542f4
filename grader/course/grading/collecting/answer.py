"""The files of a lab in a commit of a student's repository, as objects: nothing is checked out."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from grader.course.git import OFFLINE, git, git_bytes
from grader.course.grading.collecting.elsewhere import Elsewhere, elsewhere, named, work_names
from grader.course.grading.collecting.fetch import Broken
from grader.errors import GitError, InferlabError
from grader.labs.documents.notebook import is_notebook, notebook_name
from grader.labs.documents.regular import MAX_BYTES, shown
from grader.labs.documents.submission import PSEUDOCODE_NAME, files_of_notebook
from grader.labs.documents.untouched import holds_nothing, is_untouched, touched
from grader.labs.lab import ANSWERED, Lab
from grader.readers import Budget

LFS = b"version https://git-lfs.github.com/spec/"
Entries = Mapping[str, tuple[str, str]]  # mode and object, by path
State = Entries  # of what is collected, by name
_FILE_MODES = ("100644", "100755", "100664")
_TREE_MODE = "040000"
ONLY_STUB = "only the untouched stub is there"


def places(lab: Lab) -> tuple[str, ...]:
    """Return all paths on which it depends what is collected, in the order in which they count."""
    return (lab.name, f"labs/{lab.name}", *_names(lab))


def take(repository: Path, commit: str, lab: Lab, budget: Budget) -> tuple[dict[str, bytes], str]:
    """Return the lab's files in a commit by name, and a remark.

    A notebook stands for them where there is no code, or only the stub that nobody has touched.
    Raises Broken without the code, and where it is the untouched stub and no prompt is answered. Of
    a lab that people grade it takes what is there of its files.
    """
    entries = _entries(repository, commit, _candidates(lab))
    folder = _folder(entries, lab)
    if folder is None:
        raise Broken(_missing(repository, commit, entries, lab))
    if lab.is_manual:
        return _take_named(repository, commit, folder, entries, lab)
    code, told = _file(repository, folder + lab.code_name, entries)
    text, problem = _file(repository, folder + PSEUDOCODE_NAME, entries)
    is_left_out = text is None and folder + PSEUDOCODE_NAME in entries
    left_out = f"{problem}: left out" if is_left_out else ""
    sources: dict[str, bytes] = {}
    for name in (*lab.sources, *([ANSWERED] if lab.asks else [])):
        content, problem = _file(repository, folder + name, entries)
        if content is not None:
            sources[name] = content
        elif folder + name in entries:
            left_out = _joined(left_out, f"{problem}: left out")
    useless = ""  # why the notebook is
    if folder + notebook_name(lab) in entries and (code is None or is_untouched(lab, code)):
        try:
            files, remark = _from_notebook(repository, folder, entries, lab, text, budget)
            if not holds_nothing(lab, files | sources):
                return files | sources, remark
            code = files[lab.code_name] if code is None else code
        except Broken as broken:
            if folder + lab.code_name not in entries:
                raise
            useless = str(broken)
    if code is None:
        raise Broken(told)
    files = {lab.code_name: code} | ({} if text is None else {PSEUDOCODE_NAME: text}) | sources
    if holds_nothing(lab, files):
        told = f"{ONLY_STUB}, and {useless}" if useless else ONLY_STUB
        raise Broken(_joined(told, left_out, _beside(repository, commit, lab, folder)))
    remark = f"{lab.code_name} is a pointer of Git LFS" if code.startswith(LFS) else ""
    useless = f"the stub is taken, since {useless}" if useless else ""
    return files, _joined(useless, remark, left_out)


def _take_named(
    repository: Path, commit: str, folder: str, entries: Entries, lab: Lab
) -> tuple[dict[str, bytes], str]:
    """Return those of a manual lab's files that are in a folder, and which are not."""
    found = {name: _file(repository, folder + name, entries) for name in lab.files}
    files = {name: content for name, (content, _) in found.items() if content is not None}
    remarks = [told for content, told in found.values() if content is None]
    if not files:
        raise Broken("; ".join(remarks))
    own = touched(lab, files)
    if not own:
        raise Broken(_joined(ONLY_STUB, *remarks, _beside(repository, commit, lab, folder)))
    remarks += [f"{name} is as it was given out" for name in files if name not in own]
    remarks += [f"{name} is a pointer of Git LFS" for name in own if files[name].startswith(LFS)]
    return files, _joined(*remarks)


def _joined(*remarks: str) -> str:
    return "; ".join(filter(None, remarks))


def _from_notebook(
    repository: Path, folder: str, entries: Entries, lab: Lab, text: bytes | None, budget: Budget
) -> tuple[dict[str, bytes], str]:
    """Return the files that a notebook stands for, and remarks; raises Broken."""
    path = folder + notebook_name(lab)
    content, told = _file(repository, path, entries)
    if content is None:
        raise Broken(f"{told}: its outputs can be cleared" if "larger" in told else told)
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
    names = lab.handed_in
    code = folder + lab.code_name
    has_notebook = not lab.is_manual and folder + notebook_name(lab) in entries
    if has_notebook and (code not in entries or _is_stub(repository, code, entries, lab)):
        names = (*names, notebook_name(lab))
    return {name: entries[folder + name] for name in names if folder + name in entries}


def _is_stub(repository: Path, path: str, entries: Entries, lab: Lab) -> bool:
    """True for code that nobody has touched; what is the stub to the byte is not read for that."""
    blob = entries[path][1]
    if blob == _stub_object(lab, blob):
        return True
    code, _ = _file(repository, path, entries)
    return code is not None and is_untouched(lab, code)


def _stub_object(lab: Lab, like: str) -> str:
    """Return the name that git gives to the stub, by the algorithm of another name."""
    content = lab.stub.read_bytes()
    algorithm = "sha1" if len(like) == 40 else "sha256"
    return hashlib.new(algorithm, b"blob %d\0" % len(content) + content).hexdigest()


def _names(lab: Lab) -> tuple[str, ...]:
    """Return the names that count in a folder: of a lab that is judged, its notebook's too."""
    return lab.files or (*lab.handed_in, notebook_name(lab))


def _folders(lab: Lab) -> tuple[str, ...]:
    return (f"{lab.name}/", f"labs/{lab.name}/", "")


def _candidates(lab: Lab) -> list[str]:
    return [*places(lab)[:2], *(folder + name for folder in _folders(lab) for name in _names(lab))]


def _folder(entries: Entries, lab: Lab) -> str | None:
    """Return the first folder, with a slash, that holds code or notebook; "" is the top."""
    names = work_names(lab)
    return next((f for f in _folders(lab) if any(f + name in entries for name in names)), None)


def _missing(repository: Path, commit: str, entries: Entries, lab: Lab) -> str:
    """Say which places were tried, and where a file of that name lies instead."""
    for place in places(lab)[:2]:
        if place in entries and entries[place][0] != _TREE_MODE:
            return f"{place} is not a folder"
    name = " and no ".join(lab.needed)
    told = f"there is no {name} in {lab.name}/, in labs/{lab.name}/ or at the top"
    found = _elsewhere(repository, commit, lab)
    if found.work:
        return f"{told}; it lies in {named(found.work)}"
    return f"{told}; {ONLY_STUB}, in {named(found.stubs)}" if found.stubs else told


def _beside(repository: Path, commit: str, lab: Lab, folder: str) -> str:
    """Say where work lies, where there is only the stub in a folder; "" if nowhere."""
    work = _elsewhere(repository, commit, lab, folder).work
    return f"work of that name lies in {named(work)}" if work else ""


def _elsewhere(repository: Path, commit: str, lab: Lab, folder: str | None = None) -> Elsewhere:
    """Find work and stubs at other places than a folder that was looked at."""

    def is_stub(path: str, entry: tuple[str, str]) -> bool:
        content, _ = _file(repository, path, {path: entry})
        if lab.is_manual:
            name = next((n for n in lab.files if n.casefold() == Path(path).name.casefold()), "")
            return content is not None and not touched(lab, {name: content})
        if content is None or not is_notebook(path):
            return content is not None and is_untouched(lab, content)
        try:
            # Its own budget: what is only looked for must cost no work its reading.
            files, *_ = files_of_notebook(lab, content, None, shown(path), Budget(1))
        except InferlabError:
            return False
        return holds_nothing(lab, files)

    known = () if folder is None else work_names(lab)
    return elsewhere(repository, commit, lab, [f"{folder}{name}" for name in known], is_stub)


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
