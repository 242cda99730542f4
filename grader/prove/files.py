"""The part of ``lab check`` that reads files and runs no grading."""

import ast
import contextlib
import fnmatch
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from grader.errors import LabError
from grader.labs.documents.manual import HANDOUT_LINES, rules_of
from grader.labs.lab import PSEUDOCODE, QUESTIONS, Lab
from grader.labs.translations.files import translated
from grader.languages.curriculum import WORDS
from grader.prove.answers.edits import build, build_sources
from grader.prove.answers.field import field_bugs, field_problem
from grader.prove.findings import Finding, Outcome, verdict
from grader.prove.proven import without_docstrings
from grader.reading.pseudocode.pseudocode import sections
from grader.reading.syntax import Function, signatures

EQUIVALENT = "equivalent.toml"  # why some mutants of the model answer are no mistakes
START_SECONDS = 300.0
_IGNORED = ("__pycache__", ".*")


def check_files(lab: Lab) -> Iterator[Finding]:
    """Hold the files of a lab against its contract, rule by rule."""
    if lab.is_manual:
        for rule, file, problem in rules_of(lab):
            yield verdict(lab.name, rule, shown(lab, file), problem)
        return
    yield _required(lab)
    yield _stray(lab)
    yield from _formatted(lab)
    yield _handout(lab)
    yield _prompts(lab)
    tree = _parse(lab.stub)
    if isinstance(tree, str):
        yield verdict(lab.name, "stub can be read", shown(lab, lab.stub), tree)
        return
    yield _imports(lab)
    yield _unfinished(lab, tree)
    yield from _signatures(lab, signatures(tree))
    yield from _edits(lab)
    for file in (*wrong_answers(lab), *field_bugs(lab)):
        yield _wrong_docstring(lab, file)
    for file in field_bugs(lab):
        problem = field_problem(lab, file)
        yield verdict(lab.name, "names a report of the world", shown(lab, file), problem)


def shown(lab: Lab, file: Path) -> str:
    """Show a file by its path in the repository."""
    return str(file.relative_to(lab.root)) if file.is_relative_to(lab.root) else str(file)


def contract_rows(lab: Lab) -> list[str]:
    """Return the rows of the handout's tables of contracts, in order, as ``plain`` has them."""
    contracts = [contract for task in lab.tasks for contract in task.contracts]
    return [f"| {contract.number} | {contract.says} |" for contract in contracts]


def plain(row: str) -> str:
    """Return a row as lab.toml says it, which terminals show: without the marks of code."""
    return row.replace("`", "")


def solution(lab: Lab) -> Path:
    """Return the code of the model answer."""
    return lab.solutions / lab.code_name


def variants(lab: Lab) -> list[Path]:
    """List the other correct answers."""
    return sorted((lab.solutions / "variants").glob("*.py"))


def wrong_answers(lab: Lab) -> list[Path]:
    """List the wrong answers."""
    return sorted((lab.solutions / "wrong").glob("*.py"))


def fails_line(lab: Lab, file: Path) -> tuple[frozenset[str], str]:
    """Read the tasks of a wrong answer's ``Fails:`` line, and what is wrong with the docstring."""
    tree = _parse(file)
    if isinstance(tree, str):
        return frozenset(), tree
    lines = (ast.get_docstring(tree) or "").strip().splitlines()
    if len(lines) < 2 or not lines[-1].startswith("Fails:"):
        return frozenset(), "the docstring's last line is not `Fails: task, task`"
    tasks = frozenset(name.strip() for name in lines[-1].removeprefix("Fails:").split(","))
    unknown = tasks - {task.id for task in lab.tasks if task.id != PSEUDOCODE}
    if unknown:
        return frozenset(), f"`Fails:` names no task of the lab: {', '.join(sorted(unknown))}"
    return tasks, ""


def _parse(file: Path) -> ast.Module | str:
    """Return the tree of a file of ours, or why there is none."""
    try:
        return ast.parse(file.read_bytes())
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except (SyntaxError, ValueError) as error:
        return f"is no Python: {error}"


