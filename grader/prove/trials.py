"""The gradings that prove a lab: of its stub, right and wrong answers, and negative controls."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.errors import LabError
from grader.labs.lab import Lab
from grader.prove.answers.controls import make_controls
from grader.prove.answers.edits import build, build_sources
from grader.prove.answers.field import field_bugs
from grader.prove.expected import Role
from grader.prove.files import fails_line, shown, solution, variants, wrong_answers


@dataclass(frozen=True, slots=True)
class Trial:
    """One grading to be made; ``label`` is what ``only`` selects by."""

    lab: Lab
    role: Role
    label: str
    file: str
    source: Path
    seed: int
    fails: frozenset[str] = frozenset()


def plan(lab: Lab, seeds: int, wrong_seeds: int, folder: Path) -> Iterator[Trial]:
    """List the gradings of a lab: right and wrong answers under seeds from 1, all else under 1.

    Of a lab that people grade there are none.
    """
    if lab.is_manual:
        return
    stub = shown(lab, lab.stub)
    if lab.stub.is_file():
        yield Trial(lab, Role.STUB, "stub", stub, lab.folder, 1)
    for seed in range(1, seeds + 1):
        if solution(lab).is_file():
            name = shown(lab, solution(lab))
            yield Trial(lab, Role.SOLUTION, "solution", name, lab.solutions, seed)
        for file in variants(lab):
            label = f"variants/{file.name}"
            whole = _write_built(lab, file, folder / "variants") if lab.sources else file
            yield Trial(lab, Role.VARIANT, label, shown(lab, file), whole or file, seed)
    for kind, files in (("wrong", wrong_answers(lab)), ("field", field_bugs(lab))):
        for file in files:
            fails, problem = fails_line(lab, file)
            whole = None if problem else _write_built(lab, file, folder / kind)
            if whole is not None:  # else a finding of the file says why
                label = f"{kind}/{file.name}"
                for seed in range(1, wrong_seeds + 1):
                    yield Trial(lab, Role.WRONG, label, shown(lab, file), whole, seed, fails)
    for name, file in _write_controls(lab, folder).items():
        yield Trial(lab, Role.CONTROL, f"controls/{name}", f"control {name}", file, 1)


def _write_built(lab: Lab, file: Path, folder: Path) -> Path | None:
    """Write the whole answer that a wrong one stands for; None if it stands for none."""
    try:
        text = build(file, lab.solutions)
        sources = build_sources(file, lab.sources, lab.solutions)
    except LabError:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / file.name
    written.write_text(text, encoding="utf-8")
    for name, source in sources.items():
        written.with_suffix(Path(name).suffix).write_text(source, encoding="utf-8")
    return written


def _write_controls(lab: Lab, folder: Path) -> dict[str, Path]:
    try:
        controls = make_controls(lab.stub.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return {}  # check_files says what is wrong with the stub
    folder.mkdir(parents=True, exist_ok=True)
    written: dict[str, Path] = {}
    for name, source in controls.items():
        written[name] = folder / f"{name}.py"
        written[name].write_text(source, encoding="utf-8")
    return written
