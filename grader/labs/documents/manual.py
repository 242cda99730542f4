"""What ``lab check`` holds the files of a manual lab against: those it needs, and no others."""

from collections.abc import Iterator
from pathlib import Path

from grader.labs.lab import Lab

HANDOUT_LINES = 200

Held = tuple[str, Path, str]  # rule, file, and what is wrong with it, "" if nothing is


def rules_of(lab: Lab) -> Iterator[Held]:
    """Hold the files of a lab that people grade against its lab.toml, rule by rule."""
    files = [lab.handout, *(lab.folder / name for name in lab.files), *lab.given_files]
    missing = [file.name for file in files if not file.is_file()]
    yield "files are complete", lab.folder, f"missing: {', '.join(missing)}" if missing else ""
    yield "no stray files", lab.folder, _stray(lab)
    if lab.handout.is_file():
        yield "handout names every file in a page or two", lab.handout, _handout(lab)
    headings = set[str]()
    for name in lab.files:
        file = lab.folder / name
        if file.is_file() and file.suffix == ".md":
            headings |= _headings(file)
    for criterion in (each for each in lab.rubric if each.prompt):
        told = f"no file has the heading {criterion.prompt!r} that {criterion.id!r} reads"
        is_there = criterion.prompt.casefold() in headings
        yield "the rubric reads what is asked for", lab.folder / "lab.toml", told * (not is_there)


def _stray(lab: Lab) -> str:
    known = {*lab.files, "README.md", "lab.toml", lab.public_suite.name, "pictures"}
    stray = [
        path.name
        for path in sorted(lab.folder.iterdir())
        if path.name not in known and not path.name.startswith((".", "__pycache__"))
    ]
    return f"stray: {', '.join(stray)}" if stray else ""


def _handout(lab: Lab) -> str:
    text = lab.handout.read_text(encoding="utf-8")
    problems = [f"does not name {name}" for name in lab.files if name not in text]
    lines = len(text.splitlines())
    if lines > HANDOUT_LINES:
        problems.append(f"has {lines} lines, more than {HANDOUT_LINES}")
    return "; ".join(problems)


def _headings(file: Path) -> set[str]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return {line.lstrip("#").strip().casefold() for line in lines if line.startswith("#")}