def _required(lab: Lab) -> Finding:
    files = [lab.stub, lab.pseudocode, lab.handout, lab.public_suite, lab.hidden_suite]
    files += [*lab.given_files, *(folder / "config.json" for folder in lab.checkpoint_folders)]
    files += [lab.folder / name for name in lab.sources]
    files += [lab.solutions / name for name in (*lab.given_out, "ANSWERS.md")]
    missing = [shown(lab, file) for file in files if not file.is_file()]
    if not wrong_answers(lab):
        missing.append(f"{shown(lab, lab.solutions)}/wrong/*.py")
    problem = f"missing: {', '.join(missing)}" if missing else ""
    return verdict(lab.name, "files are complete", f"labs/{lab.name}", problem)


def _stray(lab: Lab) -> Finding:
    own = {*lab.handed_in}
    beside = {"README.md", "lab.toml", f"test_{lab.topic}.py", "pictures"}
    beside |= {WORDS, *(pair.chinese.name for pair in translated(lab)), QUESTIONS}
    beside_answers = {"ANSWERS.md", "NOTES.md", EQUIVALENT, "variants", "wrong", "questions.py"}
    stray = _others(lab, lab.folder, own | beside)
    stray += _others(lab, lab.solutions, own | beside_answers)
    kinds = {"*.py", *(f"*{Path(name).suffix}" for name in lab.sources)}
    stray += _others(lab, lab.solutions / "variants", kinds)
    stray += _others(lab, lab.solutions / "wrong", {"*.py"})
    problem = f"stray: {', '.join(stray)}" if stray else ""
    return verdict(lab.name, "no stray files", f"labs/{lab.name}", problem)


def _others(lab: Lab, folder: Path, known: set[str]) -> list[str]:
    if not folder.is_dir():
        return []
    patterns = (*known, *_IGNORED)
    return [
        shown(lab, file)
        for file in sorted(folder.iterdir())
        if not any(fnmatch.fnmatchcase(file.name, pattern) for pattern in patterns)
    ]


def _formatted(lab: Lab) -> Iterator[Finding]:
    beside = Path(sys.executable).with_name("ruff")
    ruff = str(beside) if beside.is_file() else shutil.which("ruff")
    files = [lab.stub, lab.public_suite, solution(lab)]
    for file in filter(Path.is_file, files):
        rule, name = "is formatted", shown(lab, file)
        if ruff is None:
            yield Finding(lab.name, rule, name, Outcome.NOT_CHECKED, got="ruff is not installed")
            continue
        line = [ruff, "format", "--check", "--quiet", "--no-cache", str(file)]
        done = subprocess.run(line, cwd=lab.root, capture_output=True)
        problem = "ruff format would change it" if done.returncode else ""
        yield verdict(lab.name, rule, name, problem)


def _handout(lab: Lab) -> Finding:
    rule, name = "handout names every function in a page or two", shown(lab, lab.handout)
    if not lab.handout.is_file():
        return verdict(lab.name, rule, name, "is missing")
    text = lab.handout.read_text(encoding="utf-8")
    wanted = {function for task in lab.tasks for function in task.functions}
    problems = [f"does not name {item}" for item in sorted(wanted) if item not in text]
    # What holds is listed contract by contract: the page or two are what is read around it.
    listed = contract_rows(lab)
    lines = sum(plain(line) not in listed for line in text.splitlines())
    if lines > HANDOUT_LINES:
        problems.append(f"has {lines} lines beside its contracts, more than {HANDOUT_LINES}")
    return verdict(lab.name, rule, name, "; ".join(problems))


def _prompts(lab: Lab) -> Finding:
    rule, name = "every task has a pseudocode prompt", shown(lab, lab.pseudocode)
    if not lab.pseudocode.is_file():
        return verdict(lab.name, rule, name, "is missing")
    found = sections(lab, lab.pseudocode.read_text(encoding="utf-8"))
    problems = [f"no prompt for {id_}" for id_, part in found.items() if not part.prompt.strip()]
    problems += [f"{id_} is answered already" for id_, part in found.items() if part.lines]
    return verdict(lab.name, rule, name, "; ".join(problems))


def _imports(lab: Lab) -> Finding:
    """Run the stub alone, as a student does who opens it."""
    boot = f"import runpy, sys; sys.path.insert(0, {str(lab.root)!r}); runpy.run_path(sys.argv[1])"
    line = [sys.executable, "-B", "-P", "-c", boot, str(lab.stub)]
    name = shown(lab, lab.stub)
    try:
        done = subprocess.run(line, cwd=lab.root, capture_output=True, timeout=START_SECONDS)
    except subprocess.TimeoutExpired:
        return verdict(lab.name, "stub imports", name, f"not within {START_SECONDS:g} s")
    text = done.stderr.decode(errors="replace").strip()
    problem = text.splitlines()[-1] if done.returncode and text else ""
    return verdict(lab.name, "stub imports", name, problem or ("it failed" * bool(done.returncode)))


