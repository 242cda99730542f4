"""``lab publish``: labs out of the instructors' last commit onto a branch that students fetch.

The branch has a history of its own, a commit for each publication, each with a tag, and only ever
grows: a lab that is withdrawn is gone from the next commit. The tags on the remote are the record
of what was published: a branch that is not what its last tag says was changed by somebody, and is
left alone. All is prepared and scanned in a throw-away repository; what the remote gets, it gets in
one push.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from grader.course.config import is_branch
from grader.course.git import OWN, git
from grader.course.publishing.beside.handing import NO_TERMS, Terms
from grader.course.publishing.held import given_away, held_modules
from grader.course.publishing.hidden import Files
from grader.course.publishing.leak import Leak, find_leaks
from grader.course.publishing.press import Press, identity
from grader.course.publishing.remote import Remote, fetch_history, look_at
from grader.course.publishing.repository import files_at, resolve, tree_of
from grader.course.publishing.selection import lab_folders, numbers, select
from grader.course.publishing.tree import GENERATED
from grader.errors import GitError, UsageError
from grader.labs.lab import Lab
from grader.languages.language import Language

LAB_FIELD = "{NN}"


@dataclass(frozen=True, slots=True)
class Order:
    """What to publish: labs such as ``1-3``, a remote and a branch or a pattern with ``{NN}``.

    ``withdraw`` takes these labs off the branch instead, whether the last commit has them or not.
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
    withdraw: bool = False
    language: Language = Language.ENGLISH


@dataclass(frozen=True, slots=True)
class Publication:
    """One branch as it will be; ``before`` are the blobs of the branch by path as it is now."""

    branch: str
    labs: tuple[str, ...]
    withdrawn: tuple[str, ...]
    commit: str  # the new tip, or the old one if nothing changed
    tags: tuple[str, ...]  # of all its publications
    is_new: bool  # False if it is there already, file for file
    files: Mapping[str, str]
    before: Mapping[str, str]
    held: Mapping[str, str]  # given code that was left out, with the open lab that it answers
    gives_away: Mapping[str, str]  # that came to the branch of the lab that it answers
    changed: tuple[str, ...]  # labs of which the branch had not all files as they will be


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a publication; with leaks, or without a proof, nothing was pushed."""

    publications: tuple[Publication, ...]
    leaks: tuple[Leak, ...]
    proven: bool = True


Proven = Callable[[Sequence[str]], bool]


def publish(
    root: Path, order: Order, *, dry_run: bool = False, proven: Proven | None = None
) -> Outcome:
    """Prepare all branches, scan them, and push them at once; a dry run stops before the push.

    ``proven`` is asked last whether the labs that students get anew, or changed, are right.
    """
    source = commit_of(root)
    files = files_at(root, source)
    branches = _branches(order, files)
    remote = look_at(order.remote, root)
    with tempfile.TemporaryDirectory(prefix="inferlab-publish-") as name:
        folder = Path(name)
        git("init", "-q", "--bare", ".", folder=folder)
        history = {branch: fetch_history(folder, remote, branch) for branch in branches}
        said = order.title, order.terms, order.language
        press = Press(folder, files, source, identity(root), *said)
        made = tuple(
            _prepare(press, remote, branch, names, history[branch], order)
            for branch, names in branches.items()
        )
        refuse_changes(root, {path for item in made for path in item.files})
        tips = [name for item in made for name in (item.commit, *item.tags)]
        leaks = tuple(find_leaks(files, folder, tips))
        fresh = [item for item in made if item.is_new]
        if not fresh or leaks or dry_run:
            return Outcome(made, leaks)
        changed = sorted({lab for item in fresh for lab in item.changed})
        if changed and proven is not None and not proven(changed):
            return Outcome(made, (), proven=False)
        _push(folder, remote, fresh)
    return Outcome(made, leaks)


def commit_of(root: Path) -> str:
    """Return the instructors' last commit, out of which all is published."""
    try:
        return resolve(root, "HEAD")
    except GitError as error:
        hint = "lab publish takes what is committed in the instructors' repository"
        raise UsageError(f"{root} has no commit to publish: {error.message}", hint) from None


