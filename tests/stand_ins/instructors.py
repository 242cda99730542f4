"""A small instructors' repository to publish from: the demo course, under git."""

import shutil
from pathlib import Path

from grader.course.git import git

ROOT = Path(__file__).resolve().parents[2]
PERSON = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ada Instructor"), ("EMAIL", "ada@example.org"))
}
TOP = ("LICENSE", "Makefile", "constraints.txt", "pyproject.toml", ".gitignore")

ORACLE = "def scaled(values, factor):\n    return [value * factor for value in values]\n"
ANSWER = "A store is no list, for it says when it is full.\n"


def make_repository(folder: Path) -> Path:
    """Commit the demo course with a judge of one file, an oracle and the answers to questions."""
    shutil.copytree(ROOT / "tests" / "demo", folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in TOP:
        shutil.copy(ROOT / name, folder / name)
    write(folder, "grader/__init__.py", '"""The judge."""\n')
    write(folder, "grader/cli/app.py", '"""The command line."""\n')
    write(
        folder,
        "grader/course/commands/app.py",
        "from grader.course.publishing.publish import publish\n",
    )
    write(folder, "grader/course/publishing/publish.py", '"""For instructors."""\n')
    write(folder, "grader/service/core/desk.py", '"""For instructors."""\n')
    write(folder, "reference/echo.py", ORACLE)
    write(folder, "solutions/90_echo/ANSWERS.md", ANSWER)
    git("init", "-q", "-b", "main", folder=folder)
    commit(folder, "Begin the course")
    return folder


def write(folder: Path, path: str, text: str) -> None:
    """Write a file, with the folders above it."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def append(folder: Path, path: str, text: str) -> None:
    """Add text to a file."""
    write(folder, path, (folder / path).read_text(encoding="utf-8") + text)


def commit(folder: Path, message: str, *options: str) -> str:
    """Commit everything and return the commit."""
    git("add", "-A", folder=folder)
    git("commit", "-q", "-m", message, *options, folder=folder, env=PERSON)
    return git("rev-parse", "HEAD", folder=folder)


def make_remote(folder: Path) -> Path:
    """Make an empty bare repository."""
    folder.mkdir()
    git("init", "-q", "--bare", "-b", "main", ".", folder=folder)
    return folder
