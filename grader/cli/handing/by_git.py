"""``lab submit``: commit and push what is handed in of a lab, where work is collected from git.

Nothing is done before the student has said yes, and what cannot be done is said as commands.
"""

import shlex
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from grader.errors import UsageError
from grader.labs.lab import CARRIED, Lab, find_lab, find_root
from grader.labs.published import ID, TAGS, Published, branches_of, is_plain, published
from grader.labs.standing import standing
from grader.languages.language import labelled, say
from grader.report.facts.next_step import typed
from grader.text import number, visible_line

SHORT = 10  # characters of a commit's name
WHO = "inferlab.id"  # in the settings of a clone: the student, as the course knows them


@dataclass(frozen=True, slots=True)
class Place:
    """Where a push goes: the branch here, and the remote with the branch there."""

    branch: str
    remote: str
    url: str
    there: str
    own: bool = False  # chosen here, since the other end of the branch is the course's


def submit(lab_text: str, *, yes: bool, plan: bool = False) -> int:
    """Hand in one lab; 1 if the student says no, or if it did not arrive.

    ``plan``: only say what would be done; 0 if it could be.
    """
    lab = find_lab(lab_text, find_root())
    files = [file for name in lab.handed_in if (file := lab.folder / name).is_file()]
    if not files:
        raise UsageError(f"{typed(lab.folder)} holds nothing to hand in", "write the stub first")
    _require_repository(lab)
    changed = [file for file in files if _git(lab, "status", "--porcelain", "--", str(file))]
    place = _place(lab)
    if place is not None:
        place = _not_the_courses(lab, place, asks=not yes and not plan)
    _tell(lab, files, changed, place)
    commands = _commands(lab, files, changed, place)
    if place is None:
        print("\n" + say("This clone has no remote to push to. Add yours, then make submit again:"))
        print(f"  git remote add origin URL\n  make submit LAB={lab.number}")
        return 1
    print("\n" + say("These commands hand it in:"))
    for command in commands:
        print(f"  {shlex.join(command)}")
    if plan:
        return 0
    if not yes and not _agreed():
        print(say("nothing was done"))
        return 1
    for command in commands:
        if subprocess.run(command, cwd=lab.root, check=False).returncode != 0:
            told = say(f"{shlex.join(command)} failed: what git says is above")
            print(labelled("error", told), file=sys.stderr)
            return 1
    return _arrived(lab, place)


def _require_repository(lab: Lab) -> None:
    try:
        top = _git(lab, "rev-parse", "--show-toplevel")
    except FileNotFoundError:
        raise UsageError("git is not installed", "apt install git") from None
    if not top or not _git(lab, "rev-parse", "--verify", "--quiet", "HEAD"):
        hint = "clone the course with git; a folder that was downloaded cannot be handed in"
        if CARRIED.is_dir():  # labs that were laid out
            hint = (
                "lab login URL, if your course has a service; else git init, git add -A, "
                "git commit -m Begin, and git remote add origin URL of a repository of yours"
            )
        raise UsageError(f"{typed(lab.root)} is no git repository with a commit", hint)


def _place(lab: Lab) -> Place | None:
    branch = _git(lab, "symbolic-ref", "--short", "--quiet", "HEAD")
    if not branch:
        hint = "git switch -c my-work, then make submit again"
        raise UsageError("no branch is checked out here", hint)
    remotes = _git(lab, "remote").splitlines()
    if not remotes:
        return None
    known = _git(lab, "config", f"branch.{branch}.pushRemote")
    known = known or _git(lab, "config", f"branch.{branch}.remote")
    remote = known if known in remotes else "origin" if "origin" in remotes else remotes[0]
    merge = _git(lab, "config", f"branch.{branch}.merge").removeprefix("refs/heads/")
    url = _git(lab, "remote", "get-url", "--push", remote)
    return Place(branch, remote, url, merge if merge and remote == known else branch)


