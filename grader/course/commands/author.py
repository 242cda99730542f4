"""What ``lab new``, ``show-wrong`` and ``publish`` do between their options and their exit code."""

import ast
import difflib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from grader.course.commands.proof import are_right
from grader.course.config import Course, load_course
from grader.course.grants import closing, granted
from grader.course.publishing.beside.handing import Terms, terms_of
from grader.course.publishing.held import open_labs
from grader.course.publishing.illustrate import apply, changes, page_changes
from grader.course.publishing.leak import Leak
from grader.course.publishing.new import write_lab
from grader.course.publishing.publish import Order, Publication, publish
from grader.course.publishing.wheels.wheel import Wheel, publish_wheel
from grader.course.rules.hosts import Kind
from grader.errors import LabError, UsageError
from grader.labs.lab import Lab, all_labs, find_lab, find_root, load_lab
from grader.languages.language import Language
from grader.prove.answers.edits import base_name, build, build_sources, source_of
from grader.prove.answers.field import field_bugs
from grader.prove.files import shown, wrong_answers
from grader.report.facts.next_step import typed
from grader.text import moment_text, visible_line

TITLE = "Your labs"
BRANCH = "main"
SHOWN_LEAKS = 20


@dataclass(frozen=True, slots=True)
class Wish:
    """A publication as asked for; None: what the course says."""

    labs: tuple[str, ...]
    to: str | None
    branch: str | None
    course: Path
    dry_run: bool
    give_away: bool = False
    unproven: bool = False
    withdraw: bool = False
    language: Language | None = None
    wheel: Path | None = None  # a folder, instead of a remote
    shown: str = ""  # what the remote is called, where that is not its name
    workflows: tuple[Kind, ...] = ()  # beside the course's


def new_lab(name: str, *, manual: bool = False) -> int:
    """Write a lab's files, and say what comes next."""
    root = find_root()
    files = write_lab(root, name, manual=manual)
    for file in files:
        print(typed(file))
    number = int(name[:2])
    example = "the example" if manual else "the example task"
    print(f"\nnext: lab check {number}, which passes already; then replace {example}")
    if manual:
        return 0
    print("(CONTRIBUTING.md: Add a lab)")
    return 0


def show_wrong(lab_text: str, name: str) -> int:
    """Print the answer that a file of ``wrong/`` stands for, and what of its base is changed.

    Of sources for a compiler the difference is all that is printed.
    """
    lab = find_lab(lab_text, find_root())
    names = {file.stem: file for file in (*field_bugs(lab), *wrong_answers(lab))}
    file = names.get(Path(name).stem)
    if file is None:
        near = difflib.get_close_matches(Path(name).stem, names)
        folder = typed(lab.solutions / "wrong")
        hint = f"did you mean {' or '.join(near)}?" if near else f"those there are lie in {folder}"
        raise UsageError(f"{lab.name} has no wrong answer {name!r}", hint)
    whole = build(file, lab.solutions)
    print(whole, end="")
    base = base_name(ast.parse(file.read_bytes()), lab.code_name)
    if base:
        right = lab.solutions / base
        _print_difference(lab, file, right, whole)
        for name, source in build_sources(file, lab.sources, lab.solutions).items():
            _print_difference(lab, file, source_of(right, name, lab.solutions), source)
    return 0


def _print_difference(lab: Lab, file: Path, right: Path, whole: str) -> None:
    sides = (right.read_text(encoding="utf-8").splitlines(), whole.splitlines())
    titles = (shown(lab, right), shown(lab, file))
    if difference := [*difflib.unified_diff(*sides, *titles, lineterm="")]:
        print("", *difference, sep="\n")


def draw_pictures(names: Sequence[str], check: bool) -> int:
    """Write the pictures that are not current; with ``check`` only name them, and return 1."""
    root = find_root()
    labs = [find_lab(name, root) for name in names] or all_labs(root)
    found = 0
    for change in [*changes(labs), *(() if names else page_changes(root))]:
        found += 1
        print(typed(change.file))
        if not check:
            apply(change)
    if check and found:
        print("error: these are not what the pictures draw now", file=sys.stderr)
        print("hint: make pictures", file=sys.stderr)
    return int(check and found > 0)


def publish_labs(wish: Wish) -> int:
    """Publish and say what came of it; 1 if the leak scan found something, or a lab is broken."""
    if wish.wheel and (wish.to or wish.branch or wish.withdraw):
        hint = "leave out --to, --branch and --withdraw, or --wheel"
        raise UsageError("a wheel is a file in a folder, and goes to no branch", hint)
    order = _order(wish)
    root = find_root()

    def proven(names: Sequence[str]) -> bool:
        return wish.unproven or are_right([find_lab(name, root) for name in names])

    if wish.wheel:
        made = publish_wheel(root, order, wish.wheel, dry_run=wish.dry_run, proven=proven)
        if made.leaks or not made.proven:
            return _refused(made.leaks) if made.leaks else _broken()
        _tell_wheel(made, wish)
        _tell_answers(made.held, made.gives_away, order)
        return 0
    outcome = publish(root, order, dry_run=wish.dry_run, proven=proven)
    if outcome.leaks or not outcome.proven:
        return _refused(outcome.leaks) if outcome.leaks else _broken()
    for item in outcome.publications:
        _tell(item, wish.shown or order.remote, wish)
        _tell_answers(item.held, item.gives_away, order)
    return 0