def _branches(order: Order, files: Files) -> dict[str, list[str]]:
    """Return what is meant of each branch: names of labs, or two digits each to withdraw.

    With ``{NN}`` in its name a branch has one lab.
    """
    if order.withdraw:
        meant = [f"{number:02d}" for number in numbers(order.labs)]
    else:
        meant = [lab.name for lab in select(order.labs, files)]
    found: dict[str, list[str]] = {}
    for name in meant:
        branch = order.branch.replace(LAB_FIELD, name[:2])
        if not is_branch(branch):
            hint = "such as main, or 'lab/{NN}' for a branch per lab"
            raise UsageError(f"{order.branch!r} is no name of a branch", hint)
        found.setdefault(branch, []).append(name)
    return found


def _prepare(
    press: Press, remote: Remote, branch: str, meant: list[str], tip: str, order: Order
) -> Publication:
    """Make the next commit of a branch, with the labs that are on it already."""
    before = tree_of(press.folder, tip) if tip else {}
    there = lab_folders(before)
    withdrawn = _withdrawn(branch, meant, there) if order.withdraw else []
    names = [name for name in there if name not in withdrawn]
    _refuse_gone(branch, [name for name in names if f"labs/{name}/lab.toml" not in press.files])
    names += [] if order.withdraw else meant
    labs = select(names, press.files) if names else []
    tags = remote.tags_of(branch)
    number = 1 + max((int(tag.rpartition("/")[2]) for tag in tags), default=0)
    every = lab_folders(press.files)
    held = held_modules(labs, every, order.open_labs)
    held = {name: lab for name, lab in held.items() if f"labs/{name}.py" not in before}
    commit, tag = press.commit(branch, labs, tip, number, frozenset(held), withdrawn)
    files, own = tree_of(press.folder, commit), {lab.name for lab in labs}
    fresh = {path for path in files if path not in before}
    is_new = not tip or files != before
    return Publication(
        branch=branch,
        labs=tuple(lab.name for lab in labs),
        withdrawn=tuple(withdrawn),
        commit=commit if is_new else tip,
        tags=(*tags, tag) if is_new else tags,
        is_new=is_new,
        files=files,
        before=before,
        held=held,
        gives_away=given_away(every, own, fresh),
        changed=tuple(lab.name for lab in labs if _differs(lab, before, files)),
    )


def _withdrawn(branch: str, meant: Sequence[str], there: Sequence[str]) -> list[str]:
    """Return the names of the labs on a branch that are meant by two digits each."""
    missing = [digits for digits in meant if not any(name.startswith(digits) for name in there)]
    if missing:
        has = f"it has {', '.join(there)}" if there else "nothing was published to it"
        raise UsageError(f"lab {', '.join(missing)} is not on {branch}", has)
    return [name for name in there if name[:2] in meant]


def _refuse_gone(branch: str, gone: Sequence[str]) -> None:
    """A lab that students have and that is in the last commit no more is nobody's guess."""
    if gone:
        listed = ",".join(name[:2] for name in gone)
        hint = f"lab publish {listed} --withdraw takes it from students too; else commit it again"
        raise UsageError(f"{', '.join(gone)} is on {branch}, and not in the last commit", hint)


def _differs(lab: Lab, before: Mapping[str, str], files: Mapping[str, str]) -> bool:
    """Tell whether a lab's folder, or code that it gives, is to be on a branch as it was not."""
    given = {f"labs/{name}.py" for name in lab.given}
    own = [p for p in {*files, *before} if p.startswith(f"labs/{lab.name}/") or p in given]
    return any(files.get(path) != before.get(path) for path in own)


def refuse_changes(root: Path, paths: set[str]) -> None:
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
