"""What a wheel of the student's side is built from.

The judge of a published tree is installed as it is; all else of that tree lies in ``grader/start``,
where ``lab start`` takes it from. So a wheel holds what a branch of the same labs would hold, and
a lab that was laid out is what it is on a branch.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

from grader.course.publishing.beside.editors import EDITORS
from grader.course.publishing.beside.handing import Terms, hand_in
from grader.course.publishing.beside.readme import table_row
from grader.course.publishing.beside.workflows import WORKFLOWS
from grader.course.publishing.hidden import Files
from grader.course.publishing.tree import student_tree
from grader.errors import UsageError
from grader.labs.lab import Lab
from grader.start.lay import MANIFEST
from grader.text import visible_line

README = Path(__file__).with_name("wheel_readme.md")
START = "grader/start/"
TREE = f"{START}tree/"
INSTALLED = ("grader/", "bench/")
OTHERS = ("README.zh.md", "README.en.md")  # of a tree with a Makefile
BUILT_BY = ("pyproject.toml", "constraints.txt")  # of a tree: an installation has its own
CLONED = (*EDITORS, *WORKFLOWS)  # for a clone, which sets itself up
PROJECT = ("pyproject.toml", "LICENSE")
_VERSION = re.compile(r'^version = "([^"]+)"$', re.MULTILINE)


def project(
    files: Files, labs: Sequence[Lab], title: str, held: frozenset[str], terms: Terms, number: int
) -> dict[str, bytes]:
    """Return the files of the project that the wheel is built from; ``number`` ends its version."""
    tree = student_tree(files, labs, title, held, terms)
    readme = _readme(labs, title, terms).encode()
    carried = {path: content for path, content in tree.items() if _is_carried(path)}
    carried["README.md"] = readme
    own = {
        lab.name: sorted(carried.keys() & student_tree(files, [lab], title, held, terms).keys())
        for lab in labs
    }
    found = {path: content for path, content in tree.items() if path.startswith(INSTALLED)}
    found |= {f"{TREE}{path}": content for path, content in carried.items()}
    found |= {path: tree[path] for path in PROJECT}
    found["pyproject.toml"] = _numbered(tree["pyproject.toml"].decode(), number).encode()
    found |= {"README.md": readme, f"{START}{MANIFEST}": json.dumps(own, indent=1).encode()}
    return found


def as_published(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a wheel by the paths that they have in a published tree."""
    return {path.removeprefix(TREE): content for path, content in files.items()}


def _is_carried(path: str) -> bool:
    return not path.startswith(INSTALLED) and path not in (*BUILT_BY, *OTHERS, *CLONED)


def _numbered(text: str, number: int) -> str:
    """Let each commit have a version of its own: pip installs none that it has already."""
    found, count = _VERSION.subn(rf'version = "\1.post{number}"', text)
    if count != 1:
        raise UsageError("pyproject.toml of the last commit has no version", 'version = "0.1.0"')
    return found


def _readme(labs: Sequence[Lab], title: str, terms: Terms) -> str:
    return Template(README.read_text(encoding="utf-8")).substitute(
        title=visible_line(title),
        rows="\n".join(table_row(lab, f"{lab.number:02d}") for lab in labs),
        number=labs[0].number,
        hand_in=hand_in(terms, labs),
    )
