"""What ``lab backup`` and ``lab restore`` do between their options and their exit code."""

import sys
from pathlib import Path

from grader.course.config import load_course
from grader.course.grading.backups.backup import FILES, Contents, back_up
from grader.course.grading.backups.restore import restore
from grader.course.grading.collecting.ledger import FOLDER as COLLECTED
from grader.text import moment_text, visible_line

SECRET = "it holds marks, work and perhaps a password of course.toml: only you can read it"


def back_up_course(file: Path, course_file: Path) -> int:
    """Back a course up and say what the file holds."""
    course = load_course(course_file)
    contents = back_up(course, course_file, file)
    size = file.stat().st_size / 1000
    shown = f"{size / 1000:.1f} MB" if size >= 1000 else f"{size:.0f} kB"
    print(f"{file}: {_held(contents)}, {shown}")
    print(f"note: {SECRET}", file=sys.stderr)
    if f"{FILES}{course.roster.name}" not in contents.files:
        told = f"{course.roster} is not in it: the students are, as they were last collected"
        print(f"note: {told}", file=sys.stderr)
    return 0


def restore_course(file: Path, course_file: Path) -> int:
    """Bring a course back and say what came."""
    course, contents = restore(file, course_file)
    made = moment_text(contents.made)
    print(visible_line(f"{contents.title}, as of {made}: {_held(contents)}"))
    print(
        f"it is in {course.folder.resolve()}; next: lab gradebook --course {course_file}",
        file=sys.stderr,
    )
    return 0


def _held(contents: Contents) -> str:
    collected = {name.rpartition("/")[0] for name in contents.files if _is_work(name)}
    counts = {
        "student": contents.rows.get("students", 0),
        "graded attempt": contents.rows.get("attempts", 0),
        "collected commit": len(collected),
        "hand-in": contents.rows.get("hand_ins", 0),
    }
    return ", ".join(f"{n} {what}{'' if n == 1 else 's'}" for what, n in counts.items())


def _is_work(name: str) -> bool:
    return name.startswith(f"{FILES}{COLLECTED}/")