def _unfinished(lab: Lab, tree: ast.Module) -> Finding:
    owners: dict[str, set[str]] = {}
    for task in lab.tasks:
        for function in task.functions:
            owners.setdefault(function.partition(".")[0], set()).add(task.id)
    found = {node.name: node for node in tree.body if isinstance(node, Function | ast.ClassDef)}
    problems = [f"{name} is missing" for name in owners if name not in found]
    for name, node in found.items():
        if name not in owners:
            continue
        for function in [node] if isinstance(node, Function) else _methods(node):
            if not _names_task(function, owners[name]):
                problems.append(f"line {function.lineno}: {function.name} does not")
    expected = 'raise NotImplementedError("<task>: <name>") in each function that a task names'
    name = shown(lab, lab.stub)
    return verdict(lab.name, "stub raises, naming the task", name, "; ".join(problems), expected)


def _methods(node: ast.ClassDef) -> Iterator[Function]:
    for item in node.body:
        if isinstance(item, Function):
            private = item.name.startswith("_") and not item.name.startswith("__")
            if not private:
                yield item


def _names_task(node: Function, tasks: set[str]) -> bool:
    """True if the body ends in ``raise NotImplementedError("task: …")``."""
    match node.body[-1]:
        case ast.Raise(
            exc=ast.Call(func=ast.Name(id="NotImplementedError"), args=[ast.Constant(value=text)])
        ):
            return str(text).startswith(tuple(f"{task}: " for task in tasks))
        case _:
            return False


def _signatures(lab: Lab, stub: dict[str, str]) -> Iterator[Finding]:
    for file in filter(Path.is_file, [solution(lab), *variants(lab)]):
        tree = _parse(file)
        problems = [tree] if isinstance(tree, str) else _differences(stub, signatures(tree))
        yield _signed(lab, file, problems)
    for file in (*wrong_answers(lab), *field_bugs(lab)):
        with contextlib.suppress(LabError):  # else a finding of the edit says why
            tree = ast.parse(build(file, lab.solutions))
            yield _signed(lab, file, _differences(stub, signatures(tree)))


def _signed(lab: Lab, file: Path, problems: list[str]) -> Finding:
    return verdict(lab.name, "signatures are the stub's", shown(lab, file), "; ".join(problems))


def _differences(stub: dict[str, str], other: dict[str, str]) -> list[str]:
    found: list[str] = []
    for name, wanted in stub.items():
        if name not in other:
            found.append(f"{name} is missing")
        elif other[name] != wanted:
            found.append(f"{name}({other[name]}), not {name}({wanted})")
    return found


def _edits(lab: Lab) -> Iterator[Finding]:
    """Hold that every wrong answer can be built, and is neither a right one nor another one."""
    known: dict[str, Path] = {}
    for file in filter(Path.is_file, [solution(lab), *variants(lab)]):
        tree = _parse(file)
        if isinstance(tree, ast.Module):
            known.setdefault(_meaning(lab, file, tree), file)
    for file in (*wrong_answers(lab), *field_bugs(lab)):
        problem = ""
        try:
            tree = ast.parse(build(file, lab.solutions))
            same = known.setdefault(_meaning(lab, file, tree), file)
            if same != file:
                same_as = f"comes to the same as {shown(lab, same)}"
                problem = f"{file.name}, line {_beginning(file)}: {same_as}"
        except LabError as error:
            problem = error.message
        yield verdict(lab.name, "is a wrong answer of its own", shown(lab, file), problem)


def _beginning(file: Path) -> int:
    """Return the line of what comes below the docstring."""
    return max((node.lineno for node in ast.parse(file.read_bytes()).body[:2]), default=1)


def _meaning(lab: Lab, file: Path, tree: ast.Module) -> str:
    sources = build_sources(file, lab.sources, lab.solutions)
    return "\0".join((ast.dump(without_docstrings(tree)), *sources.values()))


def _wrong_docstring(lab: Lab, file: Path) -> Finding:
    problem = fails_line(lab, file)[1]
    return verdict(lab.name, "docstring says what fails", shown(lab, file), problem)
