"""The repository that students fetch from: what it holds, and whether a branch of it is ours.

A tag ``published/BRANCH/3`` on the remote marks the third publication of a branch.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.course.git import OWN, git
from grader.course.publishing.hidden import INSTRUCTORS
from grader.course.publishing.repository import resolve
from grader.errors import GitError, UsageError

_URL = re.compile(r"[^/]*:")  # as git reads it: a URL, or host:path
_HEAD, _TAG = "refs/heads/", "refs/tags/"


@dataclass(frozen=True, slots=True)
class Remote:
    """A repository with its refs, as they were when it was looked at."""

    text: str  # as it was given
    url: str
    refs: Mapping[str, str]  # full name -> hash

    def tip(self, branch: str) -> str:
        """Return the commit of a branch, "" if there is no such branch."""
        return self.refs.get(_HEAD + branch, "")

    def tags_of(self, branch: str) -> tuple[str, ...]:
        """Return the full names of the tags of a branch's publications, in order."""
        start = f"{_TAG}published/{branch}/"
        numbers = [name.removeprefix(start) for name in self.refs if name.startswith(start)]
        return tuple(
            f"{start}{number}" for number in sorted(filter(str.isdecimal, numbers), key=int)
        )


def look_at(text: str, root: Path) -> Remote:
    """Ask a remote for its refs; one that holds the instructors' own history is refused."""
    remote = Remote(text, url := _url(text, root), _refs(url, text, root))
    _refuse_instructors(remote, root)
    return remote


def _url(text: str, root: Path) -> str:
    if not text.strip() or text.startswith("-"):
        raise UsageError(f"{text!r} is no repository", "--to takes a path, a URL or a remote")
    if text in git("remote", folder=root).splitlines():
        return git("remote", "get-url", "--push", text, folder=root)
    if _URL.match(text):
        return text
    path = Path(text).expanduser()
    if not path.exists():
        hint = f"git init --bare {text} makes one; or give a URL, or a name that git remote lists"
        raise UsageError(f"there is no repository at {text}", hint)
    return os.fspath(path.resolve())


def _refs(url: str, text: str, root: Path) -> dict[str, str]:
    try:
        # Where students push too there may be any number of branches; they stop no publication.
        lines = git("ls-remote", url, folder=root, limits=OWN).splitlines()
    except GitError as error:
        hint = "git must reach it without a question: by a path, an SSH key or ~/.netrc"
        raise UsageError(f"{text} cannot be read: {error.message}", hint) from None
    pairs = (line.split("\t", 1) for line in lines)
    return {name: commit for commit, name in pairs if name.startswith((_HEAD, _TAG))}


def _refuse_instructors(remote: Remote, root: Path) -> None:
    """Refuse a remote where students could fetch a commit of ours with its solutions."""
    names = {commit: name for name, commit in remote.refs.items()}
    stdin = "".join(f"{commit}\n" for commit in names).encode()
    line = ("cat-file", "--batch-check")
    known = git(*line, folder=root, limits=OWN, stdin=stdin).splitlines()
    folders = [folder.rstrip("/") for folder in INSTRUCTORS]
    for line in known:
        commit, _, kind = line.partition(" ")
        if not kind.startswith(("commit", "tag")):
            continue
        if git("ls-tree", "--full-tree", "--name-only", commit, "--", *folders, folder=root):
            raise UsageError(
                f"{remote.text} also holds {names[commit]}, in which students would find "
                "suites and solutions",
                "publish to a repository that only ever held what students may see",
            )


def fetch_history(folder: Path, remote: Remote, branch: str) -> str:
    """Fetch a branch with its tags and return its tip, "" if nothing was published yet.

    A branch that is not as its last tag says is somebody else's work: ``UsageError``.
    """
    tip, tags = remote.tip(branch), remote.tags_of(branch)
    where = f"the branch {branch} of {remote.text}"
    if not tip and not tags:
        return ""
    if not tags:
        hint = "choose another branch, or begin with an empty repository"
        raise UsageError(f"{where} was not made by lab publish", hint)
    last = tags[-1].removeprefix(_TAG)
    again = f"git push -f {remote.text} '{last}^{{}}:{_HEAD}{branch}'"
    if not tip:
        raise UsageError(f"{where} was deleted after {last}", f"bring it back: {again}")
    refs = [f"{name}:{name}" for name in tags]
    own = f"+{_HEAD}{branch}:refs/fetched/{branch}"
    git("fetch", "-q", "--no-tags", remote.url, own, *refs, folder=folder, limits=OWN)
    _check_history(folder, where, tip, tags, again)
    return tip


def _check_history(folder: Path, where: str, tip: str, tags: tuple[str, ...], again: str) -> None:
    for tag in tags:
        try:
            git("merge-base", "--is-ancestor", resolve(folder, tag), tip, folder=folder)
        except GitError:
            name = tag.removeprefix(_TAG)
            raise UsageError(
                f"{where} was rewritten: it no longer holds {name}", f"bring it back: {again}"
            ) from None
    if _tree(folder, tip) != _tree(folder, tags[-1]):
        author = git("log", "-1", "--format=%h by %an: %s", tip, folder=folder)
        name = tags[-1].removeprefix(_TAG)
        raise UsageError(
            f"{where} was changed after {name} ({author})",
            "make the change in the instructors' repository, and revert it on the branch",
        )


def _tree(folder: Path, name: str) -> str:
    return git("rev-parse", f"{name}^{{tree}}", folder=folder)
