"""``lab publish``: labs out of the instructors' last commit onto a branch that students fetch.

The branch has a history of its own, a commit for each publication, each with a tag, and only ever
grows. The tags on the remote are the record of what was published: a branch that is not what its
last tag says was changed by somebody, and is left alone. All is prepared and scanned in a
throw-away repository; what the remote gets, it gets in one push.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from grader.course.config import is_branch
from grader.course.git import OWN, git
from grader.course.publishing.handing import NO_TERMS, Terms
from grader.course.publishing.held import answered, held_modules
from grader.course.publishing.leak import Leak, find_leaks
from grader.course.publishing.press import Press, identity
from grader.course.publishing.remote import Remote, fetch_history, look_at
from grader.course.publishing.repository import files_at, resolve, tree_of
from grader.course.publishing.selection import lab_folders, select
from grader.course.publishing.tree import GENERATED
from grader.errors import GitError, UsageError
from grader.labs.lab import Lab

LAB_FIELD = "{NN}"


@dataclass(frozen=True, slots=True)
class Order:
    """What to publish: labs such as ``1-3``, a remote and a branch or a pattern with ``{NN}``.

    While a lab is among ``open_labs`` given code that answers it is held back; of labs that are
    ``over`` it gives nothing away.
    """

    labs: tuple[str, ...]
    remote: str
    branch: str
    title: str
    open_labs: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    over: frozenset[str] = frozenset()
    terms: Terms = NO_TERMS


@dataclass(frozen=True, slots=True)
class Publication:
    """One branch as it will be; ``before`` are the blobs of the branch by path as it is now."""

    branch: str
    labs: tuple[str, ...]
    commit: str  # the new tip, or the old one if nothing changed
    tags: tuple[str, ...]  # of all its publications
    is_new: bool  # False if it is there already, file for file
    files: Mapping[str, str]
    before: Mapping[str, str]
    held: Mapping[str, str]  # given code that was left out, with the open lab that it answers
    gives_away: Mapping[str, str]  # that came to the branch of the lab that it answers


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a publication; with leaks nothing was pushed."""

    publications: tuple[Publication, ...]
    leaks: tuple[Leak, ...]


def publish(root: Path, order: Order, *, dry_run: bool = False) -> Outcome:
    """Prepare all branches, scan them, and push them at once; a dry run stops before the push."""
    source = _commit_of(root)
    files = files_at(root, source)
    labs = select(order.labs, files)
    branches = _branches(order.branch, labs)
    remote = look_at(order.remote, root)
    with tempfile.TemporaryDirectory(prefix="inferlab-publish-") as name:
        folder = Path(name)
        git("init", "-q", "--bare", ".", folder=folder)
        history = {branch: fetch_history(folder, remote, branch) for branch in branches}
        press = Press(folder, files, source, identity(root), order.title, order.terms)
        made = tuple(
            _prepare(press, remote, branch, names, history[branch], order.open_labs)
            for branch, names in branches.items()
        )
        _refuse_changes(root, {path for item in made for path in item.files})
        tips = [name for item in made for name in (item.commit, *item.tags)]
        leaks = tuple(find_leaks(files, folder, tips))
        fresh = [item for item in made if item.is_new]
        if fresh and not leaks and not dry_run:
            _push(folder, remote, fresh)
    return Outcome(made, leaks)


def _commit_of(root: Path) -> str:
    try:
        return resolve(root, "HEAD")
    except GitError as error:
        hint = "lab publish takes what is committed in the instructors' repository"
        raise UsageError(f"{root} has no commit to publish: {error.message}", hint) from None


def _branches(pattern: str, labs: Sequence[Lab]) -> dict[str, list[str]]:
    """Return the labs of each branch; with ``{NN}`` in its name a branch has one lab."""
    found: dict[str, list[str]] = {}
    for lab in labs:
        branch = pattern.replace(LAB_FIELD, f"{lab.number:02d}")
        if not is_branch(branch):
            hint = "such as main, or 'lab/{NN}' for a branch per lab"
            raise UsageError(f"{pattern!r} is no name of a branch", hint)
        found.setdefault(branch, []).append(lab.name)
    return found


def _prepare(
    press: Press,
    remote: Remote,
    branch: str,
    names: list[str],
    tip: str,
    open_labs: Mapping[str, datetime],
) -> Publication:
    """Make the next commit of a branch, with the labs that are on it already."""
    before = tree_of(press.folder, tip) if tip else {}
    labs = select([*names, *lab_folders(before)], press.files)
    tags = remote.tags_of(branch)
    number = 1 + max((int(tag.rpartition("/")[2]) for tag in tags), default=0)
    every = lab_folders(press.files)
    held = held_modules(labs, every, open_labs)
    held = {name: lab for name, lab in held.items() if f"labs/{name}.py" not in before}
    commit, tag = press.commit(branch, labs, tip, number, frozenset(held))
    files, own = tree_of(press.folder, commit), {lab.name for lab in labs}
    fresh = {path for path in files if path not in before}
    is_new = not tip or files != before
    return Publication(
        branch=branch,
        labs=tuple(lab.name for lab in labs),
        commit=commit if is_new else tip,
        tags=(*tags, tag) if is_new else tags,
        is_new=is_new,
        files=files,
        before=before,
        held=held,
        gives_away={
            name: lab
            for name, lab in answered(every).items()
            if f"labs/{name}.py" in fresh and lab in own
        },
    )


def _refuse_changes(root: Path, paths: set[str]) -> None:
    """What is published is what was committed: changes that would be left out are an error."""
    own = sorted(paths - {*GENERATED})
    out = git("diff", "--no-ext-diff", "--name-only", "-z", "HEAD", "--", *own, folder=root)
    changed = [path for path in out.split("\0") if path]
    if changed:
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        raise UsageError(
            f"not committed: {', '.join(changed[:3])}{more}",
            "commit or stash: lab publish takes what is in the last commit",
        )


def _push(folder: Path, remote: Remote, made: Sequence[Publication]) -> None:
    """Push branches and tags, all or none, and never over what came there meanwhile."""
    refs = [ref for item in made for ref in (f"refs/heads/{item.branch}", item.tags[-1])]
    pairs = [f"{ref}:{ref}" for ref in refs]
    try:
        git("push", "-q", "--atomic", remote.url, *pairs, folder=folder, limits=OWN)
    except GitError as error:
        now = look_at(remote.url, folder)
        for ref in refs:
            if now.refs.get(ref) != remote.refs.get(ref):
                name = ref.split("/", 2)[2]
                raise UsageError(
                    f"{name} of {remote.text} was changed while this was prepared",
                    "somebody else published: nothing of yours was, so publish again",
                ) from None
        raise UsageError(
            f"{remote.text} did not take the branch: {error.message}", "nothing was published"
        ) from None
