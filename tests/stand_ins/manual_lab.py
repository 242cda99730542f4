"""A lab that people grade: a design document by a rubric, and notes whose points come by hand."""

from pathlib import Path

from grader.labs.lab import Lab, load_lab

NAME = "94_design"
TOML = """\
title = "A cache"
summary = "A design document."
grading = "manual"
files = ["DESIGN.md", "notes.txt"]

[[tasks]]
id = "design"
title = "The design"
points = 70
hint = "Who reads it?"

[[tasks]]
id = "notes"
title = "Notes"
points = 30
hint = "What did you measure?"

[[rubric]]
id = "decision"
title = "A decision"
points = 40
task = "design"
prompt = "Decision"
text = "one that can be built"

[[rubric]]
id = "numbers"
title = "Numbers"
points = 30
task = "design"
text = "with units"
"""
HANDOUT = "# Lab 94: A cache\n\nWrite `DESIGN.md` and `notes.txt`; people read both.\n"
DESIGN = "# Design\n\n## Decision\n\n> What do you build?\n"
NOTES = "Your notes:\n"
OWN = DESIGN + "\nA ring of pages, since requests end in any order.\n"
OWN_NOTES = NOTES + "4 KiB a page\n"


def write_manual_lab(root: Path, toml: str = TOML) -> Lab:
    """Write the lab below a repository's root and load it."""
    folder = root / "labs" / NAME
    folder.mkdir(parents=True, exist_ok=True)
    files = {"lab.toml": toml, "README.md": HANDOUT, "DESIGN.md": DESIGN, "notes.txt": NOTES}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return load_lab(folder)


def work(**changes: str) -> dict[str, bytes]:
    """What a student hands in; ``DESIGN`` and ``notes`` replace a file."""
    texts = {"DESIGN": OWN, "notes": OWN_NOTES} | changes
    return {"DESIGN.md": texts["DESIGN"].encode(), "notes.txt": texts["notes"].encode()}