def _order(wish: Wish) -> Order:
    default = Path("course.toml")
    course = None
    if wish.course != default or wish.course.exists():
        course = _with_grants(load_course(wish.course))
    remote = wish.to or (course.publish_remote if course else "")
    if not remote and not wish.wheel:
        raise UsageError(
            "where to?", "give --to REMOTE, or [publish] remote in course.toml (docs/course.md)"
        )
    branch = wish.branch or (course.publish_branch if course else BRANCH)
    names = [folder.name for folder in find_root().glob("labs/[0-9][0-9]_*")]
    still = open_labs(course, names, datetime.now(UTC))
    return Order(
        labs=wish.labs,
        remote=remote,
        branch=branch,
        title=course.title if course else TITLE,
        open_labs={} if wish.give_away else still,
        over=frozenset(name for name in names if closing(course, int(name[:2]))) - still.keys(),
        terms=_terms(course, wish),
        withdraw=wish.withdraw,
        language=wish.language or (course.language if course else Language.ENGLISH),
    )


def _terms(course: Course | None, wish: Wish) -> Terms:
    terms = terms_of(course)
    return replace(terms, workflows=tuple(dict.fromkeys((*terms.workflows, *wish.workflows))))


def _with_grants(course: Course) -> Course:
    """Let extensions by command hold a lab open too; where no database is there are none."""
    if find_spec("sqlalchemy") is None:
        return course
    from grader.course.database.connection import file_of, located
    from grader.course.database.store import Store

    file = file_of(located(course.database, course.folder))
    if file is not None and not file.exists():
        return course
    with Store.open(course.database, course.folder) as store:
        return granted(course, store.grants())


def _broken() -> int:
    print("error: what students would get is broken; nothing was published", file=sys.stderr)
    print("hint: lab check LAB shows all; --unproven publishes all the same", file=sys.stderr)
    return 1


def _refused(leaks: Sequence[Leak]) -> int:
    for leak in leaks[:SHOWN_LEAKS]:
        print(leak)
    if len(leaks) > SHOWN_LEAKS:
        print(f"… and {len(leaks) - SHOWN_LEAKS} more")
    lines = "a line" if len(leaks) == 1 else f"{len(leaks)} lines"
    print(f"error: {lines} that students must not see; nothing was published", file=sys.stderr)
    print("hint: docs/course.md says how to go on, and what if it is harmless", file=sys.stderr)
    return 1


def _tell_wheel(made: Wheel, wish: Wish) -> None:
    if wish.dry_run:
        print(*made.files, sep="\n")
    verb = "would hold" if wish.dry_run else "holds"
    print(f"{typed(made.file)} {verb} {', '.join(made.labs)}", file=sys.stderr)
    print(f"  {len(made.files)} files, none of them hidden", file=sys.stderr)
    if wish.unproven or wish.dry_run:
        print(f"  not proven: {', '.join(made.labs)}", file=sys.stderr)
    if not wish.dry_run:
        print(f"  students: pip install {typed(made.file)}, then lab start", file=sys.stderr)


def _tell(item: Publication, remote: str, wish: Wish) -> None:
    if wish.dry_run:
        for path in item.files:
            print(path)
    labs = ", ".join(item.labs) or "no lab"
    where = visible_line(f"{item.branch} of {remote}")
    if not item.is_new:
        print(f"{where} is up to date: {labs}", file=sys.stderr)
        return
    added = len(item.files.keys() - item.before.keys())
    gone = len(item.before.keys() - item.files.keys())
    changed = [path for path, blob in item.files.items() if item.before.get(path, blob) != blob]
    verb = "would hold" if wish.dry_run else "holds"
    print(f"{where} {verb} {labs}", file=sys.stderr)
    print(f"  {added} files added, {len(changed)} changed, {gone} removed", file=sys.stderr)
    print(f"  tag {item.tags[-1].removeprefix('refs/tags/')}", file=sys.stderr)
    if item.changed and (wish.unproven or wish.dry_run):
        print(f"  not proven: {', '.join(item.changed)}", file=sys.stderr)
    for lab in item.withdrawn:
        print(f"  withdrawn: {lab}; marks that there are of it stay", file=sys.stderr)
        note = f"labs/{lab} meets a conflict at the next pull: git add keeps it, git rm drops it"
        print(f"  note: who has committed work in {note}", file=sys.stderr)
    for path in _edited_by_students(item, changed):
        note = "students have edited it, and will have to merge"
        print(f"  note: {path} changed: {note}", file=sys.stderr)


def _tell_answers(held: Mapping[str, str], away: Mapping[str, str], order: Order) -> None:
    """Say what given code was held back, or gives away a lab that is published beside it."""
    for name, lab in held.items():
        until = moment_text(order.open_labs[lab])
        print(f"  held back: labs/{name}.py answers {lab}, open until {until}", file=sys.stderr)
        print("  hint: publish again after that, or now with --give-away", file=sys.stderr)
    for name, lab in away.items():
        if lab in order.over:
            continue
        print(
            f"  warning: labs/{name}.py is an answer to {lab}, which is there too", file=sys.stderr
        )
        hint = f"a deadline of lab {int(lab[:2])} in course.toml holds it back until then"
        print(f"  hint: {hint}", file=sys.stderr)


def _edited_by_students(item: Publication, changed: Sequence[str]) -> list[str]:
    own = {f"labs/{lab}/{name}" for lab in item.labs for name in _handed_in(lab)}
    return [path for path in changed if path in own]


def _handed_in(lab: str) -> Sequence[str]:
    try:
        return load_lab(find_root() / "labs" / lab).handed_in
    except LabError:  # it is on the branch as it once was
        return f"{lab[3:]}.py", "PSEUDOCODE.md"