def _not_the_courses(lab: Lab, place: Place, *, asks: bool) -> Place:
    """Go to the student's own branch where a push would go to the one that the course is on."""
    course = published(lab.root)
    if place.there not in _published(lab, place, course) or course.hand_in == place.there:
        return place
    said = f"{place.there} of {place.remote} is the branch that the course is published on"
    who = _git(lab, "config", WHO)
    if not is_plain(who) and ID in course.hand_in:
        who = _who(lab, said, course.hand_in.replace(ID, "ID")) if asks else ""
        if not who:
            own = course.hand_in.replace(ID, "ID")
            hint = f"git config {WHO} ID, with your id in the course; then make submit again"
            raise UsageError(f"{said}: your work goes to {own}", hint)
    return replace(place, there=course.hand_in.replace(ID, who), own=True)


def _published(lab: Lab, place: Place, course: Published) -> set[str]:
    """Return the branches that are the course's, by the tree and by tags, here and there."""
    here = _git(lab, "tag", "--list", f"{TAGS}*").splitlines()
    told = _git(lab, "ls-remote", "--tags", place.remote, f"refs/tags/{TAGS}*").splitlines()
    there = (line.partition("refs/tags/")[2] for line in told)
    return {course.branch, *branches_of([*here, *there])} - {""}


def _who(lab: Lab, text: str, own: str) -> str:
    """Ask for the student's id, and keep it in this clone; "" where nobody can be asked."""
    if not sys.stdin.isatty():
        return ""
    print(say(f"{text}."))
    print(say(f"Your work goes to a branch of your own, {own}, by your id in the course."))
    who = input(say("Your id: ")).strip()
    if not is_plain(who):
        raise UsageError(f"{visible_line(who)!r} can be no part of a branch's name", "try again")
    _git(lab, "config", WHO, who)
    return who


def _tell(lab: Lab, files: list[Path], changed: list[Path], place: Place | None) -> None:
    print(say(f"Lab {lab.number:02d} · {visible_line(lab.title)}"))
    for file in files:
        state = "changed since the last commit" if file in changed else "as committed"
        print(f"  {typed(file)}: {say(state)}")
    last = standing(lab)
    graded = "not yet: make grade first" if last.score is None else _points(last.score, last.graded)
    print("  " + say(f"graded here last: {graded}"))
    if place is not None:
        branch, there, remote = place.branch, place.there, place.remote
        print("  " + say(f"branch {branch} goes to {there} of {remote}, {place.url}"))
        course = published(lab.root)
        if place.own:
            print("  " + say("(the branch that you pull from is the course's, and stays as it is)"))
        elif course.branch and not course.takes(place.there):
            branch = course.hand_in.replace(ID, "ID")
            print("  " + labelled("note", say(f"work is collected from {branch}")))


def _points(score: float, graded: float) -> str:
    return f"{number(score)} of {number(graded)} points"


def _commands(
    lab: Lab, files: list[Path], changed: list[Path], place: Place | None
) -> list[list[str]]:
    names = [str(file.relative_to(lab.root)) for file in files]
    commands = [
        ["git", "add", "--", *names],
        ["git", "commit", "-m", f"Hand in lab {lab.number:02d}", "--", *names],
    ]
    push = ["git", "push", place.remote, f"HEAD:refs/heads/{place.there}"] if place else []
    return [*(commands if changed else []), *([push] if push else [])]


def _agreed() -> bool:
    if not sys.stdin.isatty():
        print(say("no terminal to ask at: ARGS=--yes does it without a question"))
        return False
    return input(say("Go on? [y/N] ")).strip().lower() in ("y", "yes")


def _arrived(lab: Lab, place: Place) -> int:
    """Ask the remote what it holds now: that, and no message of a push, is what is collected."""
    here = _git(lab, "rev-parse", "HEAD")
    there = _git(lab, "ls-remote", place.remote, f"refs/heads/{place.there}").split("\t")[0]
    if not here or here != there:
        told = say(f"{place.remote} does not hold your commit {here[:SHORT]}")
        print(labelled("error", told), file=sys.stderr)
        return 1
    when = _git(lab, "log", "-1", "--format=%cI")
    print(
        "\n" + say(f"It has arrived: {here[:SHORT]} of {when} is the tip of {place.there} there.")
    )
    print(
        say(
            "What counts is the date of your last commit that changes these files; see the handout."
        )
    )
    return 0


def _git(lab: Lab, *arguments: str) -> str:
    """Return what git says, stripped; "" where it fails."""
    done = subprocess.run(
        ["git", *arguments], cwd=lab.root, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""
